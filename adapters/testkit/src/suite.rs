//! What all clauses share: instances, jobs, looks, and how a broken clause is said.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, Capabilities, IdempotencyKey, Issues, JobRef, JobState, Observation, Place,
    SubmitRequest, Submitted, ToolWords,
};
use serde_json::Value;

use crate::{Absent, Case, Fault, Rig, RigTool, Scenario, verified};

/// The bound of every call that is not meant to be slow.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// More looks than any scenario needs; a job that has not ended by then never ends.
const MOST_LOOKS: usize = 100;

/// How a clause was broken.
#[derive(Debug)]
pub struct Breach(String);

impl Breach {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `Err(Breach)` unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::suite::Breach::new(format!($($message)+)));
        }
    };
}
pub(crate) use ensure;

/// One run of one clause against one rig.
pub(crate) struct Suite<'a> {
    pub(crate) rig: &'a dyn Rig,
    clause: &'static str,
    keys: AtomicU64,
}

/// A job in the hands of the suite.
pub(crate) struct Started {
    pub(crate) case: Case,
    pub(crate) cx: CallContext,
    pub(crate) job: JobRef,
    /// What the submit already told.
    pub(crate) first: Option<Observation>,
}

impl<'a> Suite<'a> {
    pub(crate) fn new(rig: &'a dyn Rig, clause: &'static str) -> Self {
        Self { rig, clause, keys: AtomicU64::new(1) }
    }

    /// A fresh instance, as after a restart: checked and built from the words.
    pub(crate) fn instance(&self) -> Result<Arc<dyn Adapter>, Breach> {
        let mut issues = Issues::new();
        let checked = check(self.rig, self.rig.provider(), self.rig.tools(), &mut issues);
        let list: Vec<String> = issues.iter().map(|issue| format!("{}: {}", issue.place, issue.message)).collect();
        let Some(checked) = checked.filter(|_| list.is_empty()) else {
            return Err(Breach::new(format!("the rig's own words are refused: {list:?}")));
        };
        checked.build(&self.rig.deps()).map_err(|issue| Breach::new(format!("the rig's own words cannot be built: {issue:?}")))
    }

    /// A scenario that every rig must provide.
    pub(crate) fn case(&self, scenario: Scenario) -> Result<Case, Breach> {
        self.rig.case(scenario).map_err(|Absent(reason)| {
            Breach::new(format!("the rig must provide {scenario:?} for this clause, and says instead: {reason}"))
        })
    }

    /// What a tool claims.
    pub(crate) fn claims(&self, adapter: &dyn Adapter, scenario: Scenario) -> Result<Capabilities, Breach> {
        Ok(adapter.capabilities(&self.case(scenario)?.tool))
    }

    /// A key that was not used in this run.
    pub(crate) fn key(&self) -> IdempotencyKey {
        IdempotencyKey::new(format!(
            "{:032x}",
            0x6a6f_6267_6174_6500_u128 + u128::from(self.keys.fetch_add(1, Ordering::Relaxed))
        ))
    }

    pub(crate) fn context(&self, tool: &str, key: IdempotencyKey) -> CallContext {
        CallContext {
            tool: tool.to_owned(),
            key,
            timeout: CALL_TIMEOUT,
            arguments: Arc::default(),
            started_at: self.rig.deps().clock.now(),
            callback_url: self.rig.callback_url(),
            cancel: None,
        }
    }

    /// Starts a job of this scenario.
    pub(crate) async fn start(&self, adapter: &dyn Adapter, scenario: Scenario) -> Result<Started, Breach> {
        let case = self.case(scenario)?;
        let arguments = Arc::new(case.arguments.clone());
        let cx = CallContext { arguments, ..self.context(&case.tool, self.key()) };
        let Submitted { job, observation } = self
            .submit(adapter, &cx, &case)
            .await
            .map_err(|error| Breach::new(format!("a job for {scenario:?} could not be submitted: {error}")))?;
        Ok(Started { case, cx, job, first: observation })
    }

    /// One submit with the context's key.
    pub(crate) async fn submit(&self, adapter: &dyn Adapter, cx: &CallContext, case: &Case) -> Result<Submitted, AdapterError> {
        adapter.submit(cx, SubmitRequest { key: cx.key.clone(), arguments: case.arguments.clone() }).await
    }

    /// One look that must not fail; handles that it taught are added to the job.
    pub(crate) async fn look(&self, adapter: &dyn Adapter, started: &mut Started) -> Result<Observation, Breach> {
        let seen = if adapter.capabilities(&started.cx.tool).pushed_only {
            self.told(adapter, started).await?
        } else {
            adapter
                .poll(&started.cx, &started.job)
                .await
                .map_err(|error| Breach::new(format!("a look at the job {} failed: {error}", started.job.id())))?
        };
        learn(&mut started.job, &seen);
        Ok(seen)
    }

