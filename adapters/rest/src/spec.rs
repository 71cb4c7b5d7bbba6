//! How `adapter: rest` is checked and built.

use std::sync::Arc;

use jobgate_adapter_api::{AdapterSpec, Cleaner, Deps, Issue, Issues, Place, ToolWords, Transport};
use serde_json::Value;

use crate::adapter::RestAdapter;
use crate::exchange::{Exchange, Rest as Rested};
use crate::lookups::Remembered;
use crate::plan::{Checked, ToolPlan};
use crate::proof;
use crate::words::{Job, Provider};

/// The kind: `adapter: rest`.
#[derive(Debug)]
pub struct Rest;

impl AdapterSpec for Rest {
    const KIND: &'static str = "rest";
    type Config = Provider;
    type Tool = Job;
    type Checked = Checked;
    type Adapter = RestAdapter;

    fn check(place: &Place, config: Provider, tools: Vec<ToolWords<Job>>, issues: &mut Issues) -> Option<Checked> {
        crate::check::check(place, config, tools, issues)
    }

    fn uses_callback(checked: &Checked) -> bool {
        checked.provider.tools.values().any(|tool| tool.submit.request.uses("callback"))
    }

    fn needs_callback(checked: &Checked) -> bool {
        checked.provider.tools.values().any(|tool| tool.submit.request.needs("callback"))
    }

    fn reads_deliveries(checked: &Checked) -> bool {
        checked.provider.delivery.is_some()
    }

    fn pushed_only(checked: &Checked, tool: &str) -> bool {
        checked.provider.tools.get(tool).is_some_and(|tool| !tool.status.sees_success())
    }

    fn explain(config: &Value, tool: &Value) -> Vec<String> {
        crate::explain::explain(config, tool)
    }

    fn build(checked: &Checked, deps: &Deps) -> Result<RestAdapter, Issue> {
        let (proof, secrets) = proof::build(checked.auth.as_ref(), deps)?;
        let (own, others) = proof::transports(checked.tls.as_ref(), deps)?;
        let capped = |transport: Transport| match checked.max_body_bytes {
            Some(most) => transport.with_max_body_bytes(most),
            None => transport,
        };
        let exchange = Exchange {
            plan: Arc::clone(&checked.provider),
            proof,
            cleaner: Cleaner::new(secrets),
            outside: outside(checked, &others, deps)?.map(capped),
            transport: capped(own),
            elsewhere: capped(others),
            clock: Arc::clone(&deps.clock),
            rest: Rested::default(),
            remembered: Remembered::default(),
        };
        Ok(RestAdapter::new(exchange))
    }
}

/// What reaches the public internet alone, where an answer may lead there: to files that a tool keeps, or by redirects.
fn outside(checked: &Checked, transport: &Transport, deps: &Deps) -> Result<Option<Transport>, Issue> {
    let led = checked.follows || checked.provider.tools.values().any(ToolPlan::keeps_files);
    let failed = |message| Issue { place: deps.place.clone(), message, hint: None };
    led.then(|| transport.outside()).transpose().map_err(failed)
}
