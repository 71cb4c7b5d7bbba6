//! The contract, clause by clause: words that claim everything, and words that claim nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jobgate_adapter_api::factory;
use jobgate_adapter_rest::Rest;
use jobgate_adapter_testkit::{Case, HttpRig, JobApi, RigTool, SECRET, SECRET_REF, Scenario, Stubs, adapter_contract};
use serde_json::{Value, json};

/// Everything that the words can claim, over an API in memory.
async fn full() -> HttpRig {
    let kinds = json!({ "type": "object", "properties": { "kind": { "type": "string" }, "size": { "type": "integer" } }, "required": ["kind"] });
    HttpRig::start(factory::<Rest>, JobApi::new())
        .await
        .provider(|url| json!({ "base_url": url, "auth": { "bearer": SECRET_REF }, "error_message": "{{ body.error.message }}", "delivery": deliveries() }))
        .tool(RigTool::new("render", full_words()).with_schema(kinds))
        .case(Scenario::RunsToEnd, Case::new("render", json!({ "kind": "ok" })).expecting("report of"))
        .case(Scenario::Fails, Case::new("render", json!({ "kind": "fail" })).expecting("the disk is full"))
        .case(Scenario::RunsLong, Case::new("render", json!({ "kind": "long", "size": 3 })))
        .case(Scenario::UnknownWord, Case::new("render", json!({ "kind": "odd" })).expecting(JobApi::ODD_WORD))
        .case(Scenario::WaitsForPerson, Case::new("render", json!({ "kind": "ask" })).answering(json!({ "approved": true })))
        .bad_provider("providers.kit.base_url", |words| words["base_url"] = json!("jobs.example.com"))
        .bad_provider("providers.kit.auth.bearer", |words| words["auth"]["bearer"] = json!("written-out"))
        .bad_provider("providers.kit.headers.Authorization", |words| {
            words["headers"] = json!({ "Authorization": "Bearer written-out" })
        })
        .bad_tool("tools.render.job.submit.request.body.kind", |job| {
            job["submit"]["request"]["body"]["kind"] = json!("{{ args.knid }}")
        })
        .bad_tool("tools.render.job.status.rules", |job| job["status"]["rules"] = json!([]))
        .bad_tool("tools.render.job.idempotent", |job| job["submit"]["request"]["headers"] = json!({}))
}

fn deliveries() -> Value {
    json!({ "when": "body.type == 'job.updated'", "job": "{{ body.job.id }}", "body": "{{ body.job }}" })
}

/// An API that cannot be asked where a job stands.
async fn told() -> HttpRig {
    let mut words = full_words();
    let job = words.as_object_mut().expect("a job section is an object");
    job.remove("input");
    job["status"].as_object_mut().expect("a status is an object").remove("request");
    job["status"]["rules"].as_array_mut().expect("rules are a list").retain(|rule| rule["state"] != "input_required");
    HttpRig::start(factory::<Rest>, JobApi::that_only_tells())
        .await
        .provider(|url| json!({ "base_url": url, "auth": { "bearer": SECRET_REF }, "error_message": "{{ body.error.message }}", "delivery": deliveries() }))
        .tool(RigTool::new("render", words))
        .case(Scenario::RunsToEnd, Case::new("render", json!({ "kind": "ok" })).expecting("report of"))
        .case(Scenario::Fails, Case::new("render", json!({ "kind": "fail" })).expecting("the disk is full"))
        .case(Scenario::RunsLong, Case::new("render", json!({ "kind": "long" })))
        .case(Scenario::UnknownWord, Case::new("render", json!({ "kind": "odd" })).expecting(JobApi::ODD_WORD))
        .without(Scenario::WaitsForPerson, "a job that cannot be looked at cannot ask")
        .bad_provider("providers.kit.delivery", |words| words["delivery"] = json!({ "body": "{{ body.job }}" }))
        .bad_provider("tools.render.job.status", |words| drop(words.as_object_mut().map(|words| words.remove("delivery"))))
        .bad_tool("tools.render.job.result.request", |job| job["result"]["request"] = json!({ "path": "/jobs/{{ job.id }}" }))
}

