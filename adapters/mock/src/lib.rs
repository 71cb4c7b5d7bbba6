//! A step-function provider that needs nothing installed.

pub mod asl;
