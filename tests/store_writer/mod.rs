//! A writer that notes what the store acknowledged, and a checker that looks for all of it: for the tests that kill the writer or
//! cut its power. Every second task gets its job by a delivery, which parks another one that the next change makes use of.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobgate::domain::{
    CallerKey, Cause, IdempotencyKey, JobOutput, JobRef, Names, NewTask, Outcome, Principal, ProviderName, RequestName, Task,
    TaskId, TaskState, Timestamp, ToolName, ToolResult,
};
use jobgate::store::sled::{SledOptions, SledStore, verify};
use jobgate::store::{Addressee, AuditEntry, Commit, Created, DeliveryId, Intake, Parked, Taken, TaskStore};
use jobgate_adapter_api::SystemClock;
use jobgate_webhooks::Kept;
use serde_json::{Map, Value};

/// Bytes of the large parts, by turns.
pub(crate) type Sizes = &'static [usize];

/// Well inside a record, at its limit, beyond it, far beyond it.
pub(crate) const ALL_SIZES: Sizes = &[1_000, 8_000, 16_000, 200_000];

/// Begins what is said of an acknowledged change.
const ACK: &str = "ack ";

/// Callers at the same time.
const CALLERS: usize = 8;

fn options(dir: &Path) -> SledOptions {
    let mut options = SledOptions::new(dir);
    options.cache_bytes = 16 << 20;
    options.reserve_bytes = 8 << 20;
    options
}

fn id(number: u64) -> TaskId {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    TaskId::from_bytes(bytes)
}

/// Text that is the task's own, so that a mixed-up body shows.
fn filling(number: u64, sizes: Sizes) -> String {
    let size = sizes[usize::try_from(number).unwrap() % sizes.len()];
    format!("{number:>20}").repeat(size / 20)
}

fn task(number: u64, sizes: Sizes) -> Task {
    let created_at = Timestamp::from_millis(1_790_000_000_000 + i64::try_from(number).unwrap());
    let arguments = Map::from_iter([("text".to_owned(), Value::from(filling(number, sizes)))]);
    let mut task = Task::new(NewTask {
        id: id(number),
        owner: Principal::new("tenant", format!("owner {}", number % 5)),
        tool: ToolName::new("build"),
        provider: ProviderName::new("ci"),
        arguments: Arc::new(arguments),
        caller_key: number.is_multiple_of(3).then(|| CallerKey { key: number.to_string(), arguments_hash: [1; 32] }),
        submit_key: IdempotencyKey::new(format!("{number:032x}")),
        created_at,
        ttl: Some(Duration::from_secs(86_400)),
        deadline_at: created_at.plus(Duration::from_secs(3600)),
    });
    task.due_at = Some(created_at);
    if number.is_multiple_of(2) {
        return task.with_names(Names {
            client_id: Some(number.to_string()),
            request: Some(RequestName { session: None, id: (number / 8).to_string() }),
            join: Some(std::array::from_fn(|place| number.to_be_bytes()[place % 8])),
        });
    }
    task
}

/// The task after `steps` commits: running, then ended, then looked at again and again.
fn after(number: u64, steps: u64, sizes: Sizes) -> Task {
    let mut task = task(number, sizes);
    let job = JobRef::new(format!("job {number}"));
    if steps >= 1 {
        task.state = TaskState::Running { job: job.clone() };
    }
    if steps >= 2 {
        let result = ToolResult { output: JobOutput::text(filling(number + 1, sizes)), is_error: false, kept: Vec::new() };
        let outcome = Outcome::Result(Arc::new(result));
        task.state = TaskState::Ended { job: Some(job), outcome, at: task.created_at };
        task.due_at = None;
    }
    task.revision.0 += steps;
    task
}

/// Whether the task got its job by a delivery.
const fn is_delivered(number: u64) -> bool {
    number.is_multiple_of(2)
}

/// The delivery that comes too early for its job, which never is.
fn early(number: u64, sizes: Sizes) -> Parked {
    let kept = [&[1, 7][..], &5_i64.to_be_bytes(), &[9; 32], filling(number, sizes).as_bytes()].concat();
    Parked {
        provider: ProviderName::new("ci"),
        addressee: Addressee::Job(format!("early {number}")),
        delivery: delivery(number),
        at: task(number, sizes).created_at,
        until: Timestamp::from_millis(i64::MAX),
        kept: Kept::from_bytes(&kept).unwrap(),
    }
}

