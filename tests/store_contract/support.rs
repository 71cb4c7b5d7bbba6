//! Tasks for the clauses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jobgate::domain::{
    Artifact, CallerKey, CancelProgress, Cancellation, Category, Cause, ContentHash, ErrorKind, Escalation, Fault,
    IdempotencyKey, InputAction, InputAnswer, InputKind, InputProgress, InputRequest, InputSlot, JobOutput, JobRef, Keeping,
    KeptArtifact, LifeFrom, Names, NewTask, Outcome, Part, Principal, Progress, ProviderName, RequestName, Revision, Settled,
    Task, TaskError, TaskId, TaskState, Timestamp, ToolName, ToolResult, Troubles,
};
use jobgate::store::{AuditEntry, Commit, Created, TaskStore};
use serde_json::{Map, Value, json};

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

pub(crate) fn id(number: u64) -> TaskId {
    let mut bytes = [0; 16];
    // Spread like random ids, so that an order of ids is no order of creation.
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    TaskId::from_bytes(bytes)
}

pub(crate) fn owner(name: &str) -> Principal {
    Principal::new("tenant", name)
}

pub(crate) fn ci() -> ProviderName {
    ProviderName::new("ci")
}

/// A task of `ann` at provider `ci`, made `number` seconds after the epoch and due at once.
pub(crate) fn task(number: u64) -> Task {
    let created_at = at(i64::try_from(number).unwrap() * 1000);
    let mut task = Task::new(NewTask {
        id: id(number),
        owner: owner("ann"),
        tool: ToolName::new("build"),
        provider: ci(),
        arguments: Arc::new(arguments(json!({"branch": "main", "count": 18_446_744_073_709_551_615_u64, "ratio": 0.1}))),
        caller_key: None,
        submit_key: IdempotencyKey::new(format!("{number:032x}")),
        created_at,
        ttl: Some(Duration::from_secs(3600)),
        deadline_at: created_at.plus(Duration::from_secs(600)),
    });
    task.due_at = Some(created_at);
    task
}

pub(crate) fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

pub(crate) fn keyed(number: u64, key: &str) -> Task {
    Task { caller_key: Some(CallerKey { key: key.to_owned(), arguments_hash: [7; 32] }), ..task(number) }
}

pub(crate) async fn create(store: &dyn TaskStore, task: Task) -> Arc<Task> {
    match store.create(task, None, Cause::Caller(owner("ann"))).await.unwrap() {
        Created::New(task) => task,
        Created::Existing(task) => panic!("{:?} was there", task.id),
    }
}

/// The change of `task` to what `edit` makes of it, with one audit entry.
pub(crate) fn change(task: &Task, edit: impl FnOnce(&mut Task)) -> Commit {
    let mut next = task.clone();
    edit(&mut next);
    next.revision = task.revision.next();
    let entries = vec![entry(&next, "changed")];
    Commit { expected: task.revision, next, entries, unpark: Vec::new() }
}

pub(crate) fn entry(task: &Task, event: &str) -> AuditEntry {
    AuditEntry {
        at: task.updated_at,
        revision: task.revision,
        event: event.to_owned(),
        cause: "poll".to_owned(),
        status: task.status(),
        message: task.message.clone(),
    }
}

pub(crate) fn ended(text: &str) -> TaskState {
    let result = ToolResult { output: JobOutput::text(text), is_error: false, kept: Vec::new() };
    TaskState::Ended { job: Some(JobRef::new("4711")), outcome: Outcome::Result(Arc::new(result)), at: at(5) }
}

