//! Writing everything to one file of JSON lines: a head, the seeds, the deliveries, the tasks, and an end with the counts and a hash of
//! all before.
//!
//! The store is in use meanwhile. Deliveries come before tasks, so that the task of a delivery that is said to be taken has what it
//! brought.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::db::{Db, corrupt, unavailable};
use super::disk::sync_dir;
use super::layout::{Layout, stamp};
use super::options::SledOptions;
use super::view::View;
use super::{deliveries, keys};
use crate::domain::{TaskId, Timestamp};
use crate::store::StoreError;
use crate::store::record::{self, hex32};

/// The format that this version writes. Older ones are read.
pub(super) const FORMAT: u32 = 2;

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub path: PathBuf,
    /// How many tasks it has.
    pub tasks: u64,
    /// Its size.
    pub bytes: u64,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line<'a> {
    /// The first line.
    JobgateExport {
        /// The form of the lines that follow.
        format: u32,
        /// When it was made.
        at: String,
    },
    /// A seed.
    Seed {
        /// Its name.
        name: String,
        /// Its bytes.
        #[serde(with = "hex32")]
        bytes: [u8; 32],
    },
    /// A task with its history.
    Task {
        /// Its id.
        id: String,
        /// Its record, nothing moved out.
        #[serde(borrow)]
        record: &'a RawValue,
        /// Its history, oldest first.
        #[serde(borrow)]
        audit: Vec<&'a RawValue>,
    },
    /// A delivery that was taken.
    Delivery {
        /// Its id.
        #[serde(with = "hex32")]
        id: [u8; 32],
        /// The hash of its body.
        #[serde(with = "hex32")]
        body: [u8; 32],
        /// Until when it is remembered, in milliseconds since 1970.
        until: i64,
    },
    /// A parked delivery.
    Parked {
        /// Its id.
        #[serde(with = "hex32")]
        id: [u8; 32],
        /// Its row, nothing moved out.
        #[serde(borrow)]
        record: &'a RawValue,
    },
    /// A dead letter.
    Dead {
        /// Its id.
        #[serde(with = "hex32")]
        id: [u8; 32],
        /// Its row, nothing moved out.
        #[serde(borrow)]
        record: &'a RawValue,
    },
    /// The last line.
    End {
        /// How many tasks there are.
        tasks: u64,
        /// How many seeds.
        seeds: u64,
        /// How many lines about deliveries; format 1 had none.
        #[serde(default)]
        deliveries: u64,
        /// SHA-256 of all bytes before this line.
        #[serde(with = "hex32")]
        sha256: [u8; 32],
    },
}

/// Exports to the folder of exports, and removes what is older than the newest few.
pub(super) fn rotate(view: &View, db: &Db, options: &SledOptions, at: Timestamp) -> Result<Exported, StoreError> {
    let layout = Layout::make(&options.path)?;
    let failed = |error: io::Error| unavailable("cannot look after the exports", &error);
    fs::create_dir_all(layout.exports()).and_then(|()| sync_dir(layout.root())).map_err(failed)?;
    let exported = export(view, db, &layout.exports().join(format!("{}.jsonl", stamp(at))), at)?;
    for old in newest_first(&layout)?.into_iter().skip(options.keep_exports.max(1)) {
        fs::remove_file(old).map_err(failed)?;
    }
    Ok(exported)
}

/// The exports in the data folder.
pub(super) fn newest_first(layout: &Layout) -> Result<Vec<PathBuf>, StoreError> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(layout.exports()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        files.retain(|file| file.extension().is_some_and(|end| end == "jsonl"));
        files.sort_unstable_by(|a, b| b.cmp(a));
        Ok(files)
    };
    list().map_err(|error| unavailable("cannot look at the exports", &error))
}

/// Writes the file `path`: whole or not at all.
pub(super) fn export(view: &View, db: &Db, path: &Path, at: Timestamp) -> Result<Exported, StoreError> {
    let failed = |error: io::Error| unavailable(&format!("cannot write the export {}", path.display()), &error);
    let part = path.with_extension("part");
    let written = File::create(&part).map_err(failed).and_then(|file| {
        private(&file).map_err(failed)?;
        let mut out = Out { out: BufWriter::new(file), hash: Sha256::new(), bytes: 0 };
        let tasks = write_all(view, db, &mut out, at, &failed)?;
        let file = out.out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        Ok(Exported { path: path.to_owned(), tasks, bytes: out.bytes })
    });
    let named = written.and_then(|exported| {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::rename(&part, path).and_then(|()| sync_dir(dir)).map_err(failed)?;
        Ok(exported)
    });
    if named.is_err() {
        // Half an export is worth nothing and takes room that may be scarce.
        fs::remove_file(&part).ok();
    }
    named
}

