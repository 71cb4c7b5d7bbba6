//! C13: answers reach the job once.

use jobgate_adapter_api::{Adapter, ErrorKind, InputAction, InputAnswer, InputAnswers, InputRequest, JobState};

use crate::suite::{Breach, Suite, ensure};
use crate::{Absent, Scenario};

pub(crate) async fn c13(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    let claimed: Vec<String> =
        suite.rig.tools().into_iter().map(|tool| tool.name).filter(|name| adapter.capabilities(name).input).collect();
    match suite.rig.case(Scenario::WaitsForPerson) {
        Ok(case) if claimed.contains(&case.tool) => answered(suite, adapter.as_ref()).await,
        Ok(case) => {
            Err(Breach::new(format!("the rig has a job that waits for a person, and `{}` does not claim input", case.tool)))
        }
        Err(Absent(reason)) if !claimed.is_empty() => Err(Breach::new(format!(
            "input is claimed by {claimed:?}, so the rig must provide WaitsForPerson, and says instead: {reason}"
        ))),
        Err(absent) => {
            suite.note_absent("WaitsForPerson", absent)?;
            refused(suite, adapter.as_ref()).await
        }
    }
}

/// Claimed: asked once under a stable key, answered twice, acted on once.
async fn answered(suite: &Suite<'_>, adapter: &dyn Adapter) -> Result<(), Breach> {
    let mut started = suite.start(adapter, Scenario::WaitsForPerson).await?;
    let is_waiting = |state: &JobState| matches!(state, JobState::InputRequired(_));
    let first = suite.look_until(adapter, &mut started, "wait for a person", is_waiting).await?;
    let questions = questions(&first.state);
    ensure!(!questions.is_empty(), "the job waits for a person and asks nothing");
    let again = suite.look(adapter, &mut started).await?;
    ensure!(
        again.state == first.state,
        "the same question looks different the second time: {:?}, {:?}",
        first.state,
        again.state
    );

    let answer = InputAnswer { action: InputAction::Accept, content: started.case.answer.clone() };
    let answers: InputAnswers = questions.iter().map(|question| (question.key.clone(), answer.clone())).collect();
    let before = acted(suite).await?;
    let failed = |error| Breach::new(format!("input is claimed, and an answer cannot be handed over: {error}"));
    adapter.provide(&started.cx, &started.job, &answers).await.map_err(failed)?;
    suite.instance()?.provide(&started.cx, &started.job, &answers).await.map_err(failed)?;
    let now = acted(suite).await?;
    ensure!(
        now == before + answers.len(),
        "{} answers were handed over twice, and {} took effect",
        answers.len(),
        now.saturating_sub(before)
    );
    let end = suite.run_to_end(adapter, &mut started).await?;
    ensure!(matches!(end.state, JobState::Succeeded(_)), "an answered job should end well, and ended as {:?}", end.state);
    Ok(())
}

/// Not claimed: said plainly.
async fn refused(suite: &Suite<'_>, adapter: &dyn Adapter) -> Result<(), Breach> {
    let started = suite.start(adapter, Scenario::RunsLong).await?;
    let answer = InputAnswer { action: InputAction::Accept, content: None };
    match adapter.provide(&started.cx, &started.job, &InputAnswers::from([("any".to_owned(), answer)])).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        other => Err(Breach::new(format!("input is not claimed, so an answer should be Unsupported, and is {other:?}"))),
    }
}

fn questions(state: &JobState) -> &[InputRequest] {
    match state {
        JobState::InputRequired(questions) => questions,
        _ => &[],
    }
}

async fn acted(suite: &Suite<'_>) -> Result<usize, Breach> {
    suite.rig.answers().await.map_err(|Absent(reason)| {
        Breach::new(format!("input is claimed, so the rig must count the answers that took effect, and says instead: {reason}"))
    })
}
