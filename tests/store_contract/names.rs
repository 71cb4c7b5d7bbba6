//! S19–S22: whose a task is, and what it is called.

use std::sync::Arc;

use futures_util::future::join_all;
use jobgate::domain::{
    CancelProgress, Cancellation, Cause, Escalation, JobRef, Names, Principal, RequestName, Scope, Task, TaskState, ToolName,
};
use jobgate::store::{Created, StoreError, TaskStore};

use super::Harness;
use super::support::{at, change, create, ended, id, keyed, owner, task};

fn called(number: u64, client_id: &str) -> Task {
    task(number).with_names(Names { client_id: Some(client_id.to_owned()), ..Names::default() })
}

fn name(session: Option<&str>, id: &str) -> RequestName {
    RequestName { session: session.map(str::to_owned), id: id.to_owned() }
}

fn requested(number: u64, session: Option<&str>, id: &str) -> Task {
    task(number).with_names(Names { request: Some(name(session, id)), ..Names::default() })
}

fn joining(number: u64, hash: u8) -> Task {
    task(number).with_names(Names { join: Some([hash; 32]), ..Names::default() })
}

async fn existing(store: &dyn TaskStore, task: Task) -> Arc<Task> {
    match store.create(task, None, Cause::Operator).await.unwrap() {
        Created::Existing(task) => task,
        Created::New(task) => panic!("{:?} is new", task.id),
    }
}

/// S19, I1: a stranger's task is none, exactly as one that is not there; also one that has just been read by its owner.
pub(crate) async fn s19_a_task_is_given_to_those_it_belongs_to(place: impl Harness) {
    let store = place.open().await;
    let made = create(&*store, task(1)).await;
    for _ in 0..2 {
        for (scope, covered) in [
            (Scope::Owner(owner("ann")), true),
            (Scope::Owner(owner("bob")), false),
            (Scope::Owner(Principal::new("other", "ann")), false),
            (Scope::Tenant(owner("root")), true),
            (Scope::Tenant(Principal::new("other", "ann")), false),
            (Scope::Everybody, true),
        ] {
            let seen = store.get_for(&scope, &id(1)).await.unwrap();
            assert_eq!(seen, covered.then(|| made.clone()), "{scope:?}");
            assert_eq!(store.get_for(&scope, &id(2)).await.unwrap(), None);
        }
        store.get(&id(1)).await.unwrap();
    }
}

/// S20, H8: a client's id names one task of its owner for as long as that task is there.
pub(crate) async fn s20_a_client_id_is_one_of_a_kind_for_its_owner(place: impl Harness) {
    let store = place.open().await;
    let first = create(&*store, called(1, "mine")).await;
    create(&*store, Task { owner: owner("bob"), ..called(2, "mine") }).await;
    create(&*store, called(3, "Mine")).await;
    let again = Task { tool: ToolName::new("deploy"), ..called(4, "mine") };
    assert_eq!(store.create(again, None, Cause::Operator).await.unwrap_err(), StoreError::NameTaken);
    assert!(store.get(&id(4)).await.unwrap().is_none());
    assert_eq!(store.count_live(&owner("ann")).await.unwrap(), 2);
    let last = store.commit(change(&first, |task| task.state = ended("done"))).await.unwrap();

    let store = place.reopen(store).await;
    assert_eq!(store.get(&id(1)).await.unwrap().unwrap().shown_id(), "mine");
    assert_eq!(store.find_by_client_id(&owner("ann"), "mine").await.unwrap(), Some(id(1)));
    assert_eq!(store.find_by_client_id(&owner("bob"), "mine").await.unwrap(), Some(id(2)));
    for (stranger, text) in [("eve", "mine"), ("ann", ""), ("ann", "min")] {
        assert_eq!(store.find_by_client_id(&owner(stranger), text).await.unwrap(), None);
    }
    assert_eq!(store.create(called(5, "mine"), None, Cause::Operator).await.unwrap_err(), StoreError::NameTaken);
    // It goes with its task, and is free again.
    assert_eq!(store.purge(&[(last.id, last.revision)]).await.unwrap(), 1);
    assert_eq!(store.find_by_client_id(&owner("ann"), "mine").await.unwrap(), None);
    create(&*store, called(6, "mine")).await;
    assert_eq!(store.find_by_client_id(&owner("ann"), "mine").await.unwrap(), Some(id(6)));
}

/// S20: of many tasks at once under one client id exactly one is made; a key that was used goes before the id.
pub(crate) async fn s20_of_two_at_once_with_one_client_id_one_wins(place: impl Harness) {
    let store = place.open().await;
    let calls = (0..32).map(|number| store.create(called(number, "mine"), None, Cause::Operator));
    let (made, refused): (Vec<_>, Vec<_>) = join_all(calls).await.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len()), (1, 31));
    assert!(refused.into_iter().all(|refused| refused.unwrap_err() == StoreError::NameTaken));
    assert_eq!(store.count_live(&owner("ann")).await.unwrap(), 1);
    let both = |number| Task { caller_key: keyed(number, "k").caller_key, ..called(number, "again") };
    let first = create(&*store, both(50)).await;
    assert_eq!(existing(&*store, both(51)).await, first);
}

