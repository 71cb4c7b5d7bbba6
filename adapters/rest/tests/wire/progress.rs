//! Counts, in the forms that providers give them (F1 of providers-workflow.md).

use crate::support::{Bench, answer, with};
use jobgate_adapter_api::{JobRef, Progress};
use serde_json::{Value, json};

async fn counts(progress: Value, body: Value) -> Option<(f64, Option<f64>)> {
    let job = with(|job| job["status"]["progress"] = progress);
    let mut body = body;
    body["status"] = json!("x");
    let bench = Bench::new(job, vec![answer(200, body)]).await;
    bench.poll(&JobRef::new("1")).await.unwrap().progress.map(|Progress { done, total }| (done, total))
}

/// F1: from a percentage, from "n of m", from two numbers, from the last place in a text, and from a count of elements.
#[tokio::test]
async fn counts_come_in_four_forms() {
    let log = "step 1 of 9\nstep 2 of 9\nwarming up";
    for (progress, body, wanted) in [
        (json!({ "percent": "{{ body.p }}" }), json!({ "p": 42.5 }), Some((42.5, Some(100.0)))),
        (json!({ "percent": "{{ body.p }}" }), json!({ "p": "42%" }), Some((42.0, Some(100.0)))),
        (json!({ "percent": "{{ body.p * 100 }}" }), json!({ "p": 0.25 }), Some((25.0, Some(100.0)))),
        (json!({ "percent": "{{ body.p }}" }), json!({ "p": 142 }), None),
        (json!({ "percent": "{{ body.p }}" }), json!({}), None),
        (json!({ "of": "{{ body.p }}" }), json!({ "p": "3/7" }), Some((3.0, Some(7.0)))),
        (json!({ "of": "{{ body.p }}" }), json!({ "p": "3 of 7 parts" }), Some((3.0, Some(7.0)))),
        (json!({ "of": "{{ body.p }}" }), json!({ "p": "80%" }), Some((80.0, Some(100.0)))),
        (json!({ "of": "{{ body.p }}" }), json!({ "p": "nearly there" }), None),
        (json!({ "done": "{{ body.d }}", "total": "{{ body.t }}" }), json!({ "d": 3, "t": "7" }), Some((3.0, Some(7.0)))),
        (json!({ "done": "{{ body.d }}", "total": "{{ body.t }}" }), json!({ "d": 3 }), Some((3.0, None))),
        (json!({ "pattern": r"step (\d+) of (\d+)", "text": "{{ body.log }}" }), json!({ "log": log }), Some((2.0, Some(9.0)))),
        (json!({ "pattern": r"step (\d+)", "text": "{{ body.log }}" }), json!({ "log": log }), Some((2.0, None))),
        (json!({ "pattern": r"frame (\d+)", "text": "{{ body.log }}" }), json!({ "log": log }), None),
        (
            json!({ "done": "{{ body.jobs | selectattr('done') | list | length }}", "total": "{{ body.jobs | length }}" }),
            json!({ "jobs": [{ "done": true }, { "done": false }, { "done": true }] }),
            Some((2.0, Some(3.0))),
        ),
    ] {
        assert_eq!(counts(progress.clone(), body.clone()).await, wanted, "{progress} {body}");
    }
}
