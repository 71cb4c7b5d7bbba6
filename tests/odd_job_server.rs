//! As a new user would: a job server with odd habits, in no example, wrapped with what `docs/adapters/tutorial.md` teaches and nothing else, and
//! used through a gateway. Its habits: the id is in a `Location` header; a job is unknown for a while after it was made; the state is the HTTP
//! status; progress is "step 1 of 3"; the result takes a third request; `DELETE` stops a job that runs, and deletes one that has ended.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use jobgate::domain::SystemClock;
use jobgate::engine::Supervisor;
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::wait;
use serde_json::{Value, json};
use tokio::net::TcpListener;

const LIMIT: Duration = Duration::from_secs(60);

/// Looks after which a new job is known: two seconds, where somebody looks once a second.
const HIDDEN: usize = 2;
const STEPS: usize = 3;

const CONFIG: &str = r#"
# The tests look at tasks more often than callers should.
limits: { polls_per_interval: unlimited }
providers:
  mill:
    adapter: rest
    base_url: http://127.0.0.1:PORT
tools:
  grind:
    provider: mill
    description: Grinds a grain.
    input: { type: object, properties: { grain: { type: string } }, required: [grain] }
    task: { poll: { initial: 100ms, max: 100ms } }
    job: &job
      submit:
        request: { path: /sacks, body: { grain: "{{ args.grain }}" } }
        accept: [201]
        job: { id: "{{ headers.location | last_segment }}" }
      status:
        request: { path: "/sacks/{{ job.id }}" }
        accept: [200, 202, 410, 424]
        not_found: [404]
        rules:
          - { when: code == 202, state: running }
          - { when: code == 200, state: succeeded }
          - { when: code == 424, state: failed }
          - { when: code == 410, state: cancelled }
        message: "{{ body.note | optional }}"
        progress: { of: "{{ body.note }}" }
      result:
        request: { path: "/receipts/{{ body.receipt }}" }
        text: "{{ body.flour }}"
      failure: { message: "{{ body.why }}" }
      cancel: { request: { method: DELETE, path: "/sacks/{{ job.id }}" }, look: true }
  grind_unseen:
    provider: mill
    description: Grinds a grain that nobody looks at.
    input: { type: object, properties: { grain: { type: string } }, required: [grain] }
    task: { poll: { initial: 1h, max: 1h } }
    job: *job
"#;

#[derive(Debug, Default)]
struct Sack {
    grain: String,
    looks: usize,
    stopped: bool,
    done: bool,
}

type Mill = Arc<Mutex<BTreeMap<String, Sack>>>;

async fn fill(State(mill): State<Mill>, body: String) -> Response {
    let wish: Value = serde_json::from_str(&body).unwrap();
    let mut sacks = mill.lock().unwrap();
    let id = format!("sack-{}", sacks.len() + 1);
    sacks.insert(id.clone(), Sack { grain: wish["grain"].as_str().unwrap().to_owned(), ..Sack::default() });
    (StatusCode::CREATED, [(LOCATION, format!("/sacks/{id}"))]).into_response()
}

