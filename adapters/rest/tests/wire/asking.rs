//! What a job asks, and where the answers go: several questions at once, forms from the API, a no that is a cancel or a link, secrets
//! that came by delivery.

use std::sync::Mutex;

use crate::support::{Bench, answer, with};
use jobgate_adapter_api::{ErrorKind, InputAction, InputAnswer, InputAnswers, InputKind, InputRequest, JobRef, JobState};
use jobgate_adapter_testkit::ResponseTemplate;
use serde_json::{Value, json};

/// A job that is held, and asks with these words.
fn asking(input: Value) -> Value {
    with(|job| {
        job["status"]["rules"].as_array_mut().unwrap().push(json!({ "is": ["held"], "state": "input_required" }));
        job["input"] = input;
    })
}

/// Questions for each gate that waits, with requests that name it.
fn gates() -> Value {
    asking(json!({
        "steps": [{ "name": "gates", "request": { "path": "/jobs/{{ job.id }}/gates" }, "value": "{{ body }}" }],
        "each": "{{ steps.gates }}",
        "when": "item.state == 'waiting'",
        "key": "{{ item.id }}",
        "message": "Deploy to {{ item.name }}?",
        "form": {
            "type": "object",
            "properties": { "how": { "type": "string", "enum": "{{ item.options }}" }, "note": { "type": "string" } },
            "required": ["how"],
        },
        "accept": {
            "request": {
                "method": "POST", "path": "/gates/{{ item.id }}",
                "body": { "approve": true, "how": "{{ answer.content.how }}", "note": "{{ answer.content.note | optional }}", "run": "{{ body.run }}" },
            },
            "already_answered": [409],
        },
        "decline": { "request": { "method": "POST", "path": "/gates/{{ item.id }}", "body": { "approve": false } } },
    }))
}

fn gate(id: u64, name: &str, state: &str) -> Value {
    json!({ "id": id, "name": name, "state": state, "options": ["canary", "all"] })
}

fn accepted(content: Value) -> InputAnswer {
    InputAnswer { action: InputAction::Accept, content: Some(content) }
}

fn declined() -> InputAnswer {
    InputAnswer { action: InputAction::Decline, content: None }
}

async fn questions(bench: &Bench, job: &JobRef) -> Vec<InputRequest> {
    match bench.poll(job).await.unwrap().state {
        JobState::InputRequired(questions) => questions,
        other => panic!("{other:?}"),
    }
}

async fn provide(bench: &Bench, answers: &[(&str, InputAnswer)]) -> Result<(), ErrorKind> {
    let answers: InputAnswers = answers.iter().map(|(key, answer)| ((*key).to_owned(), answer.clone())).collect();
    bench.adapter().provide(&bench.cx, &JobRef::new("7"), &answers).await.map_err(|error| error.kind())
}

/// A provider whose job 7 is held and has these gates.
async fn gated(gates_of_job: Vec<Value>) -> Bench {
    Bench::routed(gates(), move |request| match request.url.path() {
        "/v1/jobs/7" => answer(200, json!({ "status": "held", "run": 3 })),
        "/v1/jobs/7/gates" => answer(200, json!(gates_of_job)),
        _ => ResponseTemplate::new(204),
    })
    .await
}

/// The schema of the one question that a provider with this list of fields asks.
async fn form_of(fields: Value, form: &str) -> Result<Value, String> {
    let words = json!({
        "key": "1", "message": "Go?", "form": form,
        "accept": { "request": { "path": "/answers", "body": { "fields": "{{ answer.content }}" } } },
    });
    let bench = Bench::new(asking(words), vec![answer(200, json!({ "status": "held", "fields": fields }))]).await;
    match bench.poll(&JobRef::new("7")).await.map_err(|error| error.to_string())?.state {
        JobState::InputRequired(questions) => match &questions[0].kind {
            InputKind::Form { schema } => Ok(schema.clone()),
            InputKind::Url { url } => Err(url.clone()),
        },
        other => Err(format!("{other:?}")),
    }
}

