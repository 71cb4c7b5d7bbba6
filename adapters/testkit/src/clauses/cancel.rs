//! C5: cancel does what its capability says.

use jobgate_adapter_api::{Adapter, CancelOutcome, CancelWish, ErrorKind, JobState};

use crate::Scenario;
use crate::suite::{Breach, Started, Suite, ensure};

pub(crate) async fn c5(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    let mut started = suite.start(adapter.as_ref(), Scenario::RunsLong).await?;
    let claims = adapter.capabilities(&started.cx.tool);
    ensure!(claims.cancel || claims.escalates_after.is_none(), "escalates_after is claimed, and cancel is not");
    if claims.cancel {
        stops(suite, adapter.as_ref(), &mut started).await?;
        spares_the_finished(suite, adapter.as_ref(), false).await?;
        if claims.escalates_after.is_some() {
            stops_in_a_harder_way(suite, adapter.as_ref()).await?;
            spares_the_finished(suite, adapter.as_ref(), true).await?;
        }
        Ok(())
    } else {
        refuses(suite, adapter.as_ref(), &mut started).await
    }
}

/// Claimed: asked once or twice, the job stops and says so.
async fn stops(suite: &Suite<'_>, adapter: &dyn Adapter, started: &mut Started) -> Result<(), Breach> {
    let failed = |error| Breach::new(format!("cancel is claimed, and fails: {error}"));
    let seen = suite.look(adapter, started).await?;
    ensure!(!seen.state.is_terminal(), "a job that runs long should be running, and is {:?}", seen.state);
    started.cx.cancel = Some(CancelWish { requested_at: started.cx.started_at, escalated: false });
    let outcome = adapter.cancel(&started.cx, &started.job).await.map_err(failed)?;
    ensure!(outcome == CancelOutcome::Requested, "cancel of a running job should be Requested, and is {outcome:?}");
    let outcome = adapter.cancel(&started.cx, &started.job).await.map_err(failed)?;
    ensure!(outcome != CancelOutcome::Refused, "a second cancel should be harmless, and is {outcome:?}");
    let end = suite.run_to_end(adapter, started).await?;
    ensure!(
        end.state == JobState::Cancelled,
        "a job that was asked to stop should end as Cancelled, and ends as {:?}",
        end.state
    );
    let outcome = adapter.cancel(&started.cx, &started.job).await.map_err(failed)?;
    ensure!(outcome != CancelOutcome::Refused, "cancel of a cancelled job should be harmless, and is {outcome:?}");
    Ok(())
}

/// The wish that the engine tells of once a job has run on for `escalates_after`.
fn harder(started: &mut Started) {
    started.cx.cancel = Some(CancelWish { requested_at: started.cx.started_at, escalated: true });
}

/// Claimed: told in the harder way, once or twice, the job stops and says so.
async fn stops_in_a_harder_way(suite: &Suite<'_>, adapter: &dyn Adapter) -> Result<(), Breach> {
    let failed = |error| Breach::new(format!("escalates_after is claimed, and the harder way fails: {error}"));
    let mut started = suite.start(adapter, Scenario::RunsLong).await?;
    suite.look(adapter, &mut started).await?;
    harder(&mut started);
    for nth in ["the harder way", "a second time"] {
        let outcome = adapter.cancel(&started.cx, &started.job).await.map_err(failed)?;
        ensure!(outcome != CancelOutcome::Refused, "{nth} is {outcome:?} for a running job");
    }
    let end = suite.run_to_end(adapter, &mut started).await?;
    ensure!(
        end.state == JobState::Cancelled,
        "a job that was told to stop in the harder way should end as Cancelled, and ends as {:?}",
        end.state
    );
    Ok(())
}

/// Claimed: a finished job keeps its result, whichever way it is told.
async fn spares_the_finished(suite: &Suite<'_>, adapter: &dyn Adapter, in_a_harder_way: bool) -> Result<(), Breach> {
    let mut started = suite.start(adapter, Scenario::RunsToEnd).await?;
    if in_a_harder_way {
        harder(&mut started);
    }
    if !adapter.capabilities(&started.cx.tool).cancel {
        return Ok(());
    }
    let end = suite.run_to_end(adapter, &mut started).await?;
    adapter
        .cancel(&started.cx, &started.job)
        .await
        .map_err(|error| Breach::new(format!("cancel of a finished job should be harmless, and fails: {error}")))?;
    let after = suite.look(adapter, &mut started).await?;
    ensure!(after.state == end.state, "cancel changed a finished job from {:?} to {:?}", end.state, after.state);
    Ok(())
}

/// Not claimed: said plainly, and the job runs on.
async fn refuses(suite: &Suite<'_>, adapter: &dyn Adapter, started: &mut Started) -> Result<(), Breach> {
    match adapter.cancel(&started.cx, &started.job).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {}
        other => return Err(Breach::new(format!("cancel is not claimed, so it should be Unsupported, and is {other:?}"))),
    }
    let seen = suite.look(adapter, started).await?;
    ensure!(!seen.state.is_terminal(), "cancel is not claimed, and yet the job ended as {:?}", seen.state);
    Ok(())
}
