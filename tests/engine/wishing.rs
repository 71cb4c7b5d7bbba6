//! What callers do with a task they hold: answer, cancel, watch; and that nobody else can (requirements D4, E, F, I1).

use std::collections::BTreeMap;

use jobgate::domain::{
    CancelOutcome, CancelProgress, ErrorKind, InputAction, InputAnswer, InputAnswers, InputKind, InputPolicy, InputRequest,
    JobState, NoCancelPolicy, Observation, Principal, Status, TaskState,
};
use jobgate::engine::AccessError;
use jobgate_adapter_api::{Operation, Retry};
use serde_json::json;

use crate::fake::{Trouble, done, running};
use crate::rig::{HOUR, MINUTE, Rig, SECOND, call, failure, me, result};

fn asks(keys: &[&str]) -> Observation {
    let kind = InputKind::Form { schema: json!({"type": "object"}) };
    let ask = |key: &&str| InputRequest { key: (*key).to_owned(), message: "Go on?".to_owned(), kind: kind.clone() };
    Observation::new(JobState::InputRequired(keys.iter().map(ask).collect()))
}

fn answers(keys: &[&str], action: InputAction) -> InputAnswers {
    keys.iter().map(|key| ((*key).to_owned(), InputAnswer { action, content: Some(json!({"ok": true})) })).collect()
}

async fn asking(rig: &Rig, keys: &[&str]) -> jobgate::domain::TaskId {
    rig.fake.plan([asks(keys), running(), done("film")]);
    let id = rig.task(1).await.id;
    rig.advance(2 * SECOND).await;
    assert_eq!(rig.get(&id).await.status(), Status::InputRequired);
    id
}

/// E1-E3: answers in parts, twice and for unknown questions; the job gets each once and goes on.
#[tokio::test]
async fn each_answer_reaches_the_job_once() {
    let rig = Rig::started().await;
    let id = asking(&rig, &["a", "b"]).await;
    let engine = rig.engine();
    let task = engine.answer(&me(), &id, answers(&["x"], InputAction::Accept)).await.unwrap();
    assert_eq!(task.open_inputs().count(), 2);
    let task = engine.answer(&me(), &id, answers(&["a", "x"], InputAction::Accept)).await.unwrap();
    assert_eq!((task.status(), task.open_inputs().count()), (Status::InputRequired, 1));
    engine.answer(&me(), &id, answers(&["a"], InputAction::Decline)).await.unwrap();
    rig.advance(MINUTE).await;
    let task = engine.answer(&me(), &id, answers(&["b"], InputAction::Accept)).await.unwrap();
    assert_eq!(task.status(), Status::Working);
    engine.answer(&me(), &id, answers(&["a", "b"], InputAction::Decline)).await.unwrap();
    assert_eq!(result(&rig.end(&id, MINUTE).await).1, "film");
    assert_eq!(rig.fake.jobs()[0].answers, BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)]));
    assert_eq!(rig.fake.calls(Operation::Provide).len(), 2);
}

/// E3: a crash between the hand-over and its record repeats the hand-over, which acts once.
#[tokio::test]
async fn a_crash_does_not_lose_or_double_an_answer() {
    let mut rig = Rig::started().await;
    let id = asking(&rig, &["a"]).await;
    rig.fake.trouble(Operation::Provide, [Trouble::Hang]);
    rig.engine().answer(&me(), &id, answers(&["a"], InputAction::Accept)).await.unwrap();
    rig.settle().await;
    assert_eq!(rig.fake.calls(Operation::Provide).len(), 1);
    rig.crash().await;
    assert_eq!(result(&rig.end(&id, 5 * MINUTE).await).1, "film");
    assert_eq!(rig.fake.jobs()[0].answers, BTreeMap::from([("a".to_owned(), 1)]));
}

/// E4: where a decline cancels the job, the answer itself goes nowhere.
#[tokio::test]
async fn a_decline_can_cancel_the_job() {
    let mut rig = Rig::new();
    rig.policy.on_decline = InputPolicy::CancelJob;
    rig.start().await;
    let id = asking(&rig, &["a"]).await;
    rig.engine().answer(&me(), &id, answers(&["a"], InputAction::Decline)).await.unwrap();
    assert_eq!(rig.end(&id, MINUTE).await.status(), Status::Cancelled);
    assert_eq!(rig.fake.calls(Operation::Provide), []);
    assert_eq!(rig.fake.calls(Operation::Cancel).len(), 1);
}

