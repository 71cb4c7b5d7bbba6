//! The receiver behind a real router: every scheme's deliveries, the order of the checks, what senders are told, and what load does.

#![expect(clippy::unwrap_used, reason = "a helper that cannot make its delivery has failed")]

mod answers;
mod challenges;
mod keys;
mod load;
mod rig;
mod schemes;
