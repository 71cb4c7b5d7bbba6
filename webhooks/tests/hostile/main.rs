//! What a hostile sender tries. Tests are named by the numbers of the shared list of hostile inputs; those about connections, stores and
//! effects are the receiver's. `properties` signs, flips bits and throws arbitrary bytes at every scheme.

#![expect(clippy::unwrap_used, reason = "a test that cannot make its request has failed")]

mod asymmetric;
mod document;
mod headers;
mod parts;
mod properties;
mod rig;
