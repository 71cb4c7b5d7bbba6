//! Opening a store: lock, format, what a crash left, the database, what is due. It starts whole or not at all.

use std::sync::{Arc, Mutex};
use std::thread;

use tokio::sync::mpsc;

use super::body::Bodies;
use super::build::Builder;
use super::committer::Committer;
use super::db::{Db, unavailable};
use super::disk::free_bytes;
use super::keys::Watch;
use super::layout::{Layout, Step};
use super::lock::Lock;
use super::meta::{FORM, Meta};
use super::options::{OpenReport, Opened, SledOptions};
use super::view::{Start, View};
use super::{QUEUE, SledStore, compact, keys, recover};
use crate::domain::{Clock, Status};
use crate::store::StoreError;

const MIB: u64 = 1 << 20;

/// Opens the store at `options.path`.
pub(super) fn open(options: SledOptions, clock: Arc<dyn Clock>) -> Result<Opened, StoreError> {
    let layout = Layout::make(&options.path)?;
    let held = Lock::take(layout.root())?;
    layout.check_format()?;
    layout.settle()?;
    let mut report = OpenReport::default();
    if free_bytes(layout.root()).is_ok_and(|free| free < MIB) {
        // Better to start and to say so than not to start.
        layout.drop_ballast();
    }
    let (mut db, mut start) = match load(&layout, &options) {
        Ok(loaded) => loaded,
        Err(StoreError::Corrupt { what, .. }) => {
            report.recovered = Some(recover::recover(&layout, &options, what, clock.now())?);
            load(&layout, &options)?
        }
        Err(other) => return Err(other),
    };
    let is_old = start.meta.form < FORM;
    if is_old || compact::is_due(&db, start.meta.live_bytes, &options)? {
        let why = if is_old { "to bring it into this version's form" } else { "to give room back" };
        tracing::info!(path = %options.path.display(), "copying the database, {why}");
        report.compacted = Some(compact::copy(&layout, &options, db)?);
        (db, start) = load(&layout, &options)?;
    }
    if let Err(error) = layout.keep_ballast() {
        tracing::warn!(%error, "the disk is all but full");
    }
    report.live_tasks = start.meta.count(Status::Working) + start.meta.count(Status::InputRequired);
    let bodies = Bodies::open(layout.bodies()).map_err(|error| unavailable("cannot make the folder of bodies", &error))?;
    let (meta, counts) = (start.meta, std::mem::take(&mut start.counts));
    let view = Arc::new(View::new(db, bodies, options.task_cache_bytes, start));
    let committer = Committer { view: view.clone(), lock: held, options: options.clone(), meta, counts, failed: None };
    let (ops, taken) = mpsc::channel(QUEUE);
    let thread = thread::Builder::new().name("jobgate-store".to_owned()).spawn(move || committer.run(taken));
    let thread = thread.map_err(|error| unavailable("cannot start the writing thread", &error))?;
    let store = SledStore { view, options, clock, ops: Some(ops), thread: Mutex::new(Some(thread)) };
    Ok(Opened { store: Arc::new(store), report })
}

/// Opens the database, or makes one, and reads what has to be at hand.
fn load(layout: &Layout, options: &SledOptions) -> Result<(Db, Start), StoreError> {
    if !layout.live().exists() {
        // Made aside, so that a crash leaves no database without its counts.
        Builder::new(layout, options.cache_bytes)?.finish()?;
        layout.put_in_place(&layout.old(), Step::Entered)?;
    }
    let db = Db::open(&layout.live(), options.cache_bytes)?;
    let start = read(&db)?;
    Ok((db, start))
}

/// Opens a database that is there and has lost nothing that shows at once.
pub(super) fn whole(layout: &Layout, options: &SledOptions) -> Result<Db, StoreError> {
    if !layout.live().exists() {
        return Err(StoreError::Unavailable(format!("there is no store in {}", layout.root().display())));
    }
    let db = Db::open(&layout.live(), options.cache_bytes)?;
    read(&db)?;
    Ok(db)
}

/// What is due and what is live; refuses a database that has lost something.
pub(super) fn read(db: &Db) -> Result<Start, StoreError> {
    let meta = db.meta()?.ok_or_else(|| damaged("its counts are missing"))?;
    if let Some(marked) = db.marked().filter(|marked| *marked > meta.seq) {
        return Err(damaged(&format!("its last {} groups of acknowledged changes are missing", marked - meta.seq)));
    }
    let mut start = Start { meta, ..Start::default() };
    let mut statuses = Meta::default();
    for row in db.rows(b"w") {
        let (key, value) = row?;
        let (Some(id), Some(watch)) = (keys::task_in(&key), Watch::from_bytes(&value)) else {
            return Err(damaged("a row of what is to be watched cannot be read"));
        };
        if let Some(status) = watch.live {
            statuses.enter(status);
            *start.live.entry(watch.owner).or_default() += 1;
        }
        if let Some(due) = watch.due {
            start.agenda.add(&watch.provider, due, id, None);
        }
    }
    for order in [keys::PARKED_IN_ORDER, keys::DEAD_IN_ORDER] {
        for row in db.rows(order) {
            let slip = keys::slip_of(&row?.0).ok_or_else(|| damaged("an order of deliveries cannot be read"))?;
            start.counts.add(&slip, 1);
        }
    }
    for status in [Status::Working, Status::InputRequired] {
        let (found, counted) = (statuses.count(status), meta.count(status));
        if found != counted {
            return Err(damaged(&format!("{counted} tasks are counted as {}, but {found} are there", status.as_str())));
        }
    }
    Ok(start)
}

fn damaged(what: &str) -> StoreError {
    super::db::corrupt(&format!("the database was cut short or changed: {what}"))
}
