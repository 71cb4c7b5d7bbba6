//! jobgate: the gateway that turns any asynchronous job API into durable MCP tasks.

pub mod artifacts;
pub mod cli;
pub mod config;
pub mod domain;
pub mod engine;
pub mod hooks;
pub mod http;
pub mod mcp;
pub mod metrics;
pub mod registry;
pub mod serve;
pub mod store;
pub mod telemetry;
