//! Exports, what is made of them, and compaction.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jobgate::domain::{
    Cause, JobRef, LifeFrom, ManualClock, Names, Principal, ProviderName, RequestName, Scope, Status, Task, TaskState,
};
use jobgate::store::sled::{self, OpenReport, SledStore};
use jobgate::store::{Created, ListQuery, TaskStore};

use super::support::{at, bodies, ended, expected, fill, filled, id, open, options, task, try_open};

/// The last export takes the place of a damaged database, by itself and loudly; the damaged one is kept.
#[tokio::test]
async fn a_damaged_database_is_replaced_by_its_last_export() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let store = open(dir.path());
    let exported = store.export_periodic().await.unwrap();
    assert_eq!(exported.tasks, 60);
    fill(&store, 100..105, 500).await;
    store.close().await.unwrap();
    fs::File::options().write(true).open(dir.path().join("sled/db")).unwrap().set_len(4096).unwrap();

    let (store, report) = try_open(dir.path()).unwrap();
    let recovered = report.recovered.unwrap();
    assert_eq!((recovered.tasks, recovered.export), (60, exported.path));
    assert_eq!(recovered.exported_at.to_string(), "2026-11-30T12:00:00.000Z");
    assert!(recovered.set_aside.join("db").exists());
    assert_eq!(report.live_tasks, 59);
    for number in 0..60 {
        assert_eq!(*store.get(&id(number)).await.unwrap().unwrap(), expected(number));
    }
    assert!(store.get(&id(100)).await.unwrap().is_none());
    assert_eq!(store.seed("cursor", [1; 32]).await.unwrap(), [9; 32]);
    assert_eq!(store.audit(&id(0)).await.unwrap().len(), 2);
    store.close().await.unwrap();
    assert_eq!(sled::verify(&options(dir.path())).unwrap().problems, Vec::<String>::new());
    assert_eq!(try_open(dir.path()).unwrap().1.recovered, None);
}

/// An export that is damaged itself is passed over for the one before it.
#[tokio::test]
async fn recovery_takes_the_newest_export_that_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let store = open(dir.path());
    let older = store.export_periodic().await.unwrap().path;
    let newer = older.with_file_name("2026-12-01T00-00-00.000Z.jsonl");
    let text = fs::read(&older).unwrap();
    fs::write(&newer, &text[..text.len() - 20]).unwrap();
    store.close().await.unwrap();
    fs::File::options().write(true).open(dir.path().join("sled/db")).unwrap().set_len(0).unwrap();
    let (_, report) = try_open(dir.path()).unwrap();
    assert_eq!(report.recovered.unwrap().export, older);
}

/// An export holds everything; an import makes the same store of it, and spoils none that is there.
#[tokio::test]
async fn an_export_is_imported_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let (data, fresh, file) = (dir.path().join("data"), dir.path().join("fresh"), dir.path().join("all.jsonl"));
    filled(&data).await;
    let store = open(&data);
    assert_eq!(store.export_to(&file).await.unwrap().tasks, 60);
    let list = ListQuery { scope: Scope::Everybody, after: None, limit: 99 };
    let all = store.list(list.clone()).await.unwrap();
    store.close().await.unwrap();

    let refused = sled::import(&options(&data), &file).unwrap_err().to_string();
    assert!(refused.contains("has tasks already"), "{refused}");
    assert_eq!(sled::import(&options(&fresh), &file).unwrap().tasks, 60);
    let copy = open(&fresh);
    assert_eq!(copy.list(list).await.unwrap(), all);
    assert_eq!(copy.find_by_job(&ProviderName::new("ci"), "4711").await.unwrap(), Some(id(0)));
    assert_eq!(copy.count_live(&Principal::new("tenant", "ann")).await.unwrap(), 59);
    assert_eq!(copy.next_due(&ProviderName::new("ci")).await.unwrap(), Some(at(1)));
    copy.close().await.unwrap();
    assert_eq!(sled::verify(&options(&fresh)).unwrap().problems, Vec::<String>::new());

    let text = fs::read_to_string(&file).unwrap();
    let cut: String = text.lines().take(30).map(|line| format!("{line}\n")).collect();
    let changed = text.replacen("4711", "4712", 1);
    let newer = text.replacen("\"format\":2", "\"format\":9", 1);
    for (bad, why) in [
        (cut.as_str(), "it is cut short"),
        (&changed, "it was changed after it was made"),
        (&newer, "it has format 9, and this version reads formats up to 2"),
        ("{}\n", "line 1: a line of it cannot be read"),
        ("", "it is cut short"),
    ] {
        fs::write(&file, bad).unwrap();
        let empty = dir.path().join("empty");
        let refused = sled::import(&options(&empty), &file).unwrap_err().to_string();
        assert!(refused.contains(why) && refused.contains("all.jsonl"), "{refused}");
        assert!(!empty.join("sled").exists());
    }
}