/// E5: a question that nobody answers ends the task, and the provider is told.
#[tokio::test]
async fn a_question_does_not_stay_open_for_ever() {
    let mut rig = Rig::new();
    rig.policy.input_timeout = Some(10 * MINUTE);
    rig.start().await;
    let id = asking(&rig, &["a"]).await;
    let task = rig.end(&id, HOUR).await;
    assert_eq!(failure(&task).0, "input_timeout");
    rig.advance(SECOND).await;
    assert!(rig.fake.jobs()[0].cancelled);
}

/// An answer that the provider takes no more: the job has gone on, or the task says so.
#[tokio::test]
async fn a_refused_answer_ends_honestly() {
    let rig = Rig::started().await;
    let id = asking(&rig, &["a"]).await;
    rig.fake.trouble(Operation::Provide, [Trouble::Fail(ErrorKind::Rejected, Retry::Never)]);
    rig.engine().answer(&me(), &id, answers(&["a"], InputAction::Accept)).await.unwrap();
    let (category, message) = failure(&rig.end(&id, MINUTE).await);
    assert_eq!(category, "rejected");
    assert!(message.contains("refused the answer"), "{message}");

    let id = asking(&rig, &["a"]).await;
    rig.fake.trouble(Operation::Provide, [Trouble::Late(ErrorKind::Rejected)]);
    rig.fake.trouble(Operation::Provide, [Trouble::Fail(ErrorKind::Rejected, Retry::Never)]);
    rig.engine().answer(&me(), &id, answers(&["a"], InputAction::Accept)).await.unwrap();
    assert_eq!(result(&rig.end(&id, MINUTE).await).1, "film");
}

/// F1, F2: the wish is recorded at once, told until the provider answers, and the task settles as the job does.
#[tokio::test]
async fn a_cancel_reaches_the_job() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let id = rig.task(1).await.id;
    rig.fake.trouble(Operation::Cancel, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff); 4]);
    let task = rig.engine().cancel(&me(), &id, false).await.unwrap();
    assert_eq!((task.status(), task.message.as_deref()), (Status::Working, Some("cancel requested")));
    let again = rig.engine().cancel(&me(), &id, false).await.unwrap();
    assert_eq!(again.revision, task.revision);
    let task = rig.end(&id, 5 * MINUTE).await;
    assert_eq!(task.status(), Status::Cancelled);
    assert_eq!(rig.fake.calls(Operation::Cancel).len(), 5);
    let ended = rig.engine().cancel(&me(), &id, false).await.unwrap();
    assert_eq!(ended.revision, task.revision);
}

/// F1: the wish survives a crash.
#[tokio::test]
async fn a_cancel_survives_a_crash() {
    let mut rig = Rig::started().await;
    rig.fake.plan([running()]);
    let id = rig.task(1).await.id;
    rig.fake.state().chance = Some(Box::new(|_| Some(Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff))));
    rig.engine().cancel(&me(), &id, false).await.unwrap();
    rig.settle().await;
    rig.kill().await;
    rig.fake.state().chance = None;
    rig.start().await;
    assert_eq!(rig.end(&id, 5 * MINUTE).await.status(), Status::Cancelled);
}

/// F2: with `at_once` the task is cancelled before the reply and stays so, whatever the job does; the job is told all the same.
#[tokio::test]
async fn a_cancel_at_once_is_final() {
    let rig = Rig::started().await;
    rig.fake.plan([running(), done("film")]);
    rig.fake.state().cancel = CancelOutcome::Refused;
    let id = rig.task(1).await.id;
    let task = rig.engine().cancel(&me(), &id, true).await.unwrap();
    assert_eq!(task.status(), Status::Cancelled);
    rig.advance(HOUR / 2).await;
    let task = rig.get(&id).await;
    assert_eq!(task.status(), Status::Cancelled);
    assert_eq!(task.cancellation.as_ref().map(|wish| wish.progress), Some(CancelProgress::Refused));
}

