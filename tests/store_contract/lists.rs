//! S9, S10, S15: finding tasks by job, by owner, by the end of their life.

use std::time::Duration;

use jobgate::domain::{JobRef, Principal, ProviderName, Scope, Task, TaskId, TaskState, Timestamp};
use jobgate::store::{ListQuery, TaskStore};

use super::Harness;
use super::support::{at, change, ci, create, ended, id, owner, task};

fn running(number: u64, job: &str) -> Task {
    Task { state: TaskState::Running { job: JobRef::new(job) }, ..task(number) }
}

/// S9
pub(crate) async fn s9_a_job_finds_its_task_in_any_state(place: impl Harness) {
    let store = place.open().await;
    let first = create(&*store, running(1, "4711")).await;
    create(&*store, Task { provider: ProviderName::new("other"), ..running(2, "4711") }).await;
    create(&*store, running(3, "")).await;
    let store = place.reopen(store).await;
    assert_eq!(store.find_by_job(&ci(), "4711").await.unwrap(), Some(id(1)));
    assert_eq!(store.find_by_job(&ProviderName::new("other"), "4711").await.unwrap(), Some(id(2)));
    assert_eq!(store.find_by_job(&ci(), "").await.unwrap(), Some(id(3)));
    assert_eq!(store.find_by_job(&ci(), "471").await.unwrap(), None);
    let last = store.commit(change(&first, |task| task.state = ended("done"))).await.unwrap();
    assert_eq!(store.find_by_job(&ci(), "4711").await.unwrap(), Some(id(1)));
    // A provider that joins two submits into one job: the newest task stands for it, and the older one when that has gone.
    let newer = create(&*store, running(9, "4711")).await;
    assert_eq!(store.find_by_job(&ci(), "4711").await.unwrap(), Some(id(9)));
    store.purge(&[(newer.id, newer.revision)]).await.unwrap();
    assert_eq!(store.find_by_job(&ci(), "4711").await.unwrap(), Some(id(1)));
    // A job that goes by another id from now on.
    store.commit(change(&last, |task| task.state = TaskState::Running { job: JobRef::new("new") })).await.unwrap();
    assert_eq!(store.find_by_job(&ci(), "4711").await.unwrap(), None);
    assert_eq!(store.find_by_job(&ci(), "new").await.unwrap(), Some(id(1)));
}

fn anns() -> Scope {
    Scope::Owner(owner("ann"))
}

async fn page(store: &dyn TaskStore, scope: Scope, after: Option<(Timestamp, TaskId)>, limit: usize) -> Vec<(Timestamp, TaskId)> {
    let page = store.list(ListQuery { scope, after, limit }).await.unwrap();
    page.iter().map(|task| (task.created_at, task.id)).collect()
}

/// S10
pub(crate) async fn s10_an_owner_sees_its_own_tasks_newest_first(place: impl Harness) {
    let store = place.open().await;
    for number in [3, 1, 4, 2] {
        create(&*store, task(number)).await;
    }
    create(&*store, Task { owner: owner("bob"), ..task(5) }).await;
    create(&*store, Task { owner: Principal::new("other", "ann"), ..task(6) }).await;
    let old = store.get(&id(2)).await.unwrap().unwrap();
    store.commit(change(&old, |task| task.state = ended("done"))).await.unwrap();
    let store = place.reopen(store).await;
    let place_of = |number: u64| (task(number).created_at, id(number));
    assert_eq!(page(&*store, anns(), None, 99).await, [4, 3, 2, 1].map(place_of));
    // An admin sees the tasks of its tenant, whoever's they are there.
    assert_eq!(page(&*store, Scope::Tenant(owner("root")), None, 99).await, [5, 4, 3, 2, 1].map(place_of));
    assert_eq!(page(&*store, Scope::Tenant(Principal::new("tena", "nt")), None, 99).await, []);
    assert_eq!(page(&*store, Scope::Everybody, None, 99).await, [6, 5, 4, 3, 2, 1].map(place_of));
    assert_eq!(page(&*store, Scope::Owner(owner("eve")), None, 99).await, []);
    assert_eq!(page(&*store, anns(), None, 0).await, []);
}

/// S10: tasks made at the same moment, in between, and one that goes away under the pager's feet.
pub(crate) async fn s10_pages_are_stable_while_tasks_are_created(place: impl Harness) {
    let store = place.open().await;
    for number in 0..10 {
        create(&*store, Task { created_at: at(50), ..task(number) }).await;
    }
    let whole = page(&*store, anns(), None, 99).await;
    assert!(whole.is_sorted_by(|newer, older| newer > older));
    let mut seen = page(&*store, anns(), None, 4).await;
    create(&*store, task(99)).await;
    assert_eq!(store.purge(&[(seen[3].1, task(0).revision)]).await.unwrap(), 1);
    for scope in [Scope::Everybody, anns(), Scope::Tenant(owner("root"))] {
        let rest = page(&*store, scope, seen.last().copied(), 4).await;
        assert_eq!(rest, whole[4..8]);
    }
    seen.extend_from_slice(&whole[4..8]);
    assert_eq!(page(&*store, anns(), seen.last().copied(), 4).await, whole[8..]);
    assert_eq!(page(&*store, anns(), whole.last().copied(), 4).await, []);
}

/// S15
pub(crate) async fn s15_tasks_at_the_end_of_their_life_are_found_first_ended_first(place: impl Harness) {
    let store = place.open().await;
    let living = |number: u64, seconds: u64| Task { ttl: Some(Duration::from_secs(seconds)), created_at: at(0), ..task(number) };
    create(&*store, living(1, 30)).await;
    create(&*store, Task { state: ended("done"), ..living(2, 10) }).await;
    let third = create(&*store, living(3, 20)).await;
    create(&*store, Task { ttl: None, ..task(4) }).await;
    let store = place.reopen(store).await;
    let expired = async |now: i64, limit: usize| -> Vec<TaskId> {
        store.expired(at(now), limit).await.unwrap().iter().map(|task| task.id).collect()
    };
    assert_eq!(expired(9_999, 9).await, []);
    assert_eq!(expired(10_000, 9).await, [id(2)]);
    assert_eq!(expired(30_000, 9).await, [id(2), id(3), id(1)]);
    assert_eq!(expired(30_000, 2).await, [id(2), id(3)]);
    store.commit(change(&third, |task| task.ttl = Some(Duration::from_secs(900)))).await.unwrap();
    assert_eq!(expired(30_000, 9).await, [id(2), id(1)]);
}
