//! S6–S8, S16: what is due, and who has it.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use jobgate::domain::{Cause, ProviderName, Task, TaskId};
use jobgate::store::TaskStore;

use super::Harness;
use super::support::{at, change, ci, create, ended, id, task};

const LEASE: Duration = Duration::from_secs(30);

async fn claim(store: &dyn TaskStore, now: i64, limit: usize) -> Vec<TaskId> {
    store.claim_due(&ci(), at(now), LEASE, limit).await.unwrap().iter().map(|task| task.id).collect()
}

async fn due(store: &dyn TaskStore, moments: &[(u64, i64)]) {
    for (number, moment) in moments {
        create(store, Task { due_at: Some(at(*moment)), ..task(*number) }).await;
    }
}

/// S6
pub(crate) async fn s6_the_longest_claimable_come_first_and_nobody_gets_them_twice(place: impl Harness) {
    let store = place.open().await;
    due(&*store, &[(1, 300), (2, 100), (3, 200), (4, 301), (5, -100)]).await;
    create(&*store, Task { due_at: None, ..task(6) }).await;
    create(&*store, Task { provider: ProviderName::new("other"), due_at: Some(at(0)), ..task(7) }).await;
    let store = place.reopen(store).await;
    assert_eq!(claim(&*store, 300, 2).await, [id(5), id(2)]);
    assert_eq!(claim(&*store, 300, 9).await, [id(3), id(1)]);
    assert!(claim(&*store, 300, 9).await.is_empty());
    assert_eq!(claim(&*store, 301, 9).await, [id(4)]);
    assert!(store.claim_due(&ProviderName::new("none"), at(999), LEASE, 9).await.unwrap().is_empty());
}

/// S6: also for claimers at the same time.
pub(crate) async fn s6_two_claimers_at_once_share_no_task(place: impl Harness) {
    let store = place.open().await;
    due(&*store, &(0..60).map(|number| (number, 0)).collect::<Vec<_>>()).await;
    let claims = join_all((0..10).map(|_| claim(&*store, 5, 9))).await;
    let all: Vec<_> = claims.into_iter().flatten().collect();
    assert_eq!(all.len(), 60);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 60);
}

/// S6: what a dead worker held comes back by itself.
pub(crate) async fn s6_a_claim_ends_with_its_lease(place: impl Harness) {
    let store = place.open().await;
    due(&*store, &[(1, 10), (2, 20)]).await;
    assert_eq!(claim(&*store, 100, 1).await, [id(1)]);
    assert_eq!(claim(&*store, 200, 9).await, [id(2)]);
    assert!(claim(&*store, 30_099, 9).await.is_empty());
    assert_eq!(claim(&*store, 30_100, 9).await, [id(1)]);
    // Both leases are over; the one that ended first comes first.
    assert_eq!(claim(&*store, 90_000, 9).await, [id(2), id(1)]);
}

/// S6
pub(crate) async fn s6_a_commit_ends_the_claim(place: impl Harness) {
    let store = place.open().await;
    due(&*store, &[(1, 10), (2, 20)]).await;
    let claimed = store.claim_due(&ci(), at(100), LEASE, 9).await.unwrap();
    store.commit(change(&claimed[0], |task| task.due_at = Some(at(150)))).await.unwrap();
    store.commit(change(&claimed[1], |task| task.state = ended("done"))).await.unwrap();
    assert!(claim(&*store, 140, 1).await == [id(2)], "a commit that leaves the moment as it was ends the claim, too");
    let last = store.get(&id(2)).await.unwrap().unwrap();
    store.commit(change(&last, |task| task.due_at = None)).await.unwrap();
    assert_eq!(claim(&*store, 150, 9).await, [id(1)]);
    assert!(claim(&*store, 99_999_999, 9).await == [id(1)]);
}

/// S7
pub(crate) async fn s7_a_released_task_can_be_claimed_again(place: impl Harness) {
    let store = place.open().await;
    due(&*store, &[(1, 10), (2, 20)]).await;
    assert_eq!(claim(&*store, 100, 9).await, [id(1), id(2)]);
    store.release(&[id(2), id(77)]).await.unwrap();
    store.release(&[id(2)]).await.unwrap();
    assert_eq!(claim(&*store, 100, 9).await, [id(2)]);
    assert_eq!(store.get(&id(2)).await.unwrap().unwrap().revision, task(2).revision);
}

