//! A call becomes a durable task with one job (requirements A1, C1, C3, C4).

use jobgate::domain::{Status, TaskState};
use jobgate::engine::{CallError, Called};
use jobgate_adapter_api::{ErrorKind, Operation, Retry};

use crate::fake::Trouble;
use crate::rig::{HOUR, MINUTE, Rig, SECOND, call, failure, result};

/// A1, C1: the handle is there at once, the job runs, the result is kept.
#[tokio::test]
async fn a_call_becomes_a_task_and_the_task_gets_the_result() {
    let rig = Rig::started().await;
    let task = rig.task(1).await;
    assert!(matches!(task.state, TaskState::Running { .. }), "{task:?}");
    assert_eq!(rig.get(&task.id).await.status(), Status::Working);
    let task = rig.end(&task.id, MINUTE).await;
    assert_eq!(result(&task), (false, "done".to_owned()));
    assert_eq!(rig.fake.jobs().len(), 1);
    assert_eq!(rig.audit(&task.id).await, ["created", "accepted", "observed"]);
}

/// The answer to a submit may already tell the end.
#[tokio::test]
async fn a_job_that_ends_at_once_needs_no_look() {
    let rig = Rig::started().await;
    rig.fake.state().tell_at_once = true;
    rig.fake.plan([crate::fake::done("quick")]);
    let task = rig.task(1).await;
    assert_eq!(result(&task), (false, "quick".to_owned()));
    assert_eq!(rig.fake.calls(Operation::Poll), []);
}

/// C4: an answer that is lost on its way starts no second job, wherever the provider can tell or takes the key again.
#[tokio::test]
async fn a_lost_answer_starts_no_second_job() {
    for (find, idempotent_submit) in [(true, true), (true, false), (false, true)] {
        for trouble in [Trouble::Hang, Trouble::Late(ErrorKind::OutcomeUnknown), Trouble::Late(ErrorKind::Protocol)] {
            let rig = Rig::started().await;
            rig.fake.state().capabilities.find = find;
            rig.fake.state().capabilities.idempotent_submit = idempotent_submit;
            rig.fake.trouble(Operation::Submit, [trouble]);
            let task = rig.task(1).await;
            let task = rig.end(&task.id, HOUR).await;
            assert_eq!(result(&task), (false, "done".to_owned()), "{find} {idempotent_submit} {trouble:?}");
            assert_eq!(rig.fake.jobs().len(), 1, "{find} {idempotent_submit} {trouble:?}");
        }
    }
}

/// C4: where nobody can tell, the task says so; no second job is started in silence.
#[tokio::test]
async fn an_outcome_that_nobody_can_tell_ends_the_task() {
    let rig = Rig::started().await;
    rig.fake.state().capabilities.find = false;
    rig.fake.state().capabilities.idempotent_submit = false;
    rig.fake.trouble(Operation::Submit, [Trouble::Late(ErrorKind::OutcomeUnknown)]);
    let task = rig.task(1).await;
    let (category, message) = failure(&task);
    assert_eq!(category, "unknown_outcome");
    assert!(message.contains("may have been started"), "{message}");
    rig.advance(HOUR).await;
    assert_eq!(rig.fake.calls(Operation::Submit).len(), 1);
}

/// A provider that is down leaves a task that says so and keeps trying within its budget.
#[tokio::test]
async fn a_provider_that_is_down_is_tried_again() {
    let rig = Rig::started().await;
    rig.fake.trouble(Operation::Submit, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff); 3]);
    let task = rig.task(1).await;
    assert!(task.message.as_ref().is_some_and(|message| message.contains("could not be submitted yet")), "{task:?}");
    let task = rig.end(&task.id, MINUTE).await;
    assert_eq!(result(&task), (false, "done".to_owned()));
    assert_eq!(rig.fake.jobs().len(), 1);
}

/// The budget of a submit ends, and the task says why.
#[tokio::test]
async fn a_submit_is_given_up_after_its_budget() {
    let rig = Rig::started().await;
    rig.fake.trouble(Operation::Submit, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff); 1000]);
    let task = rig.task(1).await;
    let task = rig.end(&task.id, HOUR).await;
    let (category, message) = failure(&task);
    assert_eq!(category, "unavailable");
    assert!(message.contains("told to fail"), "{message}");
    let tries = rig.fake.calls(Operation::Submit);
    assert!((5..60).contains(&tries.len()), "{}", tries.len());
    assert_eq!(tries.last().map(|at| rig.seconds(*at) <= 600.0), Some(true));
}

