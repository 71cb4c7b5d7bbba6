//! The one language of texts and conditions: MiniJinja, strict about undefined names and with limited fuel.

mod engine;
mod filters;
mod operations;
mod scope;
mod source;

pub(crate) use engine::{Condition, Context, Engine, Faulty, Text, Tree};
pub(crate) use filters::seconds_of;
pub(crate) use scope::Scope;
