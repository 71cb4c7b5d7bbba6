//! C15: a file that a result asks to keep is handed over whole, or with an error.

use futures_util::StreamExt as _;
use jobgate_adapter_api::{Adapter, Artifact, ErrorKind, JobState};

use crate::Scenario;
use crate::suite::{Breach, Started, Suite, ensure};

pub(crate) async fn c15(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    let mut started = suite.start(adapter.as_ref(), Scenario::RunsToEnd).await?;
    let end = suite.run_to_end(adapter.as_ref(), &mut started).await?;
    let JobState::Succeeded(output) = &end.state else { return Ok(()) };
    if output.artifacts.is_empty() {
        return keeps_none(adapter.as_ref(), &started).await;
    }
    // Only the files of this machine: a rig is no place to reach out from.
    let here = |file: &&Artifact| file.uri.contains("://127.0.0.1") || file.uri.contains("://localhost");
    for file in output.artifacts.iter().filter(here) {
        // From another instance: whatever fetching takes is in the job and the file.
        let after_restart = suite.instance()?;
        whole(after_restart.as_ref(), &started, file).await?;
    }
    Ok(())
}

/// A job without files has none to give.
async fn keeps_none(adapter: &dyn Adapter, started: &Started) -> Result<(), Breach> {
    let nobodys = Artifact::new("https://files.example.com/no-such-file", "no-such-file");
    match adapter.fetch(&started.cx, &started.job, &nobodys).await {
        Err(_) => Ok(()),
        Ok(body) => Err(Breach::new(format!("the job has no file to keep, and yet one is handed over: {body:?}"))),
    }
}

async fn whole(adapter: &dyn Adapter, started: &Started, file: &Artifact) -> Result<(), Breach> {
    let body = match adapter.fetch(&started.cx, &started.job, file).await {
        Ok(body) => body,
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return Err(Breach::new(format!("a result asks to keep `{}`, and it cannot be fetched: {error}", file.name)));
        }
        Err(_) => return Ok(()),
    };
    let (told, mut chunks, mut bytes) = (body.size, body.chunks, 0_u64);
    while let Some(chunk) = chunks.next().await {
        let Ok(chunk) = chunk else {
            ensure!(chunks.next().await.is_none(), "something follows an error in the file `{}`", file.name);
            return Ok(());
        };
        bytes += chunk.len() as u64;
    }
    ensure!(
        told.is_none_or(|told| told == bytes),
        "the file `{}` was said to have {told:?} bytes, ends after {bytes}, and no error says so",
        file.name
    );
    Ok(())
}
