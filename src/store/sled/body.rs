//! Bodies: what is too large for a record, in files named by their hash. Written and synced before the record that names them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::db::unavailable;
use super::disk::sync_dir;
use crate::store::StoreError;
use crate::store::record::{BodyRef, unhex};

type Pins = Mutex<HashMap<BodyRef, usize>>;

/// The folder of bodies: `ab/<sha256>` for a hash that begins with `ab`.
#[derive(Debug)]
pub(super) struct Bodies {
    dir: PathBuf,
    /// Bodies that a change under way needs: not to be removed, though nothing durable names them yet.
    pins: Arc<Pins>,
    /// Makes the names of unfinished files distinct.
    unfinished: AtomicU64,
}

/// Keeps a body from being removed.
#[derive(Debug)]
pub(super) struct Pin {
    body: BodyRef,
    pins: Arc<Pins>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = lock(&self.pins);
        if let Some(count) = pins.get_mut(&self.body) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&self.body);
            }
        }
    }
}

fn lock(pins: &Pins) -> MutexGuard<'_, HashMap<BodyRef, usize>> {
    pins.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bodies {
    /// The bodies in `dir`, which is made with all its folders if it is not there.
    pub(super) fn open(dir: PathBuf) -> io::Result<Self> {
        // Made once, so that no later write has to sync the folder above.
        if !dir.join("ff").exists() {
            (0..=0xff_u8).try_for_each(|first| fs::create_dir_all(dir.join(format!("{first:02x}"))))?;
            sync_dir(&dir)?;
        }
        Ok(Self { dir, pins: Arc::default(), unfinished: AtomicU64::new(0) })
    }

    fn file(&self, body: &BodyRef) -> PathBuf {
        self.dir.join(format!("{:02x}", body.hash[0])).join(body.to_string())
    }

    /// Puts a body on the disk; durable when it returns.
    pub(super) fn write(&self, body: &BodyRef, bytes: &[u8]) -> Result<Pin, StoreError> {
        // First the pin, then the look: whoever removes looks at the pins first.
        let pin = self.pin(body);
        let file = self.file(body);
        self.write_file(body, &file, bytes).map_err(|error| unavailable("cannot write a large result or argument", &error))?;
        Ok(pin)
    }

    fn pin(&self, body: &BodyRef) -> Pin {
        *lock(&self.pins).entry(*body).or_default() += 1;
        Pin { body: *body, pins: self.pins.clone() }
    }

    fn write_file(&self, body: &BodyRef, file: &Path, bytes: &[u8]) -> io::Result<()> {
        let dir = file.parent().unwrap_or(&self.dir);
        if fs::read(file).is_ok_and(|there| there == bytes) {
            // Another task has it. Its writer may not have come to the end of this yet, so the name is synced here too.
            return sync_dir(dir);
        }
        let unfinished = dir.join(format!("{body}.{}.part", self.unfinished.fetch_add(1, Ordering::Relaxed)));
        let written = File::create(&unfinished).and_then(|mut part| {
            part.write_all(bytes)?;
            part.sync_all()
        });
        let named = written.and_then(|()| fs::rename(&unfinished, file));
        if named.is_err() {
            // The next start removes it otherwise.
            fs::remove_file(&unfinished).ok();
        }
        named?;
        sync_dir(dir)
    }

    /// Reads a body and checks it against its name. The error says what is wrong with it.
    pub(super) fn read(&self, body: &BodyRef) -> Result<Vec<u8>, String> {
        let bytes = fs::read(self.file(body)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("the body {body} is missing"),
            _ => format!("the body {body} cannot be read: {error}"),
        })?;
        if BodyRef::of(&bytes) == *body { Ok(bytes) } else { Err(format!("the body {body} is not what was written")) }
    }

    /// Removes a body that `needed` says nobody needs. A file that stays costs room, nothing else.
    pub(super) fn remove(&self, body: &BodyRef, needed: impl FnOnce() -> bool) {
        let pins = lock(&self.pins);
        if pins.contains_key(body) || needed() {
            return;
        }
        if let Err(error) = fs::remove_file(self.file(body))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, %body, "cannot remove a body that nobody needs");
        }
        drop(pins);
    }

    /// Removes the files that `needed` says no task needs, the unfinished ones among them; gives how many there were. Only while
    /// nothing writes.
    pub(super) fn remove_strays(&self, needed: &dyn Fn(&[u8; 32]) -> Result<bool, StoreError>) -> Result<u64, StoreError> {
        let strays = self.strays(needed)?;
        for stray in &strays {
            fs::remove_file(stray).map_err(failed)?;
        }
        Ok(strays.len() as u64)
    }

    /// The files that `needed` says no task needs: left over by a crash.
    pub(super) fn strays(&self, needed: &dyn Fn(&[u8; 32]) -> Result<bool, StoreError>) -> Result<Vec<PathBuf>, StoreError> {
        let mut strays = Vec::new();
        for dir in fs::read_dir(&self.dir).map_err(failed)? {
            for file in fs::read_dir(dir.map_err(failed)?.path()).map_err(failed)? {
                let file = file.map_err(failed)?;
                let hash = file.file_name().to_str().and_then(unhex);
                if !hash.map_or(Ok(false), |hash| needed(&hash))? {
                    strays.push(file.path());
                }
            }
        }
        Ok(strays)
    }
}

fn failed(error: io::Error) -> StoreError {
    unavailable("cannot look after the bodies", &error)
}
