//! The provider's own memory: what an external system would keep in its database.
//!
//! With a data folder it is one small file a submit key, written to another name and renamed, so a kill at any moment leaves
//! the old file or the new one. An exclusive lock on one file of the folder makes changes follow one another, also between
//! instances and processes. Without a folder the same texts are kept in memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::record::Record;

/// The memory when there is no data folder: documents by name.
pub(crate) type Memory = Arc<Mutex<BTreeMap<String, String>>>;

/// Name of the document with faults that were switched on while the provider runs.
const TROUBLE: &str = "trouble";

/// One provider's memory.
#[derive(Clone, Debug)]
pub(crate) enum World {
    Folder(PathBuf),
    Memory(Memory),
}

/// Holds the right to change documents.
enum Guard<'a> {
    /// Unlocked when the file is closed.
    File {
        _lock: File,
    },
    Memory(MutexGuard<'a, BTreeMap<String, String>>),
}

impl World {
    /// The memory of the provider of this name in a gateway's data folder.
    pub(crate) fn folder(data_dir: &Path, provider: &str) -> Self {
        // A name that could mean another folder is not used as one.
        let plain =
            !provider.is_empty() && provider.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        let folder = if plain { provider.to_owned() } else { name_of(provider) };
        Self::Folder(data_dir.join("mock").join(folder))
    }

    /// The record of a key's name; `None` when there is none.
    pub(crate) fn look(&self, name: &str) -> io::Result<Option<Record>> {
        self.read(&format!("job-{name}"))
    }

    /// Changes the record of a key's name, which is made when there is none. Nobody else changes anything meanwhile.
    pub(crate) fn change<T>(&self, name: &str, key: &str, change: impl FnOnce(&mut Record) -> T) -> io::Result<T> {
        let document = format!("job-{name}");
        let mut guard = self.lock()?;
        let found: Option<Record> = guard.read(self, &document)?;
        let mut record = found.clone().unwrap_or_else(|| Record { key: key.to_owned(), ..Record::default() });
        let answer = change(&mut record);
        // A look that changed nothing costs no write, and leaves no record behind.
        let unchanged = match &found {
            Some(found) => *found == record,
            None => record.runs.is_empty() && record.calls.is_empty(),
        };
        if !unchanged {
            guard.write(self, &document, &record)?;
        }
        Ok(answer)
    }

    /// Keeps a machine's words, and gives the name they are kept under.
    pub(crate) fn keep_machine(&self, words: &Value) -> io::Result<String> {
        let name = machine_name(words);
        let document = format!("machine-{name}");
        if self.read::<Value>(&document)?.is_none() {
            self.lock()?.write(self, &document, words)?;
        }
        Ok(name)
    }

    /// The words of a kept machine.
    pub(crate) fn machine(&self, name: &str) -> io::Result<Option<Value>> {
        self.read(&format!("machine-{name}"))
    }

    /// The faults that are switched on now, as a list in the words of the configuration.
    pub(crate) fn trouble(&self) -> io::Result<Option<Value>> {
        self.read(TROUBLE)
    }

    /// Switches faults on; an empty list ends them.
    pub(crate) fn set_trouble(&self, faults: &Value) -> io::Result<()> {
        self.lock()?.write(self, TROUBLE, faults)
    }

    /// Every record.
    pub(crate) fn records(&self) -> io::Result<Vec<Record>> {
        let names: Vec<String> = match self {
            Self::Memory(memory) => lock(memory).keys().filter(|name| name.starts_with("job-")).cloned().collect(),
            Self::Folder(folder) => match fs::read_dir(folder) {
                Ok(entries) => {
                    let names: io::Result<Vec<_>> = entries.map(|entry| entry.map(|entry| entry.file_name())).collect();
                    let names = names?.into_iter().filter_map(|name| name.into_string().ok());
                    names
                        .filter(|name| name.starts_with("job-"))
                        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
                        .collect()
                }
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                Err(error) => return Err(error),
            },
        };
        let records: io::Result<Vec<Option<Record>>> = names.iter().map(|name| self.read(name)).collect();
        Ok(records?.into_iter().flatten().collect())
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        match self {
            Self::Memory(memory) => parse(lock(memory).get(name).map(String::as_bytes)),
            Self::Folder(folder) => read_file(folder, name),
        }
    }

    fn lock(&self) -> io::Result<Guard<'_>> {
        match self {
            Self::Memory(memory) => Ok(Guard::Memory(lock(memory))),
            Self::Folder(folder) => {
                fs::create_dir_all(folder)?;
                let file = File::options().create(true).truncate(false).write(true).open(folder.join("lock"))?;
                file.lock()?;
                Ok(Guard::File { _lock: file })
            }
        }
    }
}

