//! Any HTTP job API, described in YAML.
#![doc = include_str!("../README.md")]

mod adapter;
mod cancel;
mod check;
mod codes;
mod delivery;
mod exchange;
mod explain;
mod fetch;
mod find;
mod form;
mod json;
mod language;
mod late;
mod log;
mod lookups;
mod media;
mod observe;
mod output;
mod pages;
mod plan;
mod progress;
mod proof;
mod questions;
mod repeat;
mod resolve;
mod spec;
mod steps;
mod submit;
mod words;

pub use adapter::RestAdapter;
pub use codes::Codes;
pub use plan::Checked;
pub use spec::Rest;
pub use words::*;
