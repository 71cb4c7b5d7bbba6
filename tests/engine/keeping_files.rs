//! Artifacts that are kept: fetched once the job has ended, through failures and restarts, and what callers are told of those that cannot
//! be (requirements D6, G2, G4).

use std::path::Path;
use std::sync::{Arc, Mutex};

use jobgate::artifacts::{ArtifactLimits, Artifacts, folder};
use jobgate::domain::{
    Clock as _, ExpiryPolicy, JobOutput, JobState, Observation, Outcome, Part, Status, Task, TaskId, ToolResult,
};
use jobgate::engine::{ArtifactAddress, Call, Called, ReadError, artifact_uri};
use jobgate_adapter_api::{Artifact, Capabilities, ErrorKind, Operation, Retry};

use crate::fake::{Trouble, running};
use crate::rig::{HOUR, MINUTE, Rig, SECOND, call, me};

const FILM: &str = "https://farm.example/film";

fn open(dir: &Path, max_bytes: u64, total_bytes: u64) -> Artifacts {
    Artifacts::open(folder(dir), ArtifactLimits { max_bytes, total_bytes }).unwrap()
}

fn made(artifacts: Vec<Artifact>) -> Observation {
    Observation::new(JobState::Succeeded(JobOutput { artifacts, ..JobOutput::text("rendered") }))
}

fn rig(dir: &Path) -> Rig {
    let mut rig = Rig::new();
    rig.artifacts = Some(open(dir, 100, 1000));
    rig.fake.state().files.insert(FILM.to_owned(), vec![Some(b"fi"), Some(b"lm")]);
    rig.fake.plan([running(), made(vec![Artifact::new(FILM, "film.mp4")])]);
    rig
}

/// Gives the disk's threads the time they need, with the clock where it is, until this holds.
async fn until(rig: &Rig, id: &TaskId, holds: impl Fn(&Task) -> bool) -> Arc<Task> {
    for _ in 0..20_000 {
        rig.settle().await;
        let task = rig.get(id).await;
        if holds(&task) {
            return task;
        }
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
    }
    panic!("it never held: {:?}", rig.get(id).await);
}

async fn ended(rig: &Rig, id: &TaskId) -> ToolResult {
    let task = until(rig, id, Task::is_ended).await;
    match task.outcome() {
        Some(Outcome::Result(result)) => result.as_ref().clone(),
        other => panic!("{other:?}"),
    }
}

/// Lets the job end, and the keeping begin.
async fn job_ends(rig: &Rig) {
    for _ in 0..4 {
        rig.advance(SECOND).await;
    }
}

fn texts(result: &ToolResult) -> Vec<String> {
    let text = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Link { uri, .. } => format!("link {uri}"),
        other => panic!("{other:?}"),
    };
    result.output.parts.iter().map(text).collect()
}

