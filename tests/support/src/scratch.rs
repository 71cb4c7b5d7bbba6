//! Folders for tests that write a lot.

use std::path::Path;

use tempfile::TempDir;

/// The usual place of a file system in memory.
const IN_MEMORY: &str = "/dev/shm";

/// A fresh folder, in memory where the machine offers that: what a killed process has written stays either way, and syncing a disk
/// that others write to would be most of the time of such a test. A loss of power needs a real disk and a test of its own.
///
/// # Panics
/// When there is no place for a folder.
#[must_use]
pub fn in_memory() -> TempDir {
    let place = Path::new(IN_MEMORY);
    let folder = if place.is_dir() { tempfile::tempdir_in(place) } else { tempfile::tempdir() };
    folder.expect("a fresh folder")
}
