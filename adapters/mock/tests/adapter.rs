//! What the contract does not ask of every adapter: faults on request, memory that outlives instances, weaker providers.
#![expect(clippy::unwrap_used, reason = "a call that fails where it must not fails its test")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelOutcome, CheckedAdapter, Clock, ErrorKind, IdempotencyKey, InputAction,
    InputAnswer, InputAnswers, Issues, JobOutput, JobRef, JobState, Place, Retry, SubmitRequest, ToolWords, factory,
};
use jobgate_adapter_mock::{Mock, MockProvider};
use serde_json::{Value, json};
use support::JumpingClock;

const TOOL: &str = "work";

fn check(provider: Value, job: Value) -> Box<dyn CheckedAdapter> {
    let mut issues = Issues::new();
    let place = Place::root().key("tools").key(TOOL).key("job");
    let tool = ToolWords { name: TOOL.to_owned(), input_schema: json!({"type": "object"}), place, words: job };
    let checked = factory::<Mock>().check(&Place::root().key("providers").key("kit"), provider, vec![tool], &mut issues);
    checked.unwrap_or_else(|| panic!("{issues:#?}"))
}

/// A provider in a folder of its own, with one tool.
struct Bed {
    clock: Arc<JumpingClock>,
    folder: tempfile::TempDir,
    provider: Value,
    job: Value,
}

impl Bed {
    fn new(provider: Value, job: Value) -> Self {
        Self { clock: JumpingClock::new(), folder: tempfile::tempdir().unwrap(), provider, job }
    }

    /// A new instance, as after a restart.
    fn instance(&self) -> Arc<dyn Adapter> {
        let deps = support::deps(self.clock.clone(), Some(self.folder.path()));
        check(self.provider.clone(), self.job.clone()).build(&deps).unwrap()
    }

    fn behind(&self) -> MockProvider {
        MockProvider::at(self.folder.path(), "kit")
    }
}

fn waits(seconds: u32) -> Value {
    json!({"machine": {"StartAt": "Work", "States": {"Work": {"Type": "Wait", "Seconds": seconds, "End": true}}}})
}

fn with_faults(mut job: Value, faults: Value) -> Value {
    job["faults"] = faults;
    job
}

fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text)
}

fn cx(text: &str) -> CallContext {
    CallContext {
        tool: TOOL.to_owned(),
        key: key(text),
        timeout: Duration::from_secs(10),
        arguments: Arc::default(),
        started_at: JumpingClock::new().now(),
        callback_url: None,
        cancel: None,
    }
}

async fn submit(adapter: &dyn Adapter, text: &str) -> Result<JobRef, AdapterError> {
    let request = SubmitRequest { key: key(text), arguments: serde_json::Map::new() };
    adapter.submit(&cx(text), request).await.map(|submitted| submitted.job)
}

fn accept() -> InputAnswer {
    InputAnswer { action: InputAction::Accept, content: Some(json!({"ok": true})) }
}

/// How each of four polls ends, with a new instance for every second one: the counts are the provider's, not the adapter's.
#[tokio::test]
async fn faults_strike_the_calls_they_name_and_are_counted_over_restarts() {
    for (fault, wanted) in [
        (
            json!({"call": "poll", "kind": "unavailable", "first": 3}),
            [Some("unavailable"), Some("unavailable"), Some("unavailable"), None],
        ),
        (json!({"call": "poll", "kind": "rate_limited", "every": 2}), [None, Some("rate_limited"), None, Some("rate_limited")]),
        (json!({"call": "poll", "kind": "garbage", "after": 3}), [None, None, None, Some("protocol")]),
        (json!({"call": "poll", "kind": "rejected", "first": 1}), [Some("rejected"), None, None, None]),
        (json!({"call": "any", "kind": "unauthorized", "after": 2}), [None, None, Some("unauthorized"), Some("unauthorized")]),
        (json!({"call": "poll", "kind": "not_found", "every": 4}), [None, None, None, Some("not_found")]),
        (json!({"call": "poll", "kind": "slow", "delay": "11s", "first": 1}), [Some("unavailable"), None, None, None]),
        (json!({"call": "cancel", "kind": "unavailable"}), [None, None, None, None]),
    ] {
        let bed = Bed::new(json!({}), with_faults(waits(1000), json!([fault])));
        let job = submit(bed.instance().as_ref(), "k").await.unwrap();
        let mut seen = Vec::new();
        for _ in 0..2 {
            let adapter = bed.instance();
            for _ in 0..2 {
                seen.push(adapter.poll(&cx("k"), &job).await.err().map(|error| error.kind().as_str()));
            }
        }
        assert_eq!(seen, wanted, "{fault}");
    }
}

