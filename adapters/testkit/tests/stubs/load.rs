//! Which files make a provider, and what is said of those that do not.

use jobgate_adapter_testkit::Stubs;
use serde_json::{Value, json};

use crate::ask::{get, post};
use crate::{folder, serve};

fn refused(mapping: Value) -> String {
    let folder = folder(&[("stub.json", mapping)]);
    Stubs::load(folder.path()).map(|_| ()).unwrap_err().to_string()
}

fn asked(request: Value) -> Value {
    let mut request = request;
    request["method"] = json!("GET");
    request["url"] = json!("/");
    json!({ "request": request, "response": {} })
}

fn answered(response: Value) -> Value {
    json!({ "request": { "method": "GET", "url": "/" }, "response": response })
}

/// What the kit does not know is no smaller than what WireMock does: it is refused, with the file and the key.
#[test]
fn what_is_not_in_the_subset_is_refused_by_file_and_key() {
    let template = |body: &str| answered(json!({ "body": body, "transformers": ["response-template"] }));
    for (mapping, place) in [
        (json!({ "request": { "method": "GET", "url": "/" }, "response": {}, "postServeActions": [] }), "postServeActions"),
        (asked(json!({ "host": { "equalTo": "a" } })), "request.host"),
        (asked(json!({ "bodyPatterns": [{ "matchesXPath": "/a" }] })), "request.bodyPatterns[0].matchesXPath"),
        (
            asked(json!({ "bodyPatterns": [{ "equalTo": "a", "contains": "b" }] })),
            "request.bodyPatterns[0]: a matcher has exactly one",
        ),
        (asked(json!({ "bodyPatterns": [{ "matches": "(?=a)" }] })), "request.bodyPatterns[0]: `(?=a)` is no regular expression"),
        (
            asked(json!({ "bodyPatterns": [{ "matchesJsonPath": "$.l.length()" }] })),
            "request.bodyPatterns[0]: `$.l.length()` is no JSONPath",
        ),
        (asked(json!({ "bodyPatterns": [{ "matchesJsonPath": "$[?(@.a)]" }] })), "means something else in WireMock"),
        (asked(json!({ "bodyPatterns": [{ "equalToJson": "{" }] })), "request.bodyPatterns[0]: equalToJson is no JSON"),
        (
            asked(json!({ "bodyPatterns": [{ "equalToJson": { "a": "${json-unit.matches:x}" } }] })),
            "is no placeholder of the subset",
        ),
        (
            asked(json!({ "headers": { "A": { "equalToDateTime": "now" } } })),
            "request.headers.A: unknown field `equalToDateTime`",
        ),
        (asked(json!({ "multipartPatterns": [{ "name": "f" }] })), "request.multipartPatterns[0].name"),
        (asked(json!({ "urlPath": "/" })), "request: exactly one of url"),
        (asked(json!({ "pathParameters": { "id": { "equalTo": "a" } } })), "request.pathParameters.id"),
        (json!({ "request": { "method": "get", "url": "/" }, "response": {} }), "request.method: `get`"),
        (json!({ "request": { "method": "GET", "urlPathTemplate": "/a{b}" }, "response": {} }), "request.urlPathTemplate"),
        (answered(json!({ "proxyBaseUrl": "http://a" })), "response.proxyBaseUrl"),
        (answered(json!({ "fault": "SOME_FAULT" })), "response.fault"),
        (answered(json!({ "transformers": ["webhook"] })), "response.transformers[0]"),
        (answered(json!({ "body": "a", "jsonBody": {} })), "at most one of body"),
        (answered(json!({ "status": 42 })), "response.status: 42"),
        (answered(json!({ "fixedDelayMilliseconds": 30_000 })), "the delay is longer than 2000 ms"),
        (
            answered(json!({ "delayDistribution": { "type": "lognormal", "median": 1, "sigma": 1 } })),
            "response.delayDistribution",
        ),
        (answered(json!({ "bodyFileName": "../secret" })), "response.bodyFileName"),
        (answered(json!({ "bodyFileName": "gone.json" })), "gone.json"),
        (template("{{hostname}}"), "response.body: `{{hostname}}`: there is no name or helper"),
        (template("{{request.clientIp}}"), "response.body: `{{request.clientIp}}`"),
        (template("{{math 1 '+' 2}}"), "there is no name or helper `math`"),
        (template("{{#if request.body}}x{{/if}}"), "blocks and partials are not in the subset"),
        (template("{{now format='EEE'}}"), "`EEE` is not in the subset"),
        (template("{{jsonPath request.body}}"), "it takes 2 arguments, not 1"),
        (template("{{now timezone='Europe/Rome'}}"), "`timezone=` is not in the subset"),
        (
            json!({ "scenarioName": "s", "newScenarioState": "t", "metadata": { "startsJob": "yes" },
            "request": { "method": "GET", "url": "/" }, "response": {} }),
            "metadata.startsJob",
        ),
        (json!({ "newScenarioState": "t", "request": { "method": "GET", "url": "/" }, "response": {} }), "need a scenarioName"),
        (json!({ "mappings": [answered(json!({})), answered(json!({ "statusCode": 1 }))] }), "mappings[1].response.statusCode"),
        (json!({ "mappings": [], "importOptions": {} }), "importOptions"),
    ] {
        let error = refused(mapping.clone());
        assert!(error.contains("stub.json: ") && error.contains(place), "{mapping}: {error}");
    }
}

