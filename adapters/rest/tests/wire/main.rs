//! What goes over the wire, and what is made of what comes back.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

mod answers;
mod deliveries;
mod requests;
mod support;