fn private(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    drop(file);
    Ok(())
}

struct Out {
    out: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl Out {
    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.hash.update(&bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(&bytes)
    }
}

fn write_all(
    view: &View,
    db: &Db,
    out: &mut Out,
    at: Timestamp,
    failed: &dyn Fn(io::Error) -> StoreError,
) -> Result<u64, StoreError> {
    out.line(&Line::JobgateExport { format: FORMAT, at: at.to_string() }).map_err(failed)?;
    let (mut tasks, mut seeds) = (0, 0);
    for row in db.rows(b"s") {
        let (key, value) = row?;
        let name = key.get(1..).and_then(|name| std::str::from_utf8(name).ok()).map(str::to_owned);
        let bytes = value.as_ref().try_into().ok();
        let (Some(name), Some(bytes)) = (name, bytes) else { return Err(corrupt("a seed cannot be read")) };
        out.line(&Line::Seed { name, bytes }).map_err(failed)?;
        seeds += 1;
    }
    let deliveries = write_deliveries(view, db, out, at, failed)?;
    for row in db.rows(b"t") {
        if let Some(id) = keys::record_of(&row?.0) {
            tasks += u64::from(write_task(view, db, out, id, failed)?);
        }
    }
    let sha256 = out.hash.clone().finalize().into();
    out.line(&Line::End { tasks, seeds, deliveries, sha256 }).map_err(failed)?;
    Ok(tasks)
}

/// Writes the deliveries that are remembered at `at`, those parked and the dead letters; gives how many lines that were.
fn write_deliveries(
    view: &View,
    db: &Db,
    out: &mut Out,
    at: Timestamp,
    failed: &dyn Fn(io::Error) -> StoreError,
) -> Result<u64, StoreError> {
    let mut lines = 0;
    for row in db.rows(keys::TAKEN) {
        let (key, value) = row?;
        let (id, taken) = (keys::delivery_in(&key), keys::taken_in(&value));
        let (Some(id), Some((until, body))) = (id, taken) else {
            return Err(corrupt("what is known of a delivery cannot be read"));
        };
        // One that is on its way to the disk has not yet changed the tasks that are written below.
        if until > at && view.was_taken(db, id)? {
            out.line(&Line::Delivery { id: *id.as_bytes(), body, until: until.as_millis() }).map_err(failed)?;
            lines += 1;
        }
    }
    deliveries::each_below(view, db, keys::PARKED, usize::MAX, |parked| {
        let record = raw(record::encode_parked_whole(&parked))?;
        out.line(&Line::Parked { id: *parked.delivery.as_bytes(), record: &record }).map_err(failed)?;
        lines += 1;
        Ok(())
    })?;
    for letter in deliveries::dead_letters(view, db, usize::MAX)? {
        let record = raw(record::encode_dead_whole(&letter))?;
        out.line(&Line::Dead { id: *letter.id.as_bytes(), record: &record }).map_err(failed)?;
        lines += 1;
    }
    Ok(lines)
}

/// Writes one task as it is on disk; gives whether it is still there.
fn write_task(
    view: &View,
    db: &Db,
    out: &mut Out,
    id: TaskId,
    failed: &dyn Fn(io::Error) -> StoreError,
) -> Result<bool, StoreError> {
    let Some(task) = view.load(db, id)? else { return Ok(false) };
    let record = raw(record::encode_whole(&task))?;
    let mut audit = Vec::new();
    for entry in view.audit(db, id)? {
        // What happened since the task was read belongs to a later state of it.
        if entry.revision <= task.revision {
            audit.push(raw(record::encode_audit(&entry))?);
        }
    }
    let audit = audit.iter().map(AsRef::as_ref).collect();
    out.line(&Line::Task { id: id.to_string(), record: &record, audit }).map_err(failed)?;
    Ok(true)
}

fn raw(json: Vec<u8>) -> Result<Box<RawValue>, StoreError> {
    let text = String::from_utf8(json).map_err(|_| corrupt("a record is no text"))?;
    RawValue::from_string(text).map_err(|error| corrupt(&format!("a record is no JSON: {error}")))
}
