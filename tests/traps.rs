//! What users of such systems ran into, and the tests that keep it from happening here: each row names tests that exist.

use std::collections::BTreeMap;

use jobgate_test_support::source::{files, text, tokens};

/// Rows of the field reports that clients meet: what went wrong, and `file: test` of what would notice.
const REPORTS: [(u32, &str, &[&str]); 15] = [
    (
        1,
        "after a restart the client has another session, and its task is not found",
        &[
            "tests/mcp/core_tasks.rs: a_task_belongs_to_no_session",
            "tests/core_story.rs: a_client_of_the_core_does_not_notice_that_the_gateway_was_killed",
        ],
    ),
    (2, "the record is durable, the execution is not", &["tests/crash_under_load.rs: nothing_is_lost_doubled_or_stuck"]),
    (
        3,
        "the model has to poll, and invents names of jobs",
        &["tests/mcp/calls.rs: a_call_becomes_a_task_that_can_be_read_at_once"],
    ),
    (
        5,
        "a cancel writes a status, and the job goes on and bills",
        &["tests/mcp/traps.rs: a_cancel_is_told_to_the_job", "tests/engine/wishing.rs: a_cancel_survives_a_crash"],
    ),
    (
        6,
        "the job outlives the life of its record, and its result has no place to go",
        &[
            "tests/mcp/core_tasks.rs: a_short_life_does_not_lose_a_running_job",
            "tests/engine/keeping.rs: a_result_is_kept_for_a_while_whatever_the_life",
            "tests/mcp/tasks.rs: the_interval_grows_with_a_quiet_job",
        ],
    ),
    (
        7,
        "the record expires, and the work goes on with nobody to stop it",
        &["tests/engine/keeping.rs: the_end_of_a_life_is_the_tools_policy"],
    ),
    (
        8,
        "the result is only its metadata",
        &[
            "tests/mcp/core_tasks.rs: a_call_becomes_a_task_and_its_result_is_fetched_later",
            "tests/mcp/interleaving.rs: every_view_shows_the_one_state_whatever_is_done",
        ],
    ),
    (
        10,
        "any client lists and reads the tasks of others",
        &[
            "tests/mcp/core_tasks.rs: a_stranger_sees_nothing",
            "tests/mcp/tasks.rs: a_strangers_task_looks_like_none",
            "tests/mcp/draft/calls.rs: an_id_is_its_principals_own",
            "tests/mcp/classic_tickets.rs: a_strangers_ticket_reads_as_unknown",
        ],
    ),
    (
        12,
        "a capability that is not nested as clients look for it makes calls silently plain",
        &["tests/mcp/sessions.rs: tasks_are_declared_where_the_version_has_them_and_nowhere_else"],
    ),
    (
        13,
        "a failed task's result is never fetched, and the verdict is lost",
        &["tests/mcp/core_tasks.rs: a_failed_job_is_a_failed_task_that_says_why"],
    ),
    (
        14,
        "a tool that needs tasks is dead to clients without them",
        &[
            "tests/mcp/classic.rs: a_call_blocks_until_its_job_ends",
            "tests/mcp/classic.rs: a_job_that_takes_longer_leaves_a_ticket",
            "tests/mcp/classic.rs: a_rejected_call_says_what_is_missing",
        ],
    ),
    (
        15,
        "a cancel that had to be refused cancels; `params.task` is an error; a wrong `Mcp-Name` is served",
        &[
            "tests/mcp/traps.rs: a_cancel_that_is_refused_cancels_nothing",
            "tests/mcp/calls.rs: a_stray_task_parameter_is_ignored",
            "tests/mcp/headers.rs: standard_headers_have_to_be_there_and_to_say_what_the_body_says",
        ],
    ),
    (
        24,
        "the loss of a worker, a client or a stream cancels the job",
        &[
            "tests/link.rs: the_holder_dies_and_everything_goes_on",
            "tests/mcp/classic.rs: a_client_that_leaves_cancels_no_job",
            "tests/mcp/core_results.rs: a_cancelled_wait_cancels_no_job",
            "tests/mcp/draft/streams.rs: a_lost_stream_cancels_nothing",
        ],
    ),
    (
        26,
        "the client gives up after a minute, the job ends, and its answer is gone",
        &[
            "tests/mcp/classic_tickets.rs: a_ticket_outlives_its_session_and_its_process",
            "tests/mcp/classic.rs: a_repeated_call_joins_the_running_job",
            "tests/mcp/core_streams.rs: a_broken_stream_goes_on_and_answers_once",
        ],
    ),
    (
        27,
        "a repeated call starts a second job",
        &[
            "tests/mcp/calls.rs: a_repeated_key_gives_the_same_task_and_starts_nothing",
            "tests/mcp/core_tasks.rs: a_repeated_key_is_the_same_task",
            "tests/mcp/draft/exchanges.rs: an_id_that_is_in_use",
            "tests/engine/naming.rs: a_repeat_after_a_crash_joins_the_job_of_before",
        ],
    ),
];