/// One task for each state and each part that a task can have.
pub(crate) fn every_kind() -> Vec<Task> {
    let job = JobRef::new("job/7 ü").with("queue", "https://ci.example/q/1").with("empty", "");
    let error = |category| TaskError {
        category,
        message: "It said \"no\".\nTwice.".to_owned(),
        retryable: true,
        attempts: 3,
        provider_status: Some(503),
    };
    let parts = vec![
        Part::Text("line\u{2028}two \u{1F600} \0".to_owned()),
        Part::Image { data: "aGk=".to_owned(), mime_type: "image/png".to_owned() },
        Part::Audio { data: "aGk=".to_owned(), mime_type: "audio/wav".to_owned() },
        Part::Link {
            uri: "https://ci.example/a".to_owned(),
            name: "log".to_owned(),
            mime_type: Some("text/plain".to_owned()),
            description: None,
            size: Some(u64::MAX),
        },
        Part::Embedded { uri: "file:log".to_owned(), mime_type: None, text: "ok".to_owned() },
    ];
    let file = |number: u8, description: Option<&str>| KeptArtifact {
        name: "über/../film \"1\".mp4".to_owned(),
        mime_type: description.map(|_| "video/mp4".to_owned()),
        description: description.map(str::to_owned),
        size: u64::MAX,
        hash: ContentHash::new([number; 32]),
    };
    let kept = vec![file(7, Some("A film.")), file(0xff, None)];
    let keeping = Keeping {
        output: JobOutput {
            parts: parts.clone(),
            data: Some(json!({"n": 1})),
            artifacts: vec![
                Artifact {
                    mime_type: Some("video/mp4".to_owned()),
                    description: Some("A film.".to_owned()),
                    max_bytes: Some(u64::MAX),
                    types: vec!["video/*".to_owned(), "image/png".to_owned()],
                    note: Some("0".to_owned()),
                    ..Artifact::new("https://ci.example/film?sig=a%2Fb", "film")
                },
                Artifact::new("data:,", ""),
                Artifact::new("https://ci.example/c", "c"),
            ],
        },
        message: Some("rendered".to_owned()),
        since: at(4),
        settled: vec![Settled::Kept(file(9, None)), Settled::Left("it is too large".to_owned())],
    };
    let end = |outcome| TaskState::Ended { job: Some(job.clone()), outcome, at: at(-5) };
    let result = |data, is_error| {
        end(Outcome::Result(Arc::new(ToolResult {
            output: JobOutput { parts: parts.clone(), data, artifacts: Vec::new() },
            is_error,
            kept: kept.clone(),
        })))
    };
    let categories = [
        Category::Provider(ErrorKind::Unauthorized),
        Category::Deadline,
        Category::Stuck,
        Category::Gone,
        Category::InputTimeout,
        Category::UnknownOutcome,
        Category::Expired,
        Category::Configuration,
    ];
    let mut states = vec![
        TaskState::Submitting { attempt: 3, unsettled: false },
        TaskState::Running { job: job.clone() },
        TaskState::InputRequired { job: job.clone() },
        TaskState::Keeping { job: job.clone(), keeping: Arc::new(keeping) },
        result(Some(Value::Null), true),
        result(Some(json!({"deep": [[1.5, -0.0, 1e300, 0.1, 123_456_789.123_456_79]], "": null})), false),
        result(None, false),
        end(Outcome::Cancelled),
        TaskState::Ended { job: None, outcome: Outcome::Cancelled, at: at(0) },
    ];
    states.extend(categories.map(|category| end(Outcome::Error(error(category)))));
    let bare = |(number, state)| Task { state, ..task(number) };
    let mut tasks: Vec<Task> = (1..).zip(states).map(bare).collect();
    tasks.push(full(100));
    tasks.push(Task { ttl: None, due_at: None, arguments: Arc::default(), created_at: at(-7), ..task(101) });
    tasks
}

/// A task that has everything.
pub(crate) fn full(number: u64) -> Task {
    let slot = |key: &str, kind, progress| {
        let request = InputRequest { key: key.to_owned(), message: "Go on?".to_owned(), kind };
        (key.to_owned(), InputSlot { request, asked_at: at(9), progress })
    };
    let form = || InputKind::Form { schema: json!({"type": "object", "properties": {"ok": {"type": "boolean"}}}) };
    let answer = |action, content| InputProgress::Answered(InputAnswer { action, content });
    let inputs = BTreeMap::from([
        slot("a", form(), InputProgress::Open),
        slot("b", form(), answer(InputAction::Accept, Some(json!({"ok": true})))),
        slot("c", form(), answer(InputAction::Decline, None)),
        slot("d", form(), answer(InputAction::Cancel, Some(Value::Null))),
        slot("e", InputKind::Url { url: "https://ci.example/x".to_owned() }, InputProgress::Provided),
        slot("f", form(), InputProgress::Withdrawn),
    ]);
    Task {
        state: TaskState::InputRequired { job: JobRef::new("9") },
        caller_key: Some(CallerKey { key: format!("mine {number}"), arguments_hash: [0xab; 32] }),
        names: Names {
            client_id: Some(format!("ü/{number}")),
            request: Some(RequestName { session: None, id: "\"7\"".to_owned() }),
            join: Some([9; 32]),
        },
        life_from: LifeFrom::End,
        message: Some("waiting".to_owned()),
        progress: Some(Progress { done: 0.5, total: Some(1000.0) }),
        inputs,
        cancellation: Some(Cancellation {
            requested_at: at(11),
            attempts: 2,
            progress: CancelProgress::Refused,
            escalation: Escalation::None,
        }),
        troubles: Troubles {
            count: 4,
            protocol_run: 2,
            since: Some(at(3)),
            last: Some(Fault { kind: ErrorKind::Protocol, message: "html".to_owned(), status: Some(200) }),
        },
        missing_since: Some(at(8)),
        revision: Revision(12),
        ..task(number)
    }
}
