//! S23–S26: deliveries are taken once, with all that they do; what comes early waits; what cannot be used is laid aside.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use jobgate::domain::{JobRef, ProviderName, Task, TaskState, Timestamp};
use jobgate::store::{
    Addressee, Commit, DeadLetter, DeliveryId, Intake, MOST_DEAD, MOST_PARKED, Parked, StoreError, Taken, TaskStore,
};
use jobgate_webhooks::Kept;
use tokio::task::JoinSet;

use super::Harness;
use super::support::{at, change, ci, create, id, task};

pub(crate) fn delivery(number: u64) -> DeliveryId {
    let mut bytes = [0x5a; 32];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    DeliveryId::new(bytes)
}

/// What a delivery said, in the form that a kept one is written in.
pub(crate) fn kept(body: &[u8]) -> Kept {
    Kept::from_bytes(&[&[1, 7][..], &5_i64.to_be_bytes(), &[9; 32], body].concat()).unwrap()
}

pub(crate) fn intake(number: u64) -> Intake {
    Intake {
        id: delivery(number),
        body_hash: [1; 32],
        at: at(10),
        keep_until: at(1000),
        redriven: false,
        commits: Vec::new(),
        parked: Vec::new(),
        dead: None,
    }
}

fn changing(number: u64, commits: impl Into<Vec<Commit>>) -> Intake {
    Intake { commits: commits.into(), ..intake(number) }
}

pub(crate) fn waiting(number: u64, addressee: Addressee, came: i64) -> Parked {
    let body = format!("{{\"n\":{number}}}");
    Parked { provider: ci(), addressee, delivery: delivery(number), at: at(came), until: at(500), kept: kept(body.as_bytes()) }
}

fn parking(number: u64, addressee: Addressee, came: i64) -> Intake {
    Intake { parked: vec![waiting(number, addressee, came)], ..intake(number) }
}

pub(crate) fn letter(number: u64, came: i64) -> DeadLetter {
    let (id, at) = (delivery(number), at(came));
    DeadLetter { id, provider: ci(), task: None, at, reason: "no field `state`".to_owned(), kept: kept(b"{}") }
}

pub(crate) fn job(name: &str) -> Addressee {
    Addressee::Job(name.to_owned())
}

fn running(task: &Task, job: &str) -> Commit {
    change(task, |task| task.state = TaskState::Running { job: JobRef::new(job) })
}

fn noted(task: &Task) -> Commit {
    change(task, |task| task.message = Some("delivered".to_owned()))
}

async fn first(store: &dyn TaskStore, intake: Intake) -> Vec<Arc<Task>> {
    match store.take(intake).await.unwrap() {
        Taken::First(tasks) => tasks,
        other => panic!("{other:?}"),
    }
}

async fn parked(store: &dyn TaskStore, addressee: &Addressee) -> Vec<DeliveryId> {
    store.parked(&ci(), addressee).await.unwrap().iter().map(|parked| parked.delivery).collect()
}

async fn dead(store: &dyn TaskStore) -> Vec<DeliveryId> {
    store.dead_letters(usize::MAX).await.unwrap().iter().map(|letter| letter.id).collect()
}

/// S23, J2: what a delivery does is there with the record that it was taken; a repeat does nothing, also after a restart, and one
/// with another body is told apart.
pub(crate) async fn s23_a_repeat_has_no_effect(place: impl Harness) {
    let store = place.open().await;
    let one = create(&*store, task(1)).await;
    let two = create(&*store, task(2)).await;
    assert!(!store.was_taken(&delivery(1)).await.unwrap());
    let tasks = first(&*store, changing(1, [noted(&two), noted(&one)])).await;
    assert_eq!(tasks.iter().map(|task| task.id).collect::<Vec<_>>(), [id(2), id(1)]);
    assert_eq!(store.audit(&id(1)).await.unwrap().len(), 2);
    let store = place.reopen(store).await;
    assert!(store.was_taken(&delivery(1)).await.unwrap());
    assert_eq!(store.get(&id(1)).await.unwrap(), Some(tasks[1].clone()));
    assert_eq!(store.get(&id(2)).await.unwrap(), Some(tasks[0].clone()));
    let again = changing(1, [noted(&tasks[0])]);
    assert!(matches!(store.take(again.clone()).await.unwrap(), Taken::Repeat { conflict: false }));
    let other = Intake { body_hash: [2; 32], ..again };
    assert!(matches!(store.take(other).await.unwrap(), Taken::Repeat { conflict: true }));
    assert_eq!(store.get(&id(2)).await.unwrap(), Some(tasks[0].clone()));
    assert!(!store.was_taken(&delivery(2)).await.unwrap());
}

