//! The crash matrix: a process is killed right before and right after each durable step of create, submit, poll, input, cancel, finish
//! and the keeping of files; the next one has to bring the task to its end, with one job at the provider.
//!
//! The killed process is this very binary, started again by the test with its orders in the environment. It dies by SIGKILL, sent
//! to itself by a store that wraps the real one: nothing of it is in the product.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]
#![expect(clippy::print_stdout, reason = "what was counted is worth reading")]

#[path = "crash_matrix/child.rs"]
mod child;
#[path = "crash_matrix/provider.rs"]
mod provider;
#[path = "crash_matrix/store.rs"]
mod store;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jobgate_test_support::process::Process;
use jobgate_test_support::{scratch, wait};
use serde_json::Value;

use child::Plan;
use provider::{FILES, Promise};
use store::Strike;

const ORDERS: &str = "JOBGATE_CRASH_ORDERS";

/// How long a process may take to do its plan or to die.
const LIMIT: Duration = Duration::from_secs(60);

/// A file was whole, and its process was killed before any record named it.
const FETCHED_AGAIN: &str = "a file is fetched again";

/// More steps than any plan has: a run that never ends is a fault.
const MOST_STEPS: usize = 60;

/// C1, C4: with keys, whatever the moment, one wish is one job, and its task ends as the job does.
#[test]
fn with_keys_one_wish_is_one_job() {
    matrix("with_keys_one_wish_is_one_job", Promise::Key);
}

/// C4: a job that a crash left unnamed is found again.
#[test]
fn with_find_one_wish_is_one_job() {
    matrix("with_find_one_wish_is_one_job", Promise::Find);
}

/// C4: where a provider offers neither, the task says that a job may have been started, and none is started twice.
#[test]
fn without_both_nothing_is_started_twice() {
    matrix("without_both_nothing_is_started_twice", Promise::Nothing);
}

fn matrix(test: &'static str, promise: Promise) {
    if let Some(orders) = orders() {
        let (folder, plan, strike) = parse(&orders);
        println!("END {}", child::run(Path::new(folder), plan, promise, strike));
        return;
    }
    let mut kills = 0;
    let mut steps = BTreeSet::new();
    // The second process, too: killed around its first durable step, that is in the middle of its recovery, or left alone.
    let seconds = [None, Some(Strike { after: false, nth: 1 }), Some(Strike { after: true, nth: 1 })];
    for plan in Plan::ALL {
        for after in [false, true] {
            for second in seconds {
                kills += kill_at_each_step(test, promise, plan, after, second, &mut steps);
            }
        }
    }
    println!("{promise:?}: {kills} kills, 0 lost, 0 doubled; durable steps: {steps:#?}");
    let expected = ["created", "accepted", "observed", "answered", "provided", "cancel_requested", "cancel_answered"];
    for expected in expected.into_iter().chain(["artifact_kept", FETCHED_AGAIN]) {
        assert!(steps.iter().any(|step| step.contains(expected)), "no process was killed at `{expected}`");
    }
}

/// Kills the first process at its first step, at its second, and so on, until it reaches its end unharmed. Gives the number of kills.
fn kill_at_each_step(
    test: &str,
    promise: Promise,
    plan: Plan,
    after: bool,
    second: Option<Strike>,
    steps: &mut BTreeSet<String>,
) -> usize {
    let mut kills = 0;
    for nth in 1..MOST_STEPS {
        let folder = scratch::in_memory();
        let what = format!("{plan:?} killed at step {nth} (after it: {after}), then at {second:?}");
        let mut end = None;
        let mut died = 0;
        for strike in [Some(Strike { after, nth }), second, None] {
            end = process(test, folder.path(), plan, strike);
            if end.is_some() {
                break;
            }
            died += 1;
        }
        let end = end.unwrap_or_else(|| panic!("nobody kills the third one; {what}"));
        check(promise, plan, folder.path(), &end, &format!("{what}: {end}"));
        if provider::fetches(&folder.path().join("provider")) > FILES.len() {
            steps.insert(FETCHED_AGAIN.to_owned());
        }
        steps.extend(fs::read_to_string(folder.path().join("steps")).unwrap().lines().map(String::from));
        if died == 0 {
            return kills;
        }
        kills += died;
    }
    panic!("{plan:?} has no end after {kills} kills")
}

/// What must be true when all is over.
fn check(promise: Promise, plan: Plan, folder: &Path, end: &Value, what: &str) {
    let jobs = provider::jobs(&folder.join("provider"));
    assert!(jobs.len() <= 1, "doubled: {jobs:?}; {what}");
    let kind = end["kind"].as_str().unwrap();
    if promise == Promise::Nothing && kind == "unknown_outcome" {
        return;
    }
    assert_eq!(jobs.len(), 1, "lost; {what}");
    assert!(jobs[0].starts_with(end["key"].as_str().unwrap()), "{what}");
    let text = end["text"].as_str().unwrap();
    match plan {
        Plan::Finish => assert!(kind == "result" && text.contains("done"), "{what}"),
        Plan::Input => assert!(kind == "result" && text.contains("true"), "{what}"),
        Plan::Keep => {
            let files: Vec<_> =
                end["files"].as_array().unwrap().iter().filter_map(|file| file.as_str()?.split(',').next()).collect();
            assert!(kind == "result" && files == FILES, "{what}");
        }
        Plan::Cancel => {
            assert_eq!(kind, "cancelled", "{what}");
            assert!(folder.join("provider").join(format!("{}.cancelled", jobs[0])).exists(), "the job runs on; {what}");
        }
    }
}

/// Runs one process in `folder`; what its caller saw, or `None` when it was killed.
fn process(test: &str, folder: &Path, plan: Plan, strike: Option<Strike>) -> Option<Value> {
    let strike = strike.map_or_else(|| "no".to_owned(), |it| format!("{}{}", if it.after { "+" } else { "-" }, it.nth));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(ORDERS, format!("{}\n{}\n{strike}", folder.display(), plan.word()));
    let output = folder.join(format!("output{strike}"));
    let mut process = Process::start("the process to be killed", command, &output);
    let status = wait::within(LIMIT, || process.ended());
    let status = status.unwrap_or_else(|| panic!("neither done nor dead: {}", process.output()));
    if status.signal() == Some(9) {
        return None;
    }
    let output = process.output();
    assert!(status.success(), "{status}: {output}");
    let line = output.lines().find_map(|line| line.split_once("END ")).unwrap_or_else(|| panic!("no end in {output}"));
    Some(serde_json::from_str(line.1).unwrap())
}

#[expect(clippy::disallowed_methods, reason = "the orders of a process that this test starts itself")]
fn orders() -> Option<String> {
    std::env::var(ORDERS).ok()
}

fn parse(orders: &str) -> (&str, Plan, Option<Strike>) {
    let [folder, plan, strike] = orders.split('\n').collect::<Vec<_>>()[..] else { panic!("three lines: {orders}") };
    let plan = Plan::ALL.into_iter().find(|it| it.word() == plan).unwrap();
    let strike = (strike != "no").then(|| {
        let (sign, nth) = strike.split_at(1);
        Strike { after: sign == "+", nth: nth.parse().unwrap() }
    });
    (folder, plan, strike)
}
