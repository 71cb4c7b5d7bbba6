//! What the gateway's tests share: the gateway and the engines as processes, a relay between them, a raw client of the wire, bounded
//! waits, and a reader of the repository's own sources.
//!
//! A crate rather than a module that every test file includes: it is compiled once, and what a single test file does not use
//! is no dead code.

pub mod amazon;
pub mod caller;
pub mod engine;
pub mod events;
pub mod gateway;
pub mod pipe;
pub mod process;
pub mod raw;
pub mod relay;
pub mod schema;
pub mod scratch;
pub mod session;
pub mod source;
pub mod wait;
pub mod wire;
