//! `jobgate store ...`: looking after the embedded store while no gateway runs on it.

use std::path::PathBuf;

use super::args::{SourceArgs, StoreCommand, StoreFileArgs};
use super::gateway::{Chosen, choose, clock};
use super::out::{Ended, Failure, code, note, result};
use crate::store::sled::{self, SledOptions, SledStore};
use crate::store::{StoreError, TaskStore as _};

pub(super) async fn run(command: StoreCommand) -> Ended {
    match command {
        StoreCommand::Export(StoreFileArgs { file, source }) => {
            let options = options(&source, true)?;
            let store = blocking(move || SledStore::open(options, clock())).await?.store;
            let exported = store.export_to(&file).await;
            store.close().await.map_err(failure)?;
            let exported = exported.map_err(failure)?;
            result(format!("exported {} tasks, {} bytes, to {}", exported.tasks, exported.bytes, exported.path.display()));
            Ok(0)
        }
        StoreCommand::Import(StoreFileArgs { file, source }) => {
            let options = options(&source, false)?;
            let imported = blocking(move || sled::import(&options, &file)).await?;
            result(format!("imported {} tasks, as they were at {}", imported.tasks, imported.exported_at));
            Ok(0)
        }
        StoreCommand::Compact(source) => {
            let options = options(&source, true)?;
            let compacted = blocking(move || sled::compact(&options)).await?;
            result(format!("compacted from {} to {} bytes", compacted.before_bytes, compacted.after_bytes));
            if compacted.strays > 0 {
                result(format!("removed {} bodies that no task needed", compacted.strays));
            }
            Ok(0)
        }
        StoreCommand::Verify(source) => {
            let options = options(&source, true)?;
            let report = blocking(move || sled::verify(&options)).await?;
            result(format!(
                "read {} tasks, {} audit entries, {} deliveries, {} bodies",
                report.tasks, report.audit_entries, report.deliveries, report.bodies
            ));
            report.problems.iter().for_each(|problem| note(format!("problem: {problem}")));
            report.notes.iter().for_each(|line| note(format!("note: {line}")));
            result(report.advice());
            Ok(if report.problems.is_empty() { 0 } else { code::ERROR })
        }
    }
}

/// Where the store is. A folder that is not there is only made by an import.
fn options(source: &SourceArgs, there: bool) -> Result<SledOptions, Failure> {
    let (path, cache_bytes): (PathBuf, Option<u64>) = match &source.data {
        Some(folder) => (folder.clone(), None),
        None => {
            let Chosen { source, .. } = choose(source)?;
            (source.checked.store.path, Some(source.checked.store.cache_bytes))
        }
    };
    if there && !path.exists() {
        let hint = "the data folder is the configuration's `store.path`; `--data DIR` names another";
        return Err(Failure::new(format!("there is no data folder {}", path.display())).hint(hint));
    }
    let usual = SledOptions::new(path);
    Ok(SledOptions { cache_bytes: cache_bytes.unwrap_or(usual.cache_bytes), ..usual })
}

/// Waits for the disk where that holds nobody up.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, StoreError> + Send + 'static) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(failure),
        Err(error) => Err(Failure::new(format!("the store's work failed: {error}"))),
    }
}

fn failure(error: StoreError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        StoreError::Held { .. } => failure.hint("stop the gateway first; it exports by itself every `store.export_every`"),
        StoreError::Stale(_)
        | StoreError::NameTaken
        | StoreError::Unavailable(_)
        | StoreError::Corrupt { .. }
        | StoreError::Closed => failure,
    }
}
