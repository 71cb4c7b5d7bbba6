//! Configurations that must be refused, each with its place and a sentence that helps; and examples that must not.

use jobgate_adapter_api::{Issues, Place, ToolWords, factory};
use jobgate_adapter_rest::Rest;
use serde_json::{Value, json};

/// The issues of a provider with one tool `t`, as people read them.
fn issues(provider: Value, job: Value, schema: Value) -> Vec<String> {
    let place = Place::root().key("tools").key("t").key("job");
    let tools = vec![ToolWords { name: "t".to_owned(), input_schema: schema, place, words: job }];
    let mut issues = Issues::new();
    let checked = factory::<Rest>().check(&Place::root().key("providers").key("p"), provider, tools, &mut issues);
    assert_eq!(checked.is_some(), issues.is_empty());
    issues
        .into_iter()
        .map(|issue| {
            format!("{}: {}{}", issue.place, issue.message, issue.hint.map(|hint| format!(" [{hint}]")).unwrap_or_default())
        })
        .collect()
}

fn provider() -> Value {
    json!({ "base_url": "https://api.example.com", "bases": { "admin": "https://admin.example.com" } })
}

fn job() -> Value {
    json!({
        "submit": { "request": { "path": "/jobs", "body": { "name": "{{ args.name }}" } }, "job": { "id": "{{ body.id }}", "handles": { "queue": "{{ body.queue }}" } } },
        "status": { "request": { "path": "/jobs/{{ job.id }}" }, "word": "{{ body.status }}", "rules": [{ "is": ["done"], "state": "succeeded" }] },
    })
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "name": { "type": "string" } } })
}

#[test]
fn right_words_have_no_issue() {
    assert_eq!(issues(provider(), job(), schema()), Vec::<String>::new());
}

/// Changes a right job at a pointer; the one issue must read as wanted.
#[test]
fn a_wrong_job_is_told_its_place_and_what_would_be_right() {
    let t = "tools.t.job";
    for (pointer, value, wanted) in [
        (
            "/submit/request/path",
            json!("/jobs/{{ args.name"),
            format!("{t}.submit.request.path: `/jobs/{{{{ args.name` cannot be read: "),
        ),
        (
            "/submit/request/body/name",
            json!("{{ args.nmae }}"),
            format!("{t}.submit.request.body.name: `args.nmae` is no argument of this tool; its input schema lists `name`"),
        ),
        (
            "/submit/request/body/name",
            json!(["{{ job.id }}"]),
            format!(
                "{t}.submit.request.body.name[0]: `job` does not exist here; here exist `args`, `callback`, `key`, `now`, `started_at`, `tool`"
            ),
        ),
        (
            "/submit/request/body/name",
            json!("{{ args.name | shout }}"),
            format!("{t}.submit.request.body.name: `args.name | shout` cannot be read: "),
        ),
        (
            "/submit/request/path",
            json!("jobs"),
            format!("{t}.submit.request.path: the path `jobs` does not begin with a slash [path: /jobs]"),
        ),
        (
            "/submit/request/path",
            json!("/jobs?x=1"),
            format!("{t}.submit.request.path: a path holds no query [query: {{ name: value }}]"),
        ),
        ("/submit/request/method", json!("FETCH"), format!("{t}.submit.request.method: `FETCH` is no method [")),
        (
            "/submit/request/base",
            json!("amdin"),
            format!("{t}.submit.request.base: the provider's `bases` do not name `amdin`; it names `admin`"),
        ),
        (
            "/submit/request/form",
            json!({}),
            format!("{t}.submit.request.form: a request has one body: a `body` or a `form`, not both"),
        ),
        ("/submit/request/headers", json!({ "a b": "c" }), format!("{t}.submit.request.headers.a b: `a b` is no header name")),
        ("/submit/job/id", json!(""), format!("{t}.submit.job.id: the id is empty [")),
        ("/submit/job", json!({}), format!("{t}.submit.job: missing field `id`")),
        ("/idempotent", json!(true), format!("{t}.idempotent: `idempotent: true` needs the `key` in the submit's request")),
        (
            "/find",
            json!({ "request": { "path": "/jobs" }, "job": { "id": "{{ body.id }}" } }),
            format!("{t}.find: a job is found by the `key` of its submit"),
        ),
        (
            "/status/request/path",
            json!("/q/{{ job.handles.queeu }}"),
            format!("{t}.status.request.path: `job.handles.queeu` does not exist; the job's handles are `queue`"),
        ),
        (
            "/status/request/path",
            json!("/jobs/{{ args.name }}"),
            format!(
                "{t}.status.request.path: `args` does not exist here; here exist `cancel_requested`, `job`, `key`, `now`, `started_at`, `tool`"
            ),
        ),
        ("/status/rules", json!([]), format!("{t}.status.rules: no rule ends a job well: none has `state: succeeded` [")),
        ("/status/rules/0", json!({ "state": "succeeded" }), format!("{t}.status.rules[0]: a rule needs `when` or `is` [")),
        (
            "/status/rules/0/when",
            json!("{{ body.done }}"),
            format!("{t}.status.rules[0].when: a condition is written without braces: `body.done`"),
        ),
        ("/status/rules/0/when", json!("body.done ="), format!("{t}.status.rules[0].when: `body.done =` cannot be read: ")),
        (
            "/status/rules/0/state",
            json!("ready"),
            format!("{t}.status.rules[0].state: unknown variant `ready`, expected one of `queued`"),
        ),
        ("/status/rules/0/state", json!("input_required"), format!("{t}.status.rules: no rule ends a job well")),
        (
            "/status/word",
            Value::Null,
            format!("{t}.status.rules[0].is: `is` compares the status word, and `status.word` does not say where it is ["),
        ),
        (
            "/status/accept",
            json!([2000]),
            format!("{t}.status.accept: 2000 is no HTTP status code: write for example `[200, 202]` or `[2xx]`"),
        ),
        (
            "/input",
            json!({ "key": "q", "message": "?", "page": "https://x.example.com" }),
            format!("{t}.input: no status rule has `state: input_required`"),
        ),
        ("/submti", json!({}), format!("{t}.submti: unknown field `submti`, expected one of `lookups`, `submit`")),
    ] {
        let mut changed = job();
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        match changed.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
            section => section[last] = value,
        }
        let found = issues(provider(), changed, schema());
        assert!(
            found.first().is_some_and(|first| first.starts_with(&wanted)),
            "{pointer}\n  wanted: {wanted}\n  found:  {found:?}"
        );
    }
}

