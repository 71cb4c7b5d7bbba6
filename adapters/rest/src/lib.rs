//! Any HTTP job API, described in YAML.
#![doc = include_str!("../README.md")]

mod adapter;
mod check;
mod clean;
mod codes;
mod delivery;
mod exchange;
mod json;
mod language;
mod observe;
mod plan;
mod spec;
mod words;

pub use adapter::RestAdapter;
pub use codes::Codes;
pub use plan::Checked;
pub use spec::Rest;
pub use words::{
    Answer, Auth, Basic, Cancel, Delivery, Failure, Find, Input, Job, Link, Named, Names, Parse, ProgressWords, Provider,
    Rejected, Request, ResultWords, Rule, StateWord, Status, Submit, Told,
};
