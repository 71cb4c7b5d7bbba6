//! Reading everything that is stored, and saying what is wrong.

use std::collections::BTreeMap;

use super::body::Bodies;
use super::db::{Db, unavailable};
use super::keys::{self, Row};
use super::layout::Layout;
use super::lock::Lock;
use super::meta::{FORM, Meta};
use super::open::whole;
use super::options::SledOptions;
use crate::domain::TaskId;
use crate::store::StoreError;
use crate::store::record::{self, BodyRef, Role};

/// The letters of the rows that lead to tasks and deliveries.
const INDEXES: &[u8] = b"wcnoejkirgbxquy";

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Tasks read.
    pub tasks: u64,
    /// Entries of histories read.
    pub audit_entries: u64,
    /// Deliveries that are remembered, parked or laid aside.
    pub deliveries: u64,
    /// Large parts read and compared with their hash.
    pub bodies: u64,
    /// What is wrong, and with which task.
    pub problems: Vec<String>,
    /// What costs room and harms nothing.
    pub notes: Vec<String>,
}

impl VerifyReport {
    /// What an operator should do.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        if !self.problems.is_empty() {
            "Move the data folder away and run `jobgate store import` with the newest export; what came after it is lost. Tasks \
             that are not named here can still be read: `jobgate store export` tries to write them first"
        } else if self.notes.is_empty() {
            "Nothing to do"
        } else {
            "Run `jobgate store compact` to give the room back"
        }
    }
}

/// Reads every record, index row, history and body of the store at `options.path`, and compares them with each other.
///
/// # Errors
/// As [`super::SledStore::open`]: damage that keeps the database from being opened at all.
pub fn verify(options: &SledOptions) -> Result<VerifyReport, StoreError> {
    let layout = Layout::make(&options.path)?;
    let _held = Lock::take(layout.root())?;
    layout.check_format()?;
    layout.settle()?;
    let db = whole(&layout, options)?;
    let bodies = Bodies::open(layout.bodies()).map_err(|error| unavailable("cannot open the folder of bodies", &error))?;
    let mut check = Check {
        db: &db,
        bodies: &bodies,
        report: VerifyReport::default(),
        is_old: db.meta()?.is_some_and(|meta| meta.form < FORM),
        trail_rows: 0,
        expected: BTreeMap::new(),
        meta: Meta::default(),
    };
    check.records()?;
    check.taken()?;
    check.slips()?;
    check.indexes()?;
    check.histories();
    check.counts()?;
    check.files()?;
    Ok(check.report)
}

struct Check<'a> {
    db: &'a Db,
    bodies: &'a Bodies,
    report: VerifyReport,
    /// An older version wrote the database.
    is_old: bool,
    /// Entries of histories, whoever they belong to.
    trail_rows: u64,
    /// How many index rows there should be, by letter.
    expected: BTreeMap<u8, u64>,
    meta: Meta,
}