/// F1: a cancel while the submit is on its way stops the job as soon as it is known.
#[tokio::test]
async fn a_cancel_during_the_submit_is_not_lost() {
    for at_once in [false, true] {
        let rig = Rig::started().await;
        rig.fake.plan([running()]);
        rig.fake.state().slow = 10 * SECOND;
        let task = rig.task(1).await;
        assert!(matches!(task.state, TaskState::Submitting { unsettled: true, .. }));
        rig.engine().cancel(&me(), &task.id, at_once).await.unwrap();
        rig.advance(2 * MINUTE).await;
        assert_eq!(rig.get(&task.id).await.status(), Status::Cancelled);
        assert_eq!(rig.fake.jobs().len(), 1);
        assert!(rig.fake.jobs()[0].cancelled);
        assert_eq!(rig.fake.calls(Operation::Submit).len(), 1, "a submit on its way is not repeated");
    }
}

/// K2: a cancel while a look is on its way waits for the look, and for nothing else.
#[tokio::test]
async fn two_calls_about_one_job_never_overlap() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let id = rig.task(1).await.id;
    rig.advance(MINUTE).await;
    rig.fake.state().slow = 3 * SECOND;
    let looks = rig.fake.calls(Operation::Poll).len();
    while rig.fake.calls(Operation::Poll).len() == looks {
        rig.advance(SECOND / 2).await;
    }
    rig.engine().cancel(&me(), &id, false).await.unwrap();
    rig.advance(4 * SECOND).await;
    let state = rig.fake.state();
    assert_eq!(state.overlaps, []);
    let [.., look, cancel] = &state.journal[..] else { panic!("{:?}", state.journal) };
    assert_eq!((look.operation, cancel.operation), (Operation::Poll, Operation::Cancel));
    assert_eq!(cancel.at.since(look.at), 3 * SECOND);
}

/// C4: that a repeated submit had no effect says nothing about the first one: a cancel still has a job to stop.
#[tokio::test]
async fn a_repeat_that_fails_does_not_hide_the_job() {
    let rig = Rig::started().await;
    rig.fake.state().capabilities.find = false;
    rig.fake.plan([running()]);
    rig.fake.trouble(Operation::Submit, [Trouble::Late(ErrorKind::OutcomeUnknown)]);
    rig.fake.trouble(Operation::Submit, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff); 2]);
    let id = rig.task(1).await.id;
    rig.advance(2 * SECOND).await;
    assert_eq!(rig.fake.calls(Operation::Submit).len(), 2);
    rig.engine().cancel(&me(), &id, false).await.unwrap();
    assert_eq!(rig.end(&id, MINUTE).await.status(), Status::Cancelled);
    assert!(rig.fake.jobs()[0].cancelled);
}

/// Before anything was sent, a cancel needs nobody else.
#[tokio::test]
async fn a_cancel_before_the_submit_starts_nothing() {
    let mut rig = Rig::new();
    rig.provider.concurrency = 1;
    rig.start().await;
    rig.fake.state().slow = 10 * SECOND;
    rig.task(1).await;
    let queued = rig.task(2).await;
    assert!(matches!(queued.state, TaskState::Submitting { attempt: 0, unsettled: false }), "{queued:?}");
    let task = rig.engine().cancel(&me(), &queued.id, false).await.unwrap();
    assert_eq!(task.status(), Status::Cancelled);
    rig.advance(5 * MINUTE).await;
    assert_eq!(rig.fake.jobs().len(), 1);
}

/// F3: where the provider has no cancel, the task says so, and goes on or is abandoned as configured.
#[tokio::test]
async fn a_provider_without_cancel() {
    for (policy, status) in [(NoCancelPolicy::RunOn, Status::Completed), (NoCancelPolicy::Abandon, Status::Cancelled)] {
        let mut rig = Rig::new();
        rig.policy.on_no_cancel = policy;
        rig.start().await;
        rig.fake.state().capabilities.cancel = false;
        rig.fake.plan([running(), running(), done("film")]);
        let id = rig.task(1).await.id;
        rig.engine().cancel(&me(), &id, false).await.unwrap();
        rig.settle().await;
        let task = rig.get(&id).await;
        assert!(task.message.as_ref().is_some_and(|message| message.contains("the job runs on")), "{task:?}");
        assert_eq!(rig.end(&id, MINUTE).await.status(), status);
        assert_eq!(rig.fake.calls(Operation::Cancel), []);
    }
}

