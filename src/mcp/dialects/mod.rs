//! The wire forms of tasks, each a projection of the same domain.

pub(super) mod extension;
