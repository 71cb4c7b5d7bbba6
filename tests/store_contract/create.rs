//! S1–S5: creating, reading, committing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jobgate::domain::{Cause, JobOutput, JobRef, Outcome, Task, TaskEvent, TaskState, ToolName, ToolResult};
use jobgate::store::{AuditEntry, Commit, Created, StoreError};
use serde_json::json;

use super::Harness;
use super::support::{arguments, at, change, create, every_kind, full, id, keyed, owner, task};

/// S1: what `create` acknowledged is there, also for whoever opens the store next.
pub(crate) async fn s1_what_is_created_is_there_with_its_first_audit_entry(place: impl Harness) {
    let store = place.open().await;
    let made = create(&*store, task(1)).await;
    assert_eq!(*made, task(1));
    let store = place.reopen(store).await;
    assert_eq!(*store.get(&id(1)).await.unwrap().unwrap(), task(1));
    let first = AuditEntry::created(&made, &Cause::Caller(owner("ann")));
    assert_eq!(store.audit(&id(1)).await.unwrap(), [first]);
}

/// S1: nothing of a task is lost or changed by being stored, digit for digit.
pub(crate) async fn s1_every_kind_of_task_is_read_as_it_was_written(place: impl Harness) {
    let store = place.open().await;
    for task in every_kind() {
        create(&*store, task).await;
    }
    let store = place.reopen(store).await;
    for task in every_kind() {
        assert_eq!(*store.get(&task.id).await.unwrap().unwrap(), task);
    }
}

/// S1: an id names one task.
pub(crate) async fn s1_an_id_that_is_taken_is_refused(place: impl Harness) {
    let store = place.open().await;
    create(&*store, task(1)).await;
    let other = Task { message: Some("other".to_owned()), ..task(1) };
    let refused = store.create(other, None, Cause::Operator).await.unwrap_err();
    assert_eq!(refused, StoreError::Stale(id(1)));
    assert_eq!(*store.get(&id(1)).await.unwrap().unwrap(), task(1));
    assert_eq!(store.audit(&id(1)).await.unwrap().len(), 1);
}

/// S2: one key is one task for its owner and tool, whatever the arguments; another owner's or tool's key is another key.
pub(crate) async fn s2_one_caller_key_makes_one_task(place: impl Harness) {
    let store = place.open().await;
    let first = create(&*store, keyed(1, "k")).await;
    let again = Task { arguments: Arc::new(arguments(json!({"other": 1}))), ..keyed(2, "k") };
    let Created::Existing(there) = store.create(again, None, Cause::Operator).await.unwrap() else { panic!("a second task") };
    assert_eq!(there, first);
    assert!(store.get(&id(2)).await.unwrap().is_none());
    create(&*store, Task { owner: owner("bob"), ..keyed(3, "k") }).await;
    create(&*store, Task { tool: ToolName::new("deploy"), ..keyed(4, "k") }).await;
    create(&*store, keyed(5, "other")).await;

    let store = place.reopen(store).await;
    let key = keyed(1, "k").caller_key.unwrap();
    assert_eq!(store.find_by_key(&owner("ann"), &ToolName::new("build"), &key).await.unwrap(), Some(id(1)));
    assert_eq!(store.find_by_key(&owner("bob"), &ToolName::new("build"), &key).await.unwrap(), Some(id(3)));
    assert_eq!(store.find_by_key(&owner("eve"), &ToolName::new("build"), &key).await.unwrap(), None);
    // It stays the key of that task when the task has moved on.
    let moved = store.commit(change(&first, |task| task.message = Some("moved".to_owned()))).await.unwrap();
    let Created::Existing(there) = store.create(keyed(6, "k"), None, Cause::Operator).await.unwrap() else {
        panic!("a second task")
    };
    assert_eq!(there, moved);
}

