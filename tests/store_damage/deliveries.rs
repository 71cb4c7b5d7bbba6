//! Deliveries in exports, in copies, and damaged.

use std::fs;
use std::path::Path;

use jobgate::domain::ProviderName;
use jobgate::store::sled::{self, SledStore};
use jobgate::store::{Addressee, Intake, Taken, TaskStore};

use super::support::{at, bodies, delivery, intake, letter, open, options, parked, task};

/// Long after every clock of these tests.
const LATER: i64 = 1_900_000_000_000;

/// A closed store that remembers deliveries 1 to 4 and one that is over, and keeps three: parked for two jobs, laid aside, and parked with
/// a body.
async fn filled(dir: &Path) {
    let store = open(dir);
    let both = vec![parked(1, "a", 10), parked(1, "b", 10)];
    for intake in [
        Intake { parked: both, ..intake(1, at(LATER)) },
        Intake { dead: Some(letter(2, 20_000)), ..intake(2, at(LATER)) },
        Intake { dead: Some(letter(3, 10)), ..intake(3, at(LATER)) },
        Intake { parked: vec![parked(4, "a", 20_000)], ..intake(4, at(LATER)) },
        intake(5, at(9)),
    ] {
        assert!(matches!(store.take(intake).await.unwrap(), Taken::First(_)));
    }
    store.close().await.unwrap();
}

async fn assert_filled(store: &SledStore) {
    let ci = ProviderName::new("ci");
    let of = async |job: &str| store.parked(&ci, &Addressee::Job(job.to_owned())).await.unwrap();
    assert_eq!(of("a").await, [parked(1, "a", 10), parked(4, "a", 20_000)]);
    assert_eq!(of("b").await, [parked(1, "b", 10)]);
    assert_eq!(store.dead_letters(9).await.unwrap(), [letter(3, 10), letter(2, 20_000)]);
    for number in 1..=4 {
        let again = store.take(intake(number, at(LATER))).await.unwrap();
        assert!(matches!(again, Taken::Repeat { conflict: false }), "{number}: {again:?}");
    }
}

fn problems(dir: &Path) -> Vec<String> {
    sled::verify(&options(dir)).unwrap().problems
}

/// J2, J3: an export holds what is remembered and what is kept, and an import makes the same of it; what is over is left behind.
#[tokio::test]
async fn an_export_keeps_deliveries() {
    let dir = tempfile::tempdir().unwrap();
    let (data, fresh, file) = (dir.path().join("data"), dir.path().join("fresh"), dir.path().join("all.jsonl"));
    filled(&data).await;
    let store = open(&data);
    store.export_to(&file).await.unwrap();
    store.close().await.unwrap();
    let found = sled::verify(&options(&data)).unwrap();
    assert_eq!((found.problems, found.deliveries, found.bodies), (vec![], 5 + 5, 2));

    sled::import(&options(&fresh), &file).unwrap();
    let copy = open(&fresh);
    assert_filled(&copy).await;
    assert!(!copy.was_taken(&delivery(5)).await.unwrap());
    copy.close().await.unwrap();
    let found = sled::verify(&options(&fresh)).unwrap();
    assert_eq!((found.problems, found.notes, found.deliveries), (vec![], vec![], 4 + 5));
    let refused = sled::import(&options(&fresh), &file).unwrap_err().to_string();
    assert!(refused.contains("has deliveries already"), "{refused}");

    let text = fs::read_to_string(&file).unwrap();
    let short: String = text.lines().filter(|line| !line.starts_with("{\"dead\"")).map(|line| format!("{line}\n")).collect();
    fs::write(&file, short).unwrap();
    let refused = sled::import(&options(&dir.path().join("empty")), &file).unwrap_err().to_string();
    assert!(refused.contains("it was changed after it was made"), "{refused}");
}

/// The deliveries of an export as the first version that had any wrote it stay readable.
#[tokio::test]
async fn the_second_export_format_stays_readable() {
    let dir = tempfile::tempdir().unwrap();
    let imported = sled::import(&options(dir.path()), Path::new("tests/fixtures/store/v2-export.jsonl")).unwrap();
    assert_eq!((imported.tasks, imported.exported_at.to_string().as_str()), (0, "2026-11-30T12:00:00.000Z"));
    let store = open(dir.path());
    assert_filled(&store).await;
    store.close().await.unwrap();
    assert_eq!(problems(dir.path()), Vec::<String>::new());
}

/// A copy that gives room back keeps every delivery, and removes the bodies of those that are gone.
#[tokio::test]
async fn compaction_keeps_deliveries() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    sled::compact(&options(dir.path())).unwrap();
    let store = open(dir.path());
    assert_filled(&store).await;
    assert_eq!(bodies(dir.path()).len(), 2);
    assert_eq!(store.drop_dead(&[delivery(2)]).await.unwrap(), 1);
    assert_eq!(store.forget(at(60_000), 9).await.unwrap().len(), 3);
    store.close().await.unwrap();
    assert_eq!(bodies(dir.path()), Vec::<std::path::PathBuf>::new());
    let found = sled::verify(&options(dir.path())).unwrap();
    assert_eq!((found.problems, found.deliveries), (vec![], 4 + 1));
}

/// A body that was written for a delivery which then was refused takes no room.
#[tokio::test]
async fn a_refused_delivery_leaves_no_body() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let with_body = || Intake { parked: vec![parked(1, "a", 20_000)], ..intake(1, at(LATER)) };
    assert!(matches!(store.take(with_body()).await.unwrap(), Taken::First(_)));
    let other = Intake { parked: vec![parked(1, "a", 30_000)], ..with_body() };
    assert!(matches!(store.take(other).await.unwrap(), Taken::Repeat { .. }));
    assert!(matches!(store.take(with_body()).await.unwrap(), Taken::Repeat { .. }));
    assert_eq!(bodies(dir.path()).len(), 1);
    let stale = jobgate::store::Commit { expected: task(9, 20).revision, next: task(9, 20_000), entries: vec![], unpark: vec![] };
    assert!(store.commit(stale).await.is_err());
    assert_eq!(bodies(dir.path()).len(), 1);
    store.close().await.unwrap();
}

/// The body of a dead letter is damaged: the others can be read, `verify` names it, and it can still be dropped. One that is parked still
/// goes when its time has come.
#[tokio::test]
async fn a_damaged_body_harms_its_own_delivery_alone() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    for body in bodies(dir.path()) {
        fs::write(body, "other").unwrap();
    }
    let found = problems(dir.path()).join("\n");
    assert!(found.contains(&format!("dead letter {}: the body", delivery(2))), "{found}");
    assert!(found.contains(&format!("parked delivery {}: the body", delivery(4))), "{found}");
    let store = open(dir.path());
    assert!(store.dead_letter(&delivery(2)).await.is_err());
    assert_eq!(store.dead_letter(&delivery(3)).await.unwrap(), Some(letter(3, 10)));
    assert_eq!(store.parked(&ProviderName::new("ci"), &Addressee::Job("b".to_owned())).await.unwrap().len(), 1);
    assert_eq!(store.drop_dead(&[delivery(2)]).await.unwrap(), 1);
    assert_eq!(store.forget(at(60_000), 9).await.unwrap().len(), 2);
    assert!(store.all_parked(9).await.unwrap().is_empty());
    store.close().await.unwrap();
    assert_eq!(problems(dir.path()), Vec::<String>::new());
}
