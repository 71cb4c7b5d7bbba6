//! The store after its process was killed, after its files were damaged, on a full disk.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod store_writer;

use std::env;
use std::io::{BufRead as _, BufReader, Cursor, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use store_writer::ALL_SIZES;

/// Says to the test that it is the writer, and where.
const WRITE_TO: &str = "JOBGATE_CRASH_WRITER";

/// A killed process loses nothing that it was told is stored, and whoever comes next can open the store at once.
#[test]
fn what_was_acknowledged_survives_kill_9() {
    if let Some(place) = env::var_os(WRITE_TO) {
        let place = place.into_string().unwrap();
        let (first, dir) = place.split_once(':').unwrap();
        store_writer::write_for_ever(Path::new(dir), first.parse().unwrap(), ALL_SIZES, std::io::stdout());
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut acks = String::new();
    for round in 0..4_u64 {
        let mut writer = Command::new(env::current_exe().unwrap())
            .args(["--exact", "what_was_acknowledged_survives_kill_9", "--nocapture"])
            .env(WRITE_TO, format!("{}:{}", round * 1_000_000, data.display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap());
        // Killed at another place each time; the test's own words take a few lines.
        for _ in 0..160 + round * 7 {
            assert!(lines.read_line(&mut acks).unwrap() > 0, "the writer stopped by itself");
        }
        writer.kill().unwrap();
        // What it had said by then counts, too.
        lines.read_to_string(&mut acks).unwrap();
        writer.wait().unwrap();
        acks.push('\n');
        let count = store_writer::check(&data, ALL_SIZES, Cursor::new(&acks));
        assert!(count >= 150);
    }
}
