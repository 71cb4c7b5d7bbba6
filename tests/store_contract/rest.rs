//! S11–S14, S17: history, removal, counts, seeds, the end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jobgate::domain::{Cause, JobRef, Revision, Scope, Task, TaskState};
use jobgate::store::{AuditEntry, Created, ListQuery, StoreError};
use serde_json::json;

use super::Harness;
use super::support::{arguments, at, change, ci, create, ended, entry, full, id, keyed, owner, task};

/// S11
pub(crate) async fn s11_the_audit_trail_is_whole_and_in_order(place: impl Harness) {
    let store = place.open().await;
    let mut last = create(&*store, task(1)).await;
    create(&*store, task(2)).await;
    let mut told: Vec<AuditEntry> = vec![AuditEntry::created(&last, &Cause::Caller(owner("ann")))];
    for round in 0..300 {
        let mut commit = change(&last, |task| task.message = Some(format!("round {round}")));
        commit.entries = (0..round % 4 + 1).map(|part| entry(&commit.next, &format!("event {round}.{part}"))).collect();
        told.extend(commit.entries.iter().cloned());
        last = store.commit(commit).await.unwrap();
    }
    let store = place.reopen(store).await;
    assert_eq!(store.audit(&id(1)).await.unwrap(), told);
    assert_eq!(store.audit(&id(2)).await.unwrap().len(), 1);
}

/// S12
pub(crate) async fn s12_a_purged_task_leaves_nothing_behind(place: impl Harness) {
    let store = place.open().await;
    let large = Arc::new(arguments(json!({"text": "x".repeat(20_000)})));
    let job = TaskState::InputRequired { job: JobRef::new("4711") };
    let gone = create(&*store, Task { arguments: large, state: job, ..full(1) }).await;
    let stays = create(&*store, Task { due_at: None, ..task(2) }).await;
    assert_eq!(store.purge(&[(gone.id, gone.revision), (gone.id, gone.revision), (id(9), Revision(1))]).await.unwrap(), 1);
    let store = place.reopen(store).await;
    assert!(store.get(&gone.id).await.unwrap().is_none());
    assert!(store.audit(&gone.id).await.unwrap().is_empty());
    assert_eq!(store.find_by_job(&ci(), "4711").await.unwrap(), None);
    assert_eq!(store.find_by_key(&gone.owner, &gone.tool, gone.caller_key.as_ref().unwrap()).await.unwrap(), None);
    assert_eq!(store.next_due(&ci()).await.unwrap(), None);
    assert!(store.providers().await.unwrap().is_empty());
    assert_eq!(store.count_live(&owner("ann")).await.unwrap(), 1);
    assert_eq!(store.expired(at(i64::MAX), 9).await.unwrap(), std::slice::from_ref(&stays));
    let all = ListQuery { scope: Scope::Everybody, after: None, limit: 9 };
    assert_eq!(store.list(all).await.unwrap(), [stays]);
    // Its key is free again.
    let again = Task { caller_key: gone.caller_key.clone(), ..task(3) };
    assert!(matches!(store.create(again, None, Cause::Operator).await.unwrap(), Created::New(_)));
}

/// S12
pub(crate) async fn s12_a_task_that_moved_on_is_not_purged(place: impl Harness) {
    let store = place.open().await;
    let first = create(&*store, task(1)).await;
    let second = store.commit(change(&first, |task| task.ttl = Some(Duration::from_secs(99)))).await.unwrap();
    assert_eq!(store.purge(&[(first.id, first.revision)]).await.unwrap(), 0);
    assert_eq!(store.get(&id(1)).await.unwrap().unwrap(), second);
    // Whoever commits to a task that has gone is told.
    assert_eq!(store.purge(&[(second.id, second.revision)]).await.unwrap(), 1);
    assert_eq!(store.commit(change(&second, |_| {})).await.unwrap_err(), StoreError::Stale(id(1)));
    assert!(store.get(&id(1)).await.unwrap().is_none());
}

/// S13
pub(crate) async fn s13_live_tasks_are_counted_by_owner(place: impl Harness) {
    let store = place.open().await;
    let first = create(&*store, task(1)).await;
    let second = create(&*store, task(2)).await;
    create(&*store, Task { owner: owner("bob"), ..task(3) }).await;
    create(&*store, Task { state: ended("at once"), ..task(4) }).await;
    let waiting = TaskState::InputRequired { job: JobRef::new("1") };
    store.commit(change(&first, |task| task.state = waiting)).await.unwrap();
    assert_eq!(store.count_live(&owner("ann")).await.unwrap(), 2);
    // Ended, though its cancel is still owed to the provider: it no longer counts.
    store.commit(change(&second, |task| task.state = ended("done"))).await.unwrap();
    let store = place.reopen(store).await;
    assert_eq!(store.count_live(&owner("ann")).await.unwrap(), 1);
    assert_eq!(store.count_live(&owner("bob")).await.unwrap(), 1);
    assert_eq!(store.count_live(&owner("eve")).await.unwrap(), 0);
}

/// S14
pub(crate) async fn s14_a_seed_is_made_once(place: impl Harness) {
    let store = place.open().await;
    let calls = (0..16_u8).map(|number| store.seed("cursor", [number; 32]));
    let seeds: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert!(seeds.iter().all(|seed| *seed == seeds[0]));
    assert_eq!(store.seed("", [99; 32]).await.unwrap(), [99; 32]);
    let store = place.reopen(store).await;
    assert_eq!(store.seed("cursor", [200; 32]).await.unwrap(), seeds[0]);
    assert_eq!(store.seed("", [1; 32]).await.unwrap(), [99; 32]);
}

/// S17
pub(crate) async fn s17_a_closed_store_says_so(place: impl Harness) {
    let store = place.open().await;
    let made = create(&*store, keyed(1, "k")).await;
    store.close().await.unwrap();
    let key = made.caller_key.clone().unwrap();
    let all = ListQuery { scope: Scope::Everybody, after: None, limit: 9 };
    assert_eq!(store.create(task(2), None, Cause::Operator).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.get(&id(1)).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.commit(change(&made, |_| {})).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.claim_due(&ci(), at(i64::MAX), Duration::ZERO, 1).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.release(&[id(1)]).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.next_due(&ci()).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.snooze(&id(1), at(0)).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.providers().await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.find_by_job(&ci(), "1").await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.find_by_key(&made.owner, &made.tool, &key).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.list(all).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.audit(&id(1)).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.expired(at(0), 1).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.purge(&[]).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.count_live(&made.owner).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.seed("s", [0; 32]).await.unwrap_err(), StoreError::Closed);
    assert_eq!(store.close().await.unwrap_err(), StoreError::Closed);
}