fn files(dir: &Path) -> usize {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries.map(|entry| if entry.metadata().unwrap().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

/// D6: what the job made is kept before the task ends, is read by its owner alone, and is gone with the task (G2, I1).
#[tokio::test]
async fn a_file_is_kept_read_and_gone_with_its_task() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(dir.path());
    rig.public_url = Some("https://gate.example".to_owned());
    rig.start().await;
    let task = rig.task(1).await;
    job_ends(&rig).await;
    let result = ended(&rig, &task.id).await;
    assert_eq!((texts(&result), result.kept.len()), (vec!["rendered".to_owned()], 1));
    let kept = &result.kept[0];
    assert_eq!((&*kept.name, kept.mime_type.as_deref(), kept.size), ("film.mp4", Some("video/mp4"), 4));
    assert_eq!(rig.audit(&task.id).await.last().map(String::as_str), Some("artifact_kept"));
    let engine = rig.engine();
    let (_, bytes) = engine.read_artifact(&me(), &task.id, 1, 100).await.unwrap();
    assert_eq!(bytes, b"film");
    for (who, number) in [(&me(), 0), (&me(), 2), (&jobgate::domain::Principal::new("acme", "bob"), 1)] {
        assert!(matches!(engine.read_artifact(who, &task.id, number, 100).await, Err(ReadError::NotFound)), "{who} {number}");
    }
    let too_large = engine.read_artifact(&me(), &task.id, 1, 3).await.unwrap_err();
    assert!(matches!(&too_large, ReadError::TooLarge { size: 4, most: 3, url: Some(_) }), "{too_large:?}");
    let shown = engine.shown_result(&*rig.get(&task.id).await).unwrap();
    let [_, Part::Link { uri, size: Some(4), .. }, Part::Text(line)] = &shown.output.parts[..] else { panic!("{shown:?}") };
    assert_eq!(*uri, artifact_uri(task.id, 1));
    let url = line.split(' ').nth(1).unwrap();
    let address = address(url);
    assert_eq!(engine.addressed_artifact(&address).await.unwrap().as_ref(), Some(kept));
    rig.advance(2 * HOUR).await;
    assert_eq!(engine.addressed_artifact(&address).await.unwrap(), None, "the address has ended");
    engine.delete(&me(), &task.id).await.unwrap();
    let held = rig.artifacts.clone().unwrap();
    for _ in 0..20_000 {
        if held.used_bytes() == 0 && files(dir.path()) == 0 {
            break;
        }
        rig.settle().await;
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
    }
    assert_eq!((held.used_bytes(), files(dir.path())), (0, 0));
}

fn address(url: &str) -> ArtifactAddress {
    let (path, query) = url.split_once('?').unwrap();
    let mut steps = path.rsplit('/');
    let number = steps.next().unwrap().parse().unwrap();
    let token = steps.next().unwrap().to_owned();
    let (expires, signature) = query.strip_prefix("expires=").unwrap().split_once("&signature=").unwrap();
    ArtifactAddress { token, number, expires: expires.parse().unwrap(), signature: signature.to_owned() }
}

/// Troubles that pass are waited for, and the job is started once; a break in the middle begins the file anew.
#[tokio::test]
async fn a_download_is_tried_again_until_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(dir.path());
    rig.fake.state().files.insert(FILM.to_owned(), vec![Some(b"fi"), None]);
    rig.fake.trouble(Operation::Fetch, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff)]);
    rig.start().await;
    let task = rig.task(1).await;
    job_ends(&rig).await;
    let waiting = until(&rig, &task.id, |task| task.troubles.count == 1).await;
    assert_eq!(waiting.status(), Status::Working);
    assert!(waiting.message.as_deref().unwrap().contains("cannot be kept yet (attempt 1)"), "{:?}", waiting.message);
    rig.advance(2 * SECOND).await;
    until(&rig, &task.id, |task| task.troubles.count == 2).await;
    rig.fake.state().files.insert(FILM.to_owned(), vec![Some(b"film")]);
    rig.advance(3 * SECOND).await;
    let result = ended(&rig, &task.id).await;
    assert_eq!((result.kept[0].size, rig.fake.jobs().len(), rig.fake.calls(Operation::Submit).len()), (4, 1, 1));
    assert_eq!(rig.fake.calls(Operation::Fetch).len(), 3);
    assert_eq!(files(dir.path()), 2, "nothing is left of the attempts");
}

/// C4: a crash in the middle of a download begins it again, with what is kept already, and never the job.
#[tokio::test]
async fn a_crash_in_the_middle_of_a_download_is_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(dir.path());
    let second = "https://farm.example/second";
    rig.fake.state().files.insert(second.to_owned(), vec![Some(b"se")]);
    rig.fake.plan([running(), made(vec![Artifact::new(FILM, "a"), Artifact::new(second, "b")])]);
    rig.start().await;
    let task = rig.task(1).await;
    rig.advance(SECOND).await;
    job_ends(&rig).await;
    let calls = || rig.fake.calls(Operation::Fetch).len();
    rig.fake.state().stalls = false;
    // The first is whole, the second stalls.
    for _ in 0..20_000 {
        if calls() >= 1 {
            rig.fake.state().stalls = true;
        }
        rig.settle().await;
        if calls() == 2 {
            break;
        }
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
    }
    let half = until(&rig, &task.id, |task| task.message.as_deref().is_some_and(|it| it.ends_with("(1 of 2)"))).await;
    assert_eq!(half.status(), Status::Working);
    rig.kill().await;
    rig.artifacts = None;
    rig.artifacts = Some(open(dir.path(), 100, 1000));
    rig.fake.state().stalls = false;
    rig.start().await;
    // The store in memory remembers the claim of the process that is gone.
    rig.advance(5 * MINUTE).await;
    let result = ended(&rig, &task.id).await;
    assert_eq!(result.kept.iter().map(|kept| &*kept.name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        (rig.fake.calls(Operation::Fetch).len(), rig.fake.calls(Operation::Submit).len(), rig.fake.jobs().len()),
        (3, 1, 1)
    );
}

