//! Azure: operations that are followed by what their first answer names.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobRef, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Rig as _, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn vm(name: &str) -> Value {
    json!({ "resource": format!("providers/Microsoft.Compute/virtualMachines/{name}"), "api_version": "2025-04-01" })
}

fn wanted(name: &str) -> Value {
    let mut arguments = vm(name);
    arguments["body"] = json!({ "location": "westeurope", "properties": {} });
    arguments["cancel"] = json!("cancel");
    arguments
}

fn act(action: &str) -> Value {
    let mut arguments = vm("ok");
    arguments["action"] = json!(action);
    arguments
}

async fn operations() -> HttpRig {
    let rig = rig("azure_async_operation").await;
    let path =
        "/subscriptions/00000000-0000-0000-0000-000000000001/providers/Microsoft.Compute/locations/westeurope/operations/none";
    let monitor = format!("{}{path}?api-version=2025-04-01", rig.url());
    rig.unknown(JobRef::new("none").with("kind", "operation").with("monitor", monitor))
        .bad_provider("providers.kit.tenant", |words| words["tenant"] = json!("contoso/../evil"))
        .bad_provider("providers.kit.scope", |words| words["scope"] = json!("https://evil.example.com"))
        .case(Scenario::RunsToEnd, Case::new("resource", wanted("ok")).expecting("9007199254740993"))
        .case(Scenario::Fails, Case::new("resource", wanted("bad")).expecting("The requested size is not available"))
        .case(Scenario::RunsLong, Case::new("resource", wanted("long")))
        .case(Scenario::UnknownWord, Case::new("resource", wanted("odd")).expecting("hibernating"))
        .without(Scenario::WaitsForPerson, "operations ask nobody anything")
}

adapter_contract!(operations().await);

async fn data(played: &Played, tool: &str, arguments: Value) -> Value {
    let submitted = played.submit(tool, arguments).await.unwrap_or_else(|error| panic!("{error}"));
    let state = match submitted.observation {
        Some(seen) if seen.state.is_terminal() => seen.state,
        _ => played.end(tool, &submitted.job).await.state,
    };
    match state {
        JobState::Succeeded(output) => output.data.expect("it gives something"),
        state => panic!("it should end well, and is {state:?}"),
    }
}

/// C3, F1: `Azure-AsyncOperation` counts before `Location`; its percentage and its `Retry-After` are heeded.
#[tokio::test]
async fn the_operation_is_asked_before_the_location() {
    let played = Played::of("azure_async_operation").await;
    let job = played.start("resource", wanted("ok")).await;
    let seen = played.look("resource", &job).await.unwrap();
    assert_eq!((seen.state, seen.next_poll), (JobState::Running, Some(Duration::from_secs(3))));
    assert_eq!(seen.progress.map(|progress| (progress.done, progress.total)), Some((42.5, Some(100.0))));
}

/// E4: by `Location` the code is the state, and an empty body is no fault; a sign-in page is one.
#[tokio::test]
async fn by_location_the_code_is_the_state() {
    let played = Played::of("azure_async_operation").await;
    let job = played.start("resource", wanted("located")).await;
    let seen = played.look("resource", &job).await.unwrap();
    assert_eq!((seen.state, seen.next_poll), (JobState::Running, Some(Duration::from_secs(15))));
    let JobState::Succeeded(output) = played.end("resource", &job).await.state else { panic!("it ended well") };
    assert_eq!(output.data.unwrap()["resource"]["name"], "located");
    let job = played.start("resource", wanted("lost")).await;
    let JobState::Failed(failure) = played.look("resource", &job).await.unwrap().state else { panic!("it failed") };
    assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("The subnet is in use.", Some("Conflict")));
    let job = played.start("resource", wanted("signin")).await;
    assert_eq!(played.look("resource", &job).await.unwrap_err().kind(), ErrorKind::Protocol);
}

