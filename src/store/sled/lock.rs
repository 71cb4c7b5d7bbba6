//! One process at a time: a lock file with the holder's process id.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;

use super::db::unavailable;
use crate::store::StoreError;

/// The lock on a data folder; let go when dropped, also by a killed process.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of the data folder `root`.
    pub(super) fn take(root: &Path) -> Result<Self, StoreError> {
        let failed = |error| unavailable(&format!("cannot lock {}", root.display()), &error);
        let mut options = File::options();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(root.join("lock")).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                // The number is for people; the lock itself does not depend on it.
                file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
                writeln!(file, "{}", std::process::id()).map_err(failed)?;
                Ok(Self { file })
            }
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let holder = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                Err(StoreError::Held { path: root.display().to_string(), holder })
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file would do; saying so frees the lock also where a forked child still has the file open.
        self.file.unlock().ok();
    }
}
