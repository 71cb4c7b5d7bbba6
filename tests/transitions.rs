//! The state machine of a task as one golden table, state by event (requirements B1-B4), and what no run of events may break.
//!
//! `UPDATE_GOLDEN=1 cargo test --test transitions` writes the table anew; the difference is then read like code.
#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap like the tests themselves")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jobgate::domain::schedule::Work;
use jobgate::domain::{
    Artifact, CancelOutcome, Category, ContentHash, ErrorKind, Escalation, Fault, IdempotencyKey, InputAction, InputAnswer,
    InputAnswers, InputKind, InputRequest, JobFailure, JobOutput, JobRef, JobState, KeptArtifact, NewTask, Note, Observation,
    Outcome, Principal, Progress, ProviderName, Settled, Task, TaskError, TaskEvent, TaskId, TaskState, Timestamp, ToolName,
};
use proptest::prelude::*;
use serde_json::json;

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1000)
}

fn fresh() -> Task {
    Task::new(NewTask {
        id: TaskId::from_bytes([7; 16]),
        owner: Principal::local(),
        tool: ToolName::new("render"),
        provider: ProviderName::new("farm"),
        arguments: Arc::default(),
        caller_key: None,
        submit_key: IdempotencyKey::new("k"),
        created_at: at(0),
        ttl: Some(Duration::from_secs(3600)),
        deadline_at: at(7200),
    })
}

fn fault(kind: ErrorKind) -> Fault {
    Fault { kind, message: "it failed".to_owned(), status: None }
}

fn question(key: &str) -> InputRequest {
    InputRequest { key: key.to_owned(), message: "Go?".to_owned(), kind: InputKind::Form { schema: json!({"type": "object"}) } }
}

fn asks(keys: &[&str]) -> TaskEvent {
    TaskEvent::Observed(Observation::new(JobState::InputRequired(keys.iter().map(|key| question(key)).collect())))
}

fn answers(keys: &[&str], action: InputAction) -> TaskEvent {
    let answer = |key: &&str| ((*key).to_owned(), InputAnswer { action, content: None });
    TaskEvent::Answered(keys.iter().map(answer).collect::<InputAnswers>())
}

fn seen(state: JobState) -> TaskEvent {
    TaskEvent::Observed(Observation::new(state))
}

fn error() -> TaskError {
    let message = "no more".to_owned();
    TaskError { category: Category::Stuck, message, retryable: true, attempts: 1, provider_status: None }
}

fn two_to_keep() -> JobOutput {
    let artifacts = vec![Artifact::new("https://farm.example/film", "film"), Artifact::new("data:,x", "note")];
    JobOutput { artifacts, ..JobOutput::text("done") }
}

fn kept() -> KeptArtifact {
    let hash = ContentHash::new([7; 32]);
    KeptArtifact { name: "film".to_owned(), mime_type: None, description: None, size: 9, hash }
}