/// Names and the rows that find tasks by them are part of an export, and of what `verify` compares.
#[tokio::test]
async fn an_export_keeps_names() {
    let dir = tempfile::tempdir().unwrap();
    let (data, fresh, file) = (dir.path().join("data"), dir.path().join("fresh"), dir.path().join("all.jsonl"));
    let store = open(&data);
    let ann = Principal::new("tenant", "ann");
    let request = RequestName { session: None, id: "7".to_owned() };
    let names = Names { client_id: Some("mine".to_owned()), request: Some(request.clone()), join: Some([3; 32]) };
    let named = Task { life_from: LifeFrom::End, ..task(1, 20).with_names(names) };
    let made = store.create(named, None, Cause::Operator).await.unwrap();
    let Created::New(made) = made else { panic!("{made:?}") };
    store.export_to(&file).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(sled::verify(&options(&data)).unwrap().problems, Vec::<String>::new());

    sled::import(&options(&fresh), &file).unwrap();
    let copy = open(&fresh);
    assert_eq!(copy.get(&id(1)).await.unwrap(), Some(made.clone()));
    assert_eq!(copy.find_by_client_id(&ann, "mine").await.unwrap(), Some(id(1)));
    assert_eq!(copy.find_by_request(&ann, &request).await.unwrap(), Some(id(1)));
    assert_eq!(copy.find_by_join(&ann, &made.tool, &[3; 32]).await.unwrap(), Some(id(1)));
    let tenants = ListQuery { scope: Scope::Tenant(Principal::new("tenant", "root")), after: None, limit: 9 };
    assert_eq!(copy.list(tenants).await.unwrap(), [made]);
    copy.close().await.unwrap();
    assert_eq!(sled::verify(&options(&fresh)).unwrap().problems, Vec::<String>::new());
}

/// A file of the first format stays readable.
#[tokio::test]
async fn the_first_export_format_stays_readable() {
    let dir = tempfile::tempdir().unwrap();
    let imported = sled::import(&options(dir.path()), Path::new("tests/fixtures/store/v1-export.jsonl")).unwrap();
    assert_eq!((imported.tasks, imported.exported_at.to_string().as_str()), (2, "2026-11-30T12:00:00.000Z"));
    let store = open(dir.path());
    assert_eq!(*store.get(&id(0)).await.unwrap().unwrap(), ended(&task(0, 20)).next);
    assert_eq!(*store.get(&id(1)).await.unwrap().unwrap(), task(1, 20));
    let history: Vec<_> = store.audit(&id(0)).await.unwrap().iter().map(|entry| entry.status).collect();
    assert_eq!(history, [Status::Working, Status::Completed]);
    assert_eq!(store.seed("cursor", [0; 32]).await.unwrap(), [9; 32]);
}

/// Only the newest exports stay.
#[tokio::test]
async fn old_exports_make_room_for_new_ones() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(at(1_790_000_000_000)));
    let store = SledStore::open(options(dir.path()), clock.clone()).unwrap().store;
    fill(&store, 0..3, 50).await;
    let mut made = Vec::new();
    for _ in 0..4 {
        clock.advance(Duration::from_secs(3600));
        made.push(store.export_periodic().await.unwrap().path);
    }
    let mut left: Vec<_> = fs::read_dir(dir.path().join("exports")).unwrap().map(|file| file.unwrap().path()).collect();
    left.sort();
    assert_eq!(left, made[2..]);
}

/// The room that old revisions took comes back, on command and at start; nothing else changes.
#[tokio::test]
async fn compaction_gives_room_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    fill(&store, 0..40, 2_000).await;
    fill(&store, 40..44, 20_000).await;
    for _ in 0..30 {
        join_all((0..40).map(async |number| {
            let last = store.get(&id(number)).await.unwrap().unwrap();
            let mut next = ended(&last);
            next.next.state = TaskState::Running { job: JobRef::new("again") };
            store.commit(next).await.unwrap();
        }))
        .await;
    }
    let list = ListQuery { scope: Scope::Everybody, after: None, limit: 99 };
    let all = store.list(list.clone()).await.unwrap();
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.tasks(Status::Working), stats.tasks(Status::Completed)), (44, 0));
    store.close().await.unwrap();
    let stray = bodies(dir.path())[0].with_file_name("0".repeat(64));
    fs::write(&stray, "left by a crash").unwrap();
    assert_eq!(sled::verify(&options(dir.path())).unwrap().notes, ["1 files in `bodies` that no task needs"]);

    let compacted = sled::compact(&options(dir.path())).unwrap();
    assert!(compacted.after_bytes < compacted.before_bytes, "{compacted:?}");
    assert_eq!((compacted.strays, stray.exists()), (1, false));
    let (store, report) = try_open(dir.path()).unwrap();
    assert_eq!(report, OpenReport { live_tasks: 44, ..OpenReport::default() });
    assert_eq!(store.list(list.clone()).await.unwrap(), all);
    assert_eq!(store.audit(&id(3)).await.unwrap().len(), 31);
    store.close().await.unwrap();
    let found = sled::verify(&options(dir.path())).unwrap();
    assert_eq!((found.problems, found.notes), (vec![], vec![]));
}
