//! What is kept is whole, counted, shared by those with the same, and gone with the last of them; crashes leave nothing.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use super::*;

const ONE: TaskId = TaskId::from_bytes([1; 16]);
const TWO: TaskId = TaskId::from_bytes([2; 16]);

fn open(dir: &Path) -> Artifacts {
    let limits = ArtifactLimits { max_bytes: 10, total_bytes: 16 };
    Artifacts::open(folder(dir), limits).unwrap()
}

fn keep(artifacts: &Artifacts, task: TaskId, bytes: &[u8]) -> Result<ContentHash, KeepError> {
    let mut part = artifacts.begin(None)?;
    for piece in bytes.chunks(3) {
        part.write(piece)?;
    }
    part.finish(task).map(|(hash, size)| {
        assert_eq!(size, bytes.len() as u64);
        hash
    })
}

fn read(artifacts: &Artifacts, hash: &ContentHash) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    artifacts.file(hash).ok()?.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

/// Every file below a folder.
fn files(dir: &Path) -> usize {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            if entry.metadata().unwrap().is_dir() { files(&entry.path()) } else { 1 }
        })
        .sum()
}

/// D6, G2: two tasks with the same content share one file; it outlives a restart and the first of them, and goes with the second.
#[test]
fn the_same_content_is_kept_once_and_goes_with_its_last_task() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = open(dir.path());
    let hash = keep(&artifacts, ONE, b"film").unwrap();
    assert_eq!(keep(&artifacts, TWO, b"film").unwrap(), hash);
    assert_eq!(keep(&artifacts, TWO, b"film").unwrap(), hash, "doing it twice is doing it once");
    assert_eq!((artifacts.used_bytes(), files(&folder(dir.path()))), (4, 3));
    drop(artifacts);
    let artifacts = open(dir.path());
    assert_eq!((artifacts.used_bytes(), artifacts.holders()), (4, vec![ONE, TWO]));
    artifacts.retain(&ONE, &[]).unwrap();
    assert_eq!(read(&artifacts, &hash).as_deref(), Some(&b"film"[..]));
    artifacts.retain(&TWO, &[hash]).unwrap();
    assert!(!artifacts.holds_more(&TWO, &[hash]) && artifacts.holds_more(&TWO, &[]));
    artifacts.retain(&TWO, &[]).unwrap();
    assert_eq!(read(&artifacts, &hash), None);
    assert_eq!((artifacts.used_bytes(), files(&folder(dir.path()))), (0, 0));
}

/// G4: one file, and all together, have at most so many bytes; what is given up leaves no trace and no count.
#[test]
fn caps_hold_and_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = open(dir.path());
    assert!(matches!(keep(&artifacts, ONE, b"elevenbytes"), Err(KeepError::TooLarge { most: 10 })));
    keep(&artifacts, ONE, b"tenletters").unwrap();
    assert!(matches!(keep(&artifacts, ONE, b"seventy"), Err(KeepError::Full { total: 16 })));
    assert!(matches!(artifacts.begin(Some(2)).unwrap().write(b"abc"), Err(KeepError::TooLarge { most: 2 })));
    keep(&artifacts, ONE, b"sixsix").unwrap();
    assert_eq!((artifacts.used_bytes(), files(&folder(dir.path()))), (16, 4));
}

/// A crash in the middle of a file, between the file and its holder, or with a holder whose file is gone: the next start tidies up.
#[test]
fn what_a_crash_leaves_is_removed_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = open(dir.path());
    let kept = keep(&artifacts, ONE, b"kept").unwrap();
    let lost = keep(&artifacts, TWO, b"lost").unwrap();
    let unheld = keep(&artifacts, TWO, b"sry").unwrap();
    let mut part = artifacts.begin(None).unwrap();
    part.write(b"half").unwrap();
    std::mem::forget(part);
    let root = folder(dir.path());
    fs::remove_file(held_file(&root, &TWO, &unheld)).unwrap();
    fs::remove_file(content_file(&root, &lost)).unwrap();
    fs::write(held(&root).join("nobody"), b"").unwrap();
    let artifacts = open(dir.path());
    assert_eq!((artifacts.used_bytes(), artifacts.holders(), files(&root)), (4, vec![ONE], 2));
    assert_eq!(read(&artifacts, &kept).as_deref(), Some(&b"kept"[..]));
}

/// An empty file is a file.
#[test]
fn nothing_can_be_kept_too() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = open(dir.path());
    let hash = keep(&artifacts, ONE, b"").unwrap();
    assert_eq!(read(&artifacts, &hash).as_deref(), Some(&b""[..]));
    assert_eq!(hash.to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
