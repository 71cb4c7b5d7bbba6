//! What the check says of wrong errors, outcomes, rules, counts and cancels: the place, and what would be right.

use crate::support::{issues_of, least, with};
use serde_json::{Value, json};

/// With the places in short.
fn issues(provider: Value, job: Value) -> Vec<String> {
    let short = |issue: String| issue.replacen("providers.p", "provider", 1).replacen("tools.t.job", "job", 1);
    issues_of(provider, job).into_iter().map(short).collect()
}

#[track_caller]
fn one(found: &[String], wanted: &str) {
    assert!(matches!(found, [one] if one.starts_with(wanted)), "\nwanted: {wanted}\nfound:  {found:#?}");
}

#[test]
fn wrong_errors_and_pace() {
    for (provider, wanted) in [
        (json!({ "errors": [{ "means": "rejected" }] }), "provider.errors[0]: an error needs `code` or `when`"),
        (
            json!({ "errors": [{ "code": [400], "means": "rejected", "after": "{{ 5 }}" }] }),
            "provider.errors[0].after: only what is `rate_limited` or `unavailable` is tried again",
        ),
        (json!({ "errors": [{ "when": "bdy.x", "means": "rejected" }] }), "provider.errors[0].when: `bdy` does not exist here"),
        (
            json!({ "pace": { "reset": { "header": "a b", "unit": "epoch" } } }),
            "provider.pace.reset.header: `a b` is no header name",
        ),
    ] {
        one(&issues(provider, least()), wanted);
    }
}

#[test]
fn wrong_outcomes_rules_and_counts() {
    for (change, wanted) in [
        (json!({ "submit": { "outcomes": [{ "means": "busy" }] } }), "job.submit.outcomes[0]: an outcome needs `code` or `when`"),
        (
            json!({ "submit": { "outcomes": [{ "code": [409], "means": "existing" }] } }),
            "job.submit.outcomes[0].means: a job that exists is ours only where the submit names it by its `key`",
        ),
        (
            json!({ "submit": { "outcomes": [{ "code": [204], "means": "nothing", "job": { "id": "{{ key }}" } }] } }),
            "job.submit.outcomes[0].job: there is no job to be named where none was started",
        ),
        (
            json!({ "submit": { "outcomes": [{ "code": [201], "means": "started", "read": { "request": { "path": "/x" } } }] } }),
            "job.submit.outcomes[0].read: only a job that exists already is read back",
        ),
        (
            json!({ "status": { "rules": [{ "is": ["done"], "state": "succeeded", "within": "1h" }] } }),
            "job.status.rules[0].within: a limit of time is for a state that passes",
        ),
        (
            json!({ "status": { "rules": [{ "is": ["done"], "state": "succeeded", "late": "gone" }] } }),
            "job.status.rules[0].late: `late` says what a job is that takes longer",
        ),
        (
            json!({ "status": { "pins": { "_rule": "{{ body.x }}" } } }),
            "job.status: `_rule`: names that begin with `_` are the adapter's own",
        ),
        (
            json!({ "status": { "pins": { "a": "{{ body.x }}" }, "handles": { "a": "{{ body.x }}" } } }),
            "job.status.pins.a: `a` is a handle as well",
        ),
        (json!({ "status": { "progress": {} } }), "job.status.progress: counts have one of four forms"),
        (
            json!({ "status": { "progress": { "percent": "{{ body.p }}", "total": "{{ body.t }}" } } }),
            "job.status.progress.total: `total` goes with `done`",
        ),
        (
            json!({ "status": { "progress": { "pattern": "x(", "text": "{{ text }}" } } }),
            "job.status.progress.pattern: this is no regular expression",
        ),
        (
            json!({ "status": { "progress": { "pattern": "x", "text": "{{ text }}" } } }),
            "job.status.progress.pattern: the pattern has 0 groups",
        ),
    ] {
        let job = with(|job| {
            for (section, words) in change.as_object().unwrap() {
                job[section].as_object_mut().unwrap().extend(words.as_object().unwrap().clone());
            }
        });
        one(&issues(json!({}), job), wanted);
    }
}

/// F4: where redirects lead is said in origins.
#[test]
fn wrong_redirects() {
    for (follow, wanted) in [
        (json!({ "origins": [] }), "job.status.request.follow.origins: must not be empty"),
        (json!({ "origins": ["files.example.com"] }), "job.status.request.follow.origins: `files.example.com` is no origin"),
        (json!({ "origins": ["https://a.example.com/x"] }), "job.status.request.follow.origins: `https://a.example.com/x` is no"),
    ] {
        one(&issues(json!({}), with(|job| job["status"]["request"]["follow"] = follow)), wanted);
    }
}

#[test]
fn wrong_cancels() {
    let request = json!({ "method": "DELETE", "path": "/jobs/{{ job.id }}" });
    for (cancel, wanted) in [
        (json!({}), "job.cancel: nothing says how a job is stopped"),
        (
            json!({ "request": request, "ways": [{ "request": request }] }),
            "job.cancel.ways: a job is stopped by a `request` or in one of several `ways`, not both",
        ),
        (
            json!({ "refused": [409], "ways": [{ "request": request }] }),
            "job.cancel.refused: with `ways` each way has its own `refused`",
        ),
        (
            json!({ "ways": [{ "request": request }, { "request": request }] }),
            "job.cancel.ways[0]: a way without `when` is always taken",
        ),
        (
            json!({ "ways": [{ "when": "word == 'x'", "request": request }] }),
            "job.cancel.ways[0].when: `word` does not exist here",
        ),
        (
            json!({ "ways": [{ "each": "{{ job.id }}", "most": 500, "request": request }] }),
            "job.cancel.ways[0].most: `most` is 500",
        ),
        (json!({ "request": request, "escalate": { "after": "2m" } }), "job.cancel.escalate: nothing says how a job is stopped"),
        (
            json!({ "request": request, "escalate": { "after": "0s", "request": request } }),
            "job.cancel.escalate.after: a job needs some time to stop",
        ),
    ] {
        one(&issues(json!({}), with(|job| job["cancel"] = cancel)), wanted);
    }
}
