//! The embedded store with damaged files, on a full disk, in two hands at once; its exports, and the room it gives back.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on stops, and one that is skipped says so")]

mod deliveries;
mod exports;
mod files;
mod full_disk;
mod support;
