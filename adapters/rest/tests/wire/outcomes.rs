//! What the answer to a submit means where "taken" and "refused" are not enough (C1, C2, C3, C9, D2 of providers-workflow.md).

use crate::support::{Bench, answer, with};
use jobgate_adapter_api::{ErrorKind, JobOutput, JobRef, JobState, Part, Submitted};
use jobgate_adapter_testkit::ResponseTemplate;
use serde_json::{Value, json};

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn with_outcomes(outcomes: Value) -> Value {
    with(|job| {
        job["submit"]["request"] = json!({ "path": "/runs", "body": { "name": "{{ key }}", "args": "{{ args }}" } });
        job["submit"]["outcomes"] = outcomes;
        job["result"] = json!({ "data": "{{ body.outputs }}" });
    })
}

async fn submit(outcomes: Value, given: Vec<ResponseTemplate>) -> (Result<Submitted, (ErrorKind, String)>, Vec<String>) {
    let bench = Bench::new(with_outcomes(outcomes), given).await;
    let submitted = bench.submit(json!({})).await.map_err(|error| (error.kind(), error.message().to_owned()));
    (submitted, bench.paths().await)
}

/// C1: one map from answers to outcomes, in order; C9: also by what is in a 200.
#[tokio::test]
async fn an_answer_has_the_outcome_that_is_written_for_it() {
    let outcomes = json!([
        { "code": [201], "means": "started", "job": { "id": "{{ headers.location | last_segment }}" } },
        { "code": [204], "means": "nothing", "message": "nothing was dispatched" },
        { "when": "body.__typename == 'LaunchRunSuccess'", "means": "started", "job": { "id": "{{ body.run.runId }}" } },
        { "when": "body.__typename == 'RunConflict'", "means": "busy" },
        { "when": "body.__typename == 'PythonError'", "means": "rejected", "message": "{{ body.message }}" },
        { "code": [202], "means": "unknown" },
    ]);
    let started = |id: &str| Ok(Submitted::from(JobRef::new(id)));
    let failed = |kind, message: &str| Err((kind, message.to_owned()));
    for (given, wanted) in [
        (ResponseTemplate::new(201).insert_header("Location", "/queue/item/17/"), started("17")),
        (ResponseTemplate::new(204), failed(ErrorKind::Rejected, "nothing was dispatched")),
        (answer(200, json!({ "__typename": "LaunchRunSuccess", "run": { "runId": "r1" } })), started("r1")),
        (
            answer(200, json!({ "__typename": "RunConflict" })),
            failed(ErrorKind::RateLimited, "the provider has no room for this job now"),
        ),
        (
            answer(200, json!({ "__typename": "PythonError", "message": "no such asset" })),
            failed(ErrorKind::Rejected, "no such asset"),
        ),
        (answer(202, json!({})), failed(ErrorKind::OutcomeUnknown, "the provider does not say whether it took the job")),
        (answer(200, json!({ "id": "plain" })), started("plain")),
        (
            answer(200, json!({ "__typename": "LaunchRunSuccess", "run": {} })),
            failed(ErrorKind::OutcomeUnknown, "the provider took the job and did not name it"),
        ),
    ] {
        assert_eq!(submit(outcomes.clone(), vec![given]).await.0, wanted);
    }
}

/// D2: a conflict means that the job is ours, from a submit whose answer was lost: its name is known, or is read back.
#[tokio::test]
async fn a_conflict_means_mine() {
    let by_key = json!([{ "code": [409], "means": "existing", "job": { "id": "{{ key }}" } }]);
    let conflict = || answer(409, json!({ "type": "AlreadyExists" }));
    assert_eq!(submit(by_key, vec![conflict()]).await.0, Ok(JobRef::new(KEY).into()));

    let read = json!([{
        "when": "body.type == 'AlreadyExists'",
        "means": "existing",
        "read": { "request": { "path": "/runs/{{ key }}" } },
        "job": { "id": "{{ body.uid }}", "handles": { "name": "{{ body.name }}" } },
    }]);
    let known = answer(200, json!({ "uid": "u-1", "name": KEY }));
    let (submitted, paths) = submit(read.clone(), vec![conflict(), known]).await;
    assert_eq!(submitted, Ok(JobRef::new("u-1").with("name", KEY).into()));
    assert_eq!(paths, ["/v1/runs".to_owned(), format!("/v1/runs/{KEY}")]);

    // The job is there: whatever goes wrong with the reading, nothing may be started anew.
    for given in [answer(404, json!({})), answer(429, json!({})), answer(400, json!({})), answer(200, json!({}))] {
        let (submitted, _) = submit(read.clone(), vec![conflict(), given]).await;
        assert_eq!(submitted.unwrap_err().0, ErrorKind::OutcomeUnknown);
    }
}

