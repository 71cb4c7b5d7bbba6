//! The data folder: what lies where, its format, and the one way in which a database takes the place of another.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::db::unavailable;
use super::disk::sync_dir;
use crate::domain::Timestamp;
use crate::store::StoreError;

/// The format that this version writes. A newer one is refused; an older one is read, and becomes this one as soon as a database of
/// this version takes the place of its own.
const FORMAT: u32 = 2;

/// Room for sled's next segments and for its index of pages, as large as about a hundred thousand tasks make it.
const BALLAST_BYTES: usize = 4 << 20;

/// The data folder.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    root: PathBuf,
}

/// How far [`Layout::put_in_place`] goes; a crash may stop it after each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// The new database is whole and has the name that says so.
    Ready,
    /// The old one is out of the way.
    Retired,
    /// The new one is in its place.
    Entered,
}

impl Layout {
    /// Makes the folder if it is not there, for its owner alone.
    pub(super) fn make(root: &Path) -> Result<Self, StoreError> {
        let failed = |error: io::Error| unavailable(&format!("cannot make {}", root.display()), &error);
        if !root.is_dir() {
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(root).map_err(failed)?;
            if let Some(above) = root.parent().filter(|above| !above.as_os_str().is_empty()) {
                sync_dir(above).map_err(failed)?;
            }
        }
        Ok(Self { root: root.to_owned() })
    }

    /// A folder that is there.
    pub(super) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The data folder itself.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The database.
    pub(super) fn live(&self) -> PathBuf {
        self.root.join("sled")
    }

    /// A database that is being made.
    pub(super) fn building(&self) -> PathBuf {
        self.root.join("sled.building")
    }

    /// A database that is whole and waits to take the live one's place.
    fn ready(&self) -> PathBuf {
        self.root.join("sled.ready")
    }

    /// The database that the live one has replaced.
    pub(super) fn old(&self) -> PathBuf {
        self.root.join("sled.old")
    }

    /// Where a damaged database is put aside.
    pub(super) fn damaged(&self, at: Timestamp) -> PathBuf {
        self.root.join(format!("sled.damaged-{}", stamp(at)))
    }

    /// The folder of bodies.
    pub(super) fn bodies(&self) -> PathBuf {
        self.root.join("bodies")
    }

    /// The folder of exports.
    pub(super) fn exports(&self) -> PathBuf {
        self.root.join("exports")
    }

    /// Keeps a little room on the disk, which a store on a full one needs to be opened.
    pub(super) fn keep_ballast(&self) -> io::Result<()> {
        let file = self.root.join("ballast");
        if !file.exists() {
            fs::write(file, vec![0xa5; BALLAST_BYTES])?;
        }
        Ok(())
    }

    /// Gives that room to whoever needs it now.
    pub(super) fn drop_ballast(&self) {
        // Without it there is no room to give.
        fs::remove_file(self.root.join("ballast")).ok();
    }

    /// Reads the format, or writes it in a new folder.
    pub(super) fn check_format(&self) -> Result<(), StoreError> {
        let file = self.root.join("format");
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.live().exists() => return self.write_format(&file),
            Err(error) => {
                return Err(StoreError::Corrupt {
                    what: format!("{} cannot be read: {error}", file.display()),
                    advice: put_format_back(),
                });
            }
        };
        match text.trim().parse::<u32>() {
            Ok(found) if (1..=FORMAT).contains(&found) => Ok(()),
            Ok(found) if found > FORMAT => Err(StoreError::Corrupt {
                what: format!("{} has format {found}, and this version knows formats up to {FORMAT}", self.root.display()),
                advice: "Run the newer version of jobgate that wrote it, or export there with `jobgate store export` and import \
                         the file here into an empty folder"
                    .to_owned(),
            }),
            Ok(_) | Err(_) => Err(StoreError::Corrupt {
                what: format!("{} says {:?}, which is no format", file.display(), text.trim()),
                advice: format!(
                    "Put it back from a backup, or write the line `{FORMAT}` into it if this version wrote the store"
                ),
            }),
        }
    }

    fn write_format(&self, file: &Path) -> Result<(), StoreError> {
        let part = self.root.join("format.part");
        let written = File::create(&part).and_then(|mut out| {
            writeln!(out, "{FORMAT}")?;
            out.sync_all()
        });
        let named = written.and_then(|()| fs::rename(&part, file)).and_then(|()| sync_dir(&self.root));
        named.map_err(|error| unavailable(&format!("cannot write {}", file.display()), &error))
    }

    /// Ends what a crash left half done: see [`Self::put_in_place`]. Gives whether there was anything.
    pub(super) fn settle(&self) -> Result<bool, StoreError> {
        let settled = || -> io::Result<bool> {
            let mut found = remove(&self.building())?;
            if self.ready().exists() {
                found = true;
                if self.live().exists() {
                    // The live one may have changed since; the new one is not worth keeping.
                    remove(&self.ready())?;
                } else {
                    fs::rename(self.ready(), self.live())?;
                }
            }
            if self.live().exists() {
                found |= remove(&self.old())?;
            } else if self.old().exists() {
                fs::rename(self.old(), self.live())?;
                found = true;
            }
            if found {
                sync_dir(&self.root)?;
            }
            Ok(found)
        };
        settled().map_err(|error| unavailable(&format!("cannot tidy up {}", self.root.display()), &error))
    }

    /// Makes the whole, synced database in [`Self::building`] the live one. The one that was there goes to `retired`. Whenever this
    /// stops, [`Self::settle`] finds either the old one or the new one, whole.
    pub(super) fn put_in_place(&self, retired: &Path, until: Step) -> Result<(), StoreError> {
        let format = self.root.join("format");
        if fs::read_to_string(&format).is_ok_and(|text| text.trim() != FORMAT.to_string()) {
            self.write_format(&format)?;
        }
        let placed = || -> io::Result<()> {
            fs::rename(self.building(), self.ready())?;
            sync_dir(&self.root)?;
            if until > Step::Ready && self.live().exists() {
                fs::rename(self.live(), retired)?;
                sync_dir(&self.root)?;
            }
            if until > Step::Retired {
                fs::rename(self.ready(), self.live())?;
                sync_dir(&self.root)?;
            }
            Ok(())
        };
        placed().map_err(|error| unavailable(&format!("cannot put a database in place in {}", self.root.display()), &error))
    }
}

fn put_format_back() -> String {
    format!("Put it back from a backup, or write the line `{FORMAT}` into it if this version wrote the store")
}

/// A moment as part of a file's name; names lie in the order of the moments.
pub(super) fn stamp(at: Timestamp) -> String {
    at.to_string().replace(':', "-")
}

/// Removes a folder; gives whether there was one.
pub(super) fn remove(dir: &Path) -> io::Result<bool> {
    match fs::remove_dir_all(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