fn events() -> Vec<(&'static str, TaskEvent)> {
    use TaskEvent as E;
    let working = Observation::new(JobState::Running).with_message("encoding").with_progress(Progress { done: 1.0, total: None });
    vec![
        ("submit_began", E::SubmitBegan),
        ("submit_delayed(unavailable)", E::SubmitDelayed(fault(ErrorKind::Unavailable))),
        ("submit_delayed(outcome_unknown)", E::SubmitDelayed(fault(ErrorKind::OutcomeUnknown))),
        ("submit_rejected", E::SubmitRejected(JobFailure::new("bad frames"))),
        ("accepted", E::Accepted(JobRef::new("j1"))),
        ("observed(queued)", seen(JobState::Queued)),
        ("observed(running)", E::Observed(working)),
        ("observed(asks a)", asks(&["a"])),
        ("observed(asks c)", asks(&["c"])),
        ("observed(succeeded)", seen(JobState::Succeeded(JobOutput::text("film")))),
        ("observed(succeeded, 2 to keep)", seen(JobState::Succeeded(two_to_keep()))),
        ("observed(failed)", seen(JobState::Failed(JobFailure::new("out of memory")))),
        ("observed(cancelled)", seen(JobState::Cancelled)),
        ("observed(gone)", seen(JobState::Gone)),
        ("observed(unrecognized)", seen(JobState::Unrecognized("paused".to_owned()))),
        ("poll_failed", E::PollFailed(fault(ErrorKind::Unavailable))),
        ("missing", E::Missing(fault(ErrorKind::NotFound))),
        ("artifact_kept", E::ArtifactSettled(Settled::Kept(kept()))),
        ("artifact_not_kept", E::ArtifactSettled(Settled::Left("it is too large".to_owned()))),
        ("keep_failed", E::KeepFailed(fault(ErrorKind::Unavailable))),
        ("keep_given_up", E::KeepGivenUp("the disk is full".to_owned())),
        ("answered(a)", answers(&["a"], InputAction::Accept)),
        ("answered(a, b: declined)", answers(&["a", "b"], InputAction::Decline)),
        ("answered(unknown)", answers(&["x"], InputAction::Accept)),
        ("provided(a)", E::Provided(vec!["a".to_owned()])),
        ("provide_failed", E::ProvideFailed(fault(ErrorKind::Unavailable))),
        ("cancel_requested", E::CancelRequested { at_once: false }),
        ("cancel_requested(at once)", E::CancelRequested { at_once: true }),
        ("cancel_answered(requested)", told(CancelOutcome::Requested)),
        ("cancel_answered(already ended)", told(CancelOutcome::AlreadyEnded)),
        ("cancel_answered(refused)", told(CancelOutcome::Refused)),
        (
            "cancel_answered(requested, escalates)",
            E::CancelAnswered { outcome: CancelOutcome::Requested, escalate_after: Some(Duration::from_secs(120)) },
        ),
        ("cancel_escalated", E::CancelEscalated),
        ("cancel_heeded", E::CancelHeeded),
        ("cancel_unsupported", E::CancelUnsupported { abandon: false }),
        ("cancel_unsupported(abandon)", E::CancelUnsupported { abandon: true }),
        ("cancel_failed", E::CancelFailed(fault(ErrorKind::Unavailable))),
        ("faulted", E::Faulted(error())),
        ("limit_struck", E::LimitStruck(error())),
        ("life_extended", E::LifeExtended(Duration::from_secs(9999))),
        ("delivered_hint", E::Delivered(Note::Hint)),
        ("delivered_early", E::Delivered(Note::Early)),
        ("delivered_late", E::Delivered(Note::Late)),
        ("delivered_stale", E::Delivered(Note::Stale)),
    ]
}

fn told(outcome: CancelOutcome) -> TaskEvent {
    TaskEvent::CancelAnswered { outcome, escalate_after: None }
}

fn after(task: Task, events: &[TaskEvent]) -> Task {
    events.iter().fold(task, |task, event| task.apply(event, at(10)).unwrap())
}

