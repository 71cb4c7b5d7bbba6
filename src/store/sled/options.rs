//! How a store is opened, and what opening it found.

use std::path::PathBuf;
use std::sync::Arc;

use super::SledStore;
use crate::domain::{Status, Timestamp};

/// Where a store lies and what it may use.
#[derive(Clone, Debug)]
pub struct SledOptions {
    /// The data folder; made if it is not there.
    pub path: PathBuf,
    /// Bytes of sled's own cache. Plan for three times this and [`Self::task_cache_bytes`] together in memory, and half a KiB a task.
    pub cache_bytes: u64,
    /// Bytes of tasks kept at hand, so that reading one of them asks no disk.
    pub task_cache_bytes: u64,
    /// New tasks are refused while less than this is free on the disk; changes to running ones go on down to half of it, removal
    /// down to a quarter.
    pub reserve_bytes: u64,
    /// How many exports [`SledStore::export_periodic`] leaves in the data folder.
    pub keep_exports: usize,
    /// A database is copied at start, to give room back, when it is larger than this many bytes and than three times what a fresh
    /// copy would be.
    pub compact_above_bytes: u64,
}

impl SledOptions {
    /// The usual values for a store in `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            path: path.into(),
            cache_bytes: 32 * MIB,
            task_cache_bytes: 24 * MIB,
            reserve_bytes: 64 * MIB,
            keep_exports: 2,
            compact_above_bytes: 64 * MIB,
        }
    }
}

/// An open store and what opening it found.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The store.
    pub store: Arc<SledStore>,
    /// What was found.
    pub report: OpenReport,
}

/// What opening a store found; an operator wants to read all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Tasks that have not ended.
    pub live_tasks: u64,
    /// The database was damaged, and its last export has taken its place.
    pub recovered: Option<Recovered>,
    /// The database was copied to give room back.
    pub compacted: Option<Compacted>,
}

/// The database was damaged, and its last export has taken its place: what came after the export is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// What was wrong.
    pub why: String,
    /// Where the damaged database lies now.
    pub set_aside: PathBuf,
    /// The export.
    pub export: PathBuf,
    /// When it was made.
    pub exported_at: Timestamp,
    /// How many tasks it had.
    pub tasks: u64,
}

/// A database was copied to give room back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes of its files before.
    pub before_bytes: u64,
    /// Bytes of its files after.
    pub after_bytes: u64,
    /// Bodies removed that no task needed.
    pub strays: u64,
}

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreStats {
    tasks: super::meta::Meta,
    /// Bytes of the database's files, without the bodies.
    pub file_bytes: u64,
    /// Bytes of all keys and values in it.
    pub live_bytes: u64,
}

impl StoreStats {
    pub(super) const fn new(meta: super::meta::Meta, file_bytes: u64) -> Self {
        Self { tasks: meta, file_bytes, live_bytes: meta.live_bytes }
    }

    /// How many tasks have this status.
    #[must_use]
    pub fn tasks(&self, status: Status) -> u64 {
        self.tasks.count(status)
    }
}
