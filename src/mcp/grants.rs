//! What is made once for each set of tools that callers were granted, not once a request.

use std::fmt;
use std::sync::{Arc, OnceLock};

use quick_cache::sync::Cache;

use crate::domain::ToolGrant;

/// Sets that are kept. A configuration has a few; what is pushed out is made anew.
const KEPT: usize = 256;

/// Values by grant.
pub(crate) struct PerGrant<T> {
    all: OnceLock<Arc<T>>,
    named: Cache<Arc<[String]>, Arc<T>>,
}

impl<T> PerGrant<T> {
    pub(crate) fn new() -> Self {
        Self { all: OnceLock::new(), named: Cache::new(KEPT) }
    }

    /// The value for a grant; `make` is asked for it the first time.
    pub(crate) fn get(&self, grant: &ToolGrant, make: impl FnOnce() -> T) -> Arc<T> {
        match grant {
            ToolGrant::All => self.all.get_or_init(|| Arc::new(make())).clone(),
            ToolGrant::Named(names) => {
                if let Some(known) = self.named.get(names) {
                    return known;
                }
                let made = Arc::new(make());
                self.named.insert(names.clone(), made.clone());
                made
            }
        }
    }
}

impl<T> fmt::Debug for PerGrant<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerGrant").field("named", &self.named.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_a_grant_and_their_number_is_bounded() {
        let values = PerGrant::new();
        let named = |name: String| ToolGrant::Named([name].into());
        assert_eq!(*values.get(&ToolGrant::All, || 1), 1);
        assert_eq!(*values.get(&ToolGrant::All, || 2), 1);
        assert_eq!(*values.get(&named("a".to_owned()), || 3), 3);
        // The same names in another allocation, as they come over the socket.
        assert_eq!(*values.get(&named("a".to_owned()), || 4), 3);
        for number in 0..10 * KEPT {
            values.get(&named(number.to_string()), || number);
        }
        assert!(values.named.len() <= KEPT);
    }
}