fn told(status: StatusCode, value: &Value) -> Response {
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

async fn look(State(mill): State<Mill>, Path(id): Path<String>) -> Response {
    let mut sacks = mill.lock().unwrap();
    let Some(sack) = sacks.get_mut(&id) else { return told(StatusCode::NOT_FOUND, &json!({})) };
    sack.looks += 1;
    let step = sack.looks.saturating_sub(HIDDEN);
    sack.done |= step > STEPS && sack.grain != "stone";
    match (step, sack.stopped, sack.done, sack.grain.as_str()) {
        (0, ..) if !sack.done => told(StatusCode::NOT_FOUND, &json!({})),
        (_, true, ..) => told(StatusCode::GONE, &json!({ "note": "poured away" })),
        (_, _, true, "sand") => told(StatusCode::FAILED_DEPENDENCY, &json!({ "why": "sand is no grain" })),
        (_, _, true, _) => told(StatusCode::OK, &json!({ "receipt": id.replace("sack", "receipt") })),
        (step, ..) => told(StatusCode::ACCEPTED, &json!({ "note": format!("step {} of {STEPS}", step.min(STEPS)) })),
    }
}

async fn receipt(State(mill): State<Mill>, Path(id): Path<String>) -> Response {
    match mill.lock().unwrap().get(&id.replace("receipt", "sack")) {
        Some(sack) if sack.done => told(StatusCode::OK, &json!({ "flour": format!("flour of {}", sack.grain) })),
        _ => told(StatusCode::NOT_FOUND, &json!({})),
    }
}

async fn pour_away(State(mill): State<Mill>, Path(id): Path<String>) -> Response {
    let mut sacks = mill.lock().unwrap();
    match sacks.get_mut(&id) {
        Some(sack) if !sack.done => sack.stopped = true,
        _ => drop(sacks.remove(&id)),
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn mill(supervisor: &Supervisor) -> (Mill, u16) {
    let mill = Mill::default();
    let app = Router::new()
        .route("/sacks", post(fill))
        .route("/sacks/{id}", get(look).delete(pour_away))
        .route("/receipts/{id}", get(receipt))
        .with_state(Arc::clone(&mill));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    supervisor.spawn("mill", async move {
        axum::serve(listener, app).await.ok();
    });
    (mill, port)
}

async fn started(gateway: &Gateway, tool: &str, grain: &str) -> String {
    gateway.wire.start_task(tool, json!({ "grain": grain })).await
}

/// B, C, E and G as a new user meets them: success, failure, a cancel, a restart, and a cancel that comes too late and destroys nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_odd_habits_is_wrapped_with_what_the_tutorial_teaches() {
    let supervisor = Supervisor::new(Arc::new(SystemClock));
    let (mill, port) = mill(&supervisor).await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("jobgate.yaml");
    std::fs::write(&config, CONFIG.replace("PORT", &port.to_string())).unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).config(&config);
    let gateway = setup.start().await;

    let good = started(&gateway, "grind", "wheat").await;
    let ended = gateway.wire.ended(&good, LIMIT).await;
    assert_eq!(
        (&ended["status"], &ended["result"]["content"][0]["text"]),
        (&json!("completed"), &json!("flour of wheat")),
        "{ended}"
    );

    let bad = started(&gateway, "grind", "sand").await;
    let ended = gateway.wire.ended(&bad, LIMIT).await;
    assert!(ended.to_string().contains("sand is no grain"), "{ended}");

    let long = started(&gateway, "grind", "stone").await;
    wait::until_async("a step of the job", LIMIT, async || {
        gateway.wire.task(&long).await.unwrap().to_string().contains("step 3 of 3").then_some(())
    })
    .await;
    gateway.wire.cancel(&long).await.unwrap();
    assert_eq!(gateway.wire.ended(&long, LIMIT).await["status"], "cancelled");
    assert!(mill.lock().unwrap()["sack-3"].stopped);

    let kept = started(&gateway, "grind", "stone").await;
    wait::until_async("the job", LIMIT, async || (mill.lock().unwrap().len() == 4).then_some(())).await;
    gateway.kill();
    let gateway = setup.start().await;
    mill.lock().unwrap().get_mut("sack-4").unwrap().done = true;
    assert_eq!(gateway.wire.ended(&kept, LIMIT).await["result"]["content"][0]["text"], "flour of stone");

    let late = started(&gateway, "grind_unseen", "rye").await;
    wait::until_async("the job", LIMIT, async || (mill.lock().unwrap().len() == 5).then_some(())).await;
    mill.lock().unwrap().get_mut("sack-5").unwrap().done = true;
    gateway.wire.cancel(&late).await.unwrap();
    let ended = gateway.wire.ended(&late, LIMIT).await;
    assert!(mill.lock().unwrap().contains_key("sack-5"), "a cancel that comes late deletes nothing: {ended}");
    assert_eq!(ended["result"]["content"][0]["text"], "flour of rye", "{ended}");
    assert_eq!(mill.lock().unwrap().len(), 5, "five wishes, five jobs");
    assert!(gateway.stop().success());
}
