//! Files of jobs that the gateway keeps: below the data folder, named by what is in them, for as long as a task wants them.
//!
//! `content/ab/HASH` is a file, `held/TASK.HASH` an empty one that says for which task it is kept; so a copy of the folder by any tool is
//! whole. A file is synced and has its name before the task's record names it; whatever a crash leaves over is removed at the next start.

mod index;
mod part;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use part::Part;

use self::index::Index;
use crate::domain::{ContentHash, TaskId};

/// What may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Bytes of one file.
    pub max_bytes: u64,
    /// Bytes of all files together.
    pub total_bytes: u64,
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        Self { max_bytes: 1 << 30, total_bytes: 10 << 30 }
    }
}

/// Why a file is not kept. The sentences are for callers.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It is larger than one may be.
    #[error("it has more than {most} bytes")]
    TooLarge {
        /// What it may have.
        most: u64,
    },
    /// All together would be more than may be kept.
    #[error("the gateway keeps {total} bytes of artifacts at most, and they are used up")]
    Full {
        /// What all may have.
        total: u64,
    },
    /// The disk does not take it.
    #[error("{}", said(.0))]
    Disk(#[from] io::Error),
}

fn said(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the gateway's disk is full",
        _ => "the gateway cannot write to its disk",
    }
}

/// The files. Cheap to clone; clones share everything. Its calls wait for the disk.
#[derive(Clone, Debug)]
pub struct Artifacts {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    dir: PathBuf,
    limits: ArtifactLimits,
    index: Mutex<Index>,
    /// Makes the names of unfinished files distinct.
    unfinished: AtomicU64,
}

impl Shared {
    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Artifacts {
    /// The files in `dir`, which is made if it is not there. What nobody holds is removed, and so is what was not finished.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn open(dir: PathBuf, limits: ArtifactLimits) -> io::Result<Self> {
        for folder in [content(&dir), held(&dir), unfinished(&dir)] {
            fs::create_dir_all(folder)?;
        }
        sync_dir(&dir)?;
        for file in fs::read_dir(unfinished(&dir))? {
            fs::remove_file(file?.path())?;
        }
        let index = Index::read(&dir)?;
        let shared = Shared { dir, limits, index: Mutex::new(index), unfinished: AtomicU64::new(0) };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Begins a file of at most `most` bytes, and of no more than one may have.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn begin(&self, most: Option<u64>) -> Result<Part, KeepError> {
        let number = self.shared.unfinished.fetch_add(1, Ordering::Relaxed);
        let place = unfinished(&self.shared.dir).join(format!("{number}.part"));
        let most = most.map_or(self.shared.limits.max_bytes, |most| most.min(self.shared.limits.max_bytes));
        Part::begin(self.shared.clone(), place, most)
    }

    /// The most bytes that one file may have.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        self.shared.limits.max_bytes
    }

    /// Bytes that are kept, and on their way to it.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.shared.index().used
    }

    /// The tasks for which anything is kept.
    #[must_use]
    pub fn holders(&self) -> Vec<TaskId> {
        self.shared.index().holders()
    }

    /// Whether anything is kept for a task beside these.
    #[must_use]
    pub fn holds_more(&self, task: &TaskId, wanted: &[ContentHash]) -> bool {
        self.shared.index().of(task).any(|hash| !wanted.contains(&hash))
    }

    /// Lets go of all that is kept for a task but for these. What nobody else holds is removed.
    ///
    /// # Errors
    /// When the disk refuses; then the next start removes what is left.
    pub fn retain(&self, task: &TaskId, wanted: &[ContentHash]) -> io::Result<()> {
        // Under the lock: nobody may come to hold what is being removed.
        let mut index = self.shared.index();
        let unwanted: Vec<ContentHash> = index.of(task).filter(|hash| !wanted.contains(hash)).collect();
        for hash in unwanted {
            remove(&held_file(&self.shared.dir, task, &hash))?;
            if index.release(task, &hash) {
                remove(&content_file(&self.shared.dir, &hash))?;
            }
        }
        Ok(())
    }

    /// A kept file, to be read.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub fn file(&self, hash: &ContentHash) -> io::Result<File> {
        file_in(&self.shared.dir, hash)
    }
}

/// A kept file below `dir`, for those who read it beside whoever keeps it.
///
/// # Errors
/// When it is not there, or cannot be read.
pub fn file_in(dir: &Path, hash: &ContentHash) -> io::Result<File> {
    File::open(content_file(dir, hash))
}

/// The folder of kept files in a data folder.
#[must_use]
pub fn folder(data: &Path) -> PathBuf {
    data.join("artifacts")
}

fn content(dir: &Path) -> PathBuf {
    dir.join("content")
}

fn held(dir: &Path) -> PathBuf {
    dir.join("held")
}

fn unfinished(dir: &Path) -> PathBuf {
    dir.join("unfinished")
}

fn content_file(dir: &Path, hash: &ContentHash) -> PathBuf {
    content(dir).join(format!("{:02x}", hash.as_bytes()[0])).join(hash.to_string())
}

fn held_file(dir: &Path, task: &TaskId, hash: &ContentHash) -> PathBuf {
    held(dir).join(format!("{task}.{hash}"))
}

/// Removes a file that may be gone already.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Makes the names in a folder durable.
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests;