/// C4: what a crash left of a file that no record names is gone before the next file begins, which nobody may take for a leftover.
#[tokio::test]
async fn leftovers_of_a_crash_go_before_the_next_file_begins() {
    const LEFT: usize = 1000;
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(dir.path());
    let second = "https://farm.example/second";
    rig.fake.state().files.insert(second.to_owned(), vec![Some(b"second")]);
    rig.fake.plan([running(), made(vec![Artifact::new(FILM, "a"), Artifact::new(second, "b")])]);
    rig.fake.state().stalls = true;
    rig.start().await;
    let task = rig.task(1).await;
    job_ends(&rig).await;
    until(&rig, &task.id, |_| rig.fake.calls(Operation::Fetch).len() == 1).await;
    rig.kill().await;
    // So many that nobody can be through with them by chance.
    let kept = folder(dir.path());
    std::fs::create_dir_all(kept.join("content/00")).unwrap();
    for nth in 0..LEFT {
        let hash = format!("{nth:064x}");
        std::fs::write(kept.join("content/00").join(&hash), b"").unwrap();
        std::fs::write(kept.join("held").join(format!("{}.{hash}", task.id)), b"").unwrap();
    }
    rig.artifacts = Some(open(dir.path(), 100, 1000));
    rig.fake.state().stalls = false;
    let held = Arc::new(Mutex::new(Vec::new()));
    let (seen, place) = (held.clone(), kept.join("held"));
    rig.fake.state().chance = Some(Box::new(move |operation| {
        if operation == Operation::Fetch {
            seen.lock().unwrap().push(files(&place));
        }
        None
    }));
    rig.start().await;
    rig.advance(5 * MINUTE).await;
    let result = ended(&rig, &task.id).await;
    assert_eq!(*held.lock().unwrap(), [LEFT, 1], "at the beginning of each file");
    assert_eq!((result.kept.len(), files(dir.path())), (2, 4));
    for (number, bytes) in [(1, &b"film"[..]), (2, b"second")] {
        assert_eq!(rig.engine().read_artifact(&me(), &task.id, number, 100).await.unwrap().1, bytes);
    }
}

/// G4: what is refused for good ends the task as completed, with the address and a sentence; the rest is kept.
#[tokio::test]
async fn what_cannot_be_kept_is_a_link_and_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(dir.path());
    let large = "https://farm.example/large";
    rig.fake.state().files.insert(large.to_owned(), vec![Some(&[7; 60]), Some(&[7; 60])]);
    let typed = Artifact { types: vec!["image/*".to_owned()], ..Artifact::new(FILM, "typed") };
    let inline = Artifact { max_bytes: Some(2), ..Artifact::new("data:text/plain;base64,aGVsbG8=", "inline") };
    let small = Artifact::new("data:text/plain,hi%20there", "small");
    let all = vec![Artifact::new(large, "large"), Artifact::new("https://farm.example/x", "gone"), typed, inline, small];
    rig.fake.plan([running(), made(all)]);
    rig.start().await;
    let task = rig.task(1).await;
    job_ends(&rig).await;
    let result = ended(&rig, &task.id).await;
    assert!(!result.is_error);
    assert_eq!(
        texts(&result),
        [
            "rendered",
            "link https://farm.example/large",
            "[The artifact \"large\" is not kept: it has more than 100 bytes.]",
            "link https://farm.example/x",
            "[The artifact \"gone\" is not kept: the file is gone.]",
            "link https://farm.example/film",
            "[The artifact \"typed\" is not kept: it is \"video/mp4\", and only image/* is kept.]",
            "[The artifact \"inline\" is not kept: it has more than 2 bytes.]",
        ]
    );
    assert_eq!(result.kept.len(), 1);
    assert_eq!(
        (&*result.kept[0].name, result.kept[0].mime_type.as_deref(), result.kept[0].size),
        ("small", Some("text/plain"), 8)
    );
    assert_eq!(rig.artifacts.unwrap().used_bytes(), 8);
}