/// S6
pub(crate) async fn s6_many_claimed_tasks_at_the_front_hide_no_others(place: impl Harness) {
    let store = place.open().await;
    join_all((0..400_u32).map(|number| create(&*store, Task { due_at: Some(at(number.into())), ..task(number.into()) }))).await;
    for _ in 0..39 {
        assert_eq!(claim(&*store, 1000, 10).await.len(), 10);
    }
    assert_eq!(claim(&*store, 1000, 50).await, (390..400).map(id).collect::<Vec<_>>());
}

/// S8
pub(crate) async fn s8_the_next_moment_counts_claims_in(place: impl Harness) {
    let store = place.open().await;
    assert_eq!(store.next_due(&ci()).await.unwrap(), None);
    due(&*store, &[(1, 500), (2, 70_000)]).await;
    let store = place.reopen(store).await;
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(500)));
    let claimed = store.claim_due(&ci(), at(600), LEASE, 9).await.unwrap();
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(30_600)));
    store.release(&[id(1)]).await.unwrap();
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(500)));
    store.claim_due(&ci(), at(600), Duration::from_secs(600), 9).await.unwrap();
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(70_000)));
    store.commit(change(&claimed[0], |task| task.due_at = Some(at(80_000)))).await.unwrap();
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(70_000)));
}

/// S16
pub(crate) async fn s16_providers_are_those_with_something_left_to_do(place: impl Harness) {
    let store = place.open().await;
    assert!(store.providers().await.unwrap().is_empty());
    let named = |number, name| Task { provider: ProviderName::new(name), ..task(number) };
    let first = create(&*store, named(1, "zeta")).await;
    create(&*store, named(2, "alpha")).await;
    create(&*store, named(3, "alpha")).await;
    create(&*store, Task { due_at: None, ..named(4, "idle") }).await;
    let store = place.reopen(store).await;
    assert_eq!(store.providers().await.unwrap(), [ProviderName::new("alpha"), ProviderName::new("zeta")]);
    store.claim_due(&ProviderName::new("zeta"), at(9_000), LEASE, 1).await.unwrap();
    assert_eq!(store.providers().await.unwrap().len(), 2, "a claimed task still has something left to do");
    store.commit(change(&first, |task| task.due_at = None)).await.unwrap();
    assert_eq!(store.providers().await.unwrap(), [ProviderName::new("alpha")]);
}

/// S6: whoever creates a task can keep it for the first step.
pub(crate) async fn s6_a_task_can_be_created_claimed(place: impl Harness) {
    let store = place.open().await;
    store.create(Task { due_at: Some(at(10)), ..task(1) }, Some(at(500)), Cause::Operator).await.unwrap();
    assert!(claim(&*store, 499, 9).await.is_empty());
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(500)));
    assert_eq!(claim(&*store, 500, 9).await, [id(1)]);
    // Claims do not outlive the process, where there is one to outlive.
    store.create(Task { due_at: Some(at(10)), ..task(2) }, Some(at(i64::MAX)), Cause::Operator).await.unwrap();
    let store = place.reopen(store).await;
    let left = if place.is_durable() { HashSet::from([id(1), id(2)]) } else { HashSet::new() };
    assert_eq!(claim(&*store, 600, 9).await.into_iter().collect::<HashSet<_>>(), left);
}

/// S18
pub(crate) async fn s18_a_snoozed_task_waits_without_a_write(place: impl Harness) {
    let store = place.open().await;
    due(&*store, &[(1, 10), (2, 20)]).await;
    assert_eq!(claim(&*store, 100, 1).await, [id(1)]);
    store.snooze(&id(1), at(5_000)).await.unwrap();
    store.snooze(&id(77), at(5_000)).await.unwrap();
    assert_eq!(claim(&*store, 4_999, 9).await, [id(2)]);
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(5_000)));
    assert_eq!(claim(&*store, 5_000, 9).await, [id(1)]);
    let there = store.get(&id(1)).await.unwrap().unwrap();
    assert_eq!((there.revision, there.due_at), (task(1).revision, Some(at(10))));
    assert_eq!(store.audit(&id(1)).await.unwrap().len(), 1);
    // A commit puts the moment in the record back in force.
    store.snooze(&id(1), at(900_000)).await.unwrap();
    store.commit(change(&there, |task| task.message = Some("moved".to_owned()))).await.unwrap();
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(10)));
    // And nobody who had claimed it before can put it off any more.
    store.snooze(&id(1), at(900_000)).await.unwrap();
    assert_eq!(store.next_due(&ci()).await.unwrap(), Some(at(10)));
}
