//! Lives, limits, restarts and the end of the gateway (requirements C2, G, K2, K4, L4).

use jobgate::domain::{Clock as _, ExpiryPolicy, Scope, Status, TaskState};
use jobgate::engine::{Call, CallError, Engine, EngineError};
use jobgate::store::{ListQuery, StoreError};
use jobgate_adapter_api::Operation;

use crate::fake::{done, running};
use crate::rig::{HOUR, MINUTE, Rig, SECOND, call, failure, me, result};

fn everything() -> ListQuery {
    ListQuery { scope: Scope::Everybody, after: None, limit: 1000 }
}

/// G1, G2: a task lives as long as was granted, then it is gone, data and all.
#[tokio::test]
async fn an_expired_task_is_gone() {
    let rig = Rig::started().await;
    let called = rig.call(Call { ttl: Some(HOUR), ..call(1) }).await.unwrap();
    let jobgate::engine::Called::Task(task) = called else { panic!("{called:?}") };
    assert_eq!(task.ttl, Some(HOUR));
    rig.advance(HOUR - SECOND).await;
    assert_eq!(result(&rig.get(&task.id).await).1, "done");
    rig.advance(SECOND).await;
    assert!(rig.is_unknown(&task.id).await);
    rig.advance(MINUTE).await;
    assert!(rig.store.get(&task.id).await.unwrap().is_none());
    assert_eq!(rig.store.audit(&task.id).await.unwrap(), []);
}

/// G1: a short life does not lose a result that nobody could have fetched yet, and a caller sees the longer life.
#[tokio::test]
async fn a_result_is_kept_for_a_while_whatever_the_life() {
    let rig = Rig::started().await;
    let called = rig.call(Call { ttl: Some(SECOND), ..call(1) }).await.unwrap();
    let jobgate::engine::Called::Task(task) = called else { panic!("{called:?}") };
    rig.advance(5 * MINUTE).await;
    let kept = rig.get(&task.id).await;
    assert_eq!(result(&kept).1, "done");
    assert!(kept.ttl >= Some(10 * MINUTE), "{:?}", kept.ttl);
    rig.advance(6 * MINUTE).await;
    assert!(rig.is_unknown(&task.id).await);
}

/// What happens to a job that outlives its task's life is the tool's to say.
#[tokio::test]
async fn the_end_of_a_life_is_the_tools_policy() {
    for (policy, cancelled) in [(ExpiryPolicy::Keep, false), (ExpiryPolicy::Cancel, true), (ExpiryPolicy::Detach, false)] {
        let mut rig = Rig::new();
        rig.policy.on_expiry = policy;
        rig.start().await;
        rig.fake.plan([running()]);
        let called = rig.call(Call { ttl: Some(HOUR), ..call(1) }).await.unwrap();
        let jobgate::engine::Called::Task(task) = called else { panic!("{called:?}") };
        rig.advance(HOUR + MINUTE).await;
        let task = rig.get(&task.id).await;
        match policy {
            ExpiryPolicy::Keep => {
                assert_eq!(task.status(), Status::Working);
                assert!(task.expires_at() > Some(rig.clock.now().plus(HOUR / 2)), "{:?}", task.ttl);
                rig.fake.plan([done("film")]);
                assert_eq!(result(&rig.end(&task.id, MINUTE).await).1, "film");
            }
            ExpiryPolicy::Cancel | ExpiryPolicy::Detach => assert_eq!(failure(&task).0, "expired"),
        }
        assert_eq!(rig.fake.jobs()[0].cancelled, cancelled, "{policy:?}");
        assert_eq!(rig.store.count_live(&me()).await.unwrap(), 0, "the place is free again");
    }
}

/// G4: unfinished tasks of one principal and bytes of arguments are limited, also for calls at once.
#[tokio::test]
async fn callers_have_limits() {
    let mut rig = Rig::new();
    rig.limits.max_live_tasks_per_principal = 3;
    rig.limits.max_argument_bytes = 20;
    rig.start().await;
    rig.fake.plan([running()]);
    let engine = rig.engine();
    let all = rig.drive(futures_util::future::join_all((0..10).map(|n| engine.call(call(n))))).await;
    let refused = all.iter().filter(|called| matches!(called, Err(CallError::TooManyTasks { limit: 3 }))).count();
    assert_eq!((refused, rig.fake.jobs().len()), (7, 3));
    let other = Call { owner: jobgate::domain::Principal::new("acme", "bob"), ..call(1) };
    assert!(rig.call(other).await.is_ok());
    let mut large = call(1);
    large.arguments.insert("text".to_owned(), "0123456789".into());
    assert!(matches!(rig.call(large).await, Err(CallError::ArgumentsTooLarge { limit: 20 })));
    let unknown = Call { tool: jobgate::domain::ToolName::new("nothing"), ..call(1) };
    assert!(matches!(rig.call(unknown).await, Err(CallError::UnknownTool)));
}

