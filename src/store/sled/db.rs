//! The sled database itself: opened with care, every call guarded, durable when it says so.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sled::IVec;

use super::disk::{Disk, used_bytes};
use super::keys;
use super::meta::{Mark, Meta};
use super::panics::{ADVICE, guarded};
use crate::store::StoreError;

/// One sled tree in a folder of its own. No `Debug`: sled's prints every value.
pub(super) struct Db {
    /// `None` only while it is dropped.
    tree: Option<sled::Db>,
    dir: PathBuf,
    disk: Disk,
    mark: Mark,
    /// What the mark said when the database was opened.
    marked: Option<u64>,
}

impl Db {
    /// Opens the database in `dir`, or makes one.
    pub(super) fn open(dir: &Path, cache_bytes: u64) -> Result<Self, StoreError> {
        let config = sled::Config::new().path(dir).cache_capacity(cache_bytes).flush_every_ms(Some(500));
        let tree = match guarded(|| config.open()).and_then(|tree| tree.map_err(broken)) {
            Ok(tree) => Some(tree),
            Err(error) => {
                wait_for_threads(dir);
                return Err(error);
            }
        };
        let in_dir = |error| unavailable(&format!("cannot use {}", dir.display()), &error);
        let disk = Disk::of(dir).map_err(in_dir)?;
        let (mark, marked) = Mark::open(dir).map_err(in_dir)?;
        let db = Self { tree, dir: dir.to_owned(), disk, mark, marked };
        db.look_for_blobs();
        Ok(db)
    }

    const fn tree(&self) -> &sled::Db {
        self.tree.as_ref().expect("it is taken by `drop` alone")
    }

    /// What the mark said when the database was opened.
    pub(super) const fn marked(&self) -> Option<u64> {
        self.marked
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<IVec>, StoreError> {
        guarded(|| self.tree().get(key))?.map_err(broken)
    }

    /// The rows whose key begins with `prefix`, in order, either way round.
    pub(super) fn rows(&self, prefix: &[u8]) -> Rows {
        Rows { rows: self.tree().scan_prefix(prefix) }
    }

    /// The rows with keys from `prefix` up to, but not including, `end`.
    pub(super) fn rows_before(&self, prefix: &[u8], end: &[u8]) -> Rows {
        Rows { rows: self.tree().range(prefix..end) }
    }

    /// The counts; `None` in a new database.
    pub(super) fn meta(&self) -> Result<Option<Meta>, StoreError> {
        let Some(bytes) = self.get(keys::META)? else { return Ok(None) };
        Meta::from_bytes(&bytes).map(Some).ok_or_else(|| corrupt("its counts cannot be read"))
    }

    /// Writes all rows of `batch` or none, and waits for them to be on disk.
    pub(super) fn write(&self, batch: sled::Batch) -> Result<(), Unwritten> {
        let unwritten = |error| Unwritten { disk_was_full: false, error };
        let written = guarded(|| self.tree().apply_batch(batch).and_then(|()| self.tree().flush())).map_err(unwritten)?;
        written.map_err(|error| Unwritten { disk_was_full: is_full(&error), error: broken(error) })?;
        self.sync().map_err(unwritten)
    }

    /// Writes all rows of `batch` or none, not yet durably.
    pub(super) fn apply(&self, batch: sled::Batch) -> Result<(), StoreError> {
        guarded(|| self.tree().apply_batch(batch))?.map_err(broken)
    }

    /// Waits for all that was applied to be on disk: sled's buffers to its file, the file to the disk.
    pub(super) fn make_durable(&self) -> Result<(), StoreError> {
        guarded(|| self.tree().flush())?.map_err(broken)?;
        self.sync()
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.disk.sync().map_err(|error| unavailable("what was written did not reach the disk", &error))
    }

    /// Notes that group `seq` is on disk. A failure only makes the mark less sharp.
    pub(super) fn mark(&self, seq: u64) {
        if let Err(error) = self.mark.set(seq) {
            tracing::warn!(%error, "cannot write the store's mark");
        }
    }

    /// The bytes of its files.
    pub(super) fn file_bytes(&self) -> Result<u64, StoreError> {
        used_bytes(&self.dir).map_err(|error| unavailable("cannot look at the store's files", &error))
    }

    /// sled never syncs the files in `blobs/`. Records are kept so small that there are none; should there be one, someone has to
    /// know.
    pub(super) fn look_for_blobs(&self) -> bool {
        let found = std::fs::read_dir(self.dir.join("blobs")).is_ok_and(|mut blobs| blobs.next().is_some());
        if found {
            tracing::error!(dir = %self.dir.display(), "sled wrote a blob file: rows are larger than they should be, and a power cut may lose them");
        }
        found
    }
}

/// A batch that may be on disk, and may not.
#[derive(Debug)]
pub(super) struct Unwritten {
    /// Why.
    pub(super) error: StoreError,
    /// There was no room to write it; nothing that the kernel took was lost. After any other failure it is not known what a later
    /// read shows and the disk has.
    pub(super) disk_was_full: bool,
}

fn is_full(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

impl Drop for Db {
    /// Returns when sled has let go of the files, so that the folder can be opened again or moved.
    fn drop(&mut self) {
        let tree = self.tree.take();
        // A panic is in the log, and everything that was acknowledged is on disk.
        guarded(|| drop(tree)).ok();
        wait_for_threads(&self.dir);
    }
}

/// How long sled's threads are waited for. They have a buffer to write at most.
const THREADS: Duration = Duration::from_secs(30);

/// Waits until sled's own threads are done: they go on for a moment after the database was dropped, and hold its file's lock.
fn wait_for_threads(dir: &Path) {
    let Ok(file) = File::options().read(true).write(true).open(dir.join("db")) else { return };
    let (done, wait) = mpsc::channel();
    // A thread of its own, because a lock cannot be waited for with a limit.
    let waiter = thread::Builder::new().name("jobgate-store-close".to_owned()).spawn(move || {
        let free = file.lock();
        drop(file);
        // Nobody listens any more after the limit.
        done.send(free).ok();
    });
    if waiter.is_err() || wait.recv_timeout(THREADS).is_err() {
        tracing::warn!(dir = %dir.display(), "sled has not let go of its file");
    }
}

/// Rows of a range.
pub(super) struct Rows {
    rows: sled::Iter,
}

impl Iterator for Rows {
    type Item = Result<(IVec, IVec), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        flat(guarded(|| self.rows.next()))
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Self::Item> {
        flat(guarded(|| self.rows.next_back()))
    }
}

fn flat(row: Result<Option<sled::Result<(IVec, IVec)>>, StoreError>) -> Option<Result<(IVec, IVec), StoreError>> {
    match row {
        Ok(row) => row.map(|row| row.map_err(broken)),
        Err(error) => Some(Err(error)),
    }
}

/// An error of sled's: trouble with the disk, or damage.
fn broken(error: sled::Error) -> StoreError {
    match error {
        sled::Error::Io(error) if error.to_string().starts_with("could not acquire lock") => {
            unavailable("the database is still in use by another part of this process", &error)
        }
        sled::Error::Io(error)
            if !matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::Other) =>
        {
            unavailable("the embedded database", &error)
        }
        other => corrupt(&format!("the embedded database says: {other}")),
    }
}

/// Trouble with the disk.
pub(super) fn unavailable(what: &str, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{what}: {error}"))
}

/// Damage that shows while the store is in use.
pub(super) fn corrupt(what: &str) -> StoreError {
    StoreError::Corrupt { what: what.to_owned(), advice: ADVICE.to_owned() }
}
