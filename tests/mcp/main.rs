//! The front end over an engine with a manual clock: every rule of the wire that a client could notice. Every message that is sent
//! here is held against the protocol's schemas by the client that receives it.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap like the tests themselves")]

mod basics;
mod calls;
mod classic;
mod classic_questions;
mod classic_tickets;
mod client;
mod core_questions;
mod core_results;
mod core_streams;
mod core_tasks;
mod draft;
mod fuzz;
mod headers;
mod hostile;
mod interleaving;
mod listen;
mod plain;
mod provider;
mod questions;
mod resources;
mod rig;
mod scribe;
mod session_client;
mod sessions;
mod tasks;
mod transcripts;
mod traps;
