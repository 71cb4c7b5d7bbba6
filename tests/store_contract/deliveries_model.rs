//! Random sequences of deliveries and what they touch, several at once, beside the store in memory.

use std::fmt::Debug;

use futures_util::future::join_all;
use jobgate::domain::{Cause, JobRef, Revision, TaskState};
use jobgate::store::{Addressee, Commit, DeadLetter, Intake, MemoryStore, Parked, ParkedKey, TaskStore};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::Harness;
use super::deliveries::{delivery, intake, job, kept, letter, waiting};
use super::support::{at, change, ci, id, task};

#[derive(Clone, Debug)]
enum Step {
    Create(u64),
    /// Gives the task a job, or a word; makes use of what is parked for some.
    Commit {
        number: u64,
        job: Option<u8>,
        unpark: Vec<(u8, u64)>,
    },
    Take {
        number: u64,
        other: bool,
        redriven: bool,
        keep: i64,
        touches: Vec<u64>,
        parks: Vec<(u8, i64)>,
        dead: bool,
    },
    Purge(u64),
    Drop(u64),
    Forget(i64),
}

/// Jobs 0 to 2; the tasks 0 to 2 after them.
fn addressee(which: u8) -> Addressee {
    if which < 3 { job(&which.to_string()) } else { Addressee::Task(id(u64::from(which - 3))) }
}

fn step() -> impl Strategy<Value = Step> {
    let task = || 0..3_u64;
    let named = || 0..6_u64;
    let whom = || 0..6_u8;
    let some = proptest::bool::weighted;
    let take = (named(), some(0.1), some(0.2), 0..40_i64, proptest::collection::vec(task(), 0..3));
    let kept = (proptest::collection::vec((whom(), 0..40_i64), 0..3), some(0.3));
    prop_oneof![
        2 => task().prop_map(Step::Create),
        3 => (task(), proptest::option::of(0..3_u8), proptest::collection::vec((whom(), named()), 0..4))
            .prop_map(|(number, job, unpark)| Step::Commit { number, job, unpark }),
        8 => (take, kept).prop_map(|((number, other, redriven, keep, touches), (parks, dead))| {
            Step::Take { number, other, redriven, keep, touches, parks, dead }
        }),
        1 => task().prop_map(Step::Purge),
        1 => named().prop_map(Step::Drop),
        1 => (0..40_i64).prop_map(Step::Forget),
    ]
}

/// What is done to both stores.
#[derive(Clone)]
enum Act {
    Create(u64),
    Commit(Box<Commit>),
    Take(Box<Intake>),
    Purge(u64, Revision),
    Drop(u64),
    Forget(i64),
}

/// The act that `step` is where the store in memory stands now. What is large has a body of its own.
async fn act(memory: &MemoryStore, step: &Step, large: bool) -> Act {
    let there = async |number: u64| match memory.get(&id(number)).await.unwrap() {
        Some(task) => (*task).clone(),
        None => task(number),
    };
    let came = |number: u64| at(i64::try_from(number).unwrap());
    match step {
        Step::Create(number) => Act::Create(*number),
        Step::Commit { number, job, unpark } => {
            let mut commit = change(&there(*number).await, |task| {
                task.message = Some("x".repeat(if large { 9000 } else { 9 }));
                if let Some(job) = job {
                    task.state = TaskState::Running { job: JobRef::new(job.to_string()) };
                }
            });
            let key =
                |(to, named): &(u8, u64)| ParkedKey { provider: ci(), addressee: addressee(*to), delivery: delivery(*named) };
            commit.unpark = unpark.iter().map(key).collect();
            Act::Commit(Box::new(commit))
        }
        Step::Take { number, other, redriven, keep, touches, parks, dead } => {
            let mut commits = Vec::new();
            for number in touches {
                commits.push(change(&there(*number).await, |task| task.message = Some("delivered".to_owned())));
            }
            let body = kept(&vec![b'x'; if large { 9000 } else { 9 }]);
            let park = |(to, until): &(u8, i64)| Parked {
                at: came(*number),
                until: at(*until),
                kept: body.clone(),
                ..waiting(*number, addressee(*to), 0)
            };
            let letter = DeadLetter { at: came(*number), kept: body.clone(), ..letter(*number, 0) };
            Act::Take(Box::new(Intake {
                body_hash: [u8::from(*other); 32],
                keep_until: at(*keep),
                redriven: *redriven,
                commits,
                parked: parks.iter().map(park).collect(),
                dead: dead.then_some(letter),
                ..intake(*number)
            }))
        }
        Step::Purge(number) => Act::Purge(*number, there(*number).await.revision),
        Step::Drop(number) => Act::Drop(*number),
        Step::Forget(now) => Act::Forget(*now),
    }
}

