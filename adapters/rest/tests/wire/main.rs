//! What goes over the wire, and what is made of what comes back.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

mod answers;
mod artifacts;
mod asking;
mod auth;
mod bodies;
mod cancels;
mod deliveries;
mod finding;
mod logs;
mod lookups;
mod outcomes;
mod pace;
mod pages;
mod places;
mod progress;
mod refused;
mod requests;
mod resolve;
mod results;
mod rules;
mod steps;
mod support;
