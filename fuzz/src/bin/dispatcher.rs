//! The dispatcher under libFuzzer. CONTRIBUTING.md says how it is run.
#![no_main]

use std::cell::RefCell;

thread_local! {
    static SUBJECT: RefCell<jobgate_fuzz::Subject> = RefCell::new(jobgate_fuzz::Subject::new());
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    SUBJECT.with_borrow_mut(|subject| subject.feed(input));
});
