//! Records of every form that was ever written stay readable, and stay small.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::*;
use crate::domain::Cause;
use crate::domain::{
    CallerKey, CancelProgress, Cancellation, ErrorKind, Escalation, Fault, IdempotencyKey, InputAction, InputAnswer, InputKind,
    InputProgress, InputRequest, InputSlot, JobOutput, JobRef, LifeFrom, Names, NewTask, Outcome, Part, Principal, Progress,
    ProviderName, RequestName, Revision, TaskState, Timestamp, ToolName, ToolResult, Troubles,
};
use crate::store::AuditEntry;

const ID: TaskId = TaskId::from_bytes([7; 16]);

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn task(arguments: Value) -> Task {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    Task::new(NewTask {
        id: ID,
        owner: Principal::new("acme", "ann"),
        tool: ToolName::new("build"),
        provider: ProviderName::new("ci"),
        arguments: Arc::new(arguments),
        caller_key: Some(CallerKey { key: "mine".to_owned(), arguments_hash: [0xab; 32] }),
        submit_key: IdempotencyKey::new("0123456789abcdef0123456789abcdef"),
        created_at: at(1_796_000_000_000),
        ttl: Some(Duration::from_secs(86_400)),
        deadline_at: at(1_796_086_400_000),
    })
}

/// The task that the checked-in records hold.
fn kept() -> Task {
    let kind = InputKind::Form { schema: json!({"type": "object"}) };
    let request = InputRequest { key: "q1".to_owned(), message: "Go on?".to_owned(), kind };
    let answer = InputAnswer { action: InputAction::Accept, content: Some(json!({"ok": true})) };
    let progress = InputProgress::Answered(answer);
    let slot = InputSlot { request, asked_at: at(1_796_000_003_000), progress };
    let output = JobOutput {
        parts: vec![Part::Text("2 of 3 failed".to_owned())],
        data: Some(json!({"failed": 2})),
        ..JobOutput::default()
    };
    let job = JobRef::new("4711").with("queue", "17");
    let result = ToolResult { output, is_error: true, kept: Vec::new() };
    Task {
        revision: Revision(9),
        state: TaskState::Ended { job: Some(job), outcome: Outcome::Result(Arc::new(result)), at: at(1_796_000_009_000) },
        message: Some("2 of 3 failed".to_owned()),
        progress: Some(Progress { done: 3.0, total: Some(3.0) }),
        inputs: BTreeMap::from([("q1".to_owned(), slot)]),
        cancellation: Some(Cancellation {
            requested_at: at(1_796_000_008_000),
            attempts: 1,
            progress: CancelProgress::Owed,
            escalation: Escalation::None,
        }),
        troubles: Troubles {
            count: 1,
            protocol_run: 0,
            since: Some(at(1_796_000_007_000)),
            last: Some(Fault { kind: ErrorKind::RateLimited, message: "slow down".to_owned(), status: Some(429) }),
        },
        missing_since: Some(at(1_796_000_006_000)),
        due_at: Some(at(1_796_000_010_000)),
        ..task(json!({"branch": "main"}))
    }
}

/// Each line is a record of format 1: all inline; the arguments a body; all of it a body. The bodies follow by their names.
#[test]
fn records_of_the_first_format_stay_readable() {
    let file: Value = serde_json::from_str(include_str!("../../../tests/fixtures/store/v1-record.json")).unwrap();
    let body = |name: &str| file["bodies"][name].as_str().map(|text| text.as_bytes().to_vec());
    let records = file["records"].as_array().unwrap();
    assert_eq!(records.len(), 3);
    for record in records {
        let mut fetch = |name: &BodyRef, _| Ok(Some(body(&name.to_string()).unwrap()));
        let read = decode(ID, record.to_string().as_bytes(), &mut fetch).unwrap();
        assert_eq!(read.task, kept());
    }
}

/// What this version writes of the kept task is what it wrote when the file was made: a change of form is a new version.
#[test]
fn the_written_form_is_that_of_the_checked_in_record() {
    let file: Value = serde_json::from_str(include_str!("../../../tests/fixtures/store/v1-record.json")).unwrap();
    let written: Value = serde_json::from_slice(&encode(&kept()).record).unwrap();
    assert_eq!(written, file["records"][0]);
}

/// A cancel that is made again came later: one that is not is written as before, and the rest is read back whole.
#[test]
fn a_harder_cancel_is_kept_beside_the_first_form() {
    for escalation in [Escalation::None, Escalation::Due(at(1_796_000_011_000)), Escalation::Made] {
        let cancellation = kept().cancellation.map(|wish| Cancellation { escalation, ..wish });
        let task = Task { cancellation, ..kept() };
        let encoded = encode(&task);
        let mut fetch = |name: &BodyRef, _| panic!("there is no body {name}");
        assert_eq!(decode(ID, &encoded.record, &mut fetch).unwrap().task, task);
    }
}

