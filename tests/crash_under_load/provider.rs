//! The provider of the kills under load: an HTTP job API in the test's own process, which no kill reaches, and which counts.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use jobgate_test_support::wait;
use serde_json::{Value, json};

/// How long a job runs: long enough to be caught by a kill, short enough for many.
const RUN: Duration = Duration::from_millis(300);

/// From the start of a job to the answer that names it: the moment that a kill must be able to hit.
const ANSWER: Duration = Duration::from_millis(60);

/// Every job that was ever started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provider(Arc<Mutex<Jobs>>);

#[derive(Debug, Default)]
struct Jobs {
    by_id: BTreeMap<String, Job>,
    by_key: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Job {
    wish: String,
    ends: Instant,
}

impl Provider {
    /// Serves on a free port until the runtime ends.
    pub(crate) async fn serve(&self) -> SocketAddr {
        let routes = Router::new()
            .route("/keyed/jobs", post(start_keyed))
            .route("/found/jobs", post(start_found).get(find))
            .route("/keyed/jobs/{id}", get(look))
            .route("/found/jobs/{id}", get(look))
            .with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
        tokio::spawn(async move { axum::serve(listener, routes).await });
        address
    }

    /// Jobs by the wish they were started for.
    pub(crate) fn jobs_per_wish(&self) -> BTreeMap<String, usize> {
        let mut counted = BTreeMap::new();
        for job in self.lock().by_id.values() {
            *counted.entry(job.wish.clone()).or_default() += 1;
        }
        counted
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Jobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, wish: &str, key: &str, repeat: bool) -> Value {
        let mut jobs = self.lock();
        if repeat && let Some(id) = jobs.by_key.get(key) {
            return json!({ "id": id });
        }
        let id = format!("job-{}", jobs.by_id.len() + 1);
        jobs.by_id.insert(id.clone(), Job { wish: wish.to_owned(), ends: now() + RUN });
        jobs.by_key.insert(key.to_owned(), id.clone());
        json!({ "id": id })
    }
}

#[expect(clippy::disallowed_methods, reason = "a provider lives on the wall clock")]
fn now() -> Instant {
    Instant::now()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn read(body: &str) -> Value {
    serde_json::from_str(body).expect("the gateway sends JSON")
}

/// A repeated key gives the first job.
async fn start_keyed(State(provider): State<Provider>, headers: HeaderMap, body: String) -> Response {
    let key = headers.get("idempotency-key").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let started = provider.start(text(&read(&body)["wish"]), key, true);
    wait::pause(ANSWER).await;
    answer(StatusCode::OK, &started)
}

/// Every submit is a new job; its tag is only for finding it again.
async fn start_found(State(provider): State<Provider>, body: String) -> Response {
    let body = read(&body);
    let started = provider.start(text(&body["wish"]), text(&body["tag"]), false);
    wait::pause(ANSWER).await;
    answer(StatusCode::OK, &started)
}

async fn find(State(provider): State<Provider>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let jobs = provider.lock();
    let found = query.strip_prefix("tag=").and_then(|tag| jobs.by_key.get(tag));
    answer(StatusCode::OK, &json!({ "jobs": found.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>() }))
}

async fn look(State(provider): State<Provider>, Path(id): Path<String>) -> Response {
    match provider.lock().by_id.get(&id) {
        None => answer(StatusCode::NOT_FOUND, &json!({ "error": "unknown" })),
        Some(job) if now() < job.ends => answer(StatusCode::OK, &json!({ "state": "running" })),
        Some(job) => answer(StatusCode::OK, &json!({ "state": "done", "wish": job.wish })),
    }
}
