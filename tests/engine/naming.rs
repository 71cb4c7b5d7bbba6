//! Tasks found by what they are called, shared by equal calls, removed at their owner's word (requirements C3, G3, H5, H7, H8, I1).

use std::sync::Arc;
use std::time::Duration;

use jobgate::domain::{Join, LifeFrom, Principal, RequestName, Scope, Status, Task, TaskId};
use jobgate::engine::{AccessError, Call, CallError, CallNames, Called, DeleteError};
use jobgate::store::ListQuery;
use jobgate_adapter_api::{ErrorKind, Operation, Retry};
use proptest::prelude::*;

use crate::fake::{Trouble, done, running};
use crate::rig::{HOUR, MINUTE, Rig, SECOND, call, me, result};

fn called(n: u64, client_id: &str) -> Call {
    Call { names: CallNames { client_id: Some(client_id.to_owned()), ..CallNames::default() }, ..call(n) }
}

fn bob() -> Principal {
    Principal::new("acme", "bob")
}

fn admin() -> Scope {
    Scope::Tenant(Principal::new("acme", "root"))
}

async fn task(rig: &Rig, call: Call) -> Arc<Task> {
    match rig.call(call).await.unwrap() {
        Called::Task(task) => task,
        Called::Refused(result) => panic!("{result:?}"),
    }
}

async fn joining() -> Rig {
    let mut rig = Rig::new();
    rig.policy.join = Join::SameArguments;
    rig.start().await;
    rig
}

/// H8: a client's id is its task's name for its owner alone; an id of ours names it, too.
#[tokio::test]
async fn a_client_id_names_its_owners_task() {
    let mut rig = Rig::started().await;
    let mine = task(&rig, called(1, "mine")).await;
    assert_eq!(mine.shown_id(), "mine");
    let his = task(&rig, Call { owner: bob(), ..called(2, "mine") }).await;
    let ours = task(&rig, call(3)).await;
    assert_eq!(ours.shown_id(), ours.id.to_string());
    rig.crash().await;
    let engine = rig.engine();
    assert_eq!(engine.find(&me(), "mine").await.unwrap().id, mine.id);
    assert_eq!(engine.find(&me(), &mine.id.to_string()).await.unwrap().id, mine.id);
    assert_eq!(engine.find(&bob(), "mine").await.unwrap().id, his.id);
    assert_eq!(engine.find(admin(), &his.id.to_string()).await.unwrap().id, his.id);
    let other_tenant = Scope::Tenant(Principal::new("other", "root"));
    for (who, text) in [
        (Scope::from(&bob()), mine.id.to_string()),
        (Scope::from(&me()), "yours".to_owned()),
        (admin(), "mine".to_owned()),
        (other_tenant, mine.id.to_string()),
        (Scope::Everybody, "mine".to_owned()),
    ] {
        assert!(matches!(engine.find(&who, &text).await, Err(AccessError::NotFound)), "{who:?} {text}");
    }
}

/// H5: an id in use is refused, also for two calls at once; one that is none is refused; nothing is started by either.
#[tokio::test]
async fn an_id_in_use_is_refused() {
    let rig = Rig::started().await;
    let engine = rig.engine();
    let (one, other) = rig.drive(async { tokio::join!(engine.call(called(1, "mine")), engine.call(called(2, "mine"))) }).await;
    let taken = |called: &Result<Called, CallError>| matches!(called, Err(CallError::NameTaken));
    assert_eq!([&one, &other].map(taken).iter().filter(|taken| **taken).count(), 1, "{one:?} {other:?}");
    assert!(taken(&rig.call(called(1, "mine")).await));
    let ours = TaskId::from_bytes([1; 16]).to_string();
    for bad in ["", &ours, &"x".repeat(257)] {
        assert!(matches!(rig.call(called(1, bad)).await, Err(CallError::BadName)), "{bad}");
    }
    rig.advance(MINUTE).await;
    assert_eq!(rig.fake.jobs().len(), 1);
}

/// H5, G2: an id is free again the moment its task's life is over, before any sweep; so is a key.
#[tokio::test]
async fn the_names_of_an_expired_task_are_free_at_once() {
    let rig = Rig::started().await;
    let named = || Call { ttl: Some(HOUR), ..called(1, "mine") };
    let keyed = || Call { ttl: Some(HOUR), key: Some("k".to_owned()), ..call(2) };
    let (first, by_key) = (task(&rig, named()).await, task(&rig, keyed()).await);
    rig.advance(HOUR - SECOND).await;
    assert!(matches!(rig.call(named()).await, Err(CallError::NameTaken)));
    assert_eq!(task(&rig, keyed()).await.id, by_key.id);
    rig.clock.advance(2 * SECOND);
    assert_ne!(task(&rig, named()).await.id, first.id);
    assert_ne!(task(&rig, keyed()).await.id, by_key.id);
    assert_eq!(rig.fake.jobs().len(), 4);
}

