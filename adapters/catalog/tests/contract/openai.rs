//! OpenAI: batches, fine-tuning with its events, background responses.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobState, Part, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn batch(word: &str) -> Value {
    json!({ "endpoint": "/v1/responses", "input_file_id": format!("file-{word}") })
}

fn training(file: &str) -> Value {
    json!({ "model": "gpt-4o-mini-2024-07-18", "training_file": file })
}

fn question(text: &str) -> Value {
    json!({ "model": "o3", "input": text })
}

async fn kit() -> HttpRig {
    rig("openai").await.with_hints().without(Scenario::WaitsForPerson, "the API asks nobody anything")
}

mod batches {
    use super::{Case, HttpRig, Scenario, batch, kit};

    async fn rig() -> HttpRig {
        kit()
            .await
            .case(Scenario::RunsToEnd, Case::new("batch", batch("good")).expecting("file-out"))
            .case(Scenario::Fails, Case::new("batch", batch("bad")).expecting("This line is not parseable"))
            .case(Scenario::RunsLong, Case::new("batch", batch("long")))
            .case(Scenario::UnknownWord, Case::new("batch", batch("odd")).expecting("hibernating"))
    }

    jobgate_adapter_testkit::adapter_contract!(rig().await);
}

mod trainings {
    use super::{Case, HttpRig, Scenario, kit, training};

    async fn rig() -> HttpRig {
        kit()
            .await
            .case(Scenario::RunsToEnd, Case::new("fine_tuning", training("file-good")).expecting("ft:gpt-4o-mini:acme::AbC1"))
            .case(Scenario::Fails, Case::new("fine_tuning", training("file-bad")).expecting("invalid_training_file"))
            .case(Scenario::RunsLong, Case::new("fine_tuning", training("file-long")))
            .case(Scenario::UnknownWord, Case::new("fine_tuning", training("file-odd")).expecting("paused"))
    }

    jobgate_adapter_testkit::adapter_contract!(rig().await);
}

mod responses {
    use super::{Case, HttpRig, Scenario, kit, question};

    async fn rig() -> HttpRig {
        kit()
            .await
            .case(Scenario::RunsToEnd, Case::new("response", question("Why is the sky blue?")).expecting("Rayleigh scattering"))
            .case(Scenario::Fails, Case::new("response", question("Fail, please.")).expecting("The model produced no answer"))
            .case(Scenario::RunsLong, Case::new("response", question("Think for long.")))
            .case(Scenario::UnknownWord, Case::new("response", question("Be odd.")).expecting("dreaming"))
    }

    jobgate_adapter_testkit::adapter_contract!(rig().await);
}

/// Success inside failure: the word is `completed`.
#[tokio::test]
async fn a_batch_of_which_every_line_failed_has_failed() {
    let played = Played::of("openai").await;
    let job = played.start("batch", batch("lost")).await;
    let state = played.end("batch", &job).await.state;
    let JobState::Failed(failure) = state else { panic!("{state:?}") };
    assert_eq!(failure.message, "Every request of the batch failed.");
    assert_eq!(failure.output.data.unwrap()["error_file_id"], "file-err");
}

#[tokio::test]
async fn a_batch_that_was_not_done_in_time_names_what_was_done() {
    let played = Played::of("openai").await;
    let job = played.start("batch", batch("late")).await;
    let state = played.end("batch", &job).await.state;
    let JobState::Failed(failure) = state else { panic!("{state:?}") };
    assert_eq!(failure.output.data.unwrap()["output_file_id"], "file-out");
}

