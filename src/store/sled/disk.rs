//! Getting things onto the disk: sled's own `flush` does not.

use std::fs::File;
use std::io;
use std::path::Path;

/// Waits for all that was written below a folder to be on the disk.
#[derive(Debug)]
pub(super) struct Disk {
    /// Kept open, so that an error of an earlier write-back is reported here.
    file: File,
}

impl Disk {
    /// For the sled database in `dir`.
    pub(super) fn of(dir: &Path) -> io::Result<Self> {
        // Without `syncfs` the strongest equal is an fsync of the database's one file: it covers all but sled's `blobs/`, which stay
        // empty because records are small.
        let file = if cfg!(target_os = "linux") { File::open(dir)? } else { File::open(dir.join("db"))? };
        Ok(Self { file })
    }

    /// Returns when it is there: file contents, names and the drive's own cache.
    pub(super) fn sync(&self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        return Ok(rustix::fs::syncfs(&self.file)?);
        #[cfg(not(target_os = "linux"))]
        return self.file.sync_all();
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Bytes that may still be written where `path` is.
pub(super) fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Bytes in the files of a folder and the folders in it.
pub(super) fn used_bytes(dir: &Path) -> io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        // A file may go while we look; then it takes no room.
        let Ok(metadata) = entry.metadata() else { continue };
        sum += if metadata.is_dir() { used_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(sum)
}
