//! Which entry uses which capability of the language of providers: derived from the entries' words, and written to
//! `docs/adapters/coverage.md` with `UPDATE_GOLDEN=1`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use jobgate_adapter_catalog::{Entry, entries};
use serde_json::{Map, Value};

/// A capability: its number, what it is, and whether an entry uses it.
type Capability = (&'static str, &'static str, fn(&Words) -> bool);

/// The words of an entry, looked at from several sides.
struct Words {
    provider: Value,
    /// The `job` of each tool.
    jobs: Vec<Value>,
    tasks: Vec<Value>,
    webhook: Map<String, Value>,
    settings: usize,
    /// Every request of the tools and of signing in.
    requests: Vec<Value>,
    /// Every text anywhere.
    texts: Vec<String>,
}

impl Words {
    fn of(entry: &Entry) -> Self {
        let words = entry.words();
        let provider = Value::Object(words.provider.clone());
        let jobs: Vec<Value> = words.tools.values().map(|tool| tool.job.clone()).collect();
        let (mut requests, mut texts) = (Vec::new(), Vec::new());
        for value in jobs.iter().chain([&provider]) {
            gather(value, &mut requests, &mut texts);
        }
        let tasks = words.tools.values().filter_map(|tool| tool.task.clone()).collect();
        let settings = words.settings.iter().filter(|(name, it)| !it.secret && name.as_str() != "base_url").count();
        Self { provider, jobs, tasks, webhook: words.webhook.clone(), settings, requests, texts }
    }

    /// Whether any text has one of these in it.
    fn says(&self, parts: &[&str]) -> bool {
        self.texts.iter().any(|text| parts.iter().any(|part| text.contains(part)))
    }

    /// Whether any request has one of these words.
    fn sends(&self, words: &[&str]) -> bool {
        self.requests.iter().any(|request| words.iter().any(|word| request.get(*word).is_some()))
    }

    /// Whether any tool's words have a value at one of these places (JSON pointers).
    fn has(&self, places: &[&str]) -> bool {
        self.jobs.iter().any(|job| places.iter().any(|place| job.pointer(place).is_some_and(is_something)))
    }

    fn auth(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.provider["auth"].get(*kind).is_some())
    }

    fn submits(&self, holds: impl Fn(&Value) -> bool) -> bool {
        self.jobs.iter().any(|job| holds(&job["submit"]))
    }

    fn rules(&self) -> impl Iterator<Item = &Value> {
        self.jobs.iter().flat_map(|job| list(&job["status"]["rules"]))
    }

    fn outcomes(&self) -> impl Iterator<Item = &Value> {
        self.jobs.iter().flat_map(|job| list(&job["submit"]["outcomes"]))
    }

    /// Every further request of a look, a result, a cancel or a question.
    fn steps(&self) -> impl Iterator<Item = &Value> {
        let places = ["/status/steps", "/result/steps", "/failure/steps", "/cancel/steps", "/cancel/ways", "/input/steps"];
        self.jobs.iter().flat_map(move |job| places.into_iter().filter_map(|place| job.pointer(place)).flat_map(list))
    }
}