/// C1: an API that may finish a job within its submit says so there, and the status rules read it; one that cannot be read is looked at.
#[tokio::test]
async fn a_job_may_be_finished_within_its_submit() {
    let outcomes = json!([{ "code": [200], "means": "finished" }, { "code": [201], "means": "started" }]);
    let done = answer(200, json!({ "id": "1", "status": "done", "outputs": { "x": 1 } }));
    let submitted = submit(outcomes.clone(), vec![done]).await.0.unwrap();
    let Some(JobState::Succeeded(JobOutput { data, .. })) = submitted.observation.map(|seen| seen.state) else {
        panic!("not finished")
    };
    assert_eq!(data, Some(json!({ "x": 1 })));

    let broken = answer(200, json!({ "id": "1", "status": "broken" }));
    let submitted = submit(outcomes.clone(), vec![broken]).await.0.unwrap();
    assert!(matches!(submitted.observation.unwrap().state, JobState::Failed(_)));

    let unreadable = answer(200, json!({ "id": "1" }));
    assert_eq!(submit(outcomes.clone(), vec![unreadable]).await.0, Ok(JobRef::new("1").into()));
    let queued = answer(201, json!({ "id": "1", "status": "queued" }));
    assert_eq!(submit(outcomes, vec![queued]).await.0, Ok(JobRef::new("1").into()));
}

/// A job that finished at once hands over what a look would have handed over, further requests included.
#[tokio::test]
async fn what_is_finished_is_read_like_a_look() {
    let job = with(|job| {
        job["submit"]["outcomes"] = json!([{ "code": [200], "means": "finished" }]);
        job["result"] = json!({ "request": { "path": "/jobs/{{ job.id }}/output" }, "text": "{{ body.film }}" });
    });
    let given = vec![answer(200, json!({ "id": "9", "status": "done" })), answer(200, json!({ "film": "cats" }))];
    let bench = Bench::new(job, given).await;
    let seen = bench.submit(json!({})).await.unwrap().observation.unwrap();
    let JobState::Succeeded(output) = seen.state else { panic!("{seen:?}") };
    assert_eq!(output.parts, [Part::Text("cats".to_owned())]);
    assert_eq!(bench.paths().await, ["/v1/jobs", "/v1/jobs/9/output"]);
}

/// C2, C3: where a job is named, and where its state is, by the first of several headers that is there.
#[tokio::test]
async fn the_first_header_that_is_there_names_the_job() {
    let job = || {
        with(|job| {
            let first = "headers['azure-asyncoperation'] | default(headers['operation-location']) | default(headers.location)";
            job["submit"]["job"] = json!({
                "id": format!("{{{{ {first} | last_segment }}}}"),
                "handles": { "operation": format!("{{{{ {first} }}}}") },
            });
            job["status"]["request"] = json!({ "url": "{{ job.handles.operation }}" });
        })
    };
    for (headers, wanted) in [
        (vec![("Location", "/v1/results/3"), ("Azure-AsyncOperation", "/v1/operations/1")], "/v1/operations/1"),
        (vec![("Location", "/v1/results/3"), ("Operation-Location", "/v1/operations/2")], "/v1/operations/2"),
        (vec![("Location", "/v1/results/3")], "/v1/results/3"),
    ] {
        let given = headers.iter().fold(ResponseTemplate::new(202), |given, (name, value)| given.insert_header(*name, *value));
        let bench = Bench::new(job(), vec![given, answer(200, json!({ "status": "done" }))]).await;
        let submitted = bench.submit(json!({})).await.unwrap();
        assert_eq!(submitted.job.id(), wanted.rsplit('/').next().unwrap());
        bench.poll(&submitted.job).await.unwrap();
        assert_eq!(bench.last().await.1, wanted);
    }
}

/// C6: an address that the provider gave with a place in it is filled in where it is used.
#[tokio::test]
async fn a_template_within_a_value_is_filled_in() {
    let job = with(|job| {
        job["submit"]["job"]["handles"] = json!({ "terminate": "{{ body.terminatePostUri }}" });
        job["cancel"] = json!({
            "request": { "method": "POST", "url": "{{ job.handles.terminate | replace('{text}', 'cancelled') }}" },
        });
    });
    let started = answer(202, json!({ "id": "i1", "terminatePostUri": "/v1/instances/i1/terminate?reason={text}" }));
    let bench = Bench::new(job, vec![started, answer(202, json!({}))]).await;
    let submitted = bench.submit(json!({})).await.unwrap();
    bench.adapter().cancel(&bench.cx, &submitted.job).await.unwrap();
    assert_eq!(bench.last().await.1, "/v1/instances/i1/terminate?reason=cancelled");
}