#[tokio::test]
async fn a_fault_says_what_its_words_say() {
    let faults = json!([
        {"call": "submit", "kind": "rate_limited", "retry_after": "7s", "first": 1},
        {"call": "submit", "kind": "rejected", "message": "the quota is used up"}
    ]);
    let bed = Bed::new(json!({"faults": faults}), waits(1));
    let first = submit(bed.instance().as_ref(), "k").await.unwrap_err();
    assert_eq!(first.retry(), Retry::After(Duration::from_secs(7)));
    let second = submit(bed.instance().as_ref(), "k").await.unwrap_err();
    assert_eq!((second.kind(), second.message()), (ErrorKind::Rejected, "the quota is used up"));
    assert_eq!(bed.behind().jobs().unwrap(), 0);
}

/// Requirement C4: after a lost answer the job is found again, and nothing is started twice.
#[tokio::test]
async fn a_lost_submit_has_started_a_job_and_a_cut_one_has_not() {
    for (kind, started) in [("lost", 1), ("cut", 0), ("garbage", 0)] {
        let bed = Bed::new(json!({}), with_faults(waits(1), json!([{"call": "submit", "kind": kind, "first": 1}])));
        let adapter = bed.instance();
        assert_eq!(submit(adapter.as_ref(), "k").await.unwrap_err().kind(), ErrorKind::OutcomeUnknown, "{kind}");
        assert_eq!(adapter.find(&cx("k"), &key("k")).await.unwrap().iter().count(), started, "{kind}");
        assert_eq!(bed.behind().jobs().unwrap(), started, "{kind}");
        let job = submit(adapter.as_ref(), "k").await.unwrap();
        assert_eq!(adapter.find(&cx("k"), &key("k")).await.unwrap(), Some(job), "{kind}");
        assert_eq!(bed.behind().jobs().unwrap(), 1, "{kind}");
    }
}

