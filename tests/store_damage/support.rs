//! A store with known contents, and ways to damage it.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jobgate::domain::{
    Cause, IdempotencyKey, JobOutput, JobRef, ManualClock, NewTask, Outcome, Principal, ProviderName, Task, TaskId, TaskState,
    Timestamp, ToolName, ToolResult,
};
use jobgate::store::sled::{OpenReport, SledOptions, SledStore};
use jobgate::store::{Addressee, AuditEntry, Commit, Created, DeadLetter, DeliveryId, Intake, Parked, StoreError, TaskStore};
use jobgate_webhooks::Kept;
use serde_json::{Map, Value};

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

pub(crate) fn id(number: u64) -> TaskId {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    TaskId::from_bytes(bytes)
}

/// A task whose argument has `size` bytes of its own.
pub(crate) fn task(number: u64, size: usize) -> Task {
    let text = format!("{number:>10}").repeat(size / 10);
    let created_at = at(i64::try_from(number).unwrap());
    let mut task = Task::new(NewTask {
        id: id(number),
        owner: Principal::new("tenant", "ann"),
        tool: ToolName::new("build"),
        provider: ProviderName::new("ci"),
        arguments: Arc::new(Map::from_iter([("text".to_owned(), Value::from(text))])),
        caller_key: None,
        submit_key: IdempotencyKey::new("k"),
        created_at,
        ttl: Some(Duration::from_secs(600)),
        deadline_at: at(900_000),
    });
    task.due_at = Some(created_at);
    task
}

pub(crate) fn ended(task: &Task) -> Commit {
    let result = ToolResult { output: JobOutput::text("done"), is_error: false, kept: Vec::new() };
    let mut next = task.clone();
    next.state = TaskState::Ended { job: Some(JobRef::new("4711")), outcome: Outcome::Result(Arc::new(result)), at: at(5) };
    next.due_at = None;
    next.revision = task.revision.next();
    let entries = vec![AuditEntry::created(&next, &Cause::Poll)];
    Commit { expected: task.revision, next, entries, unpark: Vec::new() }
}

pub(crate) fn delivery(number: u8) -> DeliveryId {
    DeliveryId::new([number; 32])
}

/// What a delivery of `size` bytes said.
pub(crate) fn kept(size: usize) -> Kept {
    Kept::from_bytes(&[&[1, 7][..], &5_i64.to_be_bytes(), &[9; 32], &vec![b'x'; size]].concat()).unwrap()
}

pub(crate) fn parked(number: u8, job: &str, size: usize) -> Parked {
    let addressee = Addressee::Job(job.to_owned());
    Parked {
        provider: ProviderName::new("ci"),
        addressee,
        delivery: delivery(number),
        at: at(5),
        until: at(60_000),
        kept: kept(size),
    }
}

pub(crate) fn letter(number: u8, size: usize) -> DeadLetter {
    let reason = "no field `state`".to_owned();
    DeadLetter { id: delivery(number), provider: ProviderName::new("ci"), task: Some(id(0)), at: at(6), reason, kept: kept(size) }
}

pub(crate) fn intake(number: u8, keep_until: Timestamp) -> Intake {
    Intake {
        id: delivery(number),
        body_hash: [1; 32],
        at: at(5),
        keep_until,
        redriven: false,
        commits: Vec::new(),
        parked: Vec::new(),
        dead: None,
    }
}

pub(crate) fn options(dir: &Path) -> SledOptions {
    let mut options = SledOptions::new(dir);
    options.cache_bytes = 8 << 20;
    options.reserve_bytes = 0;
    options
}

pub(crate) fn try_open(dir: &Path) -> Result<(Arc<SledStore>, OpenReport), StoreError> {
    let clock = ManualClock::new("2026-11-30T12:00:00Z".parse().unwrap());
    SledStore::open(options(dir), Arc::new(clock)).map(|opened| (opened.store, opened.report))
}

pub(crate) fn open(dir: &Path) -> Arc<SledStore> {
    try_open(dir).unwrap().0
}

pub(crate) async fn fill(store: &SledStore, numbers: std::ops::Range<u64>, size: usize) {
    let made = join_all(numbers.map(|number| store.create(task(number, size), None, Cause::Operator))).await;
    assert!(made.iter().all(|made| matches!(made, Ok(Created::New(_)))));
}

/// A closed store with tasks 0..60, each fifth of them with a body.
pub(crate) async fn filled(dir: &Path) {
    let store = open(dir);
    fill(&store, 0..48, 500).await;
    fill(&store, 48..60, 20_000).await;
    let first = store.get(&id(0)).await.unwrap().unwrap();
    store.commit(ended(&first)).await.unwrap();
    store.seed("cursor", [9; 32]).await.unwrap();
    store.close().await.unwrap();
}

pub(crate) fn expected(number: u64) -> Task {
    let task = task(number, if number < 48 { 500 } else { 20_000 });
    if number == 0 { ended(&task).next } else { task }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub(crate) fn bodies(dir: &Path) -> Vec<PathBuf> {
    let dirs = fs::read_dir(dir.join("bodies")).unwrap();
    dirs.flat_map(|dir| fs::read_dir(dir.unwrap().path()).unwrap()).map(|file| file.unwrap().path()).collect()
}

pub(crate) fn flip(file: &Path, offset: u64, len: usize) {
    let mut file = fs::File::options().read(true).write(true).open(file).unwrap();
    let mut bytes = vec![0; len];
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.read_exact(&mut bytes).unwrap();
    bytes.iter_mut().for_each(|byte| *byte ^= 0xff);
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(&bytes).unwrap();
}