#[tokio::test]
async fn output_and_errors_are_two_files() {
    let played = Played::of("openai").await;
    let job = played.start("batch", batch("good")).await;
    let state = played.end("batch", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!(files(&output).iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["output.jsonl", "errors.jsonl"]);
}

/// Providers C8, A1: the requests themselves become the file that a batch needs, once also where the submit is made again.
#[tokio::test]
async fn requests_are_uploaded_before_the_batch() {
    let played = Played::of("openai").await;
    let requests = json!([
        { "custom_id": "first", "body": { "model": "o3", "input": "Why is the \"sky\" blue?\nReally?" } },
        { "custom_id": "second", "body": { "model": "o3", "input": "And the sea?" } },
    ]);
    let arguments = json!({ "endpoint": "/v1/responses", "requests": requests });
    let job = played.start("batch", arguments.clone()).await;
    assert_eq!(job.id(), "batch_good");
    played.start("batch", arguments).await;
    let sent = played.rig().requests().await;
    let paths: Vec<&str> = sent.iter().map(|request| request.url.path()).collect();
    assert_eq!(paths, ["/v1/files", "/v1/batches", "/v1/batches"]);
    let body = String::from_utf8(sent[0].body.clone()).unwrap();
    let lines: Vec<Value> = body.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(lines.len(), 2, "{body}");
    assert_eq!((&lines[0]["method"], &lines[0]["url"]), (&json!("POST"), &json!("/v1/responses")));
    assert_eq!((&lines[0]["custom_id"], &lines[0]["body"]), (&requests[0]["custom_id"], &requests[0]["body"]));
    assert_eq!(lines[1]["body"]["input"], "And the sea?");
    let batch: Value = serde_json::from_slice(&sent[1].body).unwrap();
    assert_eq!(batch["input_file_id"], "file-good");

    let error = played.submit("batch", json!({ "endpoint": "/v1/responses" })).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Rejected && error.message().contains("requests"), "{error}");
}

/// D3, D4, F6: an entry without metadata is no match; the list is read page by page, and no further than the task goes back.
#[tokio::test]
async fn a_batch_is_found_by_the_key_in_its_metadata() {
    let played = Played::of("openai").await;
    let found = played.find("batch").await.unwrap().unwrap();
    assert_eq!(found.id(), "batch_kept");
    let asked: Vec<String> =
        played.rig().requests().await.iter().map(|it| it.url.query().unwrap_or_default().to_owned()).collect();
    assert_eq!(asked, ["limit=100", "limit=100&after=batch_bare", "limit=100&after=batch_long1"]);
}

/// F5: the newest event comes first in the list.
#[tokio::test]
async fn the_last_event_of_a_training_is_its_message() {
    let played = Played::of("openai").await;
    let job = played.start("fine_tuning", training("file-good")).await;
    played.look("fine_tuning", &job).await.unwrap();
    let seen = played.look("fine_tuning", &job).await.unwrap();
    assert_eq!(seen.message.as_deref(), Some("Step 20/100: training loss=0.61"));
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_a_success_that_says_so() {
    let played = Played::of("openai").await;
    let job = played.start("response", question("Tell a long story.")).await;
    let seen = played.end("response", &job).await;
    assert_eq!(seen.message.as_deref(), Some("The answer is cut off: max_output_tokens."));
    let JobState::Succeeded(output) = seen.state else { panic!("{:?}", seen.state) };
    assert_eq!(output.parts[0], Part::Text("Once upon a time".to_owned()));
}

#[tokio::test]
async fn an_answer_without_a_text_has_its_items() {
    let played = Played::of("openai").await;
    let job = played.start("response", question("Call something.")).await;
    let state = played.end("response", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!(output.data.unwrap()["output"][0]["name"], "look_up");
}

#[tokio::test]
async fn nothing_is_sent_to_a_job_that_has_ended() {
    let played = Played::of("openai").await;
    let job = played.start("response", question("Tell a long story.")).await;
    played.end("response", &job).await;
    assert_eq!(played.cancel("response", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("openai").await.submit("batch", batch("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}

/// F3: a file of the API is behind the key.
#[tokio::test]
async fn the_output_is_fetched_with_the_key() {
    let played = Played::of("openai").await;
    let job = played.start("batch", batch("good")).await;
    let state = played.end("batch", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    let (_, bytes) = played.fetch("batch", &job, &output.artifacts[0]).await;
    assert!(String::from_utf8_lossy(&bytes).contains("\"custom_id\":\"good\""));
    let sent = played.rig().requests().await;
    assert!(sent.last().unwrap().headers.contains_key("authorization"));
}