fn full_words() -> Value {
    json!({
        "submit": {
            "request": {
                "path": "/jobs",
                "headers": { "Idempotency-Key": "{{ key }}" },
                "body": { "kind": "{{ args.kind }}", "size": "{{ args.size | optional }}" },
            },
            "accept": [200, 201],
            "job": { "id": "{{ body.id }}", "handles": { "link": "{{ headers.location | default('') }}" } },
        },
        "idempotent": true,
        "find": {
            "request": { "path": "/jobs", "query": { "key": "{{ key }}" } },
            "job": { "id": "{{ (body.jobs | first).id if body.jobs else none }}" },
        },
        "status": {
            "request": { "path": "/jobs/{{ job.id }}" },
            "word": "{{ body.status }}",
            "rules": [
                { "is": ["queued"], "state": "queued" },
                { "is": ["running"], "state": "running" },
                { "is": ["waiting"], "state": "input_required" },
                { "is": ["succeeded"], "state": "succeeded" },
                { "is": ["failed"], "state": "failed" },
                { "is": ["cancelled"], "state": "cancelled" },
            ],
            "progress": { "done": "{{ body.progress.done }}", "total": "{{ body.progress.total }}" },
        },
        "result": { "text": "{{ body.result.report }}", "data": "{{ body.result }}" },
        "failure": { "message": "{{ body.error.message }}", "code": "{{ body.error.code }}" },
        "cancel": { "request": { "method": "DELETE", "path": "/jobs/{{ job.id }}" }, "already_ended": [409] },
        "input": {
            "key": "{{ body.question.key }}",
            "message": "{{ body.question.text }}",
            "form": { "type": "object", "properties": { "approved": { "type": "boolean" } }, "required": ["approved"] },
            "accept": {
                "request": { "path": "/jobs/{{ job.id }}/answers", "body": { "key": "{{ answer.key }}", "content": "{{ answer.content }}" } },
                "already_answered": [409],
            },
        },
    })
}

/// The least that the words can say, over recorded answers; HTTP Basic.
async fn least() -> HttpRig {
    let recorded = Stubs::load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wiremock-fixtures/rest"))
        .expect("the recorded answers are readable");
    HttpRig::start(factory::<Rest>, recorded)
        .await
        .provider(|url| json!({ "base_url": format!("{url}/api"), "auth": { "basic": { "username": "ada", "password": SECRET_REF } } }))
        .secret_also_as(STANDARD.encode(format!("ada:{SECRET}")))
        .tool(RigTool::new(
            "encode",
            json!({
                "submit": { "request": { "path": "/encodings", "form": { "preset": "{{ args.preset }}" } }, "job": { "id": "{{ headers.location | last_segment }}" } },
                "status": {
                    "request": { "path": "/encodings/{{ job.id }}" },
                    "word": "{{ body.state }}",
                    "rules": [
                        { "is": ["encoding"], "state": "running" },
                        { "is": ["ready"], "state": "succeeded" },
                        { "is": ["error"], "state": "failed" },
                    ],
                },
                "result": {
                    "request": { "path": "/encodings/{{ job.id }}/files" },
                    "links": [{ "uri": "{{ body.files[0].href }}", "name": "{{ job.id }}.mp4", "mime_type": "video/mp4" }],
                },
                "failure": { "message": "{{ body.reason }}" },
            }),
        ))
        .case(Scenario::RunsToEnd, Case::new("encode", json!({ "preset": "small" })).expecting("https://files.example.com/e-1.mp4"))
        .case(Scenario::Fails, Case::new("encode", json!({ "preset": "broken" })).expecting("no video stream"))
        .case(Scenario::RunsLong, Case::new("encode", json!({ "preset": "huge" })))
        .case(Scenario::UnknownWord, Case::new("encode", json!({ "preset": "odd" })).expecting("mastering"))
        .without(Scenario::WaitsForPerson, "this API asks nobody anything")
        .bad_tool("tools.encode.job.submit.job.id", |job| job["submit"]["job"]["id"] = json!(""))
        .bad_tool("tools.encode.job.submit.job", |job| job["submit"]["job"] = json!({}))
}

mod claims_everything {
    use super::{adapter_contract, full};
    adapter_contract!(full().await);
}

mod cannot_be_looked_at {
    use super::{adapter_contract, told};
    adapter_contract!(told().await);
}

mod claims_nothing {
    use super::{adapter_contract, least};
    adapter_contract!(least().await);
}
