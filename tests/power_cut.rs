//! The loss of all that was not really on the disk: what the store acknowledged is there afterwards.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on stops, and one that is skipped says so")]

mod store_writer;

use std::env;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use store_writer::{ALL_SIZES, Sizes};

/// Says to this very test which part it plays when the script runs it: `write` or `check`.
const ROLE: &str = "JOBGATE_POWER_CUT";

/// How long the writer writes, in seconds. It takes about one of them to get going.
const SECONDS: u32 = 5;

/// The power goes while eight callers create and commit tasks with parts of 1, 8, 16 and 200 KB. Records, index rows and bodies of
/// every acknowledged change are there when the file system comes back, and the store finds nothing wrong with itself.
#[test]
fn what_was_acknowledged_survives_a_power_cut() {
    play("what_was_acknowledged_survives_a_power_cut", ALL_SIZES);
}

/// The same with small records alone: no body file is synced then, whose sync would carry the database along.
#[test]
fn small_records_survive_a_power_cut() {
    play("small_records_survive_a_power_cut", &[100, 1_000, 3_000]);
}

fn play(test: &str, sizes: Sizes) {
    match env::var_os(ROLE).as_deref().and_then(|role| role.to_str()) {
        Some("write") => store_writer::write_for_ever(&disk(), 0, sizes, File::options().append(true).open(acks()).unwrap()),
        Some("check") => {
            let count = store_writer::check(&disk(), sizes, BufReader::new(File::open(acks()).unwrap()));
            assert!(count > 100, "only {count} changes were acknowledged: too few to say anything");
            eprintln!("power-cut: {count} acknowledged changes, none lost");
        }
        _ => cut(test),
    }
}

fn disk() -> PathBuf {
    Path::new(&env::var_os("DISK").unwrap()).join("data")
}

fn acks() -> PathBuf {
    env::var_os("ACKS").unwrap().into()
}

fn cut(test: &str) {
    let shared = env::var_os("JOBGATE_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let script = shared.join("tools/power-cut");
    if !script.exists() {
        let missing = format!("no {}; set JOBGATE_SHARED to the folder that has it", script.display());
        assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "power-cut: {missing}");
        eprintln!("power-cut: skipped: {missing}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let myself = env::current_exe().unwrap();
    let play = |role: &str| format!("{ROLE}={role} exec '{}' --exact {test} --nocapture", myself.display());
    let run =
        Command::new(&script).arg(dir.path()).arg(SECONDS.to_string()).arg(play("write")).arg(play("check")).output().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    if run.status.code() == Some(77) {
        eprintln!("power-cut: skipped: {}", said.lines().last().unwrap_or("this machine has no loop devices"));
        return;
    }
    assert!(run.status.success(), "{said}\n{}", String::from_utf8_lossy(&run.stdout));
    eprintln!("{}", said.lines().filter(|line| line.starts_with("power-cut:")).collect::<Vec<_>>().join("\n"));
}
