//! The contract, clause by clause: on a provider that can do everything, and on one that can do the least.

mod support;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jobgate_adapter_api::{AdapterFactory, Deps, JobRef, factory};
use jobgate_adapter_mock::{Mock, MockProvider};
use jobgate_adapter_testkit::{Absent, BadConfig, Case, Fault, Rig, RigTool, Scenario, adapter_contract};
use serde_json::{Value, json};
use support::JumpingClock;

struct MockRig {
    clock: Arc<JumpingClock>,
    folder: tempfile::TempDir,
    provider: Value,
}

impl MockRig {
    fn new(provider: Value) -> Self {
        Self { clock: JumpingClock::new(), folder: tempfile::tempdir().expect("a temporary folder can be made"), provider }
    }

    fn behind(&self) -> MockProvider {
        MockProvider::at(self.folder.path(), "kit")
    }
}

/// A machine that waits, and then does what its end says.
fn machine(seconds: f64, end: Value) -> Value {
    json!({"machine": {"StartAt": "Work", "States": {"Work": {"Type": "Wait", "Seconds": seconds, "Next": "End"}, "End": end}}})
}

#[async_trait]
impl Rig for MockRig {
    fn factory(&self) -> Box<dyn AdapterFactory> {
        factory::<Mock>()
    }

    fn provider(&self) -> Value {
        self.provider.clone()
    }

    fn tools(&self) -> Vec<RigTool> {
        let mut odd = machine(50.0, json!({"Type": "Succeed"}));
        // Something changes every second, so that the kit looks often.
        odd["machine"]["States"]["Work"]["MockProgress"] = json!({"from": 0, "done": 50, "total": 50, "steps": 50});
        odd["faults"] = json!([{"call": "poll", "kind": "unrecognized", "word": "PONDERING"}]);
        let greet = json!({"Type": "Pass", "Parameters": {"text.$": "States.Format('hello {}', $.who)"}, "End": true});
        let ask = json!({"machine": {"StartAt": "Ask", "States": {"Ask": {
            "Type": "Task", "Resource": "mock:callback", "Parameters": {"Message": "Sure?"}, "End": true
        }}}});
        vec![
            RigTool::new("greet", machine(3.0, greet)),
            RigTool::new("fails", machine(2.0, json!({"Type": "Fail", "Error": "Full", "Cause": "the disk is full"}))),
            RigTool::new("long", machine(90_000_000.0, json!({"Type": "Succeed"}))),
            RigTool::new("asks", ask),
            RigTool::new("odd", odd),
        ]
    }

    fn deps(&self) -> Deps {
        support::deps(self.clock.clone(), Some(self.folder.path()))
    }

    fn case(&self, scenario: Scenario) -> Result<Case, Absent> {
        Ok(match scenario {
            Scenario::RunsToEnd => Case::new("greet", json!({"who": "Ada"})).expecting("hello Ada"),
            Scenario::Fails => Case::new("fails", json!({})).expecting("the disk is full"),
            Scenario::RunsLong => Case::new("long", json!({})),
            Scenario::WaitsForPerson => Case::new("asks", json!({})).answering(json!({})),
            Scenario::UnknownWord => Case::new("odd", json!({})).expecting("PONDERING"),
        })
    }

    fn bad_configs(&self) -> Vec<BadConfig> {
        let mut without_end = self.tools();
        without_end[0].words["machine"]["States"]["Work"]["Next"] = json!("Edn");
        let mut fault = self.provider();
        fault["faults"] = json!([{"call": "poll", "kind": "slow"}]);
        let mut latency = self.provider();
        latency["latency"] = json!(5);
        vec![
            BadConfig {
                provider: self.provider(),
                tools: without_end,
                place: "tools.greet.job.machine.States.Work.Next".to_owned(),
            },
            BadConfig { provider: latency, tools: self.tools(), place: "providers.kit.latency".to_owned() },
            BadConfig { provider: fault, tools: self.tools(), place: "providers.kit.faults[0]".to_owned() },
        ]
    }

    fn unknown_job(&self) -> JobRef {
        JobRef::new("0123456789abcdef0123456789abcdef")
    }

    async fn pass_time(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn jobs(&self) -> Result<usize, Absent> {
        Ok(self.behind().jobs().expect("the provider's folder can be read"))
    }

    async fn answers(&self) -> Result<usize, Absent> {
        Ok(self.behind().answers().expect("the provider's folder can be read"))
    }

    async fn inject(&self, fault: Option<Fault>) -> Result<(), Absent> {
        let seconds = |wait: Option<Duration>| wait.map(|wait| format!("{}s", wait.as_secs()));
        let words = match fault {
            None => json!([]),
            Some(Fault::RateLimited(wait)) => json!([{"call": "any", "kind": "rate_limited", "retry_after": seconds(wait)}]),
            Some(Fault::Unavailable) => json!([{"call": "any", "kind": "unavailable"}]),
            Some(Fault::Rejected | Fault::Echo) => json!([{"call": "any", "kind": "rejected"}]),
            Some(Fault::Unauthorized) => json!([{"call": "any", "kind": "unauthorized"}]),
            Some(Fault::Cut) => json!([{"call": "any", "kind": "cut"}]),
            Some(Fault::Slow) => json!([{"call": "any", "kind": "slow", "delay": "30s"}]),
            Some(Fault::BadJson | Fault::Html | Fault::Oversize) => json!([{"call": "any", "kind": "garbage"}]),
        };
        self.behind().set_trouble(&words).expect("trouble can be switched on");
        Ok(())
    }

    fn secret(&self) -> Result<Vec<String>, Absent> {
        Err(Absent("this provider takes no credentials"))
    }

    async fn saw_secret(&self) -> bool {
        false
    }
}

mod able {
    use super::*;
    adapter_contract!(MockRig::new(json!({"latency": "5ms"})));
}

mod weak {
    use super::*;
    adapter_contract!(MockRig::new(json!({"idempotent": false, "find": false, "cancel": false})));
}