/// While a cancel does not get through, the job may end by itself.
#[tokio::test]
async fn a_job_may_end_while_its_cancel_fails() {
    let rig = Rig::started().await;
    let id = rig.task(1).await.id;
    rig.fake.trouble(Operation::Cancel, [Trouble::Fail(ErrorKind::Protocol, Retry::Backoff); 1000]);
    rig.engine().cancel(&me(), &id, false).await.unwrap();
    assert_eq!(result(&rig.end(&id, MINUTE).await).1, "done");
    rig.advance(HOUR / 10).await;
    assert!(rig.fake.calls(Operation::Cancel).len() < 4, "nothing is owed to a job that has ended");
}

/// I1: someone else's task looks like one that never was, in every verb.
#[tokio::test]
async fn a_stranger_sees_nothing() {
    let rig = Rig::started().await;
    rig.fake.plan([asks(&["a"]), done("film")]);
    let id = rig.task(1).await.id;
    rig.advance(2 * SECOND).await;
    let engine = rig.engine();
    for stranger in [Principal::new("acme", "bob"), Principal::new("other", "ann")] {
        assert!(matches!(engine.get(&stranger, &id).await, Err(AccessError::NotFound)));
        assert!(matches!(engine.cancel(&stranger, &id, true).await, Err(AccessError::NotFound)));
        let answer = answers(&["a"], InputAction::Accept);
        assert!(matches!(engine.answer(&stranger, &id, answer).await, Err(AccessError::NotFound)));
        assert!(matches!(engine.audit(&stranger, &id).await, Err(AccessError::NotFound)));
        let until = jobgate::domain::Clock::now(rig.clock.as_ref());
        assert!(matches!(engine.wait(&stranger, &id, until, None).await, Err(AccessError::NotFound)));
        assert_eq!(engine.watch(&stranger, &[id]).await.unwrap().ids(), []);
    }
    assert_eq!(rig.get(&id).await.status(), Status::InputRequired);
}

/// D4: the present state first, then every visible change; a slow reader gets the newest; the end of the engine ends the watch.
#[tokio::test]
async fn a_watch_shows_what_changes() {
    let rig = Rig::started().await;
    rig.fake.plan([running(), running().with_message("one"), running().with_message("two"), done("film")]);
    let id = rig.task(1).await.id;
    let engine = rig.engine();
    let stranger = jobgate::domain::TaskId::from_bytes([9; 16]);
    let mut watch = engine.watch(&me(), &[stranger, id]).await.unwrap();
    assert_eq!(watch.ids(), [id]);
    let now = watch.next().await.unwrap();
    assert_eq!((now.id, now.message.as_deref()), (id, None));
    let mut said = Vec::new();
    while said.len() < 3 {
        let task = rig.drive(watch.next()).await.unwrap();
        said.push(task.message.clone().unwrap_or_else(|| task.status().as_str().to_owned()));
    }
    assert_eq!(said, ["one", "two", "completed"]);

    let mut slow = engine.watch(&me(), &[rig.task(2).await.id]).await.unwrap();
    rig.advance(MINUTE).await;
    assert_eq!(slow.next().await.unwrap().status(), Status::Completed);
    let (end, ()) = tokio::join!(slow.next(), engine.shutdown());
    assert_eq!(end.map(|task| task.id), None);
}

/// A plain call blocks, tells the news, gives the result and stores nothing (A4).
#[tokio::test]
async fn a_plain_call_stores_nothing() {
    let rig = Rig::started().await;
    rig.fake.plan([running().with_message("one"), done("film")]);
    let engine = rig.engine();
    let (updates, mut news) = tokio::sync::mpsc::channel(8);
    let result = rig.drive(engine.run_plain(call(1), updates)).await.unwrap();
    assert!(!result.is_error);
    assert_eq!(news.recv().await.and_then(|update| update.message).as_deref(), Some("one"));
    assert_eq!(rig.store.count_live(&me()).await.unwrap(), 0);

    rig.fake.plan([running()]);
    let (updates, _news) = tokio::sync::mpsc::channel(8);
    let error = rig.drive(engine.run_plain(call(2), updates)).await.unwrap_err();
    assert!(error.to_string().contains("did not end within 45 s"), "{error}");
    rig.settle().await;
    assert!(rig.fake.jobs()[1].cancelled, "nobody waits for it any more");
}