/// Providers G3: an API that describes its fields in a list gets a form of them, in the words of MCP.
#[tokio::test]
async fn a_form_is_made_of_a_list_of_fields() {
    let block = json!([
        { "key": "release", "text": "Release name", "hint": "What is it called?", "required": false, "default": "next" },
        { "key": "stream", "select": "Stream", "options": [{ "label": "Beta", "value": "beta" }, { "label": "Stable", "value": "stable" }], "default": "beta" },
        { "key": "regions", "select": "Regions", "multiple": true, "options": ["eu", "us"], "required": false, "default": ["eu", "moon"] },
    ]);
    let form = "{{ body.fields | form(name='key', title=['text', 'select'], description='hint', must=true) }}";
    let wanted = json!({
        "type": "object",
        "properties": {
            "release": { "type": "string", "title": "Release name", "description": "What is it called?", "default": "next" },
            "stream": { "type": "string", "title": "Stream", "default": "beta",
                        "oneOf": [{ "const": "beta", "title": "Beta" }, { "const": "stable", "title": "Stable" }] },
            "regions": { "type": "array", "title": "Regions", "default": ["eu"],
                         "items": { "type": "string", "enum": ["eu", "us"] } },
        },
        "required": ["stream"],
    });
    assert_eq!(form_of(block, form).await, Ok(wanted));

    let parameters = json!([
        { "name": "DRY", "type": "BooleanParameterDefinition", "description": "Only say what would be done.", "definition": { "defaultVal": { "value": "TRUE" } } },
        { "name": "TARGET", "type": "ChoiceParameterDefinition", "description": null, "definition": { "choices": ["a", "b"], "defaultVal": { "value": "c" } } },
        { "name": "COUNT", "type": "int", "definition": { "defaultVal": { "value": "3" } } },
        { "name": "LINES", "definition": { "choices": "x\ny\n" } },
        { "name": "SHARE", "definition": { "defaultVal": { "value": 0.5 } } },
        { "name": "PASSWORD", "type": "PasswordParameterDefinition" },
        { "name": "FILE", "type": "FileParameterDefinition" },
    ]);
    let form = "{{ body.fields | form(default='definition.defaultVal.value', choices='definition.choices', kinds={'BooleanParameterDefinition': 'boolean', 'ChoiceParameterDefinition': 'string', 'PasswordParameterDefinition': 'secret'}) }}";
    let wanted = json!({
        "type": "object",
        "properties": {
            "DRY": { "type": "boolean", "description": "Only say what would be done.", "default": true },
            "TARGET": { "type": "string", "enum": ["a", "b"] },
            "COUNT": { "type": "integer", "default": 3 },
            "LINES": { "type": "string", "enum": ["x", "y"] },
            "SHARE": { "type": "number", "default": 0.5 },
        },
    });
    assert_eq!(form_of(parameters, form).await, Ok(wanted));

    for (fields, form, wanted) in [
        (
            json!([{ "name": "f", "type": "file", "required": true }]),
            "{{ body.fields | form }}",
            "the field `f` has to be filled in",
        ),
        (json!([{ "label": "f" }]), "{{ body.fields | form }}", "a field without a name (`name`)"),
        (json!("none"), "{{ body.fields | form }}", "no list of fields"),
        (json!([]), "{{ body.fields | form(kinds='x') }}", "a map from the API's words"),
        (json!([]), "{{ body.fields | form(name=3) }}", "takes for `name`"),
        (json!([]), "{{ body.fields | form(nam='key') }}", "nam"),
    ] {
        let said = form_of(fields, form).await.unwrap_err();
        assert!(said.contains(wanted), "{form}: {said}");
    }
}

/// Providers G3: several questions at once, with the choices that the API gives; each answer goes to its own item.
#[tokio::test]
async fn every_gate_is_a_question_of_its_own() {
    let bench = gated(vec![
        gate(1, "staging", "waiting"),
        gate(2, "old", "passed"),
        gate(3, "production", "waiting"),
        gate(3, "again", "waiting"),
    ])
    .await;
    let questions = questions(&bench, &JobRef::new("7")).await;
    let told: Vec<(&str, &str)> = questions.iter().map(|question| (question.key.as_str(), question.message.as_str())).collect();
    assert_eq!(told, [("1", "Deploy to staging?"), ("3", "Deploy to production?")]);
    let InputKind::Form { schema } = &questions[0].kind else { panic!("it is a form") };
    assert_eq!(schema["properties"]["how"], json!({ "type": "string", "enum": ["canary", "all"] }));

    provide(&bench, &[("1", declined()), ("3", accepted(json!({ "how": "all" })))]).await.unwrap();
    let sent = bench.sent("POST").await;
    assert_eq!(
        sent,
        [
            ("/v1/gates/1".to_owned(), json!({ "approve": false })),
            ("/v1/gates/3".to_owned(), json!({ "approve": true, "how": "all", "run": 3 })),
        ]
    );
}

/// Providers G3: a question that was answered elsewhere gets no second answer, and neither does one that never was.
#[tokio::test]
async fn what_was_answered_elsewhere_is_left_alone() {
    let bench = gated(vec![gate(1, "staging", "passed"), gate(3, "production", "waiting")]).await;
    provide(&bench, &[("1", accepted(json!({ "how": "all" }))), ("99", declined())]).await.unwrap();
    assert_eq!(bench.sent("POST").await, []);
    // Also where it was answered between the look and the answer.
    let bench = Bench::routed(gates(), |request| match request.url.path() {
        "/v1/jobs/7" => answer(200, json!({ "status": "held", "run": 3 })),
        "/v1/jobs/7/gates" => answer(200, json!([gate(1, "staging", "waiting")])),
        _ => ResponseTemplate::new(409),
    })
    .await;
    assert_eq!(provide(&bench, &[("1", accepted(json!({ "how": "all" })))]).await, Ok(()));
    assert_eq!(provide(&bench, &[("1", declined())]).await, Err(ErrorKind::Rejected), "a no that was not taken is no no");
}