/// S23, J2: of 64 copies that come at once one has an effect, and none of the others is an error.
pub(crate) async fn s23_of_many_copies_at_once_one_is_the_first(place: impl Harness) {
    let store = place.open().await;
    let one = create(&*store, task(1)).await;
    let mut copies = JoinSet::new();
    for _ in 0..64 {
        let (store, intake) = (store.clone(), changing(1, [noted(&one)]));
        copies.spawn(async move { store.take(intake).await.unwrap() });
    }
    let taken = copies.join_all().await;
    assert_eq!(taken.iter().filter(|taken| matches!(taken, Taken::First(_))).count(), 1);
    assert_eq!(taken.iter().filter(|taken| matches!(taken, Taken::Repeat { conflict: false })).count(), 63);
    assert_eq!(store.get(&id(1)).await.unwrap().unwrap().revision, one.revision.next());
    assert_eq!(store.audit(&id(1)).await.unwrap().len(), 2);
}

/// S23: where one of its changes is stale, nothing of a delivery happens, and it can be taken anew.
pub(crate) async fn s23_a_stale_change_leaves_nothing_recorded(place: impl Harness) {
    let store = place.open().await;
    let one = create(&*store, task(1)).await;
    let two = create(&*store, task(2)).await;
    let late = noted(&two);
    let moved = store.commit(noted(&two)).await.unwrap();
    let mut stale = changing(1, [noted(&one), late]);
    stale.parked.push(waiting(1, job("elsewhere"), 1));
    stale.dead = Some(letter(1, 1));
    assert_eq!(store.take(stale).await.unwrap_err(), StoreError::Stale(id(2)));
    let twice = changing(1, [noted(&one), noted(&one)]);
    assert_eq!(store.take(twice).await.unwrap_err(), StoreError::Stale(id(1)));
    let gone = changing(1, [noted(&task(3))]);
    assert_eq!(store.take(gone).await.unwrap_err(), StoreError::Stale(id(3)));
    assert!(!store.was_taken(&delivery(1)).await.unwrap());
    assert_eq!(store.get(&id(1)).await.unwrap(), Some(one.clone()));
    assert!(parked(&*store, &job("elsewhere")).await.is_empty());
    assert!(dead(&*store).await.is_empty());
    first(&*store, changing(1, [noted(&one), noted(&moved)])).await;
}

/// S24, J3: nothing is parked for a job that has its task, in any state, nor for a task that waits for no job.
pub(crate) async fn s24_nothing_is_parked_for_a_job_that_is_there(place: impl Harness) {
    let store = place.open().await;
    let one = create(&*store, task(1)).await;
    first(&*store, parking(1, job("7"), 1)).await;
    first(&*store, parking(2, Addressee::Task(id(1)), 1)).await;
    store.commit(running(&one, "7")).await.unwrap();
    let other = create(&*store, task(2)).await;
    for (number, addressee) in [(3, job("7")), (4, Addressee::Task(id(1))), (5, Addressee::Task(id(9)))] {
        let mut bound = parking(number, addressee.clone(), 1);
        bound.commits.push(noted(&other));
        assert!(matches!(store.take(bound).await.unwrap(), Taken::Bound), "{addressee:?}");
        assert!(!store.was_taken(&delivery(number)).await.unwrap());
    }
    assert_eq!(store.get(&id(2)).await.unwrap(), Some(other));
    // The same id at another provider is another job.
    let elsewhere = Parked { provider: ProviderName::new("other"), ..waiting(6, job("7"), 1) };
    first(&*store, Intake { parked: vec![elsewhere], ..intake(6) }).await;
    assert_eq!(parked(&*store, &job("7")).await, [delivery(1)]);
    let theirs = store.parked(&ProviderName::new("other"), &job("7")).await.unwrap();
    assert_eq!(theirs.len(), 1);
}