#[tokio::test]
async fn a_lost_cancel_and_a_lost_answer_take_effect() {
    let ask =
        json!({"machine": {"StartAt": "Ask", "States": {"Ask": {"Type": "Task", "Resource": "mock:callback", "End": true}}}});
    let bed = Bed::new(json!({"faults": [{"call": "cancel", "kind": "lost"}, {"call": "provide", "kind": "lost"}]}), ask);
    let adapter = bed.instance();
    let stopped = submit(adapter.as_ref(), "stopped").await.unwrap();
    assert_eq!(adapter.cancel(&cx("stopped"), &stopped).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(adapter.poll(&cx("stopped"), &stopped).await.unwrap().state, JobState::Cancelled);
    let answered = submit(adapter.as_ref(), "answered").await.unwrap();
    let answers = InputAnswers::from([("Ask".to_owned(), accept())]);
    assert!(adapter.provide(&cx("answered"), &answered, &answers).await.is_err());
    let output = json!({"action": "accept", "content": {"ok": true}});
    let wanted = JobState::Succeeded(JobOutput::text(output.to_string()).with_data(output));
    assert_eq!(adapter.poll(&cx("answered"), &answered).await.unwrap().state, wanted);
}

/// A machine of the provider's, whose state hands its task token to a queue.
fn asks_with_a_token() -> Value {
    json!({"machines": {"deploy": {"StartAt": "AskHuman", "States": {
        "AskHuman": {
            "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            "Parameters": {"QueueUrl": "q", "MessageBody": {"question.$": "$.question", "taskToken.$": "$$.Task.Token"}},
            "ResultPath": "$.decision",
            "Catch": [{"ErrorEquals": ["Rejected"], "Next": "Denied"}],
            "Next": "Done"
        },
        "Done": {"Type": "Succeed"},
        "Denied": {"Type": "Fail", "Error": "Rejected", "Cause": "a human said no"}
    }}}})
}

/// E1: a state that hands its task token to a service waits for a person, who is asked what lies beside the token; yes gives the form's
/// content, no raises the error that the words name.
#[tokio::test]
async fn a_state_that_waits_for_its_task_token_asks_a_person() {
    let job = json!({"state_machine": "deploy", "input": {"question": "Ship it?"}, "approvals": {"AskHuman": {}}});
    let bed = Bed::new(asks_with_a_token(), job);
    let adapter = bed.instance();
    for (action, key) in [(InputAction::Accept, "yes"), (InputAction::Decline, "no")] {
        let job = submit(adapter.as_ref(), key).await.unwrap();
        let JobState::InputRequired(questions) = adapter.poll(&cx(key), &job).await.unwrap().state else { panic!("it waits") };
        assert_eq!((questions[0].key.as_str(), questions[0].message.as_str()), ("AskHuman", "Ship it?"));
        let content = (action == InputAction::Accept).then(|| json!({"approved": true}));
        let answers = InputAnswers::from([("AskHuman".to_owned(), InputAnswer { action, content })]);
        adapter.provide(&cx(key), &job, &answers).await.unwrap();
        match (action, adapter.poll(&cx(key), &job).await.unwrap().state) {
            (InputAction::Accept, JobState::Succeeded(output)) => {
                assert_eq!(output.data, Some(json!({"question": "Ship it?", "decision": {"approved": true}})));
            }
            (_, JobState::Failed(failure)) => assert_eq!(failure.message, "a human said no"),
            (_, other) => panic!("{action:?}: {other:?}"),
        }
    }
}

/// H2: a machine that would wait for nobody is an error, which says what is missing and where.
#[test]
fn words_about_machines_and_approvals_are_checked() {
    for (provider, job, place, said) in [
        (
            asks_with_a_token(),
            json!({"state_machine": "deploy"}),
            "providers.kit.machines.deploy.States.AskHuman.Resource",
            "approvals",
        ),
        (asks_with_a_token(), json!({"state_machine": "deplo"}), "tools.work.job.state_machine", "no machine `deplo`"),
        (json!({}), json!({"state_machine": "deploy"}), "tools.work.job.state_machine", "no machine `deploy`"),
        (json!({}), json!({}), "tools.work.job", "either"),
        (
            asks_with_a_token(),
            json!({"state_machine": "deploy", "approvals": {"AskHuman": {}, "Done": {}}}),
            "tools.work.job.approvals.Done",
            "no state `Done` that waits",
        ),
    ] {
        let mut issues = Issues::new();
        let tools = vec![ToolWords {
            name: TOOL.to_owned(),
            input_schema: json!({"type": "object"}),
            place: Place::root().key("tools").key(TOOL).key("job"),
            words: job,
        }];
        factory::<Mock>().check(&Place::root().key("providers").key("kit"), provider, tools, &mut issues);
        let found = issues.iter().find(|issue| issue.place.to_string() == place);
        let found = found.unwrap_or_else(|| panic!("nothing at {place}: {issues:#?}"));
        assert!(found.message.contains(said), "{place}: {}", found.message);
    }
}

#[tokio::test]
async fn a_job_can_vanish_and_a_cancel_can_be_refused() {
    let faults = json!([{"call": "poll", "kind": "gone", "after": 1}, {"call": "cancel", "kind": "refused"}]);
    let bed = Bed::new(json!({}), with_faults(waits(1000), faults));
    let adapter = bed.instance();
    let job = submit(adapter.as_ref(), "k").await.unwrap();
    assert_eq!(adapter.cancel(&cx("k"), &job).await.unwrap(), CancelOutcome::Refused);
    assert_eq!(adapter.poll(&cx("k"), &job).await.unwrap().state, JobState::Running);
    assert_eq!(adapter.poll(&cx("k"), &job).await.unwrap().state, JobState::Gone);
}

#[tokio::test]
async fn trouble_can_be_switched_on_and_off_while_instances_live() {
    let bed = Bed::new(json!({}), waits(1000));
    let adapter = bed.instance();
    let job = submit(adapter.as_ref(), "k").await.unwrap();
    bed.behind().set_trouble(&json!([{"call": "any", "kind": "unavailable"}])).unwrap();
    assert_eq!(adapter.poll(&cx("k"), &job).await.unwrap_err().kind(), ErrorKind::Unavailable);
    bed.behind().set_trouble(&json!([])).unwrap();
    assert_eq!(adapter.poll(&cx("k"), &job).await.unwrap().state, JobState::Running);
    assert!(bed.behind().set_trouble(&json!([{"call": "poll", "kind": "slow"}])).is_err(), "words that are wrong are refused");
}

#[tokio::test]
async fn a_provider_without_idempotency_starts_a_job_at_every_submit() {
    let bed = Bed::new(json!({"idempotent": false}), waits(5));
    let adapter = bed.instance();
    let first = submit(adapter.as_ref(), "k").await.unwrap();
    bed.clock.advance(Duration::from_secs(3));
    let second = submit(adapter.as_ref(), "k").await.unwrap();
    assert_ne!(first, second);
    assert_eq!(bed.behind().jobs().unwrap(), 2);
    bed.clock.advance(Duration::from_secs(3));
    assert!(adapter.poll(&cx("k"), &first).await.unwrap().state.is_terminal());
    assert_eq!(adapter.poll(&cx("k"), &second).await.unwrap().state, JobState::Running);
    assert_eq!(adapter.find(&cx("k"), &key("k")).await.unwrap(), Some(first));
}

/// A job runs to the end that its machine had when it was started.
#[tokio::test]
async fn a_run_keeps_its_machine_when_the_configuration_changes() {
    let mut bed = Bed::new(json!({}), waits(5));
    let job = submit(bed.instance().as_ref(), "k").await.unwrap();
    bed.job = waits(500);
    bed.clock.advance(Duration::from_secs(5));
    assert!(bed.instance().poll(&cx("k"), &job).await.unwrap().state.is_terminal());
    let later = submit(bed.instance().as_ref(), "later").await.unwrap();
    bed.clock.advance(Duration::from_secs(5));
    assert!(!bed.instance().poll(&cx("later"), &later).await.unwrap().state.is_terminal());
}

/// Many answers at once, each through an instance of its own, and none is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn answers_at_once_do_not_lose_one_another() {
    const ITEMS: usize = 24;
    let each = json!({"StartAt": "Ask", "States": {"Ask": {"Type": "Task", "Resource": "mock:callback", "End": true}}});
    let items: Vec<usize> = (0..ITEMS).collect();
    let list = json!({"Type": "Pass", "Result": items, "Next": "Each"});
    let machine =
        json!({"StartAt": "List", "States": {"List": list, "Each": {"Type": "Map", "ItemProcessor": each, "End": true}}});
    let bed = Bed::new(json!({}), json!({"machine": machine}));
    let job = submit(bed.instance().as_ref(), "k").await.unwrap();
    let hand_over = (0..ITEMS).map(|nth| {
        let (adapter, job) = (bed.instance(), job.clone());
        async move { adapter.provide(&cx("k"), &job, &InputAnswers::from([(format!("Each[{nth}].Ask"), accept())])).await }
    });
    let mut tasks = tokio::task::JoinSet::new();
    for one in hand_over {
        tasks.spawn(one);
    }
    for answer in tasks.join_all().await {
        answer.unwrap();
    }
    assert_eq!(bed.behind().answers().unwrap(), ITEMS);
    assert!(bed.instance().poll(&cx("k"), &job).await.unwrap().state.is_terminal());
}