/// A request finds the task that it made, the newest one first, for its principal alone, and across a crash.
#[tokio::test]
async fn a_request_finds_its_task() {
    let mut rig = Rig::started().await;
    let name = |id: &str| RequestName { session: Some("s".to_owned()), id: id.to_owned() };
    let request = |n, id: &str| Call { names: CallNames { request: Some(name(id)), ..CallNames::default() }, ..call(n) };
    task(&rig, request(1, "7")).await;
    rig.clock.advance(SECOND);
    let newer = task(&rig, request(2, "7")).await;
    rig.crash().await;
    let engine = rig.engine();
    assert_eq!(engine.find_request(&me(), &name("7")).await.unwrap().map(|task| task.id), Some(newer.id));
    assert_eq!(engine.find_request(&me(), &name("8")).await.unwrap(), None);
    assert_eq!(engine.find_request(&bob(), &name("7")).await.unwrap(), None);
}

/// Equal calls of one principal share one job while it runs, at once and later, across a crash, and beyond the limit of tasks; each
/// call is answered like the first.
#[tokio::test]
async fn equal_calls_share_a_running_job() {
    let mut rig = joining().await;
    rig.limits.max_live_tasks_per_principal = 2;
    rig.crash().await;
    rig.fake.plan([running()]);
    let engine = rig.engine();
    let (one, other) = rig.drive(async { tokio::join!(engine.call(call(1)), engine.call(call(1))) }).await;
    let (Ok(Called::Task(one)), Ok(Called::Task(other))) = (one, other) else { panic!("no tasks") };
    assert_eq!((one.id, one.job()), (other.id, other.job()));
    drop(engine);
    rig.crash().await;
    assert_eq!(task(&rig, call(1)).await.id, one.id);
    let second = task(&rig, call(2)).await;
    assert_ne!(second.id, one.id);
    assert!(matches!(rig.call(call(3)).await, Err(CallError::TooManyTasks { limit: 2 })));
    assert_eq!(task(&rig, call(1)).await.id, one.id);
    assert_ne!(task(&rig, Call { owner: bob(), ..call(1) }).await.id, one.id);
    assert_eq!(rig.fake.jobs().len(), 3);
}

/// C4: a caller that asks again after a crash in the middle of its call gets the task of then, and its one job.
#[tokio::test]
async fn a_repeat_after_a_crash_joins_the_job_of_before() {
    let mut rig = joining().await;
    rig.fake.state().slow = 10 * SECOND;
    let engine = rig.engine();
    tokio::select! {
        biased;
        _ = engine.call(call(1)) => panic!("it ended"),
        () = rig.settle() => {}
    }
    drop(engine);
    rig.kill().await;
    rig.fake.state().slow = SECOND;
    rig.start().await;
    let again = task(&rig, call(1)).await;
    assert_eq!(result(&rig.end(&again.id, HOUR).await).1, "done");
    let all = ListQuery { scope: Scope::Everybody, after: None, limit: 9 };
    assert_eq!(rig.engine().list(all).await.unwrap().len(), 1);
    assert_eq!(rig.fake.jobs().len(), 1);
}

/// A job that has ended, or that someone wants stopped, is joined by nobody; a call with a key or an id of its own never joins.
#[tokio::test]
async fn only_a_running_job_is_joined() {
    let rig = joining().await;
    rig.fake.plan([done("film")]);
    let first = task(&rig, call(1)).await;
    rig.end(&first.id, MINUTE).await;
    rig.fake.plan([running()]);
    let second = task(&rig, call(1)).await;
    assert_ne!(second.id, first.id);
    let keyed = task(&rig, Call { key: Some("k".to_owned()), ..call(1) }).await;
    let named = task(&rig, called(1, "mine")).await;
    assert!(keyed.id != second.id && named.id != second.id && named.id != keyed.id);
    assert_eq!(task(&rig, call(1)).await.id, second.id);
    rig.engine().cancel(&me(), &second.id, false).await.unwrap();
    let third = task(&rig, call(1)).await;
    assert!(![first.id, second.id, keyed.id, named.id].contains(&third.id));
}

/// Without the tool's word for it, equal calls are two wishes.
#[tokio::test]
async fn equal_calls_are_two_wishes_otherwise() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    assert_ne!(rig.task(1).await.id, rig.task(1).await.id);
}