/// A1, C4: after a crash between the intent and the submit there is exactly one job, also where the provider was saturated.
#[tokio::test]
async fn a_crash_before_the_submit_loses_and_doubles_nothing() {
    let mut rig = Rig::new();
    rig.provider.concurrency = 1;
    rig.fake.state().capabilities.find = false;
    rig.fake.state().capabilities.idempotent_submit = false;
    rig.start().await;
    rig.fake.state().slow = 10 * SECOND;
    let (sent, queued) = (rig.task(1).await, rig.task(2).await);
    assert!(matches!(sent.state, TaskState::Submitting { attempt: 1, unsettled: true }));
    assert!(matches!(queued.state, TaskState::Submitting { attempt: 0, unsettled: false }));
    rig.kill().await;
    rig.fake.state().slow = SECOND / 10;
    rig.start().await;
    assert_eq!(failure(&rig.end(&sent.id, HOUR).await).0, "unknown_outcome");
    assert_eq!(result(&rig.end(&queued.id, HOUR).await).1, "done");
    assert_eq!(rig.fake.jobs().len(), 1);
}

/// C4: a job that can be found only after a while is waited for, not started again.
#[tokio::test]
async fn a_job_that_is_found_late_is_not_started_twice() {
    let mut rig = Rig::started().await;
    rig.fake.state().capabilities.idempotent_submit = false;
    rig.fake.state().find_lag = 20 * SECOND;
    rig.fake.trouble(Operation::Submit, [crate::fake::Trouble::Hang]);
    let id = rig.task(1).await.id;
    rig.crash().await;
    assert_eq!(result(&rig.end(&id, HOUR).await).1, "done");
    assert_eq!((rig.fake.jobs().len(), rig.fake.calls(Operation::Submit).len()), (1, 1));
}

/// C4: a submit that never got there is sent again, once the provider has not known it for long enough.
#[tokio::test]
async fn a_submit_that_never_arrived_is_sent_again() {
    let mut rig = Rig::started().await;
    rig.fake.state().capabilities.idempotent_submit = false;
    rig.fake.trouble(Operation::Submit, [crate::fake::Trouble::Hang]);
    let id = rig.task(1).await.id;
    rig.fake.state().jobs.clear();
    rig.crash().await;
    assert_eq!(result(&rig.end(&id, HOUR).await).1, "done");
    let submits = rig.fake.calls(Operation::Submit);
    assert_eq!((rig.fake.jobs().len(), submits.len()), (1, 2));
    assert!(submits[1].since(submits[0]) >= 30 * SECOND, "{submits:?}");
}

/// K4: after a restart many live tasks are taken up again over their own intervals, the first few at once.
#[tokio::test]
async fn a_restart_is_no_stampede() {
    let mut rig = Rig::new();
    rig.provider.concurrency = 8;
    rig.limits.max_live_tasks_per_principal = 10_000;
    rig.start().await;
    rig.fake.plan([running()]);
    for n in 0..600 {
        rig.task(n).await;
    }
    rig.advance(5 * MINUTE).await;
    rig.kill().await;
    rig.clock.advance(10 * MINUTE);
    let before = rig.fake.calls(Operation::Poll).len();
    rig.start().await;
    rig.advance(SECOND).await;
    let first = rig.fake.calls(Operation::Poll).len() - before;
    assert!((8..60).contains(&first), "{first} looks in the first second");
    rig.advance(35 * SECOND).await;
    let all = rig.fake.calls(Operation::Poll).len() - before;
    assert!((600..800).contains(&all), "{all} looks in the first interval");
}

/// L4: a shutdown waits for calls on their way within the grace and starts nothing new; the rest is for the next start.
#[tokio::test]
async fn a_shutdown_finishes_what_it_can() {
    let mut rig = Rig::started().await;
    rig.fake.state().slow = 5 * SECOND;
    let id = rig.task(1).await.id;
    let engine = rig.engine();
    rig.drive(engine.shutdown()).await;
    assert!(matches!(rig.call(call(2)).await, Err(CallError::ShuttingDown)));
    assert!(matches!(rig.store.get(&id).await, Err(StoreError::Closed)));
    assert_eq!(rig.fake.state().running_calls, 0);
    assert_eq!(rig.fake.jobs().len(), 1);

    rig = Rig::started().await;
    rig.fake.state().slow = HOUR;
    rig.task(1).await;
    let before = rig.clock.now();
    let engine = rig.engine();
    rig.drive(engine.shutdown()).await;
    assert_eq!(rig.clock.now().since(before), 10 * SECOND);
}

/// A tool that left the configuration: its tasks wait a while for it to come back, then say so.
#[tokio::test]
async fn tasks_of_a_tool_that_is_gone_say_so() {
    for provider_too in [false, true] {
        let mut rig = Rig::started().await;
        rig.fake.plan([running()]);
        let id = rig.task(1).await.id;
        rig.kill().await;
        let mut parts = rig.parts();
        parts.tools.clear();
        if provider_too {
            parts.providers.clear();
        }
        let engine = Engine::start(parts).await.unwrap();
        rig.advance(5 * MINUTE).await;
        assert_eq!(engine.get(&me(), &id).await.unwrap().status(), Status::Working);
        rig.advance(6 * MINUTE).await;
        assert_eq!(failure(engine.get(&me(), &id).await.unwrap()).0, "configuration");
    }
    let mut rig = Rig::new();
    let mut parts = rig.parts();
    parts.providers.clear();
    assert!(matches!(Engine::start(parts).await, Err(EngineError::UnknownProvider { .. })));
}

/// The key that seals what callers carry is the same after a restart.
#[tokio::test]
async fn the_seal_key_stays() {
    let mut rig = Rig::started().await;
    let key = rig.engine().seal_key().await.unwrap();
    rig.crash().await;
    assert_eq!(rig.engine().seal_key().await.unwrap(), key);
    assert!(rig.engine().list(everything()).await.unwrap().is_empty());
}
