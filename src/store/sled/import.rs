//! Making a store from an export.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::body::Bodies;
use super::build::Builder;
use super::db::{Db, unavailable};
use super::export::{FORMAT, Line};
use super::keys;
use super::layout::{Layout, Step, remove};
use super::lock::Lock;
use super::options::SledOptions;
use crate::domain::Timestamp;
use crate::store::record::{BodyRef, decode, decode_audit, decode_dead, decode_parked, encode_dead, encode_parked};
use crate::store::{DeliveryId, StoreError};

/// What was imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    /// How many tasks.
    pub tasks: u64,
    /// When the export was made.
    pub exported_at: Timestamp,
}

/// Makes the store at `options.path` from the export `file`. The store is there whole or not at all.
///
/// # Errors
/// [`StoreError::Corrupt`] when the export is not whole or a newer version wrote it; [`StoreError::Unavailable`] when the store has
/// tasks already or cannot be written; [`StoreError::Held`] when a process has it.
pub fn import(options: &SledOptions, file: &Path) -> Result<Imported, StoreError> {
    let imported = check(file)?;
    let layout = Layout::make(&options.path)?;
    let _held = Lock::take(layout.root())?;
    layout.check_format()?;
    layout.settle()?;
    if layout.live().exists() {
        let db = Db::open(&layout.live(), options.cache_bytes)?;
        let mut used = None;
        for (letter, what) in
            [(&b"t"[..], "tasks"), (keys::TAKEN, "deliveries"), (keys::PARKED, "deliveries"), (keys::DEAD, "deliveries")]
        {
            if used.is_none() && db.rows(letter).next().transpose()?.is_some() {
                used = Some(what);
            }
        }
        drop(db);
        if let Some(what) = used {
            return Err(StoreError::Unavailable(format!(
                "{} has {what} already, and an import would replace them; import into an empty folder, or move this one away first",
                options.path.display()
            )));
        }
    }
    build(&layout, options, file)?;
    layout.put_in_place(&layout.old(), Step::Entered)?;
    remove(&layout.old()).map_err(|error| unavailable("cannot remove the empty database", &error))?;
    Ok(imported)
}

/// Reads all of the file and checks that it is whole.
pub(super) fn check(file: &Path) -> Result<Imported, StoreError> {
    let mut hash = Sha256::new();
    let (mut exported_at, mut tasks, mut seeds, mut deliveries, mut ended) = (None, 0, 0, 0, false);
    each_line(file, |text| {
        if ended {
            return Err("there is more after its end".to_owned());
        }
        match parse(text)? {
            Line::JobgateExport { format, .. } if format > FORMAT => {
                return Err(format!("it has format {format}, and this version reads formats up to {FORMAT}"));
            }
            Line::JobgateExport { at, .. } => exported_at = Some(at.parse().map_err(|_| format!("{at:?} is no moment"))?),
            _ if exported_at.is_none() => return Err("it does not begin as an export of jobgate".to_owned()),
            Line::Seed { .. } => seeds += 1,
            Line::Task { .. } => tasks += 1,
            Line::Delivery { .. } | Line::Parked { .. } | Line::Dead { .. } => deliveries += 1,
            Line::End { tasks: of, seeds: and, deliveries: beside, sha256 } => {
                ended = true;
                if (of, and, beside) != (tasks, seeds, deliveries) || sha256 != <[u8; 32]>::from(hash.clone().finalize()) {
                    return Err("it was changed after it was made".to_owned());
                }
            }
        }
        hash.update(text);
        Ok(())
    })?;
    match exported_at {
        Some(exported_at) if ended => Ok(Imported { tasks, exported_at }),
        _ => Err(no_export(file, "it is cut short")),
    }
}

/// Makes the database from a checked export in [`Layout::building`], and its bodies.
pub(super) fn build(layout: &Layout, options: &SledOptions, file: &Path) -> Result<(), StoreError> {
    let bodies = Bodies::open(layout.bodies()).map_err(|error| unavailable("cannot make the folder of bodies", &error))?;
    let mut builder = Builder::new(layout, options.cache_bytes)?;
    let mut stopped = None;
    let whole = |_: &BodyRef| Err("an export holds all of what it holds".to_owned());
    let read = each_line(file, |text| {
        let added = match parse(text)? {
            Line::Seed { name, bytes } => builder.row((keys::seed(&name), bytes.to_vec())),
            Line::Task { id, record, audit } => {
                let id = id.parse().map_err(|error| format!("{error}"))?;
                let task = decode(id, record.get().as_bytes(), &mut |body, _| whole(body).map(Some))
                    .map_err(|error| error.to_string())?
                    .task;
                let entries = audit.iter().map(|entry| decode_audit(entry.get().as_bytes())).collect::<Result<Vec<_>, _>>();
                builder.task(task, &entries.map_err(|error| error.to_string())?, &bodies)
            }
            Line::Delivery { id, body, until } => builder.taken(DeliveryId::new(id), Timestamp::from_millis(until), &body),
            Line::Parked { id, record } => {
                let parked =
                    decode_parked(DeliveryId::new(id), record.get().as_bytes(), &whole).map_err(|error| error.to_string())?;
                builder.slip(keys::parked(&parked.key()), encode_parked(&parked), &bodies)
            }
            Line::Dead { id, record } => {
                let letter =
                    decode_dead(DeliveryId::new(id), record.get().as_bytes(), &whole).map_err(|error| error.to_string())?;
                builder.slip(keys::dead(letter.id), encode_dead(&letter), &bodies)
            }
            Line::JobgateExport { .. } | Line::End { .. } => Ok(()),
        };
        added.map_err(|error| {
            let text = error.to_string();
            stopped = Some(error);
            text
        })
    });
    // What stopped the writing says more than that the reading stopped.
    stopped.map_or(read, Err)?;
    builder.finish()
}

fn parse(text: &[u8]) -> Result<Line<'_>, String> {
    serde_json::from_slice(text).map_err(|error| format!("a line of it cannot be read: {error}"))
}

fn each_line(file: &Path, mut visit: impl FnMut(&[u8]) -> Result<(), String>) -> Result<(), StoreError> {
    let failed = |error: io::Error| unavailable(&format!("cannot read the export {}", file.display()), &error);
    let mut lines = BufReader::new(File::open(file).map_err(failed)?);
    let mut text = Vec::new();
    let mut number = 0_u64;
    while lines.read_until(b'\n', &mut text).map_err(failed)? > 0 {
        number += 1;
        visit(&text).map_err(|why| no_export(file, &format!("line {number}: {why}")))?;
        text.clear();
    }
    Ok(())
}

fn no_export(file: &Path, why: &str) -> StoreError {
    StoreError::Corrupt {
        what: format!("the export {} cannot be used: {why}", file.display()),
        advice: "Use another export, as `jobgate store export` wrote it".to_owned(),
    }
}
