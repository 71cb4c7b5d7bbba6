//! C4 and C12: one key, one job, found again.

use jobgate_adapter_api::{Adapter, CallContext, ErrorKind};

use crate::suite::{Breach, Suite, ensure};
use crate::{Absent, Case, Scenario};

pub(crate) async fn c4(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    let case = suite.case(Scenario::RunsLong)?;
    if adapter.capabilities(&case.tool).idempotent_submit {
        one_job(suite, adapter.as_ref(), &case).await
    } else {
        two_jobs(suite, adapter.as_ref(), &case).await
    }
}

/// Claimed: the second submit, even by another instance, gives the first job.
async fn one_job(suite: &Suite<'_>, adapter: &dyn Adapter, case: &Case) -> Result<(), Breach> {
    let failed = |error| Breach::new(format!("idempotent_submit is claimed, and a repeated submit fails: {error}"));
    let cx = suite.context(&case.tool, suite.key());
    let before = jobs(suite).await?;
    let first = suite.submit(adapter, &cx, case).await.map_err(failed)?.job;
    let again = suite.submit(adapter, &cx, case).await.map_err(failed)?.job;
    let restarted = suite.submit(suite.instance()?.as_ref(), &cx, case).await.map_err(failed)?.job;
    for job in [&again, &restarted] {
        ensure!(
            job.id() == first.id(),
            "idempotent_submit is claimed, and one key gave the jobs {} and {}",
            first.id(),
            job.id()
        );
    }
    let now = jobs(suite).await?;
    ensure!(now == before + 1, "idempotent_submit is claimed, and one key started {} jobs at the provider", now - before);

    let other = suite.submit(adapter, &suite.context(&case.tool, suite.key()), case).await.map_err(failed)?.job;
    ensure!(other.id() != first.id(), "two keys gave one job, {}", other.id());
    Ok(())
}

/// Not claimed: an adapter that could promise it and does not would make the gateway give up jobs it need not give up.
async fn two_jobs(suite: &Suite<'_>, adapter: &dyn Adapter, case: &Case) -> Result<(), Breach> {
    let cx = suite.context(&case.tool, suite.key());
    let first = suite.submit(adapter, &cx, case).await.map_err(|error| Breach::new(format!("a submit failed: {error}")))?.job;
    if let Ok(again) = suite.submit(adapter, &cx, case).await {
        ensure!(
            again.job.id() != first.id(),
            "idempotent_submit is not claimed, and yet a repeated key gave the first job {}: claim it",
            first.id()
        );
    }
    Ok(())
}

async fn jobs(suite: &Suite<'_>) -> Result<usize, Breach> {
    suite.rig.jobs().await.map_err(|Absent(reason)| {
        Breach::new(format!(
            "idempotent_submit is claimed, so the rig must count the provider's jobs, and says instead: {reason}"
        ))
    })
}

pub(crate) async fn c12(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    let started = suite.start(adapter.as_ref(), Scenario::RunsLong).await?;
    if !adapter.capabilities(&started.cx.tool).find {
        return match adapter.find(&started.cx, &started.cx.key).await {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
            other => Err(Breach::new(format!("find is not claimed, so it should be Unsupported, and is {other:?}"))),
        };
    }
    let failed = |error| Breach::new(format!("find is claimed, and fails: {error}"));
    for instance in [adapter, suite.instance()?] {
        let found = instance.find(&started.cx, &started.cx.key).await.map_err(failed)?;
        ensure!(
            found.as_ref().is_some_and(|job| job.id() == started.job.id()),
            "find is claimed, and the key of the job {} finds {found:?}",
            started.job.id()
        );
        let never = CallContext { key: suite.key(), ..started.cx.clone() };
        let found = instance.find(&never, &never.key).await.map_err(failed)?;
        ensure!(found.is_none(), "a key that was never used finds {found:?}");
    }
    Ok(())
}