#[tokio::test]
async fn an_answer_to_a_question_that_is_not_asked_changes_nothing() {
    let ask =
        json!({"machine": {"StartAt": "Ask", "States": {"Ask": {"Type": "Task", "Resource": "mock:callback", "End": true}}}});
    let bed = Bed::new(json!({}), ask);
    let adapter = bed.instance();
    let job = submit(adapter.as_ref(), "k").await.unwrap();
    let answers = InputAnswers::from([("Ask".to_owned(), accept()), ("Other".to_owned(), accept())]);
    let refused = adapter.provide(&cx("k"), &job, &answers).await.unwrap_err();
    assert_eq!((refused.kind(), refused.message()), (ErrorKind::Rejected, "the job asks no question `Other` now"));
    assert!(matches!(adapter.poll(&cx("k"), &job).await.unwrap().state, JobState::InputRequired(_)));
    assert_eq!(bed.behind().answers().unwrap(), 0);
}

#[tokio::test]
async fn what_is_no_id_of_a_job_is_not_found_and_no_path() {
    let bed = Bed::new(json!({}), waits(1));
    let adapter = bed.instance();
    let job = submit(adapter.as_ref(), "k").await.unwrap();
    for id in ["", "../lock", "x", &format!("{}-2", job.id()), &format!("{}-0", job.id()), &format!("{}x", job.id())] {
        assert_eq!(adapter.poll(&cx("k"), &JobRef::new(id)).await.unwrap_err().kind(), ErrorKind::NotFound, "{id}");
    }
}

