//! sled reports damage by panicking. Here a panic becomes an error, and its text goes to the log alone.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::store::StoreError;

thread_local! {
    /// `Some` while this thread is in [`guarded`]; holds the text of the panic that was caught.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What to do about damage that shows while the store is in use.
pub(super) const ADVICE: &str = "Stop the gateway and run `jobgate store verify`, which says what is lost; the newest export can be put \
                                 back with `jobgate store import`";

/// Runs `run`; a panic in it becomes [`StoreError::Corrupt`].
///
/// Works only where panics unwind, which both profiles of this workspace say.
pub(super) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, StoreError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(install);
    let outer = CAUGHT.replace(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    let text = CAUGHT.replace(outer);
    result.map_err(|_| {
        let text = text.unwrap_or_default();
        tracing::error!(panic = %text, "the embedded database panicked");
        StoreError::Corrupt { what: first_words(&text), advice: ADVICE.to_owned() }
    })
}

/// Keeps the text of a panic in a guarded call from the terminal; every other panic is shown as before.
fn install() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let ours = CAUGHT.with_borrow_mut(|caught| {
            caught.as_mut().map(|text| *text = info.to_string().split_whitespace().collect::<Vec<_>>().join(" ")).is_some()
        });
        if !ours {
            before(info);
        }
    }));
}

/// A short form for people; the whole text is in the log.
fn first_words(text: &str) -> String {
    let said = text.split_once(": ").map_or(text, |(_, said)| said);
    format!("the embedded database cannot read its own file ({})", said.chars().take(160).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_says_what_to_do() {
        let caught = guarded(|| -> () { panic!("tried to serialize Uninitialized") }).unwrap_err();
        let text = caught.to_string();
        assert!(text.contains("tried to serialize Uninitialized"), "{text}");
        assert!(text.contains("jobgate store verify"), "{text}");
        assert_eq!(guarded(|| 7), Ok(7));
    }
}
