//! Argo Workflows: names of our own, suspend nodes as questions, a stop that becomes a terminate, an archive.

use std::time::Duration;

use jobgate_adapter_api::{
    CallContext, CancelOutcome, CancelWish, ErrorKind, InputAction, InputAnswer, InputKind, Issues, JobRef, JobState, Place,
    Retry,
};
use jobgate_adapter_testkit::{Case, HttpRig, Rig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

const TOOL: &str = "workflow";

fn of(template: &str) -> Value {
    json!({ "template": template, "parameters": { "day": "2026-07-28" } })
}

async fn workflows() -> HttpRig {
    rig("argo_workflows")
        .await
        .case(Scenario::RunsToEnd, Case::new(TOOL, of("load")).expecting("3 rows loaded"))
        .case(Scenario::Fails, Case::new(TOOL, of("broken")).expecting("division by zero"))
        .case(Scenario::RunsLong, Case::new(TOOL, of("slow")))
        .case(Scenario::UnknownWord, Case::new(TOOL, of("odd")).expecting("Hibernating"))
        .case(Scenario::WaitsForPerson, Case::new(TOOL, of("gate")).answering(json!({ "approve": "YES", "note": "go" })))
}

adapter_contract!(workflows().await);

/// F1, F3, F5: progress, outputs of the entrypoint and global ones, the end of the log, and the artifact that is one.
#[tokio::test]
async fn a_workflow_hands_over_what_its_entrypoint_gave() {
    let played = Played::of("argo_workflows").await;
    let job = played.start(TOOL, of("load")).await;
    assert_eq!(played.look(TOOL, &job).await.unwrap().state, JobState::Queued);
    let seen = played.look(TOOL, &job).await.unwrap();
    let progress = seen.progress.map(|it| (it.done, it.total));
    assert_eq!((seen.message.as_deref(), progress), (Some("load"), Some((1.0, Some(2.0)))));
    let JobState::Succeeded(output) = played.end(TOOL, &job).await.state else { panic!("it ended well") };
    let data = json!({ "workflow": "wf-ok", "outputs": { "day": "2026-07-28", "rows": "3" } });
    assert_eq!(output.data, Some(data));
    let [file] = &files(&output)[..] else { panic!("one artifact: {output:?}") };
    assert_eq!(file.name, "report.csv");
    assert_eq!(played.fetch(TOOL, &job, file).await, (Some("text/csv".to_owned()), b"a,b\n1,2\n".to_vec()));
}

/// D1, D2: a name that Kubernetes allows, and of two submits with it one workflow.
#[tokio::test]
async fn a_name_that_is_taken_is_ours() {
    let played = Played::of("argo_workflows").await;
    let first = played.start(TOOL, of("slow")).await;
    let again = played.start(TOOL, of("slow")).await;
    let found = played.find(TOOL).await.unwrap();
    assert_eq!((first.id(), first.handle("uid")), ("wf-long", Some("uid-wf-long")));
    assert_eq!((&again, found.as_ref()), (&first, Some(&first)));
    let sent = played.rig().requests().await;
    let body: Value = sent[0].body_json().unwrap();
    let name = body["submitOptions"]["name"].as_str().unwrap();
    assert!(
        name.len() <= 63 && name.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit()),
        "{name}"
    );
}

#[tokio::test]
async fn a_template_of_the_cluster_and_another_entrypoint() {
    let played = Played::of("argo_workflows").await;
    let job = played.start(TOOL, json!({ "template": "shared", "cluster": true, "entrypoint": "second" })).await;
    let JobState::Succeeded(output) = played.end(TOOL, &job).await.state else { panic!("it ended well") };
    assert_eq!(output.data.unwrap()["outputs"], json!({}));
}

#[tokio::test]
async fn what_argo_refuses_is_told_in_its_words() {
    let played = Played::of("argo_workflows").await;
    let mut found = Vec::new();
    for template in ["busy", "missing", "wrong", "forbidden"] {
        let error = played.submit(TOOL, of(template)).await.unwrap_err();
        found.push((error.kind(), error.retry()));
        assert!(error.message().len() > 10, "{error}");
    }
    let wanted = [
        (ErrorKind::RateLimited, Retry::After(Duration::from_secs(7))),
        (ErrorKind::Rejected, Retry::Never),
        (ErrorKind::Rejected, Retry::Never),
        (ErrorKind::Unauthorized, Retry::Never),
    ];
    assert_eq!(found, wanted);
}

/// G3: a node that wants values asks for them with its choices; one that waits for a time asks nobody.
#[tokio::test]
async fn a_suspend_node_asks_for_what_it_wants_supplied() {
    let played = Played::of("argo_workflows").await;
    let job = played.start(TOOL, of("gate")).await;
    let JobState::InputRequired(questions) = played.look(TOOL, &job).await.unwrap().state else { panic!("it asks") };
    let [question] = &questions[..] else { panic!("one question: {questions:?}") };
    let InputKind::Form { schema } = &question.kind else { panic!("{question:?}") };
    let approve =
        json!({ "type": "string", "enum": ["YES", "NO"], "default": "NO", "description": "Choose YES to deploy to production" });
    let properties = json!({ "approve": approve, "note": { "type": "string" } });
    assert_eq!(schema, &json!({ "type": "object", "properties": properties, "required": ["approve", "note"] }));
    assert_eq!(question.key, "wf-gate-approve");

    let job = played.start(TOOL, of("waits")).await;
    assert_eq!(played.look(TOOL, &job).await.unwrap().state, JobState::Running);
    let job = played.start(TOOL, of("whole")).await;
    let seen = played.look(TOOL, &job).await.unwrap();
    assert_eq!(seen.state, JobState::Running);
    assert!(seen.message.unwrap().contains("suspended as a whole"));
}