const CAPABILITIES: &[Capability] = &[
    ("A1", "bodies of every kind: form, multipart, text, none", |it| it.sends(&["form", "multipart", "raw"])),
    ("A2", "JSON in a text, both ways", |it| it.says(&["to_json", "from_json"])),
    ("A3", "base64", |it| it.says(&["base64_encode", "base64_decode"])),
    ("A4", "values in another shape: pairs, assignments, lists in a text", |it| {
        it.says(&["pairs", "assignments", "joined"]) || it.requests.iter().any(|request| request["body"].is_array())
    }),
    ("A5", "a fixed envelope: GraphQL, JSON-RPC, an operation in a header", |it| {
        let envelope = |request: &Value| {
            let target = request["headers"].as_object().is_some_and(|headers| headers.contains_key("X-Amz-Target"));
            let graphql = request["body"]["query"].as_str().is_some_and(|query| query.contains('{'));
            target || graphql || request["body"].get("jsonrpc").is_some()
        };
        it.requests.iter().any(envelope)
    }),
    ("A6", "paths escaped by segment, by folder, or kept", |it| it.says(&["folders", "segments", "| safe"])),
    ("A7", "a content type and headers of the API's own", |it| {
        it.sends(&["content_type", "headers"]) || it.provider["headers"].is_object()
    }),
    ("A8", "addresses with settings, and a second address", |it| it.settings > 0 || it.provider["bases"].is_object()),
    ("B1", "a fixed credential: bearer, Basic, header, parameter, field", |it| {
        it.auth(&["bearer", "basic", "header", "headers", "query", "field"])
    }),
    ("B2", "a token that is fetched, kept and renewed", |it| it.auth(&["oauth2", "jwt", "login"])),
    ("B3", "a session by cookie", |it| it.auth(&["cookie"])),
    ("B4", "AWS Signature Version 4", |it| it.auth(&["aws_sigv4"])),
    ("B5", "certificates of both sides", |it| it.provider["tls"].is_object()),
    ("B6", "links and redirects without the credential", |it| {
        it.requests.iter().any(|request| request["follow"] == true || request["url"].is_string())
    }),
    ("C1", "what became of a submit, by code", |it| it.outcomes().next().is_some() || it.has(&["/submit/accept/1"])),
    ("C2", "ids from bodies, headers and addresses, or chosen here", |it| {
        it.submits(|submit| submit["job"]["id"].as_str().is_some_and(|id| !id.trim().starts_with("{{ body.")))
    }),
    ("C3", "the first of several places that has a value", |it| it.says(&["default("])),
    ("C4", "an id that comes in steps", |it| it.has(&["/status/resolve"])),
    ("C5", "several handles", |it| it.has(&["/submit/job/handles", "/status/handles"])),
    ("C6", "templates inside of what the API gave", |it| it.says(&["replace("])),
    ("C7", "one job of many parts: read and judged together", |it| {
        it.says(&["all_in", "any_in", "worst(", "selectattr", "rejectattr"]) || it.steps().any(|step| step["each"].is_string())
    }),
    ("C8", "a look-up before the submit, kept for a while", |it| it.has(&["/lookups"])),
    ("C9", "success and failure inside of a 200", |it| {
        it.outcomes().any(|outcome| outcome["when"].as_str().is_some_and(|when| when.contains("body")))
            || list(&it.provider["errors"]).any(|rule| rule["when"].as_str().is_some_and(|when| when.contains("body")))
    }),
    ("D1", "a key that goes along with the submit", |it| it.submits(|submit| uses_key(&submit["request"]))),
    ("D2", "a conflict that means mine", |it| it.outcomes().any(|outcome| outcome["means"] == "existing")),
    ("D3", "a job is found by a filter of the API", |it| {
        it.jobs.iter().any(|job| job["find"].is_object() && uses_key(&job["find"]["request"]))
    }),
    ("D4", "a job is found in a list", |it| it.has(&["/find/match"])),
    ("D5", "a lost answer that nobody can make up for", |it| {
        it.jobs.iter().any(|job| job["idempotent"] != true && job.get("find").is_none())
    }),
    ("D6", "patience with a list that lags behind", |it| {
        it.tasks.iter().any(|task| task.get("gone_grace").is_some()) && it.has(&["/find"])
    }),
    ("E1", "ordered rules over several fields", |it| it.rules().any(|rule| rule["when"].is_string() && rule["is"].is_array())),
    ("E2", "conditions", |it| it.rules().any(|rule| rule["when"].is_string())),
    ("E3", "an element of a list or map", |it| it.says(&["selectattr", "[0]", "| first", "| values", "| last"])),
    ("E4", "states by status code", |it| {
        it.has(&["/status/accept", "/status/not_found"])
            || it.rules().any(|rule| rule["when"].as_str().is_some_and(|when| when.contains("code")))
    }),
    ("E5", "further requests of a look, where they are needed", |it| it.has(&["/status/steps"])),
    ("E6", "a wish to cancel is remembered", |it| it.says(&["cancel_requested"])),
    ("E7", "the run that was started is held on to", |it| it.has(&["/status/pins"])),
    ("E8", "what a 404 means, and a job that is gone", |it| {
        it.has(&["/status/not_found"])
            || it.rules().any(|rule| rule["state"] == "gone" || rule["state"] == "not_found")
            || it.tasks.iter().any(|task| task.get("gone_grace").is_some())
    }),
    ("E9", "a state that lasts too long", |it| {
        it.rules().any(|rule| rule.get("within").is_some()) || it.has(&["/status/resolve/0/within"])
    }),
    ("E10", "long polls, lines and events", |it| {
        it.requests
            .iter()
            .any(|request| request.get("timeout").is_some() || request["parse"] == "lines" || request["parse"] == "events")
    }),
    ("F1", "progress", |it| it.has(&["/status/progress"])),
    ("F2", "moments and spans in other units", |it| it.says(&["iso", "epoch_seconds", "| seconds"])),
    ("F3", "a result from further requests", |it| it.has(&["/result/request", "/result/steps"])),
    ("F4", "a result by reference", |it| {
        it.has(&["/result/links", "/result/artifacts"])
            || it.jobs.iter().any(|job| list(&job["result"]["content"]).any(|piece| piece.get("link").is_some()))
    }),
    ("F5", "the end of a log", |it| it.has(&["/log"])),
    ("F6", "page after page", |it| it.has(&["/find/pages"]) || it.steps().any(|step| step["pages"].is_object())),
    ("F7", "a result from another address", |it| {
        let elsewhere = |request: &Value| request["base"].is_string() || request["url"].is_string();
        it.jobs.iter().any(|job| {
            elsewhere(&job["result"]["request"]) || list(&job["result"]["steps"]).any(|step| elsewhere(&step["request"]))
        }) || it.has(&["/result/artifacts"])
    }),
    ("G1", "a cancel that depends on where the job stands", |it| {
        it.has(&["/cancel/ways", "/cancel/look", "/cancel/already_ended", "/cancel/refused"])
    }),
    ("G2", "a harder way after a while", |it| it.has(&["/cancel/escalate"])),
    ("G3", "questions to people", |it| it.has(&["/input"])),
    ("G4", "an answer's handle that does not come from the job", |it| {
        it.jobs.iter().any(|job| {
            let told = job["delivery"]["handles"].as_object();
            let answers = job["input"]["accept"].to_string();
            told.is_some_and(|handles| handles.keys().any(|name| answers.contains(&format!("job.handles.{name}"))))
        })
    }),
    ("G5", "a no that means cancel, or a page to go to", |it| {
        it.jobs.iter().any(|job| job["input"]["decline"].is_string() || job["input"].get("page").is_some())
    }),
    ("G6", "deliveries that are verified", |it| !it.webhook.is_empty()),
    ("G7", "deliveries that are read, or only hint", |it| it.provider["delivery"].is_object()),
    ("G8", "deliveries that name their job", |it| {
        it.says(&["callback.url"]) || it.provider["delivery"]["job"].is_string() || it.provider["delivery"]["jobs"].is_string()
    }),
    ("G9", "throttling and pace as the API words them", |it| {
        it.provider["pace"].is_object() || list(&it.provider["errors"]).any(|rule| rule["means"] == "rate_limited")
    }),
    ("errors", "errors with a meaning of their own", |it| it.provider["errors"].is_array()),
    ("outputs", "an output that has to be there", |it| it.has(&["/result/required"])),
    ("content", "texts, images, sounds and documents", |it| it.has(&["/result/content"])),
    ("artifacts", "files that the gateway keeps", |it| it.has(&["/result/artifacts"])),
];