fn states() -> Vec<(&'static str, Task)> {
    use TaskEvent as E;
    let job = || E::Accepted(JobRef::new("j1"));
    let wish = || E::CancelRequested { at_once: false };
    let at_once = || E::CancelRequested { at_once: true };
    let harder = || E::CancelAnswered { outcome: CancelOutcome::Requested, escalate_after: Some(Duration::from_secs(120)) };
    let succeeded = || seen(JobState::Succeeded(JobOutput::text("film")));
    vec![
        ("new", fresh()),
        ("submitting", fresh().with_submit_begun()),
        ("submitting, delayed", after(fresh().with_submit_begun(), &[E::SubmitDelayed(fault(ErrorKind::Unavailable))])),
        ("submitting, not found yet", after(fresh().with_submit_begun(), &[E::Missing(fault(ErrorKind::NotFound))])),
        ("submitting, cancel wished", after(fresh().with_submit_begun(), &[wish()])),
        ("running", after(fresh(), &[job()])),
        ("running, in trouble", after(fresh(), &[job(), E::Missing(fault(ErrorKind::NotFound))])),
        ("running, cancel wished", after(fresh(), &[job(), wish()])),
        ("running, cancel taken", after(fresh(), &[job(), wish(), told(CancelOutcome::Requested)])),
        ("running, cancel taken, escalates", after(fresh(), &[job(), wish(), harder()])),
        ("running, cancel escalated", after(fresh(), &[job(), wish(), harder(), E::CancelEscalated])),
        ("running, cancel refused", after(fresh(), &[job(), wish(), told(CancelOutcome::Refused)])),
        ("running, cancel unsupported", after(fresh(), &[job(), wish(), E::CancelUnsupported { abandon: false }])),
        ("asking a and b", after(fresh(), &[job(), asks(&["a", "b"])])),
        ("asking b, a answered", after(fresh(), &[job(), asks(&["a", "b"]), answers(&["a"], InputAction::Accept)])),
        ("answered a", after(fresh(), &[job(), asks(&["a"]), answers(&["a"], InputAction::Accept)])),
        ("asking a, cancel wished", after(fresh(), &[job(), asks(&["a"]), wish()])),
        ("keeping two", after(fresh(), &[job(), seen(JobState::Succeeded(two_to_keep()))])),
        (
            "keeping the second, in trouble",
            after(
                fresh(),
                &[
                    job(),
                    seen(JobState::Succeeded(two_to_keep())),
                    E::ArtifactSettled(Settled::Kept(kept())),
                    E::KeepFailed(fault(ErrorKind::Unavailable)),
                ],
            ),
        ),
        ("keeping, cancel wished", after(fresh(), &[job(), seen(JobState::Succeeded(two_to_keep())), wish()])),
        ("refused", after(fresh(), &[E::SubmitRejected(JobFailure::new("bad frames"))])),
        ("completed", after(fresh(), &[job(), succeeded()])),
        ("failed", after(fresh(), &[job(), E::Faulted(error())])),
        ("cancelled", after(fresh(), &[job(), seen(JobState::Cancelled)])),
        ("failed, cancel owed", after(fresh(), &[job(), E::LimitStruck(error())])),
        ("cancelled at once, cancel owed", after(fresh(), &[job(), at_once()])),
        ("cancelled at once, cancel taken, escalates", after(fresh(), &[job(), at_once(), harder()])),
        ("cancelled at once, cancel escalated", after(fresh(), &[job(), at_once(), harder(), E::CancelEscalated])),
        ("cancelled at once, job unknown", after(fresh().with_submit_begun(), &[at_once()])),
    ]
}