/// The traps of the dialects.
const TRAPS: [(&str, &[&str]); 21] = [
    ("draft: there is no tasks/cancel", &["tests/mcp/draft/calls.rs: there_is_no_method_to_cancel"]),
    ("draft: a cancel names the original request", &["tests/mcp/draft/exchanges.rs: cancel"]),
    ("draft: the request is known after a restart", &["tests/mcp/draft/keeping.rs: a_call_is_cancelled_after_a_restart"]),
    ("draft: keepAlive counts from the end", &["tests/mcp/draft/keeping.rs: keep_alive_counts_from_the_end"]),
    ("draft: no result unless completed", &["tests/mcp/draft/exchanges.rs: the_result_of_a_task_that_is_not_completed"]),
    ("draft: an id in use is an error", &["tests/mcp/draft/exchanges.rs: an_id_that_is_in_use"]),
    ("core: tasks/result blocks", &["tests/mcp/core_results.rs: a_result_is_waited_for"]),
    ("core: waiters are released by a cancel", &["tests/mcp/core_results.rs: a_cancel_releases_who_waits"]),
    ("core: a short ttl is overridden, not obeyed", &["tests/mcp/core_tasks.rs: a_short_life_does_not_lose_a_running_job"]),
    ("core: a job that failed is failed", &["tests/mcp/core_tasks.rs: a_failed_job_is_a_failed_task_that_says_why"]),
    ("core: lists have cursors", &["tests/mcp/core_tasks.rs: a_list_is_stable_while_tasks_are_made"]),
    (
        "core: the capability is nested",
        &["tests/mcp/sessions.rs: tasks_are_declared_where_the_version_has_them_and_nowhere_else"],
    ),
    (
        "extension: a job that failed is completed",
        &["tests/mcp/tasks.rs: a_failed_job_is_a_completed_task_with_an_error_in_its_result"],
    ),
    (
        "extension: resultType is task on a created task alone",
        &["tests/mcp/calls.rs: a_call_becomes_a_task_that_can_be_read_at_once"],
    ),
    ("extension: -32021 with what is missing", &["tests/mcp/tasks.rs: without_the_extension_there_are_no_tasks"]),
    ("extension: an unknown id is -32602", &["tests/mcp/tasks.rs: a_strangers_task_looks_like_none"]),
    ("extension: params.task is ignored", &["tests/mcp/calls.rs: a_stray_task_parameter_is_ignored"]),
    (
        "extension: Mcp-Name is the task's id",
        &["tests/mcp/headers.rs: standard_headers_have_to_be_there_and_to_say_what_the_body_says"],
    ),
    ("extension: no capability of older versions", &["tests/mcp/basics.rs: discover_says_what_is_served_and_no_more"]),
    ("extension: milliseconds, and ttlMs always there", &["tests/mcp/traps.rs: times_are_milliseconds_and_always_there"]),
    ("extension: no progress on a stream of tasks", &["tests/mcp/traps.rs: a_stream_of_tasks_carries_no_progress"]),
];

/// The tests of each source: functions below an attribute that says so.
fn tests_of(file: &str) -> Vec<String> {
    let source = text(file).unwrap_or_else(|| panic!("there is no {file}"));
    let tokens = tokens(&source);
    let mut found = Vec::new();
    let mut is_test = false;
    for pair in tokens.windows(2) {
        let after_bracket = ["[", ":"].contains(&pair[0].text.as_str()) && pair[1].is("test");
        is_test = (is_test || after_bracket) && pair[0].text != "{";
        if is_test && pair[0].is("fn") {
            found.push(pair[1].text.clone());
            is_test = false;
        }
    }
    found
}

#[test]
fn every_report_and_every_trap_has_its_tests() {
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let reports = REPORTS.iter().map(|(number, what, tests)| (format!("report {number}: {what}"), tests));
    let traps = TRAPS.iter().map(|(what, tests)| (format!("trap: {what}"), tests));
    let mut missing = Vec::new();
    for (what, tests) in reports.chain(traps) {
        assert!(!tests.is_empty(), "{what}: nothing would notice");
        for named in *tests {
            let (file, test) = named.split_once(": ").unwrap_or_else(|| panic!("`file: test`, not {named}"));
            let there = known.entry(file.to_owned()).or_insert_with(|| tests_of(file));
            if !there.iter().any(|it| it == test) {
                missing.push(format!("{what}: {named}"));
            }
        }
    }
    assert!(missing.is_empty(), "tests that are gone: {missing:#?}");
}

/// A test that says of itself that it stands for a report stands for one that is in the table.
#[test]
fn every_report_that_a_test_names_is_in_the_table() {
    let mut named = 0;
    for file in files("tests").into_iter().filter(|file| file.ends_with(".rs") && file != "tests/traps.rs") {
        let source = text(&file).unwrap_or_default();
        for line in source.lines().filter(|line| line.trim_start().starts_with("///")) {
            let Some((_, rest)) = line.to_lowercase().split_once("field report").map(|(a, b)| (a.to_owned(), b.to_owned()))
            else {
                continue;
            };
            let numbers = rest.split(':').next().unwrap_or_default();
            for number in numbers.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse::<u32>().ok()) {
                assert!(REPORTS.iter().any(|(known, ..)| *known == number), "{file}: there is no report {number} in the table");
                named += 1;
            }
        }
    }
    assert!(named > 10, "tests say what they stand for: {named}");
}
