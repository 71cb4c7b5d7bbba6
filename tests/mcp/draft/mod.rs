//! The `draft` dialect (SEP-1686 as first proposed): every exchange and every error of its normative file, and requirements H1 to H8.

mod calls;
mod cancelling;
mod exchanges;
mod keeping;
mod peer;
mod spec;
mod streams;
mod views;