fn delivery(number: u64) -> DeliveryId {
    let mut bytes = [0x5a; 32];
    bytes[..16].copy_from_slice(id(number).as_bytes());
    DeliveryId::new(bytes)
}

fn intake(number: u64, commit: Commit, sizes: Sizes) -> Intake {
    let early = early(number, sizes);
    Intake {
        id: early.delivery,
        body_hash: [1; 32],
        at: early.at,
        keep_until: early.until,
        redriven: false,
        commits: vec![commit],
        parked: vec![early],
        dead: None,
    }
}

/// Creates and commits tasks from number `first` on, until it is stopped; a line `ack number steps` for each acknowledged change.
pub(crate) fn write_for_ever(dir: &Path, first: u64, sizes: Sizes, acks: impl Write + Send + 'static) {
    let store = SledStore::open(options(dir), Arc::new(SystemClock)).unwrap().store;
    let acks = Arc::new(Mutex::new(acks));
    let next = Arc::new(AtomicU64::new(first));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (store, acks, next) = (store.clone(), acks.clone(), next.clone());
            runtime.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    write_one(&store, number, sizes, &acks).await;
                }
            })
        })
        .collect();
    for caller in callers {
        // A caller ends when the store no longer answers: the disk is gone.
        runtime.block_on(caller).ok();
    }
}

async fn write_one(store: &SledStore, number: u64, sizes: Sizes, acks: &Mutex<impl Write>) {
    let acknowledge = |steps: u64| {
        let line = format!("{ACK}{number} {steps}\n");
        // One write a line: a killed writer leaves no half of one but at the very end.
        acks.lock().unwrap().write_all(line.as_bytes()).unwrap();
    };
    let Created::New(_) = store.create(task(number, sizes), None, Cause::Operator).await.unwrap() else {
        panic!("{number} was there")
    };
    acknowledge(0);
    for steps in 1..=2 {
        let next = after(number, steps, sizes);
        let entries = vec![AuditEntry::created(&next, &Cause::Poll)];
        let mut commit = Commit { expected: after(number, steps - 1, sizes).revision, next, entries, unpark: Vec::new() };
        match (steps, is_delivered(number)) {
            (1, true) => {
                let taken = store.take(intake(number, commit, sizes)).await.unwrap();
                assert!(matches!(taken, Taken::First(_)), "{taken:?}");
            }
            (_, is_delivered) => {
                commit.unpark.extend(is_delivered.then(|| early(number, sizes).key()));
                store.commit(commit).await.unwrap();
            }
        }
        acknowledge(steps);
    }
}

/// Opens what the writer left and looks for every acknowledged change; gives how many there were.
pub(crate) fn check(dir: &Path, sizes: Sizes, acks: impl BufRead) -> usize {
    let mut told: BTreeMap<u64, u64> = BTreeMap::new();
    let mut count = 0;
    for line in acks.lines() {
        // The last line may have been cut in two: then nobody was told. The test's own words may stand before it.
        let Some((_, ack)) = line.as_ref().ok().and_then(|line| line.rsplit_once(ACK)) else { continue };
        let Some((number, steps)) = ack.split_once(' ') else { continue };
        let (Ok(number), Ok(steps)) = (number.parse(), steps.parse()) else { continue };
        told.insert(number, steps);
        count += 1;
    }
    let found = verify(&options(dir)).unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
    let opened = SledStore::open(options(dir), Arc::new(SystemClock)).unwrap();
    assert_eq!(opened.report.recovered, None);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for (number, steps) in told {
            let there = opened.store.get(&id(number)).await.unwrap();
            let there = there.unwrap_or_else(|| panic!("task {number} was acknowledged and is gone"));
            let reached = there.revision.0 - task(number, sizes).revision.0;
            assert!(reached >= steps, "change {steps} of task {number} was acknowledged, and it stands at {reached}");
            assert_eq!(*there, after(number, reached, sizes));
            // What a delivery does is there together with the record that it was taken, or neither is.
            let was_taken = opened.store.was_taken(&delivery(number)).await.unwrap();
            assert_eq!(was_taken, is_delivered(number) && reached >= 1, "delivery {number} at {reached}");
            let early = early(number, sizes);
            let parked = opened.store.parked(&early.provider, &early.addressee).await.unwrap();
            let expected = if is_delivered(number) && reached == 1 { vec![early] } else { Vec::new() };
            assert_eq!(parked, expected, "delivery {number} at {reached}");
        }
        opened.store.close().await.unwrap();
    });
    count
}
