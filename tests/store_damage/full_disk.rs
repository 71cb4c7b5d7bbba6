//! A disk without room.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use jobgate::domain::{Cause, ManualClock};
use jobgate::store::sled::{self, SledOptions, SledStore};
use jobgate::store::{Intake, StoreError, Taken, TaskStore};

use super::support::{at, delivery, ended, fill, id, intake, letter, open, options, task};

/// The disk that is too full says so and loses nothing, and goes on by itself once there is room.
#[tokio::test]
async fn a_disk_without_the_reserve_refuses_new_tasks_first() {
    let Some(disk) = SmallDisk::mount(64) else { return };
    let mut options = SledOptions::new(disk.dir.path().join("data"));
    options.reserve_bytes = 20 << 20;
    let store = SledStore::open(options, Arc::new(ManualClock::new(at(0)))).unwrap().store;
    fill(&store, 0..2, 500).await;
    let filler = disk.dir.path().join("filler");
    disk.fill(&filler, 15 << 20);
    let refused = store.create(task(5, 500), None, Cause::Operator).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Unavailable(why) if why.contains("nothing was stored")), "{refused}");
    assert!(store.get(&id(5)).await.unwrap().is_none());
    // A running job's end is still taken down.
    let first = store.get(&id(0)).await.unwrap().unwrap();
    let last = store.commit(ended(&first)).await.unwrap();
    // And so is a delivery, which may be that end.
    let taken = store.take(Intake { dead: Some(letter(1, 10)), ..intake(1, at(9)) }).await.unwrap();
    assert!(matches!(taken, Taken::First(_)), "{taken:?}");
    disk.fill(&filler, 7 << 20);
    let second = store.get(&id(1)).await.unwrap().unwrap();
    assert!(matches!(store.commit(ended(&second)).await, Err(StoreError::Unavailable(_))));
    let refused = store.take(intake(2, at(9))).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Unavailable(why) if why.contains("nothing was stored")), "{refused}");
    assert!(!store.was_taken(&delivery(2)).await.unwrap());
    assert_eq!(store.purge(&[(last.id, last.revision)]).await.unwrap(), 1);
    assert_eq!(store.drop_dead(&[delivery(1)]).await.unwrap(), 1);
    store.forget(at(9), 9).await.unwrap();
    assert!(!store.was_taken(&delivery(1)).await.unwrap());
    fs::remove_file(&filler).unwrap();
    fill(&store, 5..6, 500).await;
    store.commit(ended(&second)).await.unwrap();
    assert!(matches!(store.take(intake(2, at(9))).await.unwrap(), Taken::First(_)));
}

/// A disk that fills up under the store's hands: the failing calls say so, what was acknowledged can be read meanwhile, and writing
/// goes on by itself once there is room.
#[tokio::test]
async fn a_full_disk_fails_cleanly() {
    let Some(disk) = SmallDisk::mount(24) else { return };
    let data = disk.dir.path().join("data");
    let store = open(&data);
    let mut stored = Vec::new();
    let failed = loop {
        assert!(stored.len() < 20_000, "the disk never got full");
        let number = stored.len() as u64;
        match store.create(task(number, 6_000), None, Cause::Operator).await {
            Ok(_) => stored.push(number),
            Err(error) => break error,
        }
    };
    assert!(matches!(&failed, StoreError::Unavailable(why) if why.contains("Make room on the disk")), "{failed}");
    let again = store.create(task(1_000_000, 10), None, Cause::Operator).await.unwrap_err();
    assert!(matches!(&again, StoreError::Unavailable(why) if why.contains("Make room on the disk")), "{again}");
    for number in &stored {
        assert_eq!(*store.get(&id(*number)).await.unwrap().unwrap(), task(*number, 6_000));
    }
    disk.grow(200);
    fill(&store, 1_000_000..1_000_001, 10).await;
    store.close().await.unwrap();
    let store = open(&data);
    for number in &stored {
        assert_eq!(*store.get(&id(*number)).await.unwrap().unwrap(), task(*number, 6_000));
    }
    store.close().await.unwrap();
    assert_eq!(sled::verify(&options(&data)).unwrap().problems, Vec::<String>::new());
}

/// A body for which there is no room fails its own task alone.
#[tokio::test]
async fn a_body_without_room_fails_its_task_alone() {
    let Some(disk) = SmallDisk::mount(24) else { return };
    let store = open(&disk.dir.path().join("data"));
    let refused = store.create(task(1, 60_000_000), None, Cause::Operator).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Unavailable(why) if why.contains("large")), "{refused}");
    assert!(store.get(&id(1)).await.unwrap().is_none());
    fill(&store, 1..3, 20_000).await;
}

/// A small file system of our own.
struct SmallDisk {
    dir: tempfile::TempDir,
}

impl SmallDisk {
    /// `None`, and a word about it, where this process may not mount one.
    fn mount(mebibytes: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let size = format!("size={mebibytes}m");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir.path()).output();
        if !mount.as_ref().is_ok_and(|mount| mount.status.success()) {
            eprintln!("full-disk: skipped: this process may not mount a file system");
            return None;
        }
        Some(Self { dir })
    }

    fn grow(&self, mebibytes: u32) {
        let size = format!("remount,size={mebibytes}m");
        assert!(Command::new("mount").args(["-o", &size]).arg(self.dir.path()).status().unwrap().success());
    }

    /// Makes `filler` so large that `free` bytes are left.
    fn fill(&self, filler: &Path, free: u64) {
        let mut file = fs::File::options().create(true).append(true).open(filler).unwrap();
        let block = [1; 1 << 16];
        loop {
            let stat = rustix::fs::statvfs(self.dir.path()).unwrap();
            if stat.f_bavail * stat.f_frsize <= free {
                return;
            }
            file.write_all(&block).unwrap();
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Detached at once, and gone with its last user.
        Command::new("umount").arg("-l").arg(self.dir.path()).status().ok();
    }
}
