//! The contract, clause by clause, against a job API in memory.

use jobgate_adapter_api::factory;
use jobgate_adapter_template::Template;
use jobgate_adapter_testkit::{Case, HttpRig, JobApi, RigTool, SECRET_REF, Scenario, adapter_contract};
use serde_json::json;

async fn rig() -> HttpRig {
    HttpRig::start(factory::<Template>, JobApi::new())
        .await
        .provider(|url| json!({ "url": url, "token": SECRET_REF }))
        .tool(RigTool::new("any", json!({})))
        .tool(RigTool::new("fails", json!({ "kind": "fail" })))
        .case(Scenario::RunsToEnd, Case::new("any", json!({ "kind": "ok" })).expecting("report of"))
        .case(Scenario::Fails, Case::new("fails", json!({})).expecting("the disk is full"))
        .case(Scenario::RunsLong, Case::new("any", json!({ "kind": "long" })))
        .case(Scenario::UnknownWord, Case::new("any", json!({ "kind": "odd" })).expecting(JobApi::ODD_WORD))
        .without(Scenario::WaitsForPerson, "this service asks nobody anything")
        .bad_provider("providers.kit.url", |words| words["url"] = json!("ftp://jobs.example.com"))
        .bad_provider("providers.kit.token", |words| words["token"] = json!("written-out"))
        .bad_tool("tools.any.job.kind", |words| words["kind"] = json!(""))
}

adapter_contract!(rig().await);
