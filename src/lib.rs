//! jobgate: the gateway that turns any asynchronous job API into durable MCP tasks.

pub mod config;
pub mod domain;
pub mod engine;
pub mod http;
pub mod mcp;
pub mod registry;
pub mod store;
