//! C8 and C11: what an adapter makes of a provider in trouble.

use std::time::Duration;

use jobgate_adapter_api::{Adapter, AdapterError, ErrorKind, Operation, Retry};

use crate::suite::{Breach, Started, Suite, ensure};
use crate::{Case, Fault, Scenario};

/// The deadline of a call that meets a slow answer, and the slack for a busy machine.
const SHORT: Duration = Duration::from_millis(150);
const SLACK: Duration = Duration::from_secs(5);

/// The calls that are tried with every fault.
const CALLS: [Operation; 3] = [Operation::Submit, Operation::Poll, Operation::Cancel];

pub(crate) async fn c8(suite: &Suite<'_>) -> Result<(), Breach> {
    use ErrorKind::{OutcomeUnknown, RateLimited, Rejected, Unauthorized, Unavailable};
    let wait = Duration::from_secs(7);
    for (fault, kind, retry) in [
        (Fault::RateLimited(Some(wait)), RateLimited, Retry::After(wait)),
        (Fault::RateLimited(None), RateLimited, Retry::Backoff),
        (Fault::Unavailable, Unavailable, Retry::Backoff),
        (Fault::Rejected, Rejected, Retry::Never),
        (Fault::Unauthorized, Unauthorized, Retry::Never),
        (Fault::Cut, Unavailable, Retry::Backoff),
    ] {
        for (operation, error) in meet(suite, fault, Duration::from_secs(10)).await? {
            let kind = if fault == Fault::Cut && operation == Operation::Submit { OutcomeUnknown } else { kind };
            ensure!(
                error.kind() == kind && (error.retry() == retry || kind == OutcomeUnknown),
                "{operation} that meets {fault:?} should be {kind:?} with {retry:?}, and is {:?} with {:?}: {error}",
                error.kind(),
                error.retry()
            );
            ensure!(error.operation() == operation, "an error of {operation} says that it is one of {}", error.operation());
        }
    }
    Ok(())
}

pub(crate) async fn c11(suite: &Suite<'_>) -> Result<(), Breach> {
    use ErrorKind::{OutcomeUnknown, Protocol, Unavailable};
    for (fault, kind) in
        [(Fault::Oversize, Protocol), (Fault::BadJson, Protocol), (Fault::Html, Protocol), (Fault::Slow, Unavailable)]
    {
        let within = if fault == Fault::Slow { SHORT } else { Duration::from_secs(10) };
        for (operation, error) in meet(suite, fault, within).await? {
            // A submit that was answered with something unreadable has started a job, or it has not: nobody knows.
            let kind = if operation == Operation::Submit { OutcomeUnknown } else { kind };
            ensure!(
                error.kind() == kind,
                "{operation} that meets {fault:?} should be {kind:?}, and is {:?}: {error}",
                error.kind()
            );
        }
    }
    Ok(())
}

/// Makes the calls one after another while the provider is in trouble; each must fail in time. A cancel whose answer needs
/// no reading may succeed all the same. Afterwards the job is as it was.
pub(crate) async fn meet(suite: &Suite<'_>, fault: Fault, within: Duration) -> Result<Vec<(Operation, AdapterError)>, Breach> {
    let adapter = suite.instance()?;
    let mut started = suite.start(adapter.as_ref(), Scenario::RunsLong).await?;
    if !suite.inject(fault).await? {
        return Ok(Vec::new());
    }
    started.cx.timeout = within;
    let mut met = Vec::new();
    for operation in CALLS {
        let claims = adapter.capabilities(&started.cx.tool);
        if operation == Operation::Cancel && !claims.cancel || operation == Operation::Poll && claims.pushed_only {
            continue;
        }
        let answer = bounded(within + SLACK, call(suite, adapter.as_ref(), operation, &started))
            .await
            .ok_or_else(|| Breach::new(format!("{operation} that meets {fault:?} is not over after {within:?}")))?;
        match answer {
            Err(error) => met.push((operation, error)),
            Ok(_) if operation == Operation::Cancel && matches!(fault, Fault::BadJson | Fault::Html) => {}
            Ok(what) => return Err(Breach::new(format!("{operation} that meets {fault:?} should fail, and gives {what}"))),
        }
    }
    suite.heal().await?;
    let seen = suite.look(adapter.as_ref(), &mut started).await?;
    ensure!(!seen.state.is_terminal(), "after {fault:?} was over the job should run on, and is {:?}", seen.state);
    Ok(met)
}

async fn call(suite: &Suite<'_>, adapter: &dyn Adapter, operation: Operation, started: &Started) -> Result<String, AdapterError> {
    let (cx, job) = (&started.cx, &started.job);
    match operation {
        Operation::Submit => {
            let mut fresh = suite.context(&cx.tool, suite.key());
            fresh.timeout = cx.timeout;
            let case: &Case = &started.case;
            suite.submit(adapter, &fresh, case).await.map(|done| format!("{done:?}"))
        }
        Operation::Cancel => adapter.cancel(cx, job).await.map(|done| format!("{done:?}")),
        Operation::Poll | Operation::Find | Operation::Provide | Operation::Read | Operation::Fetch => {
            adapter.poll(cx, job).await.map(|seen| format!("{seen:?}"))
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "that a call ends in real time is what is tested")]
async fn bounded<T>(within: Duration, call: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(within, call).await.ok()
}