    /// What the next delivery says, for a job that nobody can look at.
    async fn told(&self, adapter: &dyn Adapter, started: &Started) -> Result<Observation, Breach> {
        let body = self.delivery(started).await?;
        let said = adapter
            .read(&started.cx, &started.job, &verified(&body))
            .map_err(|error| Breach::new(format!("a delivery of the job {} cannot be read: {error}", started.job.id())))?;
        said.ok_or_else(|| Breach::new("pushed_only is claimed, and a delivery says nothing of its job"))
    }

    /// What the provider would deliver of the job now.
    pub(crate) async fn delivery(&self, started: &Started) -> Result<Vec<u8>, Breach> {
        self.rig.delivery(&started.job).await.map_err(|Absent(reason)| {
            Breach::new(format!("webhook is claimed, so the rig must give a delivery, and says instead: {reason}"))
        })
    }

    /// Looks until the job has ended.
    pub(crate) async fn run_to_end(&self, adapter: &dyn Adapter, started: &mut Started) -> Result<Observation, Breach> {
        self.look_until(adapter, started, "end", |state| state.is_terminal()).await
    }

    /// Looks until the state is one that `wanted` accepts; an end that it does not accept is a breach.
    pub(crate) async fn look_until(
        &self,
        adapter: &dyn Adapter,
        started: &mut Started,
        what: &str,
        wanted: impl Fn(&JobState) -> bool,
    ) -> Result<Observation, Breach> {
        let mut last = started.first.take();
        for _ in 0..MOST_LOOKS {
            if let Some(seen) = last.take() {
                learn(&mut started.job, &seen);
                if wanted(&seen.state) {
                    return Ok(seen);
                }
                ensure!(!seen.state.is_terminal(), "the job should {what}, and ended instead as {:?}", seen.state);
                self.rig.pass_time(seen.next_poll.unwrap_or(Duration::from_secs(1))).await;
            }
            last = Some(self.look(adapter, started).await?);
        }
        Err(Breach::new(format!(
            "the job did not {what} within {MOST_LOOKS} looks; the last one showed {:?}",
            last.map(|seen| seen.state)
        )))
    }

    /// Makes every call meet `fault`; `false` when the rig cannot, whose reason is printed.
    pub(crate) async fn inject(&self, fault: Fault) -> Result<bool, Breach> {
        match self.rig.inject(Some(fault)).await {
            Ok(()) => Ok(true),
            Err(absent) => self.note_absent(&format!("{fault:?}"), absent).map(|()| false),
        }
    }

    /// Ends every fault.
    pub(crate) async fn heal(&self) -> Result<(), Breach> {
        self.rig
            .inject(None)
            .await
            .map_err(|Absent(reason)| Breach::new(format!("the rig began a fault and cannot end it: {reason}")))
    }

    /// Says aloud what was not tested.
    #[expect(clippy::print_stderr, reason = "what a test did not cover must be seen by whoever reads its output")]
    pub(crate) fn note_absent(&self, what: &str, Absent(reason): Absent) -> Result<(), Breach> {
        ensure!(!reason.trim().is_empty(), "the rig leaves out {what} without a reason");
        eprintln!("{}: not covered: {what}: {reason}", self.clause);
        Ok(())
    }
}

/// Adds what a look taught, as the engine does.
fn learn(job: &mut JobRef, seen: &Observation) {
    for (name, value) in &seen.learned {
        *job = job.clone().with(name, value);
    }
}

/// Words to meaning, with the places that [`crate::BadConfig::place`] speaks of.
pub(crate) fn check(
    rig: &dyn Rig,
    provider: Value,
    tools: Vec<RigTool>,
    issues: &mut Issues,
) -> Option<Box<dyn jobgate_adapter_api::CheckedAdapter>> {
    let tools = tools
        .into_iter()
        .map(|tool| ToolWords {
            place: tool_place(&tool.name),
            name: tool.name,
            input_schema: tool.input_schema,
            words: tool.words,
        })
        .collect();
    rig.factory().check(&provider_place(), provider, tools, issues)
}

pub(crate) fn provider_place() -> Place {
    Place::root().key("providers").key("kit")
}

pub(crate) fn tool_place(name: &str) -> Place {
    Place::root().key("tools").key(name).key("job")
}

/// Every text in a `Debug` form, an error and its causes.
pub(crate) fn all_texts(error: &AdapterError) -> String {
    let mut text = format!("{error:?}\n{error}");
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!("\n{inner:?}\n{inner}"));
        cause = inner.source();
    }
    text
}
