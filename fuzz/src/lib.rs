//! The dispatcher, fed with whatever a fuzzer thinks of: no panic, no silence, no fault of ours, nothing sent back at length.
//!
//! An input is lines. The first byte of a line says how the rest is sent, so that a fuzzer can change that, too:
//!
//! | byte | the rest is |
//! |---|---|
//! | `E`, `e` | a message of 2026-07-28, over HTTP with the headers that repeat it; over a pipe |
//! | `C`, `J` | a message in a session of 2025-11-25; of 2025-06-18 |
//! | `N` | a message without a session |
//! | `S` | a message in a session, from somebody else |
//! | `G`, `D` | a request for a stream, the rest being `Last-Event-ID`; the end of a session |
//! | `T` | nothing: ten seconds pass |
//!
//! Every other byte stands for one of these. `$TASK` is the last task that was made, `$ASKED` the id of the last request that the gateway
//! sent, `$EVENT` the id of its last event.
#![expect(clippy::missing_panics_doc, reason = "a panic is what a fuzzer looks for")]

mod provider;
mod subject;

pub use subject::Subject;
