//! State machines of AWS Step Functions as jobs.
#![doc = include_str!("../README.md")]

mod adapter;
mod approval;
mod bridge;
mod client;
mod delivery;
mod error;
mod explain;
mod outcome;
mod spec;
mod story;
mod words;

pub use adapter::StepFunctionsAdapter;
pub use spec::{Checked, StepFunctions};
pub use words::{Config, ToolWords};