/// Does it; gives the answer in words.
async fn answer(store: &dyn TaskStore, act: Act) -> String {
    fn words(answer: impl Debug) -> String {
        format!("{answer:?}")
    }
    match act {
        Act::Create(number) => words(store.create(task(number), None, Cause::Operator).await),
        Act::Commit(commit) => words(store.commit(*commit).await),
        Act::Take(intake) => words(store.take(*intake).await),
        Act::Purge(number, revision) => words(store.purge(&[(id(number), revision)]).await),
        Act::Drop(number) => words(store.drop_dead(&[delivery(number)]).await),
        Act::Forget(now) => {
            let mut gone = store.forget(at(now), usize::MAX).await.unwrap();
            gone.sort();
            words(gone)
        }
    }
}

/// All that can be asked of deliveries, in words.
async fn contents(store: &dyn TaskStore) -> String {
    let mut all = store.all_parked(usize::MAX).await.unwrap();
    all.sort();
    let mut told = format!("{all:?} {:?}", store.dead_letters(usize::MAX).await.unwrap());
    for number in 0..6 {
        told += &format!(" {:?}", store.was_taken(&delivery(number)).await.unwrap());
        told += &format!(" {:?}", store.dead_letter(&delivery(number)).await.unwrap());
        let to = addressee(u8::try_from(number).unwrap());
        told += &format!(" {:?}", store.parked(&ci(), &to).await.unwrap());
        told += &format!(" {:?}", store.get(&id(number)).await.unwrap());
    }
    told
}

/// S23–S26 together, in whatever order, one by one and in groups.
pub(crate) async fn any_sequence_of_deliveries_ends_as_in_memory<H: Harness>(_: H) {
    let mut runner = TestRunner::deterministic();
    let groups = proptest::collection::vec((proptest::collection::vec(step(), 1..8), any::<bool>()), 1..25);
    for _ in 0..32 {
        let groups = groups.new_tree(&mut runner).unwrap().current();
        let place = H::new();
        let mut store = place.open().await;
        let memory = MemoryStore::new();
        for (number, (steps, is_large)) in groups.iter().enumerate() {
            // What has a body reaches the store when that is written, so it comes alone.
            let steps = if *is_large { &steps[..1] } else { steps };
            let (mut acts, mut expected) = (Vec::new(), Vec::new());
            for step in steps {
                // To forget is to look and then to act, so what comes after it may overtake it.
                let act = if matches!(step, Step::Forget(_)) && steps.len() > 1 {
                    continue;
                } else {
                    act(&memory, step, *is_large).await
                };
                expected.push(answer(&memory, act.clone()).await);
                acts.push(act);
            }
            let answers = join_all(acts.into_iter().map(|act| answer(&*store, act))).await;
            assert_eq!(answers, expected, "{steps:?}");
            if number % 8 == 7 {
                store = place.reopen(store).await;
            }
        }
        assert_eq!(contents(&*store).await, contents(&memory).await);
        store.close().await.unwrap();
        drop(store);
        assert_eq!(place.problems(), Vec::<String>::new());
    }
}
