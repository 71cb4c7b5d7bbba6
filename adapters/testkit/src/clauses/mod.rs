//! The clauses, by what they are about.

pub(crate) mod cancel;
pub(crate) mod config;
pub(crate) mod delivery;
pub(crate) mod fault;
pub(crate) mod file;
pub(crate) mod input;
pub(crate) mod life;
pub(crate) mod secret;
pub(crate) mod submit;
