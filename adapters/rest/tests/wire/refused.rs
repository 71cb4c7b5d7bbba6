//! What the check says of wrong errors, outcomes, rules, counts and cancels: the place, and what would be right.

use crate::support::{least, with};
use jobgate_adapter_api::{Issues, Place, ToolWords, factory};
use jobgate_adapter_rest::Rest;
use serde_json::{Value, json};

fn issues(provider: Value, job: Value) -> Vec<String> {
    let mut words = json!({ "base_url": "https://api.example.com/v1" });
    words.as_object_mut().unwrap().extend(provider.as_object().unwrap().clone());
    let tool = ToolWords {
        name: "t".to_owned(),
        input_schema: json!({ "type": "object" }),
        place: Place::root().key("job"),
        words: job,
    };
    let mut issues = Issues::new();
    factory::<Rest>().check(&Place::root().key("provider"), words, vec![tool], &mut issues);
    issues.iter().map(|issue| format!("{}: {}", issue.place, issue.message)).collect()
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