#[test]
fn a_folder_without_mappings_is_no_provider() {
    let error = Stubs::load(folder(&[("notes.txt", json!("x"))]).path()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no stub mappings"), "{error}");
}

/// WireMock's own folders: `mappings/` with folders of its own, and `__files/` for bodies; and one file alone.
#[tokio::test]
async fn folders_of_wiremock_and_single_files_are_read() {
    let body = json!({ "request": { "method": "GET", "url": "/a" }, "response": { "bodyFileName": "deep/a.txt" } });
    let folder =
        folder(&[("mappings/deep/a.json", body.clone()), ("__files/deep/a.txt", json!("from a file")), ("b.json", body)]);
    for place in [folder.path().to_owned(), folder.path().join("b.json")] {
        let stubs = Stubs::load(&place).unwrap();
        let clock = std::sync::Arc::new(jobgate_adapter_api::SystemClock);
        let server = jobgate_adapter_testkit::ApiServer::start(stubs, clock).await;
        assert_eq!(get("/a").send(&server.url()).await.body, "from a file");
    }
}

#[tokio::test]
async fn scenarios_move_on_priorities_decide_and_jobs_are_counted() {
    let get_job = |state: &str, next: Option<&str>, told: &str| {
        let mut mapping = json!({ "scenarioName": "job 7", "requiredScenarioState": state,
            "request": { "method": "GET", "urlPath": "/jobs/7" }, "response": { "body": told } });
        if let Some(next) = next {
            mapping["newScenarioState"] = json!(next);
        }
        mapping
    };
    let server = serve(json!({ "mappings": [
        { "priority": 9, "request": { "method": "GET", "urlPattern": "/jobs/.*" }, "response": { "status": 404, "body": "none" } },
        { "request": { "method": "POST", "url": "/x" }, "response": { "status": 201 }, "metadata": { "startsJob": true, "note": [1] } },
        get_job("Started", Some("done"), "running"),
        get_job("done", None, "done"),
    ] }))
    .await;
    for told in ["running", "done", "done"] {
        assert_eq!(get("/jobs/7").send(&server.url()).await.body, told);
    }
    assert_eq!(get("/jobs/8").send(&server.url()).await.body, "none");
    post("{}").send(&server.url()).await;
    assert_eq!(server.api().jobs(), Ok(1));
    assert!(server.api().answers().is_err());
    assert_eq!(server.requests().await.len(), 5);
}
