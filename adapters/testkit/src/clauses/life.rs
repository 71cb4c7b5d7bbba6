//! C2, C3, C6, C7, C9: the life of a job.

use jobgate_adapter_api::{CancelWish, ErrorKind, JobOutput, JobState, Observation, Part};

use crate::suite::{Breach, Started, Suite, ensure};
use crate::{Absent, Scenario};

pub(crate) async fn c2(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    let mut started = suite.start(adapter.as_ref(), Scenario::RunsToEnd).await?;
    let end = suite.run_to_end(adapter.as_ref(), &mut started).await?;
    let JobState::Succeeded(output) = &end.state else {
        return Err(Breach::new(format!("the job should end well, and ended as {:?}", end.state)));
    };
    hands_over(&started, &text_of(output), "result")?;

    let mut started = suite.start(adapter.as_ref(), Scenario::Fails).await?;
    let end = suite.run_to_end(adapter.as_ref(), &mut started).await?;
    let JobState::Failed(failure) = &end.state else {
        return Err(Breach::new(format!("the job should fail, and ended as {:?}", end.state)));
    };
    ensure!(!failure.message.trim().is_empty(), "a failed job must say why in a sentence");
    hands_over(&started, &format!("{} {:?} {}", failure.message, failure.code, text_of(&failure.output)), "failure")
}

fn hands_over(started: &Started, text: &str, what: &str) -> Result<(), Breach> {
    let Some(expected) = &started.case.expect else {
        return Err(Breach::new(format!("the rig must say a text of the {what} (`Case::expecting`)")));
    };
    ensure!(text.contains(expected), "the {what} should contain `{expected}`, and is: {text}");
    Ok(())
}

/// Everything that people or models could read in a result, and the files that it names.
fn text_of(output: &JobOutput) -> String {
    let parts = output.parts.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Image { data, mime_type } | Part::Audio { data, mime_type } => format!("{mime_type} {data}"),
        Part::Link { uri, name, .. } => format!("{name} {uri}"),
        Part::Embedded { uri, text, .. } => format!("{uri} {text}"),
    });
    let files = output.artifacts.iter().map(|file| format!("{} {}", file.name, file.uri));
    parts.chain(files).chain(output.data.iter().map(ToString::to_string)).collect::<Vec<_>>().join("\n")
}

pub(crate) async fn c3(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    for scenario in [Scenario::RunsToEnd, Scenario::Fails] {
        let mut started = suite.start(adapter.as_ref(), scenario).await?;
        let end = suite.run_to_end(adapter.as_ref(), &mut started).await?;
        stays(suite, adapter.as_ref(), &mut started, &end).await?;
    }
    if suite.claims(adapter.as_ref(), Scenario::RunsLong)?.cancel {
        let mut started = suite.start(adapter.as_ref(), Scenario::RunsLong).await?;
        started.cx.cancel = Some(CancelWish { requested_at: started.cx.started_at, escalated: false });
        adapter.cancel(&started.cx, &started.job).await.map_err(|error| Breach::new(format!("cancel failed: {error}")))?;
        let end = suite.run_to_end(adapter.as_ref(), &mut started).await?;
        stays(suite, adapter.as_ref(), &mut started, &end).await?;
    }
    Ok(())
}

async fn stays(
    suite: &Suite<'_>,
    adapter: &dyn jobgate_adapter_api::Adapter,
    started: &mut Started,
    end: &Observation,
) -> Result<(), Breach> {
    for _ in 0..3 {
        suite.rig.pass_time(std::time::Duration::from_secs(1)).await;
        let again = suite.look(adapter, started).await?;
        ensure!(again.state == end.state, "the job had ended as {:?}, and a later look shows {:?}", end.state, again.state);
    }
    Ok(())
}

pub(crate) async fn c6(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    let tool = suite.case(Scenario::RunsToEnd)?.tool;
    let cx = suite.context(&tool, suite.key());
    match adapter.poll(&cx, &suite.rig.unknown_job()).await {
        Err(error) if error.kind() == ErrorKind::Unsupported && adapter.capabilities(&tool).pushed_only => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Breach::new(format!("a job that the provider never had should be NotFound, and is: {error}"))),
        Ok(seen) => Err(Breach::new(format!("a job that the provider never had should be NotFound, and is {:?}", seen.state))),
    }
}

pub(crate) async fn c7(suite: &Suite<'_>) -> Result<(), Breach> {
    let mut started = suite.start(suite.instance()?.as_ref(), Scenario::RunsToEnd).await?;
    // Only what the contract lets an instance leave behind: the job's reference.
    started.first = None;
    let after_restart = suite.instance()?;
    let end = suite.run_to_end(after_restart.as_ref(), &mut started).await?;
    ensure!(
        matches!(end.state, JobState::Succeeded(_)),
        "the second instance should see the job end well, and sees {:?}",
        end.state
    );
    let again = suite.look(suite.instance()?.as_ref(), &mut started).await?;
    ensure!(again.state == end.state, "a third instance sees {:?} where the second saw {:?}", again.state, end.state);
    Ok(())
}

pub(crate) async fn c9(suite: &Suite<'_>) -> Result<(), Breach> {
    let case = match suite.rig.case(Scenario::UnknownWord) {
        Ok(case) => case,
        Err(Absent(reason)) => return suite.note_absent("UnknownWord", Absent(reason)),
    };
    let adapter = suite.instance()?;
    let mut started = suite.start(adapter.as_ref(), Scenario::UnknownWord).await?;
    let seen = suite
        .look_until(adapter.as_ref(), &mut started, "show the unmapped word", |state| matches!(state, JobState::Unrecognized(_)))
        .await?;
    let expected = case.expect.ok_or_else(|| Breach::new("the rig must say the unknown word (`Case::expecting`)"))?;
    ensure!(
        matches!(&seen.state, JobState::Unrecognized(word) if word.contains(&expected)),
        "the word `{expected}` should be handed over as it is, and is {:?}",
        seen.state
    );
    Ok(())
}