/// Names and lives that count from the end came later: what has none is written as before, and what has is read back whole.
#[test]
fn names_are_kept_beside_the_first_form() {
    let names = Names {
        client_id: Some("mine".to_owned()),
        request: Some(RequestName { session: Some("s".to_owned()), id: "7".to_owned() }),
        join: Some([0xcd; 32]),
    };
    let task = Task { names, life_from: LifeFrom::End, ..kept() };
    let encoded = encode(&task);
    let written: Value = serde_json::from_slice(&encoded.record).unwrap();
    assert_eq!(written["1"]["y"], json!({"c": "mine", "r": ["s", "7"], "j": "cd".repeat(32)}));
    assert_eq!(written["1"]["h"], json!(true));
    for some in [
        task.clone(),
        Task { names: Names { request: Some(RequestName { session: None, id: String::new() }), ..Names::default() }, ..kept() },
        Task { names: Names { client_id: Some("\"\u{0}ü".to_owned()), ..Names::default() }, ..kept() },
    ] {
        let read = decode(ID, &encode(&some).record, &mut |_, _| Ok(None)).unwrap();
        assert_eq!(read.task, some);
    }
    assert!(encoded.record.len() < 900, "{} bytes", encoded.record.len());
}

#[test]
fn a_usual_record_is_well_below_a_kilobyte() {
    let record = encode(&kept()).record;
    assert!(record.len() < 800, "{} bytes", record.len());
}

/// However large a task is and wherever it is large, its record fits, and the task is read back whole.
#[test]
fn large_parts_become_bodies() {
    let long = |len: usize| Value::from("x".repeat(len));
    let base = || task(json!({"a": long(10)}));
    let cases = [
        (task(json!({"a": long(INLINE)})), 1),
        (Task { state: kept().state, ..task(json!({"a": long(5000), "b": long(5000)})) }, 1),
        (Task { message: Some("m".repeat(9000)), ..base() }, 2),
        (Task { inputs: questions(40), ..task(json!({"a": long(9000)})) }, 2),
        (Task { tool: ToolName::new("t".repeat(20_000)), inputs: questions(400), ..base() }, 3),
    ];
    for (task, bodies) in cases {
        let encoded = encode(&task);
        assert!(encoded.record.len() <= INLINE);
        assert_eq!(encoded.bodies.len(), bodies);
        let mut fetch = |name: &BodyRef, _| Ok(encoded.bodies.iter().find(|(of, _)| of == name).map(|(_, bytes)| bytes.clone()));
        let read = decode(ID, &encoded.record, &mut fetch).unwrap();
        assert_eq!(read.task, task);
        assert_eq!(read.bodies.len(), bodies);
    }
}

/// What a newer version wrote, or nobody, is refused with a word about it.
#[test]
fn an_unknown_form_is_refused() {
    for text in [&b"{\"7\":{}}"[..], b"{}", b"", b"\xff"] {
        let refused = decode(ID, text, &mut |_, _| Ok(None)).unwrap_err();
        assert!(refused.to_string().starts_with("not a record that this version knows"), "{refused}");
    }
}

/// Counts that are no numbers are not stored: JSON has no word for them.
#[test]
fn infinite_counts_are_dropped() {
    let odd = Task { progress: Some(Progress { done: f64::INFINITY, total: None }), ..kept() };
    let read = decode(ID, &encode(&odd).record, &mut |_, _| Ok(None)).unwrap();
    assert_eq!(read.task, Task { progress: None, ..odd });
}

fn questions(count: usize) -> BTreeMap<String, InputSlot> {
    let slot = |number: usize| {
        let kind = InputKind::Url { url: "u".repeat(200) };
        let request = InputRequest { key: number.to_string(), message: "?".to_owned(), kind };
        (number.to_string(), InputSlot { request, asked_at: at(1), progress: InputProgress::Open })
    };
    (0..count).map(slot).collect()
}

/// Arguments keep the order in which the caller gave them.
#[test]
fn the_order_of_arguments_is_kept() {
    let arguments: Map<String, Value> = ["z", "a", "m"].map(|name| (name.to_owned(), Value::Null)).into_iter().collect();
    let read = decode(ID, &encode(&task(Value::Object(arguments))).record, &mut |_, _| Ok(None)).unwrap();
    assert_eq!(read.task.arguments.keys().collect::<Vec<_>>(), ["z", "a", "m"]);
}

/// An entry of a history is a row like any other: it stays small, whatever the texts in it are.
#[test]
fn an_audit_entry_stays_small() {
    let talkative = Task { message: Some("😀".repeat(40_000)), ..kept() };
    let entry = AuditEntry::created(&talkative, &Cause::Caller(Principal::new("t", "n".repeat(40_000))));
    let row = encode_audit(&entry);
    assert!(row.len() < INLINE, "{} bytes", row.len());
    assert_eq!(decode_audit(&row).unwrap(), entry);
    let by_hand = AuditEntry { message: talkative.message, ..entry };
    assert!(encode_audit(&by_hand).len() < INLINE);
}