/// A job that is held and asks nothing (any more) runs.
#[tokio::test]
async fn no_open_gate_is_no_question() {
    for gates in [vec![], vec![gate(1, "staging", "passed")]] {
        let bench = gated(gates).await;
        assert_eq!(bench.poll(&JobRef::new("7")).await.unwrap().state, JobState::Running);
    }
}

/// Providers G3: the API's own schema is the form, brought to what MCP allows; one that cannot be shown is a fault that says why.
#[tokio::test]
async fn a_form_comes_from_the_api() {
    let job = asking(json!({
        "steps": [{ "name": "schema", "request": { "path": "/schema" } }],
        "key": "k", "message": "Fill in.", "form": "{{ steps.schema.body.schema | from_json }}",
        "accept": { "request": { "method": "POST", "path": "/resume", "body": "{{ answer.content }}" } },
    }));
    let given = |schema: Value| {
        Bench::routed(job.clone(), move |request| match request.url.path() {
            "/v1/schema" => answer(200, json!({ "schema": schema.to_string() })),
            _ => answer(200, json!({ "status": "held" })),
        })
    };
    let bench = given(json!({
        "title": "Approval", "type": "object", "required": ["who"], "additionalProperties": false,
        "properties": {
            "who": { "$ref": "#/definitions/Who" }, "tags": { "type": "object" },
            "until": { "anyOf": [{ "type": "string", "format": "date" }, { "type": "null" }], "default": null },
        },
        "definitions": { "Who": { "type": "string", "enum": ["ada", "bob"] } },
    }))
    .await;
    let InputKind::Form { schema } = questions(&bench, &JobRef::new("7")).await.remove(0).kind else { panic!("it is a form") };
    let wanted = json!({
        "type": "object",
        "properties": { "who": { "type": "string", "enum": ["ada", "bob"] }, "until": { "type": "string", "format": "date" } },
        "required": ["who"],
    });
    assert_eq!(schema, wanted);
    provide(&bench, &[("k", accepted(json!({ "who": "ada" })))]).await.unwrap();
    assert_eq!(bench.sent("POST").await, [("/v1/resume".to_owned(), json!({ "who": "ada" }))]);

    let nested = json!({ "properties": { "a": { "type": "object" } }, "required": ["a"] });
    let error = given(nested).await.poll(&JobRef::new("7")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.message().contains("the field `a` has to be filled in and is an object"), "{error}");
}