/// B5: where the provider refuses the job, every call that shares it gets the tool's own error.
#[tokio::test]
async fn a_refusal_is_shared_too() {
    let rig = joining().await;
    rig.fake.state().slow = SECOND;
    rig.fake.trouble(Operation::Submit, [Trouble::Fail(ErrorKind::Rejected, Retry::Never)]);
    let engine = rig.engine();
    let (one, other) = rig.drive(async { tokio::join!(engine.call(call(1)), engine.call(call(1))) }).await;
    assert!(matches!((&one, &other), (Ok(Called::Refused(_)), Ok(Called::Refused(_)))), "{one:?} {other:?}");
    assert_eq!(rig.fake.calls(Operation::Submit).len(), 1);
}

/// G3: an ended task goes at its owner's or an admin's word with all that belongs to it; a running one stays.
#[tokio::test]
async fn an_ended_task_is_deleted_at_its_owners_word() {
    let rig = Rig::started().await;
    rig.fake.plan([running(), done("film")]);
    let (first, second) = (task(&rig, called(1, "mine")).await, rig.task(2).await);
    let engine = rig.engine();
    assert!(matches!(engine.delete(&me(), &first.id).await, Err(DeleteError::Running)));
    rig.advance(MINUTE).await;
    for stranger in [Scope::from(&bob()), Scope::Tenant(Principal::new("other", "ann"))] {
        assert!(matches!(engine.delete(stranger, &first.id).await, Err(DeleteError::NotFound)));
    }
    engine.delete(&me(), &first.id).await.unwrap();
    assert!(rig.is_unknown(&first.id).await);
    assert_eq!(rig.store.audit(&first.id).await.unwrap(), []);
    assert!(matches!(engine.delete(&me(), &first.id).await, Err(DeleteError::NotFound)));
    assert!(matches!(engine.find(&me(), "mine").await, Err(AccessError::NotFound)));
    task(&rig, called(3, "mine")).await;
    engine.delete(admin(), &second.id).await.unwrap();
    assert!(rig.is_unknown(&second.id).await);
}

/// G3, F1: a task whose job has yet to be told to stop is not deleted before; one of a tool that keeps its tasks never is.
#[tokio::test]
async fn what_is_owed_to_a_job_is_not_deleted() {
    let mut rig = Rig::new();
    rig.policy.deletable = false;
    rig.start().await;
    let kept = rig.task(1).await;
    rig.end(&kept.id, MINUTE).await;
    assert!(matches!(rig.engine().delete(&me(), &kept.id).await, Err(DeleteError::Kept)));

    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let id = rig.task(1).await.id;
    rig.fake.trouble(Operation::Cancel, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff)]);
    let task = rig.engine().cancel(&me(), &id, true).await.unwrap();
    assert_eq!(task.status(), Status::Cancelled);
    assert!(matches!(rig.engine().delete(&me(), &id).await, Err(DeleteError::Running)));
    rig.advance(MINUTE).await;
    assert!(rig.fake.jobs()[0].cancelled);
    rig.engine().delete(&me(), &id).await.unwrap();
}

/// I1: an admin acts on the tasks of its tenant, and their history names it.
#[tokio::test]
async fn an_admin_acts_on_its_tenants_tasks() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let id = rig.task(1).await.id;
    let engine = rig.engine();
    assert_eq!(engine.get(admin(), &id).await.unwrap().id, id);
    assert_eq!(engine.watch(admin(), &[id]).await.unwrap().ids(), [id]);
    engine.cancel(admin(), &id, true).await.unwrap();
    let history = engine.audit(&me(), &id).await.unwrap();
    assert!(history.iter().any(|entry| entry.event == "cancel_requested" && entry.cause == "caller acme/root"), "{history:?}");
    let page = engine.list(ListQuery { scope: admin(), after: None, limit: 9 }).await.unwrap();
    assert_eq!(page.iter().map(|task| task.id).collect::<Vec<_>>(), [id]);
}

/// D3, G2: a page is full as long as there are tasks, and shows none whose life is over, before any sweep.
#[tokio::test]
async fn a_list_leaves_out_what_is_over() {
    let rig = Rig::started().await;
    let mut left = Vec::new();
    for n in 0..12 {
        let life = if n % 3 == 0 { 2 * HOUR } else { HOUR };
        let made = task(&rig, Call { ttl: Some(life), ..call(n) }).await;
        rig.clock.advance(SECOND);
        if n % 3 == 0 {
            left.insert(0, made.id);
        }
    }
    rig.advance(HOUR - MINUTE).await;
    rig.clock.advance(2 * MINUTE);
    let engine = rig.engine();
    let mut seen = Vec::new();
    let mut after = None;
    for size in [3, 1, 0] {
        let page = engine.list(ListQuery { scope: (&me()).into(), after, limit: 3 }).await.unwrap();
        assert_eq!(page.len(), size);
        after = page.last().map(|task| (task.created_at, task.id)).or(after);
        seen.extend(page.iter().map(|task| task.id));
    }
    assert_eq!(seen, left);
}