/// A kill in the middle of a write leaves a file under another name; a disk may spoil a record.
#[tokio::test]
async fn leftovers_are_ignored_and_a_spoilt_record_is_an_error() {
    let bed = Bed::new(json!({}), waits(1000));
    let job = submit(bed.instance().as_ref(), "k").await.unwrap();
    let folder = bed.folder.path().join("mock/kit");
    std::fs::write(folder.join("unfinished"), "{\"key\":").unwrap();
    assert_eq!(bed.instance().poll(&cx("k"), &job).await.unwrap().state, JobState::Running);
    assert_eq!(submit(bed.instance().as_ref(), "k").await.unwrap(), job);
    std::fs::write(folder.join(format!("job-{}.json", job.id())), "{\"key\":").unwrap();
    let error = bed.instance().poll(&cx("k"), &job).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(!error.message().contains(Path::new("kit").to_str().unwrap()), "a caller sees no path: {}", error.message());
}

/// Clause C7 without a data folder: instances that are built from one checked configuration share their memory.
#[tokio::test]
async fn without_a_folder_the_checked_configuration_holds_the_memory() {
    let clock = JumpingClock::new();
    let checked = check(json!({}), waits(5));
    let deps = support::deps(clock, None);
    let job = submit(checked.build(&deps).unwrap().as_ref(), "k").await.unwrap();
    assert_eq!(checked.build(&deps).unwrap().poll(&cx("k"), &job).await.unwrap().state, JobState::Running);
    let other = check(json!({}), waits(5)).build(&deps).unwrap();
    assert_eq!(other.poll(&cx("k"), &job).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn an_observation_carries_stage_counts_and_the_next_moment() {
    let state = json!({"Type": "Wait", "Comment": "counting", "Seconds": 10, "End": true,
        "MockProgress": {"from": 0, "done": 100, "total": 100, "steps": 10}});
    let bed = Bed::new(json!({}), json!({"machine": {"StartAt": "Count", "States": {"Count": state}}}));
    let adapter = bed.instance();
    let job = submit(adapter.as_ref(), "k").await.unwrap();
    bed.clock.advance(Duration::from_millis(4200));
    let seen = adapter.poll(&cx("k"), &job).await.unwrap();
    assert_eq!(seen.message.as_deref(), Some("counting"));
    assert_eq!(seen.progress.map(|progress| (progress.done, progress.total)), Some((40.0, Some(100.0))));
    assert_eq!(seen.next_poll, Some(Duration::from_millis(800)));
}