/// B5: a refused job is the tool's own error, at once; refused credentials are the gateway's fault.
#[tokio::test]
async fn a_refused_job_is_the_tools_own_error() {
    let rig = Rig::started().await;
    rig.fake.trouble(Operation::Submit, [Trouble::Fail(ErrorKind::Rejected, Retry::Never)]);
    match rig.call(call(1)).await {
        Ok(Called::Refused(result)) => assert!(result.is_error),
        other => panic!("{other:?}"),
    }
    rig.fake.trouble(Operation::Submit, [Trouble::Fail(ErrorKind::Unauthorized, Retry::Never)]);
    let (category, message) = failure(&rig.task(2).await);
    assert_eq!(category, "unauthorized");
    assert!(message.contains("credentials"), "{message}");
    rig.advance(HOUR).await;
    assert_eq!(rig.fake.calls(Operation::Submit).len(), 2);
}

/// C4: a provider that may have forgotten the job by its key proves nothing: no second submit, and the task says that nobody knows.
#[tokio::test]
async fn a_provider_that_may_have_forgotten_the_job_is_no_proof() {
    let rig = Rig::started().await;
    rig.fake.state().capabilities.idempotent_submit = false;
    rig.fake.trouble(Operation::Submit, [Trouble::Fail(ErrorKind::OutcomeUnknown, Retry::Backoff)]);
    rig.fake.trouble(Operation::Find, [Trouble::Fail(ErrorKind::OutcomeUnknown, Retry::Backoff)]);
    let task = rig.task(1).await;
    rig.advance(HOUR).await;
    let (category, message) = failure(&rig.get(&task.id).await);
    assert!(category == "unknown_outcome" && message.contains("look there before you try again"), "{category}: {message}");
    assert_eq!((rig.fake.calls(Operation::Submit).len(), rig.fake.calls(Operation::Find).len()), (1, 1));
}

/// A slow provider does not hold the caller for longer than `submit_wait`, and a connection that is cut cancels nothing.
#[tokio::test]
async fn a_slow_provider_holds_nobody_up() {
    let rig = Rig::started().await;
    rig.fake.state().slow = 10 * SECOND;
    let before = jobgate::domain::Clock::now(rig.clock.as_ref());
    let task = rig.task(1).await;
    assert_eq!(jobgate::domain::Clock::now(rig.clock.as_ref()).since(before), 2 * SECOND);
    assert!(matches!(task.state, TaskState::Submitting { unsettled: true, .. }), "{task:?}");
    assert_eq!(result(&rig.end(&task.id, MINUTE).await).1, "done");

    let engine = rig.engine();
    let cut = engine.call(call(2));
    tokio::select! {
        biased;
        _ = cut => panic!("it ended"),
        () = rig.settle() => {}
    }
    rig.advance(MINUTE).await;
    assert_eq!(rig.fake.jobs().len(), 2);
    assert_eq!(
        rig.engine()
            .list(jobgate::store::ListQuery { scope: jobgate::domain::Scope::Everybody, after: None, limit: 9 })
            .await
            .unwrap()
            .iter()
            .filter(|task| task.status() == Status::Completed)
            .count(),
        2
    );
}

/// C3: the same key is the same wish; with other arguments it is a mistake.
#[tokio::test]
async fn a_key_makes_one_task() {
    let rig = Rig::started().await;
    let keyed = |n| jobgate::engine::Call { key: Some("k".to_owned()), ..call(n) };
    let engine = rig.engine();
    let (one, other) = rig.drive(async { tokio::join!(engine.call(keyed(1)), engine.call(keyed(1))) }).await;
    let ids: Vec<_> = [one, other, rig.call(keyed(1)).await]
        .into_iter()
        .map(|called| match called.unwrap() {
            Called::Task(task) => task.id,
            Called::Refused(result) => panic!("{result:?}"),
        })
        .collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2], "{ids:?}");
    assert!(matches!(rig.call(keyed(2)).await, Err(CallError::KeyConflict)));
    rig.advance(MINUTE).await;
    assert_eq!(rig.fake.jobs().len(), 1);
}
