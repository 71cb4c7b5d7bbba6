//! Buildbot: builds through a force scheduler.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobFailure, JobRef, JobState, Part, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Rig as _, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, encoded, rig};

const HOUR: Duration = Duration::from_secs(3600);

fn of(builder: &str) -> Value {
    json!({ "builder": builder, "parameters": { "who": "Ada" } })
}

async fn builds() -> HttpRig {
    rig("buildbot")
        .await
        .secret_also_as(encoded("jobgate:kit-secret-9f2c71d4ab"))
        .with_hints()
        // Ids are numbers; the filter refuses what is none.
        .unknown(JobRef::new("99999"))
        .case(Scenario::RunsToEnd, Case::new("build", of("ok")).expecting("\"answer\":[\"42\""))
        .case(Scenario::Fails, Case::new("build", of("fail")).expecting("assertion failed: 41 is not 42"))
        .case(Scenario::RunsLong, Case::new("build", of("slow")))
        .case(Scenario::UnknownWord, Case::new("build", of("odd")).expecting("9"))
        .without(Scenario::WaitsForPerson, "a build asks nobody anything")
}

adapter_contract!(builds().await);

/// Looks at a job, and remembers what that teaches.
async fn look(played: &Played, job: &mut JobRef) -> (JobState, String) {
    let seen = played.look("build", job).await.unwrap_or_else(|error| panic!("{error}"));
    *job = seen.learned.iter().fold(job.clone(), |job, (name, value)| job.with(name, value));
    (seen.state, seen.message.unwrap_or_default())
}

async fn failure(builder: &str) -> JobFailure {
    let played = Played::of("buildbot").await;
    let job = played.start("build", of(builder)).await;
    let JobState::Failed(failure) = played.end("build", &job).await.state else { panic!("{builder} fails") };
    failure
}

/// F1, E7: steps that are done, of as many as the last good build had, which is asked for once.
#[tokio::test]
async fn steps_are_counted() {
    let played = Played::of("buildbot").await;
    let mut job = played.start("build", of("ok")).await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        let look = played.look("build", &job).await.unwrap();
        job = look.learned.iter().fold(job, |job, (name, value)| job.with(name, value));
        seen.push((look.message.unwrap(), look.progress.unwrap()));
    }
    let counts: Vec<_> = seen.iter().map(|(said, count)| (said.as_str(), count.done, count.total)).collect();
    assert_eq!(counts, [("running checkout", 1.0, None), ("running compile", 2.0, Some(4.0))]);
    let former = played.rig().requests().await.into_iter().filter(|it| it.url.path() == "/api/v2/builds/30/steps").count();
    assert_eq!(former, 1);
}

/// F3: what a build hands over are its properties; the worker's folders are nobody's business.
#[tokio::test]
async fn the_properties_of_a_build_are_its_result() {
    let played = Played::of("buildbot").await;
    let job = played.start("build", of("ok")).await;
    let JobState::Succeeded(output) = played.end("build", &job).await.state else { panic!("it ends well") };
    let data = output.data.unwrap();
    assert_eq!((&data["number"], &data["ended"], &data["properties"]["answer"][0]), (&json!(7), &json!("success"), &json!("42")));
    assert!(!data.to_string().contains("/srv/worker"), "{data}");
}

/// A5: what the caller says cannot take the place of what the gateway says; without a builder Buildbot would build on every one.
#[tokio::test]
async fn a_caller_chooses_one_builder_and_no_other() {
    let played = Played::of("buildbot").await;
    let more = json!({ "builderNames": ["fail"], "builderid": 2, "reason": "x", "username": "y", "branch": "main" });
    played.start("build", json!({ "builder": "ok", "reason": "a release", "parameters": more })).await;
    let sent = played.rig().requests().await.pop().unwrap().body_json::<Value>().unwrap();
    assert_eq!(sent["params"]["builderNames"], json!(["ok"]));
    assert_eq!(sent["params"]["reason"], "a release [jobgate 6a6f6267617465000000000000000001]");
    assert_eq!(sent["params"]["username"], "jobgate <jobgate@localhost.localdomain>");
    assert_eq!(sent["params"]["branch"], "main");
}

/// F5: of a failing step's log the worker's environment is not shown, whatever its values look like.
#[tokio::test]
async fn the_end_of_the_log_is_the_output() {
    let failed = failure("fail").await;
    assert_eq!((failed.message.as_str(), failed.code.as_deref()), ("failed 'make test' (failure), step test", Some("failure")));
    let shown: Vec<&Part> = failed.output.parts.iter().collect();
    let [Part::Text(log)] = shown[..] else { panic!("{shown:?}") };
    let (_, log) = log.split_once("\n\n").unwrap_or(("", log));
    assert_eq!(log, "case 1 ok\nassertion failed: 41 is not 42\n\nprogram finished with exit code 2");

    let broken = failure("broken").await;
    assert!(format!("{:?}", broken.output).contains("no place to deploy to"), "{broken:?}");
}