/// Changes a provider with deliveries, or the right job of one, at a pointer; the one issue must read as wanted.
#[test]
fn wrong_words_of_deliveries_are_told_their_place_and_what_would_be_right() {
    let (p, t) = ("providers.p.delivery", "tools.t.job");
    let asks = "a delivery is read without asking anybody, so there is no second request";
    let told = json!({ "word": "{{ delivery.event }}" });
    for (pointer, value, wanted) in [
        (
            "/provider/delivery",
            json!({ "when": "body.event == 'done'" }),
            format!(
                "{p}: nothing says which job a delivery tells of: it needs `job`, or `jobs` for a list of them [job: \"{{{{ body.id }}}}\"]"
            ),
        ),
        (
            "/provider/delivery/job",
            json!("body.id"),
            format!(
                "{p}.job: `body.id` is the same for every delivery; a value of the delivery is written in braces [\"{{{{ body.id }}}}\"]"
            ),
        ),
        (
            "/provider/delivery/job",
            json!("{{ item.id }}"),
            format!("{p}.job: `item` does not exist here; here exist `body`, `text`"),
        ),
        (
            "/provider/delivery/job",
            json!("{{ job.id }}"),
            format!("{p}.job: `job` does not exist here; here exist `body`, `text`"),
        ),
        (
            "/provider/delivery/body",
            json!("{{ headers.x }}"),
            format!("{p}.body: `headers` does not exist here; here exist `body`"),
        ),
        (
            "/provider/delivery/jobs",
            json!("{{ item }}"),
            format!("{p}.jobs: `item` does not exist here; here exist `body`, `text`"),
        ),
        ("/provider/delivery/jobs", json!("events"), format!("{p}.jobs: `events` is the same for every delivery")),
        (
            "/provider/delivery/when",
            json!("{{ body.event }}"),
            format!("{p}.when: a condition is written without braces: `body.event`"),
        ),
        (
            "/provider/delivery/when",
            json!("body.event is startswith 'a'"),
            format!("{p}.when: `body.event is startswith 'a'` cannot"),
        ),
        ("/provider/delivery/parse", json!("xml"), format!("{p}.parse: unknown variant `xml`, expected `json` or `form`")),
        ("/provider/delivery/event", json!("x"), format!("{p}.event: unknown field `event`, expected one of `parse`, `when`")),
        (
            "/provider/delivery",
            Value::Null,
            format!("{t}.delivery: the provider has no `delivery` section that says which job a delivery tells of ["),
        ),
        (
            "/job/delivery/word",
            json!("{{ delivery.event | uper }}"),
            format!("{t}.delivery.word: `delivery.event | uper` cannot be read"),
        ),
        (
            "/job/delivery/body",
            json!("{{ delivery.x }}"),
            format!("{t}.delivery.body: `delivery` does not exist here; here exist `body`"),
        ),
        ("/job/status/word", json!("{{ delivery.event }}"), format!("{t}.status.word: `delivery` does not exist here")),
        ("/job/delivery/rules", json!([{ "state": "failed" }]), format!("{t}.delivery.rules[0]: a rule needs `when` or `is` [")),
        (
            "/job/delivery/rules",
            json!([{ "is": ["held"], "state": "input_required" }]),
            format!("{t}.delivery.rules[0].state: `input_required` needs an `input` section"),
        ),
        (
            "/job/delivery/result",
            json!({ "request": { "path": "/x" }, "data": "{{ body }}" }),
            format!("{t}.delivery.result.request: {asks} [data: "),
        ),
        (
            "/job/delivery/failure",
            json!({ "request": { "path": "/x" }, "message": "{{ body.error }}" }),
            format!("{t}.delivery.failure.request: {asks} [message: "),
        ),
        (
            "/job/submit/request/body",
            json!("{{ callback.uri }}"),
            format!("{t}.submit.request.body: `callback.uri` does not exist; a callback has `url`"),
        ),
        (
            "/job/status/request/path",
            json!("/{{ callback.url }}"),
            format!("{t}.status.request.path: `callback` does not exist here"),
        ),
    ] {
        let mut words = json!({ "provider": provider(), "job": job() });
        words["provider"]["delivery"] = json!({ "when": "body.event == 'done'", "job": "{{ body.id }}" });
        words["job"]["delivery"] = told.clone();
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        words.pointer_mut(parent).unwrap()[last] = value;
        let found = issues(words["provider"].take(), words["job"].take(), schema());
        assert!(found.len() == 1 && found[0].starts_with(&wanted), "{pointer}\n  wanted: {wanted}\n  found:  {found:?}");
    }
}