/// S21: the newest task answers to a request's name, and the one before it when that has gone.
pub(crate) async fn s21_a_request_finds_its_task(place: impl Harness) {
    let store = place.open().await;
    create(&*store, requested(1, Some("s"), "7")).await;
    let newer = create(&*store, requested(9, Some("s"), "7")).await;
    create(&*store, requested(5, Some("s"), "7")).await;
    create(&*store, requested(2, Some("s"), "\"7\"")).await;
    create(&*store, requested(3, None, "7")).await;
    create(&*store, requested(4, Some(""), "7")).await;
    create(&*store, Task { owner: owner("bob"), ..requested(6, Some("s"), "7") }).await;
    store.commit(change(&newer, |task| task.state = ended("done"))).await.unwrap();

    let store = place.reopen(store).await;
    let find = async |who: &str, session, text: &str| store.find_by_request(&owner(who), &name(session, text)).await.unwrap();
    assert_eq!(find("ann", Some("s"), "7").await, Some(id(9)));
    assert_eq!(find("ann", Some("s"), "\"7\"").await, Some(id(2)));
    assert_eq!(find("ann", None, "7").await, Some(id(3)));
    assert_eq!(find("ann", Some(""), "7").await, Some(id(4)));
    assert_eq!(find("bob", Some("s"), "7").await, Some(id(6)));
    assert_eq!(find("eve", Some("s"), "7").await, None);
    assert_eq!(find("ann", Some("7"), "s").await, None);
    assert_eq!(store.purge(&[(id(9), newer.revision.next())]).await.unwrap(), 1);
    assert_eq!(find("ann", Some("s"), "7").await, Some(id(5)));
}

/// S22: a call joins the live task of its owner and tool with the same hash; never one that has ended or is being stopped.
pub(crate) async fn s22_a_call_joins_the_running_task(place: impl Harness) {
    let store = place.open().await;
    let first = create(&*store, joining(1, 7)).await;
    create(&*store, joining(2, 8)).await;
    create(&*store, Task { owner: owner("bob"), ..joining(3, 7) }).await;
    create(&*store, Task { tool: ToolName::new("deploy"), ..joining(4, 7) }).await;
    create(&*store, task(5)).await;
    assert_eq!(existing(&*store, joining(6, 7)).await, first);
    assert!(store.get(&id(6)).await.unwrap().is_none());
    let running = TaskState::Running { job: JobRef::new("1") };
    let moved = store.commit(change(&first, |task| task.state = running)).await.unwrap();

    let store = place.reopen(store).await;
    let find = async |hash: u8| store.find_by_join(&owner("ann"), &ToolName::new("build"), &[hash; 32]).await.unwrap();
    assert_eq!(existing(&*store, joining(6, 7)).await, moved);
    assert_eq!((find(7).await, find(8).await, find(9).await), (Some(id(1)), Some(id(2)), None));
    store.commit(change(&moved, |task| task.state = ended("done"))).await.unwrap();
    assert_eq!(find(7).await, None);
    let second = create(&*store, joining(7, 7)).await;
    assert_eq!(existing(&*store, joining(8, 7)).await, second);
    let wish = Cancellation { requested_at: at(9), attempts: 0, progress: CancelProgress::Owed, escalation: Escalation::None };
    store.commit(change(&second, |task| task.cancellation = Some(wish))).await.unwrap();
    let third = create(&*store, joining(9, 7)).await;
    let store = place.reopen(store).await;
    assert_eq!(existing(&*store, joining(10, 7)).await, third);
    assert_eq!(store.purge(&[(third.id, third.revision)]).await.unwrap(), 1);
    assert_eq!(store.find_by_join(&owner("ann"), &ToolName::new("build"), &[7; 32]).await.unwrap(), None);
}

/// S22: two calls at once make one task; one that ends meanwhile is joined or not, and is never lost.
pub(crate) async fn s22_two_at_once_make_one_task(place: impl Harness) {
    let store = place.open().await;
    let calls = (0..32).map(|number| store.create(joining(number, 7), None, Cause::Operator));
    let made: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(made.iter().filter(|made| matches!(made, Created::New(_))).count(), 1);
    let mut ids: Vec<_> = made.iter().map(|(Created::New(task) | Created::Existing(task))| task.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
    let there = store.get(&ids[0]).await.unwrap().unwrap();
    let end = store.commit(change(&there, |task| task.state = ended("done")));
    let (ended, joined) = tokio::join!(end, store.create(joining(50, 7), None, Cause::Operator));
    ended.unwrap();
    let (Created::New(now) | Created::Existing(now)) = joined.unwrap();
    assert!(now.id == there.id || now.id == id(50));
    assert_eq!(store.count_live(&owner("ann")).await.unwrap(), usize::from(now.id == id(50)));
}
