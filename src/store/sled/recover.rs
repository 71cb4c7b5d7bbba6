//! Putting the last export in the place of a damaged database.

use super::db::unavailable;
use super::export::newest_first;
use super::import::{build, check};
use super::layout::{Layout, Step};
use super::options::{Recovered, SledOptions};
use crate::domain::Timestamp;
use crate::store::StoreError;

/// Sets the damaged database aside and puts the newest export that is whole in its place. `why` says what is damaged.
pub(super) fn recover(layout: &Layout, options: &SledOptions, why: String, now: Timestamp) -> Result<Recovered, StoreError> {
    let damaged = layout.live();
    tracing::error!(database = %damaged.display(), %why, "the store is damaged");
    for export in newest_first(layout)? {
        let imported = match check(&export) {
            Ok(imported) => imported,
            Err(StoreError::Corrupt { what, .. }) => {
                tracing::error!(export = %export.display(), %what, "an export is damaged, too; the one before it is tried");
                continue;
            }
            Err(other) => return Err(other),
        };
        build(layout, options, &export)?;
        let set_aside = layout.damaged(now);
        if set_aside.exists() {
            return Err(unavailable("cannot set the damaged database aside", &std::io::ErrorKind::AlreadyExists.into()));
        }
        layout.put_in_place(&set_aside, Step::Entered)?;
        tracing::error!(
            export = %export.display(),
            exported_at = %imported.exported_at,
            tasks = imported.tasks,
            set_aside = %set_aside.display(),
            "the last export was put in the place of the damaged database; what came after it is lost"
        );
        let (exported_at, tasks) = (imported.exported_at, imported.tasks);
        return Ok(Recovered { why, set_aside, export, exported_at, tasks });
    }
    Err(StoreError::Corrupt {
        what: why,
        advice: format!(
            "There is no whole export in {}. Put the data folder back from a backup; or, to begin anew and lose all tasks, move {} \
             away and start again",
            layout.exports().display(),
            damaged.display()
        ),
    })
}