/// C5, G1: a request that Buildbot drops for a later one of the same wish is done by that one's build, which is not ours to stop.
#[tokio::test]
async fn a_merged_request_is_followed() {
    let played = Played::of("buildbot").await;
    let mut job = played.start("build", of("merged")).await;
    let (state, said) = look(&played, &mut job).await;
    assert_eq!(state, JobState::Queued);
    assert_eq!(said, "merged with build request 36, which wants the same");
    assert_eq!(played.cancel("build", &job).await.unwrap(), CancelOutcome::Refused);
    let JobState::Succeeded(output) = played.end("build", &job).await.state else { panic!("it ends well") };
    assert_eq!(output.data.unwrap()["build"], 66);
    assert!(output.parts.iter().any(|part| matches!(part, Part::Text(text) if text.contains("build request 36"))));
}

#[tokio::test]
async fn a_request_that_is_dropped_for_another_wish_has_failed() {
    let dropped = failure("dropped").await;
    assert_eq!(dropped.code.as_deref(), Some("merged"));
    assert!(dropped.message.contains("was never built"), "{dropped:?}");
    assert_eq!(dropped.output.data.unwrap()["later_requests"], json!([29]));
}

/// C4, E9: from buildset to request to build, and no longer than it may take.
#[tokio::test]
async fn a_request_waits_for_a_worker_for_so_long() {
    let played = Played::of("buildbot").await;
    let mut job = played.start("build", of("queued")).await;
    assert_eq!(look(&played, &mut job).await.0, JobState::Queued);
    played.rig().pass_time(11 * HOUR).await;
    assert_eq!(look(&played, &mut job).await.0, JobState::Queued);
    played.rig().pass_time(HOUR).await;
    let (JobState::Failed(late), _) = look(&played, &mut job).await else { panic!("it is late") };
    assert_eq!(late.message, "no worker took this build within 12 hours");
}

/// G1: one call stops a request that waits and a build that runs; a job that has ended is told nothing.
#[tokio::test]
async fn a_request_that_waits_is_cancelled_where_it_is() {
    let played = Played::of("buildbot").await;
    let job = played.start("build", of("queued")).await;
    assert_eq!(played.cancel("build", &job).await.unwrap(), CancelOutcome::Requested);
    assert_eq!(played.end("build", &job).await.state, JobState::Cancelled);
    assert_eq!(played.cancel("build", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
}

/// E1: what happens between two requests of one look, or is built a second time, is no end.
#[tokio::test]
async fn a_build_that_is_repeated_or_too_fast_is_waited_for() {
    for builder in ["flaky", "fast"] {
        let played = Played::of("buildbot").await;
        let mut job = played.start("build", of(builder)).await;
        assert_eq!(look(&played, &mut job).await.0, JobState::Queued, "{builder}");
        assert!(matches!(played.end("build", &job).await.state, JobState::Succeeded(_)), "{builder}");
    }
}

/// C4, D3: found by the key in its reason, a buildset names its request.
#[tokio::test]
async fn a_build_whose_answer_was_lost_is_found() {
    let played = Played::of("buildbot").await;
    let mut job = played.find("build").await.unwrap().expect("it is there");
    assert_eq!((job.id(), job.handle("request")), ("13", None));
    assert_eq!(look(&played, &mut job).await.0, JobState::Running);
    assert_eq!(job.handle("request"), Some("23"));
}

/// B3: who may not force a build is told so, and a session that has ended is renewed.
#[tokio::test]
async fn a_session_is_renewed() {
    let played = Played::of("buildbot").await;
    played.start("build", of("late")).await;
    let paths: Vec<String> = played.rig().requests().await.iter().map(|it| it.url.path().to_owned()).collect();
    let force = "/api/v2/forceschedulers/force";
    assert_eq!(paths, ["/auth/login", force, "/auth/login", force]);
}

#[tokio::test]
async fn what_buildbot_refuses_is_said_in_words_for_people() {
    let played = Played::of("buildbot").await;
    let at_nobody = json!({ "builder": "ok", "scheduler": "nobody" });
    for (wish, kind, said) in [
        (of("nope"), ErrorKind::Rejected, "the scheduler force has no builder nope"),
        (at_nobody, ErrorKind::Rejected, "there is no force scheduler nobody"),
        (of("picky"), ErrorKind::Rejected, "branch: is needed; revision: is no revision"),
        (of("busy"), ErrorKind::RateLimited, ""),
    ] {
        let error = played.submit("build", wish).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(said), "{error}");
        if kind == ErrorKind::RateLimited {
            assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)));
        }
    }
}