/// A job that cannot be looked at has to end by what is in its deliveries.
#[test]
fn a_status_without_a_request_needs_deliveries_that_say_everything() {
    let mut words = job();
    words["status"].as_object_mut().unwrap().remove("request");
    let found = issues(provider(), words.clone(), schema());
    let wanted = "tools.t.job.status: a status that never says `state: succeeded`, or has no `request`, needs the provider's `delivery`, which says how its deliveries are read [request: { path: \"/jobs/{{ job.id }}\" }]";
    assert_eq!(found, [wanted]);

    let mut provider = provider();
    provider["delivery"] = json!({ "job": "{{ body.id }}" });
    assert_eq!(issues(provider.clone(), words.clone(), schema()), Vec::<String>::new());
    words["result"] = json!({ "request": { "path": "/jobs/{{ job.id }}/result" }, "data": "{{ body }}" });
    words["failure"] = json!({ "request": { "path": "/jobs/{{ job.id }}/log" }, "message": "{{ text }}" });
    words["status"]["rules"].as_array_mut().unwrap().push(json!({ "is": ["held"], "state": "input_required" }));
    words["input"] = json!({ "key": "q", "message": "?", "page": "https://x.example.com" });
    let found = issues(provider.clone(), words.clone(), schema());
    let places: Vec<&str> = found.iter().map(|issue| issue.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["tools.t.job.result.request", "tools.t.job.failure.request", "tools.t.job.input"], "{found:?}");
    // What the deliveries say themselves needs no request.
    words.as_object_mut().unwrap().remove("input");
    words["status"]["rules"].as_array_mut().unwrap().pop();
    words["delivery"] = json!({ "result": { "data": "{{ body.output }}" }, "failure": { "message": "{{ body.error }}" } });
    assert_eq!(issues(provider, words, schema()), Vec::<String>::new());
}