/// S2: also for calls at the same time.
pub(crate) async fn s2_two_creates_at_once_with_one_key_make_one_task(place: impl Harness) {
    let store = place.open().await;
    let calls = (0..32).map(|number| store.create(keyed(number, "k"), None, Cause::Operator));
    let made: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    let new = made.iter().filter(|made| matches!(made, Created::New(_))).count();
    assert_eq!(new, 1);
    let ids: Vec<_> = made.iter().map(|(Created::New(task) | Created::Existing(task))| task.id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(store.count_live(&owner("ann")).await.unwrap(), 1);
}

/// S3
pub(crate) async fn s3_an_unknown_task_is_none(place: impl Harness) {
    let store = place.open().await;
    assert!(store.get(&id(1)).await.unwrap().is_none());
    assert!(store.audit(&id(1)).await.unwrap().is_empty());
}

/// S4: the task and everything it is found by change together, and stay so.
pub(crate) async fn s4_a_commit_replaces_the_task_and_its_index_entries(place: impl Harness) {
    let store = place.open().await;
    let provider = super::support::ci();
    let first = create(&*store, task(1)).await;
    let edit = |task: &mut Task| {
        task.state = TaskState::Running { job: JobRef::new("4711") };
        task.due_at = Some(at(90_000));
    };
    let second = store.commit(change(&first, edit)).await.unwrap();
    assert_eq!(second.revision, first.revision.next());
    let store = place.reopen(store).await;
    assert_eq!(store.get(&id(1)).await.unwrap().unwrap(), second);
    assert_eq!(store.next_due(&provider).await.unwrap(), Some(at(90_000)));
    assert_eq!(store.find_by_job(&provider, "4711").await.unwrap(), Some(id(1)));
    // The events of one step are one commit, with one entry for each.
    let life = |seconds| TaskEvent::LifeExtended(Duration::from_secs(seconds));
    let events = [(life(5000), Cause::Poll), (life(6000), Cause::Limit)];
    let third = store.commit(Commit::of(&second, &events, at(70_000)).unwrap()).await.unwrap();
    assert_eq!(third.revision.0, second.revision.0 + 2);
    assert_eq!(store.audit(&id(1)).await.unwrap().len(), 4);
}

/// S4: a commit that comes too late leaves no trace.
pub(crate) async fn s4_a_commit_at_another_revision_changes_nothing(place: impl Harness) {
    let store = place.open().await;
    let first = create(&*store, task(1)).await;
    let second = store.commit(change(&first, |task| task.message = Some("second".to_owned()))).await.unwrap();
    let late = change(&first, |task| task.state = super::support::ended("late"));
    assert_eq!(store.commit(late).await.unwrap_err(), StoreError::Stale(id(1)));
    let never = change(&task(2), |_| {});
    assert_eq!(store.commit(never).await.unwrap_err(), StoreError::Stale(id(2)));
    assert_eq!(store.get(&id(1)).await.unwrap().unwrap(), second);
    assert_eq!(store.audit(&id(1)).await.unwrap().len(), 2);
    assert_eq!(store.count_live(&owner("ann")).await.unwrap(), 1);
}

/// S5: exactly one of those who saw the same revision.
pub(crate) async fn s5_of_many_commits_at_one_revision_one_wins(place: impl Harness) {
    let store = place.open().await;
    let mut last = create(&*store, task(1)).await;
    for _ in 0..5 {
        let commits = (0..40).map(|number| store.commit(change(&last, |task| task.message = Some(number.to_string()))));
        let (won, lost): (Vec<_>, Vec<_>) = join_all(commits).await.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 39));
        assert!(lost.iter().all(|lost| *lost.as_ref().unwrap_err() == StoreError::Stale(id(1))));
        let winner = won.into_iter().next().unwrap().unwrap();
        assert_eq!(store.get(&id(1)).await.unwrap().unwrap(), winner);
        last = winner;
    }
    assert_eq!(store.audit(&id(1)).await.unwrap().len(), 6);
}

/// S1, S4: no size is too large, and shared contents stay for whoever still needs them.
pub(crate) async fn large_arguments_results_and_questions_are_kept_whole(place: impl Harness) {
    let store = place.open().await;
    let large = Arc::new(arguments(json!({"text": "ä".repeat(150_000), "list": vec![0.1; 2000]})));
    let first = create(&*store, Task { arguments: large.clone(), ..task(1) }).await;
    let twin = create(&*store, Task { arguments: large.clone(), ..task(2) }).await;
    let output =
        JobOutput { parts: full_parts(9_000), data: Some(json!({"rows": vec!["x".repeat(40); 3000]})), ..JobOutput::default() };
    let state = TaskState::Ended {
        job: None,
        outcome: Outcome::Result(Arc::new(ToolResult { output, is_error: true, kept: Vec::new() })),
        at: at(3),
    };
    let second = store.commit(change(&first, |task| task.state = state)).await.unwrap();
    let mut asked = full(3);
    for slot in asked.inputs.values_mut() {
        slot.request.message = "why? ".repeat(3000);
    }
    let asked = create(&*store, asked).await;
    let odd = Task { message: Some("m".repeat(30_000)), arguments: large, ..task(4) };
    let odd = create(&*store, Task { owner: owner(&"n".repeat(20_000)), ..odd }).await;

    let store = place.reopen(store).await;
    for task in [&second, &twin, &asked, &odd] {
        assert_eq!(store.get(&task.id).await.unwrap().as_ref(), Some(task));
    }
    assert_eq!(store.purge(&[(second.id, second.revision)]).await.unwrap(), 1);
    let store = place.reopen(store).await;
    assert_eq!(store.get(&twin.id).await.unwrap().unwrap(), twin);
    assert_eq!(store.purge(&[(odd.id, odd.revision), (twin.id, twin.revision)]).await.unwrap(), 2);
    assert_eq!(store.get(&asked.id).await.unwrap().unwrap(), asked);
}

fn full_parts(len: usize) -> Vec<jobgate::domain::Part> {
    ["a", "b"].map(|text| jobgate::domain::Part::Text(text.repeat(len))).into()
}
