//! Who holds which file: read from the folder at the start, and kept in step with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use super::{content, held, remove};
use crate::domain::{ContentHash, TaskId};

/// What is on the disk.
#[derive(Debug, Default)]
pub(super) struct Index {
    held: BTreeMap<TaskId, BTreeSet<ContentHash>>,
    files: BTreeMap<ContentHash, Kept>,
    /// Bytes of all files, the unfinished ones included.
    pub(super) used: u64,
}

#[derive(Debug)]
struct Kept {
    size: u64,
    holders: usize,
}

impl Index {
    /// Reads the folder, and removes the files that nobody holds.
    pub(super) fn read(dir: &Path) -> io::Result<Self> {
        let mut index = Self::default();
        let mut wanted: BTreeMap<ContentHash, Vec<TaskId>> = BTreeMap::new();
        for entry in fs::read_dir(held(dir))? {
            let entry = entry?;
            let name = entry.file_name();
            let named = name.to_str().and_then(|name| name.split_once('.'));
            match named.and_then(|(task, hash)| Some((task.parse::<TaskId>().ok()?, hash.parse::<ContentHash>().ok()?))) {
                Some((task, hash)) => wanted.entry(hash).or_default().push(task),
                None => remove(&entry.path())?,
            }
        }
        for folder in fs::read_dir(content(dir))? {
            for file in fs::read_dir(folder?.path())? {
                let file = file?;
                let hash = file.file_name().to_str().and_then(|name| name.parse::<ContentHash>().ok());
                let holders = hash.and_then(|hash| Some((hash, wanted.remove(&hash)?)));
                let Some((hash, holders)) = holders else {
                    remove(&file.path())?;
                    continue;
                };
                let size = file.metadata()?.len();
                for task in holders {
                    index.hold(task, hash, size);
                }
                index.used = index.used.saturating_add(size);
            }
        }
        // Held, but not there: somebody has removed the file, so there is nothing to hold.
        for (hash, tasks) in wanted {
            for task in tasks {
                remove(&super::held_file(dir, &task, &hash))?;
            }
        }
        Ok(index)
    }

    /// Notes that a task holds a file.
    pub(super) fn hold(&mut self, task: TaskId, hash: ContentHash, size: u64) {
        if self.held.entry(task).or_default().insert(hash) {
            self.files.entry(hash).or_insert(Kept { size, holders: 0 }).holders += 1;
        }
    }

    /// Notes that a task holds a file no longer. Says whether nobody does.
    pub(super) fn release(&mut self, task: &TaskId, hash: &ContentHash) -> bool {
        let Some(of_task) = self.held.get_mut(task) else { return false };
        let was_held = of_task.remove(hash);
        if of_task.is_empty() {
            self.held.remove(task);
        }
        let Some(kept) = self.files.get_mut(hash).filter(|_| was_held) else { return false };
        kept.holders -= 1;
        if kept.holders > 0 {
            return false;
        }
        self.used = self.used.saturating_sub(kept.size);
        self.files.remove(hash);
        true
    }

    /// Whether a file is there.
    pub(super) fn has(&self, hash: &ContentHash) -> bool {
        self.files.contains_key(hash)
    }

    /// What a task holds.
    pub(super) fn of(&self, task: &TaskId) -> impl Iterator<Item = ContentHash> {
        self.held.get(task).into_iter().flatten().copied()
    }

    pub(super) fn holders(&self) -> Vec<TaskId> {
        self.held.keys().copied().collect()
    }
}
