//! Clients that mean no good, and those that are merely broken, against the real program over real sockets: whatever they send gets a
//! clear answer, costs a bounded amount of memory, tells them nothing that is not theirs, and the next honest request is served.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod flood;
mod gate;
mod heads;
mod slow;
