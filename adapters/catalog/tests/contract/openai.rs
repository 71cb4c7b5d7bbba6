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

/// D3: an entry without metadata is no match.
#[tokio::test]
async fn a_batch_is_found_by_the_key_in_its_metadata() {
    let found = Played::of("openai").await.find("batch").await.unwrap().unwrap();
    assert_eq!(found.id(), "batch_kept");
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