/// S24, J3: a delivery and the commit that binds its job come at once: either it is parked and whoever bound the job finds it, or it
/// is told that the job is bound.
pub(crate) async fn s24_nothing_is_missed_between_parking_and_binding(place: impl Harness) {
    let store = place.open().await;
    for number in 0..20 {
        let made = create(&*store, task(number)).await;
        let name = format!("job {number}");
        let early = store.take(self::parking(number, job(&name), 1));
        let found = async {
            store.commit(running(&made, &name)).await.unwrap();
            parked(&*store, &job(&name)).await.len()
        };
        match join(early, found).await {
            (Ok(Taken::First(_)), 1) | (Ok(Taken::Bound), 0) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// S25, J3: what is parked is found by whom it waits for, oldest first, whole, also after a restart; it goes in the very commit that
/// makes use of it.
pub(crate) async fn s25_what_is_parked_goes_with_the_commit_that_uses_it(place: impl Harness) {
    let store = place.open().await;
    let one = create(&*store, task(1)).await;
    let large = Parked { kept: kept(&[b'x'; 50_000]), ..waiting(1, job("7"), 30) };
    let long = "7".repeat(30_000);
    first(&*store, Intake { parked: vec![large.clone(), waiting(1, job(&long), 30)], ..intake(1) }).await;
    first(&*store, parking(2, job("7"), 20)).await;
    first(&*store, parking(3, Addressee::Task(id(1)), 25)).await;
    let store = place.reopen(store).await;
    assert_eq!(store.parked(&ci(), &job("7")).await.unwrap(), [waiting(2, job("7"), 20), large.clone()]);
    assert_eq!(store.parked(&ci(), &job(&long)).await.unwrap(), [waiting(1, job(&long), 30)]);
    assert_eq!(parked(&*store, &Addressee::Task(id(1))).await, [delivery(3)]);
    assert_eq!(store.all_parked(9).await.unwrap().len(), 4);
    assert_eq!(store.all_parked(2).await.unwrap().len(), 2);

    let mut stale = running(&task(9), "7");
    stale.unpark.push(large.key());
    assert!(store.commit(stale).await.is_err());
    assert_eq!(parked(&*store, &job("7")).await, [delivery(2), delivery(1)]);
    let mut binds = running(&one, "7");
    binds.unpark = vec![large.key(), waiting(9, job("7"), 1).key()];
    let bound = store.commit(binds).await.unwrap();
    assert_eq!(parked(&*store, &job("7")).await, [delivery(2)]);
    // A delivery's own changes can make use of what is parked, too.
    let mut uses = noted(&bound);
    uses.unpark = vec![waiting(2, job("7"), 20).key(), waiting(3, Addressee::Task(id(1)), 25).key()];
    first(&*store, changing(4, [uses])).await;
    let store = place.reopen(store).await;
    assert!(parked(&*store, &job("7")).await.is_empty());
    assert_eq!(store.all_parked(9).await.unwrap(), [waiting(1, job(&long), 30).key()]);
}

/// S25: dead letters are listed newest first and read whole, also after a restart, until they are dropped.
pub(crate) async fn s25_dead_letters_wait_for_somebody(place: impl Harness) {
    let store = place.open().await;
    let told = DeadLetter { task: Some(id(1)), kept: kept(&[b'x'; 50_000]), ..letter(1, 30) };
    first(&*store, Intake { dead: Some(told.clone()), ..intake(1) }).await;
    first(&*store, Intake { dead: Some(letter(2, 40)), ..intake(2) }).await;
    first(&*store, Intake { dead: Some(letter(3, 20)), ..intake(3) }).await;
    let store = place.reopen(store).await;
    assert_eq!(store.dead_letters(2).await.unwrap(), [letter(2, 40), told.clone()]);
    assert_eq!(store.dead_letter(&delivery(1)).await.unwrap(), Some(told));
    assert_eq!(store.dead_letter(&delivery(9)).await.unwrap(), None);
    assert_eq!(store.drop_dead(&[delivery(1), delivery(1), delivery(9), delivery(3)]).await.unwrap(), 2);
    let store = place.reopen(store).await;
    assert_eq!(dead(&*store).await, [delivery(2)]);
    assert!(store.was_taken(&delivery(1)).await.unwrap());
}

/// S23: a dead letter that is tried again is taken once more and goes; tried by two at once, it has one effect.
pub(crate) async fn s23_a_dead_letter_can_be_taken_once_more(place: impl Harness) {
    let store = place.open().await;
    let one = create(&*store, task(1)).await;
    first(&*store, Intake { dead: Some(letter(1, 1)), ..intake(1) }).await;
    let again = |task: &Task| Intake { redriven: true, ..changing(1, [noted(task)]) };
    let stays = Intake { redriven: true, dead: Some(letter(1, 2)), ..intake(1) };
    first(&*store, stays).await;
    assert_eq!(store.dead_letters(9).await.unwrap(), [letter(1, 2)]);
    let both = join_all((0..2).map(|_| store.take(again(&one)))).await;
    assert_eq!(both.iter().filter(|taken| matches!(taken, Ok(Taken::First(_)))).count(), 1, "{both:?}");
    assert_eq!(both.iter().filter(|taken| matches!(taken, Ok(Taken::Repeat { conflict: false }))).count(), 1, "{both:?}");
    let store = place.reopen(store).await;
    assert!(dead(&*store).await.is_empty());
    assert!(store.was_taken(&delivery(1)).await.unwrap());
    assert_eq!(store.audit(&id(1)).await.unwrap().len(), 2);
}

/// S26: what need not be remembered is forgotten, what waited for long enough goes, and nothing before its time.
pub(crate) async fn s26_what_is_over_is_forgotten(place: impl Harness) {
    let store = place.open().await;
    let until = |number: u64, keep: i64, wait: i64| {
        let came = i64::try_from(number).unwrap();
        let parked = Parked { until: at(wait), kept: kept(&[b'x'; 20_000]), ..waiting(number, job("7"), came) };
        Intake { keep_until: at(keep), parked: vec![parked], ..intake(number) }
    };
    for (number, keep, wait) in [(1, 100, 900), (2, 200, 50), (3, 900, 100), (4, 100, 200)] {
        first(&*store, until(number, keep, wait)).await;
    }
    assert!(store.forget(at(49), 9).await.unwrap().is_empty());
    let store = place.reopen(store).await;
    let key = |number| waiting(number, job("7"), 1).key();
    assert_eq!(store.forget(at(100), 1).await.unwrap(), [key(2)]);
    let mut remembered = 0;
    for number in 1..=4 {
        remembered += usize::from(store.was_taken(&delivery(number)).await.unwrap());
    }
    assert_eq!(remembered, 3);
    assert_eq!(store.forget(at(100), 9).await.unwrap(), [key(3)]);
    for (number, taken) in [(1, false), (2, true), (3, true), (4, false)] {
        assert_eq!(store.was_taken(&delivery(number)).await.unwrap(), taken, "{number}");
    }
    assert_eq!(parked(&*store, &job("7")).await, [delivery(1), delivery(4)]);
    // What was forgotten is as new, and takes the place of what it left parked.
    first(&*store, until(1, 2000, 300)).await;
    let store = place.reopen(store).await;
    assert_eq!(parked(&*store, &job("7")).await.len(), 2);
    assert_eq!(store.forget(at(1500), 9).await.unwrap().len(), 2);
    assert!(store.all_parked(9).await.unwrap().is_empty());
    assert!(store.was_taken(&delivery(1)).await.unwrap());
    assert!(!store.was_taken(&delivery(3)).await.unwrap());
}

/// S26: however many are over, one call forgets them.
pub(crate) async fn s26_many_are_forgotten_at_once(place: impl Harness) {
    let store = place.open().await;
    let park = |number: u64| Intake { parked: vec![waiting(number, job("7"), 1)], ..intake(number) };
    for taken in join_all((0..1200).map(|number| store.take(park(number)))).await {
        assert!(matches!(taken, Ok(Taken::First(_))));
    }
    first(&*store, Intake { keep_until: at(1001), ..intake(2000) }).await;
    assert_eq!(store.forget(at(1000), usize::MAX).await.unwrap().len(), 1200);
    assert!(!store.was_taken(&delivery(7)).await.unwrap());
    assert!(store.was_taken(&delivery(2000)).await.unwrap());
    assert!(store.forget(at(1000), usize::MAX).await.unwrap().is_empty());
}

/// S25: so many are kept and no more; the oldest go, of this provider alone.
pub(crate) async fn s25_the_oldest_go_where_there_are_too_many(place: impl Harness) {
    let store = place.open().await;
    let most = u64::try_from(MOST_PARKED).unwrap();
    let elsewhere = Parked { provider: ProviderName::new("other"), ..waiting(0, job("7"), 0) };
    first(&*store, Intake { parked: vec![elsewhere], ..intake(0) }).await;
    let came = |number: u64| Timestamp::from_millis(i64::try_from(number).unwrap());
    let all = (1..=most).map(|number| Parked { at: came(number), ..waiting(number, job("7"), 0) });
    first(&*store, Intake { parked: all.collect(), ..intake(1) }).await;
    let store = place.reopen(store).await;
    let two = [most + 1, most + 2].map(|number| Parked { at: came(number), ..waiting(number, job("8"), 0) });
    first(&*store, Intake { parked: two.into(), ..intake(2) }).await;
    let left = store.parked(&ci(), &job("7")).await.unwrap();
    assert_eq!((left.len(), left[0].delivery), (MOST_PARKED - 2, delivery(3)));
    assert_eq!(parked(&*store, &job("8")).await.len(), 2);
    assert_eq!(store.all_parked(usize::MAX).await.unwrap().len(), MOST_PARKED + 1);

    let many = u64::try_from(MOST_DEAD).unwrap() + 3;
    let letters = (1..=many).map(|number| {
        let dead = DeadLetter { at: came(number), ..letter(number, 0) };
        store.take(Intake { dead: Some(dead), ..intake(100_000 + number) })
    });
    for taken in join_all(letters).await {
        assert!(matches!(taken.unwrap(), Taken::First(_)));
    }
    let letters = dead(&*store).await;
    assert_eq!((letters.len(), letters.last()), (MOST_DEAD, Some(&delivery(4))));
}
