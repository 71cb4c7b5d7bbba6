//! Senders of deliveries that mean no good, and those that are merely broken, against the real program over real sockets. Tests are
//! named by the numbers of the list of hostile inputs; what needs no socket is in `webhooks/tests/hostile`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod copies;
mod farm;
mod flood;
mod gate;
mod heads;
mod slow;
