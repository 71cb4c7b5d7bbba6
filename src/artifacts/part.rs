//! A file that is being written: counted and hashed as it grows, and gone again unless it is finished.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{KeepError, Shared, content_file, held, held_file, remove, sync_dir};
use crate::domain::{ContentHash, TaskId};

/// A file on its way.
#[derive(Debug)]
pub struct Part {
    shared: Arc<Shared>,
    path: PathBuf,
    file: File,
    hash: Sha256,
    size: u64,
    most: u64,
    /// The bytes are counted as those of a finished file.
    handed_over: bool,
}

impl Part {
    pub(super) fn begin(shared: Arc<Shared>, path: PathBuf, most: u64) -> Result<Self, KeepError> {
        let file = File::create(&path)?;
        Ok(Self { shared, path, file, hash: Sha256::new(), size: 0, most, handed_over: false })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// When that makes it too large, or the disk does not take them.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), KeepError> {
        let more = bytes.len() as u64;
        if self.size.saturating_add(more) > self.most {
            return Err(KeepError::TooLarge { most: self.most });
        }
        {
            let mut index = self.shared.index();
            let total = self.shared.limits.total_bytes;
            if index.used.saturating_add(more) > total {
                return Err(KeepError::Full { total });
            }
            index.used += more;
        }
        self.size += more;
        self.hash.update(bytes);
        Ok(self.file.write_all(bytes)?)
    }

    /// Bytes so far.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Puts the file in its place, for this task. On the disk when it returns; doing it twice is doing it once.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn finish(mut self, task: TaskId) -> Result<(ContentHash, u64), KeepError> {
        self.file.sync_all()?;
        let hash = ContentHash::new(std::mem::take(&mut self.hash).finalize().into());
        let shared = self.shared.clone();
        let place = content_file(&shared.dir, &hash);
        // Under the lock: nobody may remove what this is about to hold.
        let mut index = shared.index();
        let is_new = !index.has(&hash);
        if is_new {
            if let Some(folder) = place.parent().filter(|folder| !folder.is_dir()) {
                fs::create_dir_all(folder)?;
                folder.parent().map_or(Ok(()), sync_dir)?;
            }
            fs::rename(&self.path, &place)?;
            place.parent().map_or(Ok(()), sync_dir)?;
        }
        let marked = File::create(held_file(&shared.dir, &task, &hash)).and_then(|_| sync_dir(&held(&shared.dir)));
        if let Err(error) = marked {
            if is_new {
                remove(&place)?;
            }
            return Err(error.into());
        }
        index.hold(task, hash, self.size);
        if is_new {
            self.handed_over = true;
        }
        drop(index);
        Ok((hash, self.size))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.handed_over {
            let mut index = self.shared.index();
            index.used = index.used.saturating_sub(self.size);
            drop(index);
            // The next start removes it otherwise.
            remove(&self.path).ok();
        }
    }
}