/// C1: without an address the resource itself says how far it is; what is there at once is the end.
#[tokio::test]
async fn a_resource_may_say_itself_how_far_it_is() {
    let played = Played::of("azure_async_operation").await;
    assert_eq!(data(&played, "resource", wanted("quiet")).await["resource"]["properties"]["provisioningState"], "Succeeded");
    for name in ["quick", "stateless"] {
        let submitted = played.submit("resource", wanted(name)).await.unwrap();
        let JobState::Succeeded(output) = submitted.observation.unwrap().state else { panic!("{name} is there at once") };
        assert_eq!(output.data.unwrap()["resource"]["name"], name);
    }
    let JobState::Failed(failure) = played.submit("resource", wanted("spoilt")).await.unwrap().observation.unwrap().state else {
        panic!("it failed at once")
    };
    assert_eq!(failure.message, "the operation ended as failed");
}

/// F3: what an action gives lies at its `Location`, in the status, or in the first answer.
#[tokio::test]
async fn actions_give_what_they_give() {
    let played = Played::of("azure_async_operation").await;
    for (action, output) in [
        ("export", json!({ "sas": "exported" })),
        ("restart", json!({ "restarted": true })),
        ("generalize", json!({ "generalized": true })),
        ("ping", json!({})),
        ("analyze", json!({ "pages": 3 })),
    ] {
        assert_eq!(data(&played, "action", act(action)).await, json!({ "output": output }), "{action}");
    }
    let error = played.submit("action", act("vanish")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
}

/// E8: for what is deleted a 404 is the end.
#[tokio::test]
async fn a_removal_ends_when_nothing_is_there() {
    let played = Played::of("azure_async_operation").await;
    for name in ["ok", "nothing", "slow"] {
        assert_eq!(data(&played, "removal", vm(name)).await, json!({ "deleted": true }), "{name}");
    }
}

/// G1: there is a cancel where the caller names the action for it.
#[tokio::test]
async fn a_cancel_is_the_resources_own_action() {
    let played = Played::of("azure_async_operation").await;
    let mut arguments = wanted("long");
    arguments.as_object_mut().unwrap().remove("cancel");
    let job = played.start("resource", arguments).await;
    assert_eq!(played.cancel("resource", &job).await.unwrap(), CancelOutcome::Refused);
}

/// B6: an operation at another host is not asked, and the token stays here.
#[tokio::test]
async fn an_operation_elsewhere_is_not_asked() {
    let played = Played::of("azure_async_operation").await;
    let job = played.start("resource", wanted("elsewhere")).await;
    let before = played.rig().requests().await.len();
    let error = played.look("resource", &job).await.unwrap_err();
    assert_eq!((error.kind(), played.rig().requests().await.len()), (ErrorKind::Rejected, before), "{error}");
}

/// C2 of the language's own bounds: nothing but names can be in a path, and the schema says so before anything is sent.
#[tokio::test]
async fn a_resource_cannot_leave_the_scope() {
    let played = Played::of("azure_async_operation").await;
    let mut arguments = wanted("ok");
    arguments["resource"] = json!("../../otherGroup/providers/Microsoft.Compute/virtualMachines/ok");
    let error = played.submit("resource", arguments).await.unwrap_err();
    assert_ne!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    assert_eq!(played.rig().jobs().await.unwrap(), 0);
}

#[tokio::test]
async fn refusals_say_what_azure_says() {
    let played = Played::of("azure_async_operation").await;
    for (name, kind, retry) in [
        ("taken", ErrorKind::RateLimited, Retry::Backoff),
        ("forbidden", ErrorKind::Unauthorized, Retry::Never),
        ("busy", ErrorKind::RateLimited, Retry::After(Duration::from_secs(7))),
    ] {
        let error = played.submit("resource", wanted(name)).await.unwrap_err();
        assert_eq!((error.kind(), error.retry()), (kind, retry), "{name}: {error}");
    }
}