fn describe(before: &Task, task: &Task) -> String {
    let state = match &task.state {
        TaskState::Submitting { attempt, unsettled } => {
            format!("submitting attempt {attempt}{}", if *unsettled { " unsettled" } else { "" })
        }
        TaskState::Running { job } => format!("running {}", job.id()),
        TaskState::InputRequired { job } => format!("input_required {}", job.id()),
        TaskState::Keeping { job, keeping } => {
            format!("keeping {}, {} of {} settled", job.id(), keeping.settled.len(), keeping.output.artifacts.len())
        }
        TaskState::Ended { job, outcome, .. } => {
            let outcome = match outcome {
                Outcome::Result(result) if result.is_error => "error result".to_owned(),
                Outcome::Result(result) if !result.kept.is_empty() || result.output.parts.len() > 1 => {
                    format!("result, {} parts, {} kept", result.output.parts.len(), result.kept.len())
                }
                Outcome::Result(_) => "result".to_owned(),
                Outcome::Error(error) => error.category.as_str().to_owned(),
                Outcome::Cancelled => "cancelled".to_owned(),
            };
            format!("ended {} ({outcome})", job.as_ref().map_or("without job", JobRef::id))
        }
    };
    let mut line = format!("{state} => {:?}", Work::of(task));
    if let Some(wish) = &task.cancellation {
        write!(line, "; cancel {:?}", wish.progress).unwrap();
        match wish.escalation {
            Escalation::None => {}
            Escalation::Due(_) => line.push_str(", escalates"),
            Escalation::Made => line.push_str(", escalated"),
        }
    }
    if task.troubles.count > 0 {
        write!(line, "; troubles {}", task.troubles.count).unwrap();
    }
    if task.missing_since.is_some() {
        line.push_str("; missing");
    }
    let open: Vec<_> = task.open_inputs().map(|(key, _)| key.as_str()).collect();
    if !open.is_empty() {
        write!(line, "; open {}", open.join(" ")).unwrap();
    }
    if !task.unprovided_answers().is_empty() {
        write!(line, "; to provide {}", task.unprovided_answers().into_keys().collect::<Vec<_>>().join(" ")).unwrap();
    }
    if before.looks_different(task) {
        write!(line, "; shows {} `{}`", task.status().as_str(), task.message.as_deref().unwrap_or_default()).unwrap();
    }
    line
}

/// B1, B2: every event in every state, as it is and not as one would guess.
#[test]
fn the_table_is_the_golden_one() {
    let mut table = String::new();
    for (name, task) in states() {
        writeln!(table, "[{name}] {}", describe(&fresh(), &task)).unwrap();
        for (event_name, event) in events() {
            let cell = task.apply(&event, at(20)).map_or_else(|_| "refused".to_owned(), |next| describe(&task, &next));
            writeln!(table, "  {event_name:<32} {cell}").unwrap();
        }
        table.push('\n');
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/transitions.txt");
    if std::env::vars().any(|(name, value)| name == "UPDATE_GOLDEN" && value == "1") {
        std::fs::write(&path, &table).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    for (number, (wanted, got)) in golden.lines().zip(table.lines()).enumerate() {
        assert_eq!(wanted, got, "tests/golden/transitions.txt:{}", number + 1);
    }
    assert_eq!(golden.lines().count(), table.lines().count());
}

/// Every event there is has a row: an event without one would have no wildcard to hide behind here either.
#[test]
fn the_table_has_every_event() {
    let named: std::collections::BTreeSet<_> = events().iter().map(|(_, event)| event.name()).collect();
    assert_eq!(named.len(), 27, "{named:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// B1, B2, B8: whatever comes in whatever order, an end is final with its very outcome, revisions count every change, and
    /// `updated_at` moves with every visible change and only then.
    #[test]
    fn no_run_of_events_breaks_a_task(start in 0..2_usize, run in prop::collection::vec(0..44_usize, 0..40)) {
        let all = events();
        let mut task = if start == 0 { fresh() } else { fresh().with_submit_begun() };
        for (step, index) in run.into_iter().enumerate() {
            let now = at(100 + i64::try_from(step).unwrap());
            let Ok(next) = task.apply(&all[index % all.len()].1, now) else { continue };
            prop_assert_eq!(next.revision, task.revision.next());
            if let Some(outcome) = task.outcome() {
                prop_assert_eq!(Some(outcome), next.outcome());
            }
            prop_assert_eq!(next.updated_at == now, task.looks_different(&next));
            prop_assert_eq!(next.updated_at == task.updated_at, !task.looks_different(&next));
            prop_assert!(next.inputs.len() >= task.inputs.len());
            let waits = matches!(next.state, TaskState::InputRequired { .. });
            prop_assert!(!waits || next.open_inputs().next().is_some());
            prop_assert!(!task.owes_cancel() || next.cancellation.is_some());
            prop_assert!(Work::of(&next) != Work::Nothing || next.is_ended());
            task = next;
        }
    }
}