/// B9: keeping ends, too: after as much silence as a job may keep, or as much time as it may take.
#[tokio::test]
async fn keeping_is_given_up_at_a_limit_and_the_result_stays() {
    let dir = tempfile::tempdir().unwrap();
    for (stalls, wanted) in [(false, "for 36"), (true, "within 7200 s")] {
        let mut rig = rig(dir.path());
        rig.policy.deadline = 2 * HOUR;
        rig.fake.state().files.insert(FILM.to_owned(), if stalls { vec![Some(b"fi")] } else { vec![None] });
        rig.fake.state().stalls = stalls;
        rig.start().await;
        let task = rig.task(1).await;
        job_ends(&rig).await;
        for _ in 0..400 {
            rig.advance(30 * SECOND).await;
            tokio::task::spawn_blocking(|| ()).await.unwrap();
            if rig.get(&task.id).await.is_ended() {
                break;
            }
        }
        let result = ended(&rig, &task.id).await;
        let told = texts(&result);
        assert_eq!((&*told[0], &*told[1]), ("rendered", "link https://farm.example/film"));
        assert!(told[2].contains(wanted), "{told:?}");
        assert_eq!(files(dir.path()), 0);
        rig.kill().await;
    }
}

/// F2: the job has ended, so a cancel is too late for it: the result still comes, but to callers whose tasks are cancelled at once.
#[tokio::test]
async fn a_cancel_while_files_are_kept_is_too_late_for_the_job() {
    let dir = tempfile::tempdir().unwrap();
    for at_once in [false, true] {
        let mut rig = rig(dir.path());
        rig.fake.state().stalls = true;
        rig.start().await;
        let task = rig.task(1).await;
        job_ends(&rig).await;
        until(&rig, &task.id, |task| task.message.as_deref().is_some_and(|it| it.contains("being kept"))).await;
        let told = rig.engine().cancel(&me(), &task.id, at_once).await.unwrap();
        assert_eq!(told.status(), if at_once { Status::Cancelled } else { Status::Working }, "{:?}", told.message);
        assert_eq!(rig.fake.calls(Operation::Cancel), []);
        if !at_once {
            rig.kill().await;
            rig.fake.state().stalls = false;
            rig.start().await;
            assert_eq!(ended(&rig, &task.id).await.kept.len(), 1);
        }
        rig.kill().await;
    }
}

/// A7: a job that is told of by deliveries alone has its files kept as well; a full store of files is waited for.
#[tokio::test]
async fn room_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = rig(dir.path());
    rig.artifacts = Some(open(dir.path(), 4, 6));
    rig.fake.state().capabilities = Capabilities { idempotent_submit: true, ..Capabilities::default() };
    rig.start().await;
    let first = rig.task(1).await;
    job_ends(&rig).await;
    ended(&rig, &first.id).await;
    rig.fake.state().files.insert(FILM.to_owned(), vec![Some(b"more")]);
    let second = rig.task(2).await;
    job_ends(&rig).await;
    let waiting = until(&rig, &second.id, |task| task.troubles.count > 0).await;
    assert!(waiting.message.as_deref().unwrap().contains("keeps 6 bytes of artifacts at most"), "{:?}", waiting.message);
    rig.engine().delete(&me(), &first.id).await.unwrap();
    for _ in 0..200 {
        rig.advance(SECOND).await;
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        if rig.get(&second.id).await.is_ended() {
            break;
        }
    }
    assert_eq!(ended(&rig, &second.id).await.kept.len(), 1);
}

/// A gateway without a place for files, and the end of a life in the middle: the result comes with links.
#[tokio::test]
async fn without_a_place_or_a_life_there_are_links() {
    let dir = tempfile::tempdir().unwrap();
    let mut nowhere = rig(dir.path());
    nowhere.artifacts = None;
    nowhere.start().await;
    let task = nowhere.task(1).await;
    job_ends(&nowhere).await;
    assert!(texts(&ended(&nowhere, &task.id).await)[2].contains("this gateway keeps no artifacts"));
    let mut short = rig(dir.path());
    short.policy.on_expiry = ExpiryPolicy::Detach;
    short.fake.state().stalls = true;
    short.start().await;
    let Called::Task(task) = short.call(Call { ttl: Some(MINUTE), ..call(1) }).await.unwrap() else { panic!("a task") };
    job_ends(&short).await;
    short.advance(2 * MINUTE).await;
    assert!(texts(&ended(&short, &task.id).await)[2].contains("the task's life has ended"));
    assert!(short.clock.now() > task.created_at);
}