fn from_end(n: u64, ttl: Option<Duration>) -> Call {
    Call { ttl, names: CallNames { life_from: LifeFrom::End, ..CallNames::default() }, ..call(n) }
}

/// H7: the life counts from the end, is granted within the tool's limit, and is neither shorter nor longer than granted.
#[tokio::test]
async fn a_life_may_count_from_the_end() {
    let mut rig = Rig::new();
    rig.policy.max_ttl = Some(2 * HOUR);
    rig.start().await;
    rig.fake.plan([running(), running(), running(), done("film")]);
    for (asked, granted) in [(SECOND, SECOND), (HOUR, HOUR), (9 * HOUR, 2 * HOUR)] {
        let made = task(&rig, from_end(1, Some(asked))).await;
        assert_eq!((made.ttl, made.expires_at()), (Some(granted), None));
        rig.crash().await;
        let ended = rig.end(&made.id, HOUR).await;
        assert_eq!(result(&ended).1, "film");
        assert_eq!(ended.ttl, Some(granted));
        let end = ended.expires_at().unwrap();
        let left = end.since(jobgate::domain::Clock::now(rig.clock.as_ref()));
        rig.advance(left - Duration::from_millis(1)).await;
        assert_eq!(result(&rig.get(&made.id).await).1, "film");
        rig.advance(Duration::from_millis(1)).await;
        assert!(rig.is_unknown(&made.id).await);
        rig.advance(MINUTE).await;
        assert!(rig.store.get(&made.id).await.unwrap().is_none());
    }
}

/// H7: a job may run for longer than its task's life from the end, whatever the tool does about jobs that outlive a task's life.
#[tokio::test]
async fn a_life_from_the_end_never_ends_a_job() {
    let mut rig = Rig::new();
    rig.policy.on_expiry = jobgate::domain::ExpiryPolicy::Cancel;
    rig.start().await;
    rig.fake.plan([running()]);
    let id = task(&rig, from_end(1, Some(MINUTE))).await.id;
    rig.advance(3 * HOUR).await;
    assert_eq!(rig.get(&id).await.status(), Status::Working);
    rig.fake.plan([done("film")]);
    assert_eq!(result(&rig.end(&id, HOUR).await).1, "film");
}

/// F1, H7: while a cancel is owed to the provider the record stays, and the sweep does not trip over it.
#[tokio::test]
async fn a_short_life_from_the_end_does_not_lose_a_cancel() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let id = task(&rig, from_end(1, Some(Duration::ZERO))).await.id;
    rig.fake.trouble(Operation::Cancel, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff); 8]);
    rig.engine().cancel(&me(), &id, true).await.unwrap();
    rig.advance(HOUR / 2).await;
    assert!(rig.fake.jobs()[0].cancelled);
    rig.advance(2 * HOUR).await;
    assert!(rig.store.get(&id).await.unwrap().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// H7: whatever the life and however long the job, the task is there exactly until its granted life has passed since its end.
    #[test]
    fn a_life_from_the_end_is_exact(ttl in 0..7_200_000_u64, looks in 0..20_usize, wait in 0..7_300_000_u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move {
            let rig = Rig::started().await;
            rig.fake.plan(std::iter::repeat_n(running(), looks).chain([done("film")]));
            let made = task(&rig, from_end(1, Some(Duration::from_millis(ttl)))).await;
            let ended = rig.end(&made.id, 20 * HOUR).await;
            prop_assert!(ended.is_ended());
            rig.advance(Duration::from_millis(wait)).await;
            prop_assert_eq!(rig.is_unknown(&made.id).await, wait >= ttl);
            Ok(())
        })?;
    }
}

/// A great many who wait for one task are all told of its end, and leave nothing behind.
#[tokio::test]
async fn ten_thousand_wait_for_one_task() {
    let rig = Rig::started().await;
    rig.fake.plan([running(), running(), running(), done("film")]);
    let id = rig.task(1).await.id;
    let engine = rig.engine();
    let until = jobgate::domain::Clock::now(rig.clock.as_ref()).plus(HOUR);
    let all = (0..10_000).map(|_| engine.wait(Scope::Owner(me()), &id, until, None));
    let ended = rig.drive(futures_util::future::join_all(all)).await;
    assert!(ended.into_iter().all(|task| result(task.unwrap()).1 == "film"));
}