fn yes_or_no(decline: Value) -> Value {
    let mut job = asking(json!({
        "key": "k", "message": "Go?", "form": { "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] },
        "accept": { "request": { "method": "POST", "path": "/go" } },
    }));
    for (name, value) in decline.as_object().unwrap() {
        job["input"][name] = value.clone();
    }
    job["cancel"] =
        json!({ "request": { "method": "DELETE", "path": "/jobs/{{ job.id }}" }, "already_ended": [409], "refused": [423] });
    job
}

/// Providers G5: where the API knows no no, a no stops the job.
#[tokio::test]
async fn a_no_may_be_a_cancel() {
    for (code, wanted) in [(204, Ok(())), (409, Ok(())), (423, Err(ErrorKind::Rejected)), (503, Err(ErrorKind::Unavailable))] {
        let bench = Bench::routed(yes_or_no(json!({ "decline": "cancel" })), move |request| match request.method.as_str() {
            "GET" => answer(200, json!({ "status": "held" })),
            _ => ResponseTemplate::new(code),
        })
        .await;
        assert_eq!(provide(&bench, &[("k", declined())]).await, wanted, "{code}");
        assert_eq!(bench.last().await.0, "DELETE");
    }
}

/// Providers G5: where a no is given on the provider's page alone, the question says so and the gateway sends nothing.
#[tokio::test]
async fn a_no_may_be_given_at_the_providers_page_alone() {
    let words = json!({ "decline": "link", "page": "https://ci.example.com/jobs/{{ job.id }}" });
    let bench = Bench::new(yes_or_no(words), vec![answer(200, json!({ "status": "held" }))]).await;
    let question = questions(&bench, &JobRef::new("7")).await.remove(0);
    assert_eq!(question.message, "Go? (A no is given at https://ci.example.com/jobs/7 alone.)");
    assert!(matches!(question.kind, InputKind::Form { .. }));
    provide(&bench, &[("k", declined())]).await.unwrap();
    assert_eq!(bench.last().await.0, "GET");
    provide(&bench, &[("k", accepted(json!({ "ok": true })))]).await.unwrap();
    assert_eq!(bench.last().await.1, "/v1/go");
}

/// Providers G5: what is answered on a page of the provider's is not handed over, and a page that is none is a fault.
#[tokio::test]
async fn a_page_takes_its_answers_itself() {
    let job = asking(json!({ "key": "k", "message": "Approve there.", "page": "{{ body.url }}" }));
    let held = |url: &str| vec![answer(200, json!({ "status": "held", "url": url }))];
    let bench = Bench::new(job.clone(), held("https://ci.example.com/7?x=1")).await;
    let question = questions(&bench, &JobRef::new("7")).await.remove(0);
    assert_eq!(question.kind, InputKind::Url { url: "https://ci.example.com/7?x=1".to_owned() });
    for action in [InputAction::Accept, InputAction::Decline, InputAction::Cancel] {
        provide(&bench, &[("k", InputAnswer { action, content: None })]).await.unwrap();
        assert_eq!(bench.last().await.0, "GET");
    }
    for wrong in ["javascript:alert(1)", "nonsense", "https://user:pw@ci.example.com/"] {
        let bench = Bench::new(job.clone(), held(wrong)).await;
        assert_eq!(bench.poll(&JobRef::new("7")).await.unwrap_err().kind(), ErrorKind::Protocol, "{wrong}");
    }
}

/// Providers G4: the handle that answers a question comes by delivery alone. It is used where the answer goes, and no caller sees it.
#[tokio::test]
async fn a_secret_that_came_by_delivery_answers_the_question() {
    const TOKEN: &str = "sign_1PePOqp_awakeable_9f27";
    let job = with(|job| {
        job["status"]["rules"] = json!([
            { "is": ["done"], "state": "succeeded" },
            { "when": "word == 'running' and job.handles.awakeable", "state": "input_required", "message": "{{ body.note }}" },
            { "is": ["running"], "state": "running" },
        ]);
        job["delivery"] = json!({ "handles": { "awakeable": "{{ delivery.awakeable }}", "asks": "{{ delivery.asks }}" } });
        job["input"] = json!({
            "key": "{{ job.handles.asks }}", "message": "Approve? {{ body.note }}",
            "form": { "type": "object", "properties": { "ok": { "type": "boolean", "description": "{{ body.note }}" } } },
            "accept": { "request": { "method": "POST", "path": "/awakeables/{{ job.handles.awakeable }}/resolve", "body": "{{ answer.content }}" } },
            "decline": { "request": { "method": "POST", "path": "/awakeables/{{ job.handles.awakeable }}/reject", "body": {} } },
        });
        job["result"] = json!({ "text": "{{ body.note }}", "data": "{{ body }}", "links": [{ "uri": "https://x.example.com/{{ body.note }}", "name": "n" }] });
    });
    let state = std::sync::Arc::new(Mutex::new("running"));
    let now = state.clone();
    let provider = json!({ "delivery": { "job": "{{ body.id }}" } });
    let bench = Bench::routed_with(provider, job, move |request| match request.method.as_str() {
        "GET" => answer(200, json!({ "status": *now.lock().unwrap(), "note": format!("token {TOKEN}") })),
        _ => ResponseTemplate::new(202),
    })
    .await;
    assert_eq!(bench.poll(&JobRef::new("7")).await.unwrap().state, JobState::Running);

    let told =
        bench.read(&JobRef::new("7"), &json!({ "id": "7", "status": "running", "awakeable": TOKEN, "asks": "approval-1" }));
    let told = told.unwrap().unwrap();
    let job = told.learned.iter().fold(JobRef::new("7"), |job, (name, value)| job.with(name, value));
    assert_eq!(job.handle("awakeable"), Some(TOKEN));
    let seen = bench.poll(&job).await.unwrap();
    assert!(matches!(&seen.state, JobState::InputRequired(questions) if questions[0].key == "approval-1"));
    assert!(!format!("{:?} {:?}", seen.state, seen.message).contains(TOKEN), "{seen:?}");

    let answers = InputAnswers::from([("approval-1".to_owned(), accepted(json!({ "ok": true })))]);
    bench.adapter().provide(&bench.cx, &job, &answers).await.unwrap();
    assert_eq!(bench.last().await.1, format!("/v1/awakeables/{TOKEN}/resolve"));

    *state.lock().unwrap() = "done";
    let ended = format!("{:?}", bench.poll(&job).await.unwrap());
    assert!(ended.contains("Succeeded") && !ended.contains(TOKEN), "{ended}");
}