impl Guard<'_> {
    fn read<T: DeserializeOwned>(&self, world: &World, name: &str) -> io::Result<Option<T>> {
        match (self, world) {
            (Self::Memory(memory), _) => parse(memory.get(name).map(String::as_bytes)),
            (Self::File { .. }, World::Folder(folder)) => read_file(folder, name),
            (Self::File { .. }, World::Memory(_)) => Ok(None),
        }
    }

    fn write(&mut self, world: &World, name: &str, document: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(document)?;
        match (self, world) {
            (Self::Memory(memory), _) => {
                memory.insert(name.to_owned(), text);
                Ok(())
            }
            (Self::File { .. }, World::Folder(folder)) => {
                // The lock is held, so no one else writes under this name.
                let unfinished = folder.join("unfinished");
                fs::write(&unfinished, text)?;
                fs::rename(unfinished, folder.join(format!("{name}.json")))
            }
            (Self::File { .. }, World::Memory(_)) => Ok(()),
        }
    }
}

fn lock(memory: &Memory) -> MutexGuard<'_, BTreeMap<String, String>> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_file<T: DeserializeOwned>(folder: &Path, name: &str) -> io::Result<Option<T>> {
    match fs::read(folder.join(format!("{name}.json"))) {
        Ok(bytes) => parse(Some(&bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse<T: DeserializeOwned>(bytes: Option<&[u8]>) -> io::Result<Option<T>> {
    bytes.map(|bytes| serde_json::from_slice(bytes).map_err(io::Error::from)).transpose()
}

/// The name under which a key's record is kept: no text from outside ends up in a path.
pub(crate) fn name_of(key: &str) -> String {
    hex(&Sha256::digest(key.as_bytes()))
}

/// The name of a machine with these words.
pub(crate) fn machine_name(words: &Value) -> String {
    hex(&Sha256::digest(words.to_string().as_bytes()))
}

/// The first 16 bytes, in hexadecimal.
fn hex(digest: &[u8]) -> String {
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worlds() -> (tempfile::TempDir, [World; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let on_disk = World::folder(folder.path(), "demo");
        (folder, [on_disk, World::Memory(Memory::default())])
    }

    #[test]
    fn a_record_is_made_changed_and_counted() {
        let (_folder, worlds) = worlds();
        for world in worlds {
            assert_eq!(world.look("n").unwrap(), None);
            world.change("n", "k", |record| assert!(record.runs.is_empty())).unwrap();
            assert_eq!(world.look("n").unwrap(), None, "a look leaves nothing behind");
            world.change("n", "k", |record| *record.calls.entry("submit".to_owned()).or_default() += 1).unwrap();
            world.change("n", "other", |record| *record.calls.entry("submit".to_owned()).or_default() += 1).unwrap();
            let record = world.look("n").unwrap().unwrap();
            assert_eq!((record.key.as_str(), record.calls["submit"]), ("k", 2));
            assert_eq!(world.records().unwrap(), [record]);
        }
    }

    #[test]
    fn machines_and_trouble_are_kept_apart_from_jobs() {
        let (_folder, worlds) = worlds();
        for world in worlds {
            let words = serde_json::json!({"StartAt": "A"});
            let name = world.keep_machine(&words).unwrap();
            assert_eq!(world.keep_machine(&words).unwrap(), name);
            assert_eq!(world.machine(&name).unwrap(), Some(words));
            world.set_trouble(&serde_json::json!([])).unwrap();
            assert_eq!(world.trouble().unwrap(), Some(serde_json::json!([])));
            assert!(world.records().unwrap().is_empty());
        }
    }

    /// Many writers at once, each through a handle of its own as two processes would have, lose nothing.
    #[test]
    fn changes_at_once_do_not_lose_one_another() {
        let (folder, [_, memory]) = worlds();
        let handles: Vec<World> =
            (0..8).map(|nth| if nth % 2 == 0 { World::folder(folder.path(), "demo") } else { memory.clone() }).collect();
        std::thread::scope(|scope| {
            for world in &handles {
                scope.spawn(move || {
                    for _ in 0..50 {
                        world.change("n", "k", |record| *record.calls.entry("poll".to_owned()).or_default() += 1).unwrap();
                    }
                });
            }
        });
        for world in &handles[..2] {
            assert_eq!(world.look("n").unwrap().unwrap().calls["poll"], 200);
        }
    }
}
