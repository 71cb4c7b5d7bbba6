//! A step-function provider that needs nothing installed.
#![doc = include_str!("../README.md")]

mod adapter;
pub mod asl;
mod config;
mod fault;
mod output;
mod provider;
mod record;
mod world;

pub use adapter::MockAdapter;
pub use config::{Checked, Config, Mock, ToolWords};
pub use provider::MockProvider;

/// A whole gateway configuration of tools to try, as YAML: one mock provider, four tools.
pub const DEMO_YAML: &str = include_str!("../machines/demo.yaml");
