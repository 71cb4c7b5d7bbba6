//! Copying the database: sled's file only grows, so what is live goes to a new one; and a database of an older form gets the rows
//! that it lacks.

use super::body::Bodies;
use super::build::Builder;
use super::db::{Db, corrupt, unavailable};
use super::keys;
use super::layout::{Layout, Step, remove};
use super::lock::Lock;
use super::meta::FORM;
use super::open::{read, whole};
use super::options::{Compacted, SledOptions};
use crate::store::StoreError;
use crate::store::record::{self, BodyRef, Role};

/// What a fresh copy takes for each live byte, in tenths: pages are not full, and rows have headers. Measured with 60 000 and 100 000
/// tasks of about 650 bytes in all their rows: 2.6 and 2.2. A store that only grew takes 4.
const COPY_TENTHS: u64 = 25;

/// Copies the database at `options.path` to give room back, and removes bodies that no task needs.
///
/// # Errors
/// As [`super::SledStore::open`]; a damaged store is not compacted.
pub fn compact(options: &SledOptions) -> Result<Compacted, StoreError> {
    let layout = Layout::make(&options.path)?;
    let _held = Lock::take(layout.root())?;
    layout.check_format()?;
    layout.settle()?;
    let db = whole(&layout, options)?;
    copy(&layout, options, db)
}

/// Whether a copy would be worth its time.
pub(super) fn is_due(db: &Db, live_bytes: u64, options: &SledOptions) -> Result<bool, StoreError> {
    let file_bytes = db.file_bytes()?;
    Ok(file_bytes > options.compact_above_bytes && file_bytes > 3 * (live_bytes * COPY_TENTHS / 10))
}

/// Puts a copy of `db` in its place.
pub(super) fn copy(layout: &Layout, options: &SledOptions, db: Db) -> Result<Compacted, StoreError> {
    let before_bytes = db.file_bytes()?;
    build(layout, options, &db)?;
    let bodies = Bodies::open(layout.bodies()).map_err(|error| unavailable("cannot open the folder of bodies", &error))?;
    let strays = bodies.remove_strays(&|hash| keys::is_needed(&db, hash))?;
    drop(db);
    layout.put_in_place(&layout.old(), Step::Entered)?;
    let after = Db::open(&layout.live(), options.cache_bytes)?;
    let after_bytes = after.file_bytes()?;
    drop(after);
    remove(&layout.old()).map_err(|error| unavailable("cannot remove the database that was copied", &error))?;
    Ok(Compacted { before_bytes, after_bytes, strays })
}

/// Makes the copy in [`Layout::building`].
fn build(layout: &Layout, options: &SledOptions, db: &Db) -> Result<(), StoreError> {
    let meta = read(db)?.meta;
    let bodies = Bodies::open(layout.bodies()).map_err(|error| unavailable("cannot open the folder of bodies", &error))?;
    let mut fetch = |body: &BodyRef, role: Role| if role == Role::Whole { bodies.read(body).map(Some) } else { Ok(None) };
    let mut builder = Builder::new(layout, options.cache_bytes)?;
    for row in db.rows(b"") {
        let (key, value) = row?;
        if let Some(id) = keys::record_of(&key).filter(|_| meta.form < FORM) {
            let task = record::decode(id, &value, &mut fetch).map_err(|error| corrupt(&format!("task {id:?}: {error}")))?.task;
            builder.row(keys::tenant_row(&task))?;
        }
        if key.as_ref() != keys::META {
            builder.row((key.to_vec(), value.to_vec()))?;
        }
    }
    builder.counts_of(&meta);
    builder.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{ManualClock, Principal, Scope, Timestamp};
    use crate::store::sled::SledStore;
    use crate::store::{ListQuery, TaskStore as _};

    /// Wherever a crash stops a compaction, the next start has all there was.
    #[tokio::test]
    async fn a_compaction_that_stops_anywhere_loses_nothing() {
        for stop in [None, Some(Step::Ready), Some(Step::Retired), Some(Step::Entered)] {
            let dir = tempfile::tempdir().unwrap();
            let options = SledOptions { reserve_bytes: 0, ..SledOptions::new(dir.path()) };
            let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
            let store = SledStore::open(options.clone(), clock.clone()).unwrap().store;
            for name in ["a", "b", "c"] {
                store.seed(name, [7; 32]).await.unwrap();
            }
            store.close().await.unwrap();

            let layout = Layout::at(dir.path());
            let db = whole(&layout, &options).unwrap();
            build(&layout, &options, &db).unwrap();
            drop(db);
            if let Some(stop) = stop {
                layout.put_in_place(&layout.old(), stop).unwrap();
            }

            let store = SledStore::open(options.clone(), clock).unwrap().store;
            for name in ["a", "b", "c"] {
                assert_eq!(store.seed(name, [9; 32]).await.unwrap(), [7; 32], "stopped after {stop:?}");
            }
            assert!(!layout.building().exists() && !layout.old().exists(), "stopped after {stop:?}");
        }
    }

    /// A database of the first form, which has no rows by tenant, gets them at the next start; until then it verifies as it is.
    #[tokio::test]
    async fn an_older_database_gets_its_new_rows() {
        let dir = tempfile::tempdir().unwrap();
        let options = SledOptions { reserve_bytes: 0, ..SledOptions::new(dir.path()) };
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
        let layout = Layout::at(dir.path());
        let export = std::path::Path::new("tests/fixtures/store/v1-export.jsonl");
        crate::store::sled::import(&options, export).unwrap();
        let db = whole(&layout, &options).unwrap();
        let meta = db.meta().unwrap().unwrap();
        let mut older = sled::Batch::default();
        for row in db.rows(b"n") {
            older.remove(row.unwrap().0);
        }
        // The counts of that form end before the form's number.
        older.insert(keys::META, &meta.to_bytes()[..56]);
        db.write(older).unwrap();
        drop(db);
        std::fs::write(dir.path().join("format"), "1\n").unwrap();
        assert_eq!(crate::store::sled::verify(&options).unwrap().problems, Vec::<String>::new());

        let opened = SledStore::open(options.clone(), clock.clone()).unwrap();
        assert!(opened.report.compacted.is_some());
        let admin = Principal::new("tenant", "root");
        let query = ListQuery { scope: Scope::Tenant(admin), after: None, limit: 9 };
        assert_eq!(opened.store.list(query).await.unwrap().len(), 2);
        opened.store.close().await.unwrap();
        drop(opened);
        assert_eq!(crate::store::sled::verify(&options).unwrap().problems, Vec::<String>::new());
        assert_eq!(std::fs::read_to_string(dir.path().join("format")).unwrap(), "2\n");
        assert!(SledStore::open(options, clock).unwrap().report.compacted.is_none());
    }
}