/// Capabilities that no entry uses yet.
const UNUSED: &[&str] = &[];

#[test]
fn every_capability_has_a_user() {
    let all: Vec<(&Entry, Words)> = entries().map(|entry| (entry, Words::of(entry))).collect();
    let mut table = HEAD.to_owned();
    let mut unused = BTreeSet::new();
    for (number, what, uses) in CAPABILITIES.iter().copied() {
        let users: Vec<String> =
            all.iter().filter(|(_, words)| uses(words)).map(|(entry, _)| format!("`{}`", entry.name())).collect();
        if users.is_empty() {
            unused.insert(number);
        }
        let users = if users.is_empty() { "none yet".to_owned() } else { users.join(", ") };
        writeln!(table, "| {number} | {what} | {users} |").unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/adapters/coverage.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &table).unwrap();
    }
    let known: BTreeSet<&str> = UNUSED.iter().copied().collect();
    assert_eq!(unused, known, "no entry uses these; the list of those that wait for a user says otherwise");
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == table,
        "docs/adapters/coverage.md is out of date: UPDATE_GOLDEN=1 cargo nextest run -p jobgate-adapter-catalog --test coverage"
    );
}

const HEAD: &str = "\
# Coverage

What the language of `adapter: rest` can say, and which entries of the [catalog](../../adapters/catalog/README.md) need it. Derived from the
entries' words by `adapters/catalog/tests/coverage.rs`.

| | capability | used by |
|---|---|---|
";

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => true,
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Whether any text of a part uses the submit's key.
fn uses_key(value: &Value) -> bool {
    let mut texts = Vec::new();
    gather(value, &mut Vec::new(), &mut texts);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let inside = |text: &String| text.split("{{").skip(1).any(|part| part.split(|c| !word(c)).any(|name| name == "key"));
    texts.iter().any(inside)
}

/// Collects the requests and texts of a part.
fn gather(value: &Value, requests: &mut Vec<Value>, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| gather(item, requests, texts)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == "request" {
                    requests.push(field.clone());
                }
                gather(field, requests, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
