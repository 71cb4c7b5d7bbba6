//! A whole job API in memory, for what recorded answers cannot do: counting jobs, repeated keys, answers that count once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

use crate::{Absent, MockApi};

/// The API:
///
/// - `POST /jobs` with `{"kind": …}` starts a job: 201, or 200 with the first job when `Idempotency-Key` is known.
///   Kinds: `ok`, `fail`, `long`, `ask` (waits for a person), `odd` (shows the status `hibernating`).
/// - `GET /jobs/{id}`: `{"id", "status", "progress", "result"?, "error"?, "question"?}`; statuses `queued`, `running`,
///   `waiting`, `succeeded`, `failed`, `cancelled`. Each look moves the job on.
/// - `GET /jobs?key={key}`: `{"jobs": [{"id": …}]}`.
/// - `DELETE /jobs/{id}`: 202, or 409 when the job has ended.
/// - `POST /jobs/{id}/answers` with `{"key", "content"}`: 200, or 409 when it was answered before.
/// - What it would deliver of a job: `{"type": "job.updated", "job": {…}}` with the job as `GET` would show it.
#[derive(Debug, Default)]
pub struct JobApi {
    jobs: Mutex<BTreeMap<String, Job>>,
    /// Each delivery moves the job on, and nobody can look.
    pushes: bool,
}

#[derive(Debug)]
struct Job {
    kind: String,
    key: Option<String>,
    looks: usize,
    cancelled: bool,
    answered: Option<Value>,
}

impl JobApi {
    /// The status word that `odd` jobs show and that no adapter maps.
    pub const ODD_WORD: &'static str = "hibernating";

    /// An API without jobs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An API that only tells: `GET /jobs/{id}` is 405, and each delivery moves the job on.
    #[must_use]
    pub fn that_only_tells() -> Self {
        Self { pushes: true, ..Self::default() }
    }

    fn submit(&self, request: &Request) -> ResponseTemplate {
        let key = request.headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let Some(kind) = request.body_json::<Value>().ok().and_then(|body| body["kind"].as_str().map(str::to_owned)) else {
            return error(422, "the field `kind` is missing");
        };
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, job)) = jobs.iter().find(|(_, job)| key.is_some() && job.key == key) {
            return ResponseTemplate::new(200).set_body_json(job.view(id));
        }
        // Past 2^53, as some providers count: an id that went through a double would be another job's.
        let id = (9_007_199_254_740_993_u64 + u64::try_from(jobs.len()).unwrap_or(0)).to_string();
        let job = Job { kind, key, looks: 0, cancelled: false, answered: None };
        let answer = ResponseTemplate::new(201).insert_header("Location", format!("/jobs/{id}")).set_body_json(job.view(&id));
        jobs.insert(id, job);
        answer
    }

    fn list(&self, key: &str) -> ResponseTemplate {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<Value> =
            jobs.iter().filter(|(_, job)| job.key.as_deref() == Some(key)).map(|(id, job)| job.view(id)).collect();
        ResponseTemplate::new(200).set_body_json(json!({ "jobs": found }))
    }

    fn with_job(&self, id: &str, act: impl FnOnce(&mut Job) -> ResponseTemplate) -> ResponseTemplate {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.get_mut(id).map_or_else(|| error(404, "there is no such job"), act)
    }
}

impl MockApi for JobApi {
    fn answer(&self, request: &Request) -> ResponseTemplate {
        let steps: Vec<&str> = request.url.path().trim_matches('/').split('/').collect();
        match (request.method.as_str(), steps.as_slice()) {
            ("POST", ["jobs"]) => self.submit(request),
            ("GET", ["jobs"]) => match request.url.query_pairs().find(|(name, _)| name == "key") {
                Some((_, key)) => self.list(&key),
                None => error(400, "the parameter `key` is missing"),
            },
            ("GET", ["jobs", _]) if self.pushes => error(405, "nobody can look at a job here"),
            ("GET", ["jobs", id]) => self.with_job(id, |job| {
                let view = job.view(id);
                job.looks += 1;
                ResponseTemplate::new(200).set_body_json(view)
            }),
            ("DELETE", ["jobs", id]) => self.with_job(id, |job| {
                if job.has_ended() {
                    return error(409, "the job has ended");
                }
                job.cancelled = true;
                ResponseTemplate::new(202)
            }),
            ("POST", ["jobs", id, "answers"]) => self.with_job(id, |job| {
                if job.status() != "waiting" {
                    return error(409, "the job waits for no answer");
                }
                job.answered = Some(request.body_json().unwrap_or(Value::Null));
                ResponseTemplate::new(200).set_body_json(json!({}))
            }),
            _ => error(404, "there is nothing here"),
        }
    }

    fn jobs(&self) -> Result<usize, Absent> {
        Ok(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).len())
    }

    fn answers(&self) -> Result<usize, Absent> {
        Ok(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).values().filter(|job| job.answered.is_some()).count())
    }

    fn delivery(&self, job: &str) -> Result<Vec<u8>, Absent> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let found = jobs.get_mut(job).ok_or(Absent("there is no such job"))?;
        let body = json!({ "type": "job.updated", "job": found.view(job) });
        found.looks += usize::from(self.pushes);
        Ok(body.to_string().into_bytes())
    }
}

impl Job {
    fn status(&self) -> &'static str {
        match (self.cancelled, self.looks, self.kind.as_str()) {
            (true, ..) => "cancelled",
            (_, 0, _) => "queued",
            (_, 1, _) | (.., "long") => "running",
            (.., "fail") => "failed",
            (.., "odd") => JobApi::ODD_WORD,
            (.., "ask") if self.answered.is_none() => "waiting",
            _ => "succeeded",
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.status(), "succeeded" | "failed" | "cancelled")
    }

    fn view(&self, id: &str) -> Value {
        let number: u64 = id.parse().unwrap_or(0);
        let mut view = json!({ "id": number, "status": self.status(), "progress": { "done": self.looks.min(2), "total": 2 } });
        match self.status() {
            "succeeded" => view["result"] = json!({ "report": format!("report of {id}") }),
            "failed" => view["error"] = json!({ "code": "E_DISK", "message": "the disk is full" }),
            "waiting" => view["question"] = json!({ "key": format!("approval-{id}"), "text": "May it go on?" }),
            _ => {}
        }
        view
    }
}

fn error(status: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({ "error": { "message": message } }))
}