impl Check<'_> {
    fn problem(&mut self, text: String) {
        self.report.problems.push(text);
    }

    fn records(&mut self) -> Result<(), StoreError> {
        for row in self.db.rows(b"t") {
            let (key, value) = row?;
            let Some(id) = keys::record_of(&key) else {
                self.trail_rows += 1;
                continue;
            };
            self.report.tasks += 1;
            if let Err(why) = self.record(id, &value)? {
                self.problem(format!("task {id}: {why}"));
            }
        }
        Ok(())
    }

    fn record(&mut self, id: TaskId, value: &[u8]) -> Result<Result<(), String>, StoreError> {
        let bodies = self.bodies;
        // First without its large parts: a task whose body is damaged still has its rows.
        let mut fetch = |body: &BodyRef, role: Role| if role == Role::Whole { bodies.read(body).map(Some) } else { Ok(None) };
        let decoded = match record::decode(id, value, &mut fetch) {
            Ok(decoded) => decoded,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let task = decoded.task;
        self.meta.enter(task.status());
        let mut rows = keys::index_rows(&task, &decoded.bodies);
        // Those by tenant are written when an older database is opened the next time.
        rows.retain(|(key, _)| key[0] != b'n' || !self.is_old);
        if let Err(missing) = self.rows(rows)? {
            return Ok(Err(missing));
        }
        let mut fetch = |body: &BodyRef, _: Role| {
            self.report.bodies += 1;
            bodies.read(body).map(Some)
        };
        if let Err(error) = record::decode(id, value, &mut fetch) {
            return Ok(Err(error.to_string()));
        }
        let mut last = None;
        for row in self.db.rows(&keys::trail(id)) {
            let entry = match record::decode_audit(&row?.1) {
                Ok(entry) => entry,
                Err(error) => return Ok(Err(format!("its history: {error}"))),
            };
            self.report.audit_entries += 1;
            last = Some(entry.revision);
        }
        if last != Some(task.revision) {
            return Ok(Err("its history does not end where the task stands".to_owned()));
        }
        Ok(Ok(()))
    }

    /// Counts these rows among those that should be there, and looks for each.
    fn rows(&mut self, rows: Vec<Row>) -> Result<Result<(), String>, StoreError> {
        for (key, value) in rows {
            *self.expected.entry(key[0]).or_default() += 1;
            if self.db.get(&key)?.is_none_or(|there| there != value) {
                return Ok(Err(format!("its `{}` row is missing or wrong", char::from(key[0]))));
            }
        }
        Ok(Ok(()))
    }

    /// Deliveries that are remembered.
    fn taken(&mut self) -> Result<(), StoreError> {
        for row in self.db.rows(keys::TAKEN) {
            let (key, value) = row?;
            self.report.deliveries += 1;
            let (Some(id), Some((until, _))) = (keys::delivery_in(&key), keys::taken_in(&value)) else {
                self.problem("what is known of a delivery cannot be read".to_owned());
                continue;
            };
            if let Err(why) = self.rows(vec![(keys::memory_end(until, id), Vec::new())])? {
                self.problem(format!("delivery {id}: {why}"));
            }
        }
        Ok(())
    }

    /// Parked deliveries and dead letters.
    fn slips(&mut self) -> Result<(), StoreError> {
        for (letter, what) in [(keys::PARKED, "parked delivery"), (keys::DEAD, "dead letter")] {
            for row in self.db.rows(letter) {
                let (key, value) = row?;
                self.report.deliveries += 1;
                if let Err(why) = self.slip(&key, &value)? {
                    let id = keys::delivery_in(&key).map_or_else(|| "?".to_owned(), |id| id.to_string());
                    self.problem(format!("{what} {id}: {why}"));
                }
            }
        }
        Ok(())
    }

    fn slip(&mut self, key: &[u8], value: &[u8]) -> Result<Result<(), String>, StoreError> {
        let head = match record::decode_head(value) {
            Ok(head) => head,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if let Err(missing) = self.rows(keys::slip_rows(key, &head))? {
            return Ok(Err(missing));
        }
        self.report.bodies += u64::from(head.body.is_some());
        let Some(id) = keys::delivery_in(key) else { return Ok(Err("its key names none".to_owned())) };
        let fetch = |body: &BodyRef| self.bodies.read(body);
        let named = if key.starts_with(keys::PARKED) {
            record::decode_parked(id, value, &fetch).map(|parked| keys::parked(&parked.key()))
        } else {
            record::decode_dead(id, value, &fetch).map(|letter| keys::dead(letter.id))
        };
        Ok(match named {
            Ok(named) if named == key => Ok(()),
            Ok(_) => Err("it lies where it is not looked for".to_owned()),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Rows that lead nowhere. Looked for one by one only when there are too many.
    fn indexes(&mut self) -> Result<(), StoreError> {
        for letter in INDEXES {
            let mut count = 0;
            for row in self.db.rows(&[*letter]) {
                row?;
                count += 1;
            }
            let expected = self.expected.get(letter).copied().unwrap_or_default();
            if count > expected {
                let letter = char::from(*letter);
                self.problem(format!("{} `{letter}` rows lead to nothing that they fit", count - expected));
            }
        }
        Ok(())
    }

    fn histories(&mut self) {
        let astray = self.trail_rows.saturating_sub(self.report.audit_entries);
        if astray > 0 && self.report.problems.is_empty() {
            self.problem(format!("{astray} entries of histories belong to no task"));
        }
    }

    fn counts(&mut self) -> Result<(), StoreError> {
        let counted = self.db.meta()?.unwrap_or_default();
        if counted.tasks != self.meta.tasks && self.report.problems.is_empty() {
            self.problem(format!("the store counts {:?} tasks by status, but has {:?}", counted.tasks, self.meta.tasks));
        }
        Ok(())
    }

    fn files(&mut self) -> Result<(), StoreError> {
        if self.db.look_for_blobs() {
            self.problem("sled wrote a blob file, which it never syncs: a power cut may lose rows".to_owned());
        }
        let strays = self.bodies.strays(&|hash| keys::is_needed(self.db, hash))?.len();
        if strays > 0 {
            self.report.notes.push(format!("{strays} files in `bodies` that no task needs"));
        }
        Ok(())
    }
}