/// G3, G5: a no fails the node, and with it the workflow.
#[tokio::test]
async fn a_no_fails_the_node() {
    let played = Played::of("argo_workflows").await;
    let job = played.start(TOOL, of("declined")).await;
    let answer = InputAnswer { action: InputAction::Decline, content: None };
    let adapter = played.adapter();
    adapter.provide(&played.context(TOOL), &job, &[("wf-no-approve".to_owned(), answer)].into()).await.unwrap();
    let JobState::Failed(failure) = played.end(TOOL, &job).await.state else { panic!("it failed") };
    assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("approve: declined", Some("Failed")));
}

/// F5: every failed node is named; the log's end is what is left of it.
#[tokio::test]
async fn a_failure_names_its_nodes() {
    let played = Played::of("argo_workflows").await;
    let job = played.start(TOOL, of("broken")).await;
    let JobState::Failed(failure) = played.end(TOOL, &job).await.state else { panic!("it failed") };
    assert_eq!(failure.message, "load: Error (exit code 1): division by zero; check: pod deleted");
    assert!(format!("{:?}", failure.output).contains("1 / 0"), "{failure:?}");
}

/// G1, G2, E6: a stop is asked for first; where it does not help, a terminate; what has ended is told nothing.
#[tokio::test]
async fn a_stop_becomes_a_terminate() {
    let played = Played::of("argo_workflows").await;
    let job = played.start(TOOL, of("stubborn")).await;
    assert_eq!(played.adapter().capabilities(TOOL).escalates_after, Some(Duration::from_mins(5)));
    assert_eq!(played.cancel(TOOL, &job).await.unwrap(), CancelOutcome::Requested);
    assert_eq!(played.look(TOOL, &job).await.unwrap().state, JobState::Running);
    let wish = CancelWish { requested_at: played.context(TOOL).started_at, escalated: true };
    let harder = CallContext { cancel: Some(wish), ..played.context(TOOL) };
    assert_eq!(played.adapter().cancel(&harder, &job).await.unwrap(), CancelOutcome::Requested);
    assert_eq!(played.look(TOOL, &job).await.unwrap().state, JobState::Cancelled);
    assert_eq!(played.adapter().cancel(&harder, &job).await.unwrap(), CancelOutcome::AlreadyEnded);
    let sent = played.rig().requests().await;
    let told: Vec<&str> = sent.iter().filter(|it| it.method.as_str() == "PUT").map(|it| it.url.path()).collect();
    assert_eq!(told, ["/api/v1/workflows/argo/wf-stubborn/stop", "/api/v1/workflows/argo/wf-stubborn/terminate"]);
}

/// E7, E8: a deleted workflow is read from the archive by its uid; without one it is gone.
#[tokio::test]
async fn a_deleted_workflow_comes_from_the_archive() {
    let played = Played::of("argo_workflows").await;
    let job = played.start(TOOL, of("archived")).await;
    let JobState::Succeeded(output) = played.look(TOOL, &job).await.unwrap().state else { panic!("the archive has it") };
    assert_eq!(output.data.unwrap()["outputs"], json!({ "rows": "4" }));
    assert_eq!(played.look(TOOL, &JobRef::new("wf-archived")).await.unwrap_err().kind(), ErrorKind::NotFound);
    let job = played.start(TOOL, of("deleted")).await;
    assert_eq!(played.look(TOOL, &job).await.unwrap_err().kind(), ErrorKind::NotFound);
}

/// B5: an authority and a client's certificate do without each other, and without both the machine's authorities count.
#[tokio::test]
async fn certificates_are_settings_that_may_be_left_out() {
    let rig = rig("argo_workflows").await;
    let check = |settings: Value| {
        let mut issues = Issues::new();
        let provider = Rig::provider(&rig);
        let fields = provider.as_object().unwrap().clone().into_iter().chain(settings.as_object().unwrap().clone());
        let place = Place::root().key("providers").key("argo");
        rig.factory().check(&place, Value::Object(fields.collect()), Vec::new(), &mut issues);
        issues.iter().map(|issue| format!("{}: {}", issue.place, issue.message)).collect::<Vec<_>>()
    };
    let (ca, certificate, key) = ("file:/etc/jobgate/ca.pem", "file:/etc/jobgate/client.pem", "env:CLIENT_KEY");
    for good in [
        json!({}),
        json!({ "ca": ca }),
        json!({ "client_certificate": certificate, "client_key": key }),
        json!({ "ca": ca, "client_certificate": certificate, "client_key": key }),
    ] {
        assert_eq!(check(good.clone()), Vec::<String>::new(), "{good}");
    }
    let half = check(json!({ "ca": ca, "client_certificate": certificate }));
    assert_eq!(half, ["providers.argo.tls: a client's certificate needs its private key"]);
}
