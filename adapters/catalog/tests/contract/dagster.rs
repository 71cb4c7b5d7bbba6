//! Dagster: runs over GraphQL.

use jobgate_adapter_api::ErrorKind;
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn of(job: &str) -> Value {
    json!({ "job": job, "location": "etl" })
}

async fn runs() -> HttpRig {
    rig("dagster")
        .await
        .case(Scenario::RunsToEnd, Case::new("run", of("nightly")).expecting("\"steps_succeeded\":4"))
        .case(Scenario::Fails, Case::new("run", of("broken")).expecting("1 of the run's steps failed"))
        .case(Scenario::RunsLong, Case::new("run", of("long")))
        .case(Scenario::UnknownWord, Case::new("run", of("odd")).expecting("HIBERNATING"))
        .without(Scenario::WaitsForPerson, "a run asks nobody anything")
}

adapter_contract!(runs().await);

/// Gotcha 5: success inside of HTTP is not success.
#[tokio::test]
async fn a_200_may_refuse() {
    let played = Played::of("dagster").await;
    for (job, kind, said) in [
        ("missing", ErrorKind::Rejected, "Could not find job missing"),
        ("invalid", ErrorKind::Rejected, "got invalid value"),
        ("python", ErrorKind::OutcomeUnknown, "no such job"),
        ("busy", ErrorKind::RateLimited, "slow down"),
    ] {
        let error = played.submit("run", of(job)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{job}: {error}");
        assert!(error.message().contains(said), "{job}: {error}");
    }
}
