//! What a provider made of stubs would deliver of a job: `metadata.deliveryOf`.

use jobgate_adapter_testkit::Stubs;
use serde_json::{Value, json};

use crate::ask::get;
use crate::{folder, serve};

fn mapping(required: &str, next: Option<&str>, status: &str, metadata: Value) -> Value {
    let mut mapping = json!({
        "scenarioName": "job 7", "requiredScenarioState": required, "metadata": metadata,
        "request": { "method": "GET", "urlPath": "/jobs/7" }, "response": { "jsonBody": { "id": 7, "status": status } },
    });
    if let Some(next) = next {
        mapping["newScenarioState"] = json!(next);
    }
    mapping
}

/// It says what a look would show now, in the answer's words or in its own, and moves nothing on.
#[tokio::test]
async fn a_delivery_is_of_the_state_that_a_look_would_show() {
    let first = mapping("Started", Some("done"), "running", json!({ "deliveryOf": "7" }));
    let last =
        mapping("done", None, "done", json!({ "deliveryOf": "7", "delivery": { "type": "job.done", "data": { "id": 7 } } }));
    let server = serve(json!({ "mappings": [first, last] })).await;
    let delivered = || serde_json::from_slice::<Value>(&server.api().delivery("7").unwrap()).unwrap();
    assert_eq!(delivered()["status"], "running");
    assert_eq!(delivered()["status"], "running");
    get("/jobs/7").send(&server.url()).await;
    assert_eq!(delivered()["type"], "job.done");
    assert!(server.api().delivery("8").is_err());
}

/// Where nobody can look, the deliveries themselves are the job's life.
#[tokio::test]
async fn a_delivery_that_moves_on_is_followed_by_the_next() {
    let told = |required, next, status| mapping(required, next, status, json!({ "deliveryOf": "7", "movesOn": true }));
    let server = serve(json!({ "mappings": [told("Started", Some("done"), "running"), told("done", None, "done")] })).await;
    let said =
        ["running", "done", "done"].map(|_| serde_json::from_slice::<Value>(&server.api().delivery("7").unwrap()).unwrap());
    assert_eq!(said.map(|body| body["status"].clone()), ["running", "done", "done"]);
}

#[test]
fn a_delivery_names_its_job_and_has_a_body() {
    for (metadata, response, wanted) in [
        (json!({ "deliveryOf": 7 }), json!({}), "metadata.deliveryOf: the id of a job, as a text"),
        (json!({ "deliveryOf": "7" }), json!({}), "metadata.deliveryOf: it needs a `delivery` beside it"),
        (json!({ "delivery": {} }), json!({}), "metadata.delivery: it needs `deliveryOf` beside it"),
    ] {
        let mapping = json!({ "metadata": metadata, "request": { "method": "GET", "url": "/" }, "response": response });
        let folder = folder(&[("stub.json", mapping)]);
        let found = Stubs::load(folder.path()).map(|_| ()).unwrap_err().to_string();
        assert!(found.contains(wanted), "{found}");
    }
}

/// What a provider gives as its own address leads back to it.
#[tokio::test]
async fn a_link_of_its_own_leads_back() {
    let link = json!({ "body": "{{request.baseUrl}}/jobs/7", "transformers": ["response-template"] });
    let server = serve(json!({ "request": { "method": "GET", "url": "/" }, "response": link })).await;
    assert_eq!(get("/").send(&server.url()).await.body, format!("{}/jobs/7", server.url()));
}
