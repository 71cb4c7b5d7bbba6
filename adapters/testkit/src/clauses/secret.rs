//! C10: a secret shows nowhere.

use std::time::Duration;

use jobgate_adapter_api::Operation;

use super::fault::meet;
use crate::suite::{Breach, Suite, all_texts, ensure};
use crate::{Absent, Fault, Scenario};

pub(crate) async fn c10(suite: &Suite<'_>) -> Result<(), Breach> {
    let forms = match suite.rig.secret() {
        Ok(forms) => forms,
        Err(Absent(reason)) => return suite.note_absent("a secret", Absent(reason)),
    };
    ensure!(forms.iter().any(|form| !form.is_empty()), "the rig names no secret to look for");
    let hidden = |place: &str, text: &str| {
        ensure!(!forms.iter().any(|form| text.contains(form)), "the secret shows in {place}");
        Ok(())
    };

    let adapter = suite.instance()?;
    hidden("the adapter's Debug", &format!("{adapter:?}"))?;
    for scenario in [Scenario::RunsToEnd, Scenario::Fails] {
        let mut started = suite.start(adapter.as_ref(), scenario).await?;
        hidden("the job's reference", &format!("{:?}", started.job))?;
        let end = suite.run_to_end(adapter.as_ref(), &mut started).await?;
        hidden("an observation", &format!("{end:?}"))?;
    }
    let unknown =
        adapter.poll(&suite.context(&suite.case(Scenario::RunsToEnd)?.tool, suite.key()), &suite.rig.unknown_job()).await;
    if let Err(error) = unknown {
        hidden("the error of an unknown job", &all_texts(&error))?;
    }
    for fault in [Fault::Echo, Fault::Unauthorized, Fault::Rejected, Fault::Unavailable, Fault::BadJson, Fault::Cut] {
        let met: Vec<(Operation, _)> = meet(suite, fault, Duration::from_secs(10)).await?;
        for (operation, error) in met {
            hidden(&format!("the error of a {operation} that met {fault:?}"), &all_texts(&error))?;
        }
    }
    ensure!(suite.rig.saw_secret().await, "the provider never received the secret, so nothing was tested");
    Ok(())
}
