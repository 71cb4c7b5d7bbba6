//! Who may call, what they may see and how much they may ask for: the whole gateway over HTTP, in this process on a clock that
//! stands still, and once as a process of its own.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap like the tests themselves")]

mod figures;
mod gate;
mod limits;
mod process;
mod refusals;
mod strangers;