#[test]
fn a_wrong_provider_is_told_its_place() {
    for (word, value, wanted) in [
        (
            "base_url",
            json!("api.example.com"),
            "providers.p.base_url: `api.example.com` is no http(s) address [https://api.example.com/v1]",
        ),
        (
            "base_url",
            json!("https://ada:pw@api.example.com"),
            "providers.p.base_url: an address holds no credentials; they belong under `auth` [",
        ),
        (
            "base_url",
            json!("https://api.example.com?key=1"),
            "providers.p.base_url: `https://api.example.com?key=1` has a query or fragment",
        ),
        ("bases", json!({ "admin": "nope" }), "providers.p.bases.admin: `nope` is no http(s) address"),
        (
            "headers",
            json!({ "Authorization": "Bearer abc" }),
            "providers.p.headers.Authorization: a credential is named under `auth`, not written here [",
        ),
        (
            "auth",
            json!({ "bearer": "abc" }),
            "providers.p.auth.bearer: a secret is named, not written: `env:NAME` or `file:PATH`",
        ),
        ("auth", json!({ "oauth9": {} }), "providers.p.auth"),
        (
            "auth",
            json!({ "basic": { "username": "a:b", "password": "env:X" } }),
            "providers.p.auth.basic.username: a user name of HTTP Basic holds no colon",
        ),
        ("timeout", json!("30"), "providers.p.timeout: `30` is no span of time"),
        ("error_message", json!("{{ args.x }}"), "providers.p.error_message: `args` does not exist here; here exist `body`"),
    ] {
        let mut changed = provider();
        changed[word] = value;
        let found = issues(changed, job(), schema());
        assert!(found.first().is_some_and(|first| first.starts_with(wanted)), "{word}\n  wanted: {wanted}\n  found:  {found:?}");
        assert!(
            !found.concat().contains("pw@") && !found.concat().contains("Bearer abc"),
            "a written credential is not repeated"
        );
    }
}

/// All problems at once, not the first alone.
#[test]
fn every_problem_is_said_in_one_go() {
    let mut wrong = job();
    wrong["submit"]["request"]["body"] = json!({ "a": "{{ x }}", "b": "{{ y }}" });
    wrong["status"]["rules"] = json!([]);
    assert_eq!(issues(provider(), wrong, schema()).len(), 3);
}

/// A look that can only show a loss is enough where deliveries tell of the end.
#[test]
fn a_job_may_end_well_by_deliveries_alone() {
    let mut job = job();
    job["status"]["rules"] = json!([{ "when": "body.restarted", "state": "failed" }, { "when": "true", "state": "running" }]);
    job["delivery"] = json!({ "word": "{{ body.status }}", "rules": [{ "is": ["done"], "state": "succeeded" }] });
    let mut provider = provider();
    let found = issues(provider.clone(), job.clone(), schema());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("needs the provider's `delivery`"), "{found:?}");
    provider["delivery"] = json!({ "job": "{{ body.id }}" });
    assert_eq!(issues(provider, job, schema()), Vec::<String>::new());
}

/// Every word that users can write has a description.
#[test]
fn every_word_is_described() {
    let mut generator = schemars::SchemaGenerator::default();
    let kind = factory::<Rest>();
    kind.provider_schema(&mut generator);
    kind.tool_schema(&mut generator);
    let definitions = generator.definitions().clone();
    assert!(definitions.len() > 10);
    for (name, definition) in definitions {
        for (word, schema) in definition["properties"].as_object().into_iter().flatten() {
            assert!(schema["description"].is_string(), "{name}.{word} has no description");
        }
    }
}

/// An address to deliver to that is marked `| optional` is left out where nobody takes deliveries; any other needs a webhook.
#[test]
fn an_address_to_deliver_to_may_be_optional() {
    for (text, needed) in
        [("{{ callback.url | optional }}", false), ("{{ callback.url }}", true), ("at {{ callback.url }}", true)]
    {
        let mut job = job();
        job["submit"]["request"]["body"]["webhook"] = json!(text);
        let place = Place::root().key("tools").key("t").key("job");
        let tools = vec![ToolWords { name: "t".to_owned(), input_schema: schema(), place: place.clone(), words: job }];
        let checked = factory::<Rest>().check(&place, provider(), tools, &mut Issues::new()).unwrap();
        assert!(checked.uses_callback(), "{text}");
        assert_eq!(checked.needs_callback(), needed, "{text}");
    }
}
