//! Damaged, newer and locked files.

use std::fs;
use std::path::PathBuf;

use jobgate::store::sled;
use jobgate::store::{StoreError, TaskStore};

use super::support::{bodies, copy, expected, filled, flip, id, open, options, try_open};

/// Two processes never write to one store, and the second is told who has it.
#[tokio::test]
async fn a_store_in_use_is_refused_with_the_holders_process_id() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let held = try_open(dir.path()).unwrap_err();
    assert_eq!(held, StoreError::Held { path: dir.path().display().to_string(), holder: Some(std::process::id()) });
    assert!(held.to_string().contains(&format!("pid {}", std::process::id())), "{held}");
    assert!(matches!(sled::compact(&options(dir.path())), Err(StoreError::Held { .. })));
    assert!(matches!(sled::verify(&options(dir.path())), Err(StoreError::Held { .. })));
    // Dropped without a close, it lets go just the same.
    drop(store);
    open(dir.path());
}

/// What a newer version wrote is not touched, and the message says what to do.
#[tokio::test]
async fn a_newer_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    fs::write(dir.path().join("format"), "3\n").unwrap();
    let refused = try_open(dir.path()).unwrap_err().to_string();
    assert!(refused.contains("has format 3, and this version knows formats up to 2"), "{refused}");
    assert!(refused.contains("jobgate store export"), "{refused}");
    fs::write(dir.path().join("format"), "?").unwrap();
    let refused = try_open(dir.path()).unwrap_err().to_string();
    assert!(refused.contains("is no format") && refused.contains("write the line `2`"), "{refused}");
    fs::write(dir.path().join("format"), "2\n").unwrap();
    assert_eq!(*open(dir.path()).get(&id(3)).await.unwrap().unwrap(), expected(3));
}

/// A file that was cut short never passes for a smaller store: without an export the start is refused, unless only room was cut off
/// that nothing was in.
#[tokio::test]
async fn a_truncated_database_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    filled(&whole).await;
    let len = fs::metadata(whole.join("sled/db")).unwrap().len();
    let mut refusals = 0;
    for (number, kept) in [0, len / 4, len / 2, len / 4 * 3].into_iter().enumerate() {
        let data = dir.path().join(number.to_string());
        copy(&whole, &data);
        fs::File::options().write(true).open(data.join("sled/db")).unwrap().set_len(kept).unwrap();
        match try_open(&data) {
            Err(refused) => {
                assert!(matches!(refused, StoreError::Corrupt { .. }), "{kept} bytes of {len}: {refused}");
                assert!(refused.to_string().contains("There is no whole export"), "{refused}");
                assert!(data.join("sled/db").exists(), "the damaged database stays where it is");
                refusals += 1;
            }
            Ok((store, _)) => {
                for number in 0..60 {
                    assert_eq!(*store.get(&id(number)).await.unwrap().unwrap(), expected(number), "{kept} bytes of {len}");
                }
            }
        }
    }
    assert!(refusals >= 1);
}

/// Wherever bytes flip in the database: it does not start, or a check names the damage, or nothing that matters was hit. No answer
/// is ever wrong, and nothing panics.
#[tokio::test]
async fn flipped_bytes_in_the_database_give_no_wrong_answer() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    filled(&whole).await;
    let len = fs::metadata(whole.join("sled/db")).unwrap().len();
    let (mut refused, mut named, mut harmless) = (0, 0, 0);
    for round in 0..16 {
        let data = dir.path().join(round.to_string());
        copy(&whole, &data);
        flip(&data.join("sled/db"), len / 16 * round, 24);
        match sled::verify(&options(&data)) {
            Err(StoreError::Corrupt { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
            Ok(report) if report.problems.is_empty() => {
                harmless += 1;
                let store = open(&data);
                for number in 0..60 {
                    assert_eq!(*store.get(&id(number)).await.unwrap().unwrap(), expected(number));
                }
            }
            Ok(_) => named += 1,
        }
        if let Ok((store, _)) = try_open(&data) {
            for number in 0..60 {
                match store.get(&id(number)).await {
                    Ok(there) => assert!(there.is_none_or(|there| *there == expected(number))),
                    Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error}"),
                }
            }
        }
        fs::remove_dir_all(&data).unwrap();
    }
    assert!(refused + named > 0, "{refused} refused, {named} named, {harmless} harmless");
}

/// A damaged body spoils its own task alone, and is named.
#[tokio::test]
async fn a_flipped_or_missing_body_is_named() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let files = bodies(dir.path());
    assert_eq!(files.len(), 12);
    flip(&files[0], 5, 1);
    fs::remove_file(&files[1]).unwrap();
    let found = sled::verify(&options(dir.path())).unwrap();
    assert_eq!((found.tasks, found.problems.len()), (60, 2), "{:?}", found.problems);
    let of = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
    let flipped = format!("the body {} is not what was written", of(&files[0]));
    let missing = format!("the body {} is missing", of(&files[1]));
    for what in [&flipped, &missing] {
        assert!(found.problems.iter().any(|problem| problem.contains(what)), "{:?}", found.problems);
    }
    assert!(found.advice().contains("jobgate store import"), "{}", found.advice());
    let store = open(dir.path());
    let mut broken = Vec::new();
    for number in 0..60 {
        match store.get(&id(number)).await {
            Ok(there) => assert_eq!(*there.unwrap(), expected(number)),
            Err(error) => broken.push(error.to_string()),
        }
    }
    assert_eq!(broken.len(), 2);
    assert!(broken.iter().any(|error| error.contains(&flipped)) && broken.iter().any(|error| error.contains(&missing)));
}
