//! A whole adapter to copy: a service with `POST /jobs`, `GET /jobs/{id}` and `DELETE /jobs/{id}`.
#![doc = include_str!("../README.md")]

mod adapter;
mod config;
mod wire;

pub use adapter::TemplateAdapter;
pub use config::{Config, Template, ToolWords};
