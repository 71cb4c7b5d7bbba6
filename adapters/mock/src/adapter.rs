//! The calls: each one goes through latency and faults, then looks into or changes the provider's memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelOutcome, Capabilities, Clock, ErrorKind, IdempotencyKey, InputAnswers, JobRef,
    JobState, Observation, Operation, SubmitRequest, Submitted, Timestamp,
};
use serde_json::{Value, json};

use crate::asl::{self, Machine, Snapshot, Status};
use crate::config::{Settings, Tool};
use crate::fault::{Effect, Fault, FaultWords, unanswered};
use crate::output::observe;
use crate::record::{Run, What};
use crate::world::{World, name_of};

/// Speaks to a provider that lives in a folder, or in memory.
///
/// The files are a few kilobytes, so they are read and written in the call itself.
#[derive(Debug)]
pub struct MockAdapter {
    settings: Settings,
    tools: BTreeMap<String, Tool>,
    world: World,
    clock: Arc<dyn Clock>,
}

/// Where a run is: the record's name and the run's place in it.
struct Address {
    name: String,
    nth: usize,
}

impl Address {
    /// The id of the first run is the record's name, that of a later one ends in its number.
    fn id(&self) -> String {
        if self.nth == 0 { self.name.clone() } else { format!("{}-{}", self.name, self.nth + 1) }
    }

    /// `None` for what is no id of ours.
    fn parse(id: &str) -> Option<Self> {
        let (name, number) = id.split_once('-').map_or((id, Some(1)), |(name, number)| (name, number.parse::<usize>().ok()));
        let ours = name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let nth = number?.checked_sub(1)?;
        ours.then(|| Self { name: name.to_owned(), nth })
    }
}

impl MockAdapter {
    pub(crate) fn new(settings: Settings, tools: BTreeMap<String, Tool>, world: World, clock: Arc<dyn Clock>) -> Self {
        Self { settings, tools, world, clock }
    }

    /// Lets the call's own time pass and meets the faults that are due. What is left is an effect that the call itself shows.
    async fn meet(
        &self,
        operation: Operation,
        cx: &CallContext,
        record: &str,
        key: &str,
    ) -> Result<Option<Effect>, AdapterError> {
        let effect = self.due(operation, &cx.tool, record, key)?;
        let delay = match &effect {
            Some(Effect::Slow(delay)) => *delay,
            Some(_) | None => std::time::Duration::ZERO,
        };
        let takes = self.settings.latency.saturating_add(delay);
        if takes >= cx.timeout {
            self.clock.sleep(cx.timeout).await;
            return Err(unanswered(operation));
        }
        if !takes.is_zero() {
            self.clock.sleep(takes).await;
        }
        match effect.as_ref().and_then(|effect| effect.error(operation)) {
            Some(error) => Err(error),
            None => Ok(effect),
        }
    }

    /// The fault that this call meets: first those switched on while running, then the tool's, then the provider's.
    fn due(&self, operation: Operation, tool: &str, record: &str, key: &str) -> Result<Option<Effect>, AdapterError> {
        let broken = |error: std::io::Error| {
            AdapterError::new(ErrorKind::Unavailable, operation, "the provider's memory cannot be used").with_source(error)
        };
        let trouble: Vec<FaultWords> = match self.world.trouble().map_err(broken)? {
            Some(words) => serde_json::from_value(words).map_err(|error| broken(error.into()))?,
            None => Vec::new(),
        };
        // They were checked when they were switched on.
        let switched_on =
            Fault::check_all(&trouble, &jobgate_adapter_api::Place::root(), &mut jobgate_adapter_api::Issues::new());
        let own = self.tools.get(tool).map_or(&[][..], |tool| &tool.faults);
        let faults: Vec<&Fault> =
            switched_on.iter().chain(own).chain(&self.settings.faults).filter(|fault| fault.concerns(operation)).collect();
        let nth = if faults.iter().any(|fault| fault.counts()) {
            let count = |record: &mut crate::record::Record| {
                let calls = record.calls.entry(operation.to_string()).or_default();
                *calls += 1;
                *calls
            };
            self.world.change(record, key, count).map_err(broken)?
        } else {
            1
        };
        Ok(faults.iter().find_map(|fault| fault.effect(nth)).cloned())
    }

    /// How a run looks now, by the machine that it was started with.
    fn look(&self, operation: Operation, run: &Run, id: &str, now: Timestamp) -> Result<Snapshot, AdapterError> {
        let simulate = |machine: &Machine| asl::simulate(machine, &run.execution(id), &run.journal(), now);
        if let Some(tool) = self.tools.get(&run.tool).filter(|tool| tool.stored_as == run.machine) {
            return Ok(simulate(&tool.machine));
        }
        let words = self.world.machine(&run.machine).map_err(|error| Self::broken(operation, error))?;
        let machine = words.and_then(|words| Machine::parse(&words, &jobgate_adapter_api::Place::root()).ok());
        let missing = || AdapterError::new(ErrorKind::Protocol, operation, "the job's machine is no longer there");
        machine.map(|machine| simulate(&machine)).ok_or_else(missing)
    }

    /// Changes one run; nobody else changes it meanwhile.
    fn change<T>(
        &self,
        operation: Operation,
        address: &Address,
        change: impl FnOnce(&mut Run, Timestamp) -> Result<T, AdapterError>,
    ) -> Result<T, AdapterError> {
        let now = self.clock.now();
        let changed = self.world.change(&address.name, "", |record| match record.runs.get_mut(address.nth) {
            Some(run) => change(run, now),
            None => Err(unknown(operation)),
        });
        changed.map_err(|error| Self::broken(operation, error))?
    }

    fn broken(operation: Operation, error: std::io::Error) -> AdapterError {
        AdapterError::new(ErrorKind::Unavailable, operation, "the provider's memory cannot be used").with_source(error)
    }

    /// The answer of a call that took effect, unless it is lost on its way back.
    fn answer<T>(effect: Option<&Effect>, operation: Operation, answer: T) -> Result<T, AdapterError> {
        if effect == Some(&Effect::Lost) { Err(unanswered(operation)) } else { Ok(answer) }
    }
}

fn unknown(operation: Operation) -> AdapterError {
    AdapterError::new(ErrorKind::NotFound, operation, "the provider does not know this job")
}

#[async_trait]
impl Adapter for MockAdapter {
    fn capabilities(&self, tool: &str) -> Capabilities {
        Capabilities {
            idempotent_submit: self.settings.idempotent,
            find: self.settings.find,
            cancel: self.settings.cancel,
            input: self.tools.get(tool).is_some_and(|tool| tool.machine.asks_people()),
            ..Capabilities::default()
        }
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        const OPERATION: Operation = Operation::Submit;
        let key = request.key.as_str();
        let name = name_of(key);
        let Some(tool) = self.tools.get(&cx.tool) else {
            return Err(AdapterError::new(
                ErrorKind::Rejected,
                OPERATION,
                format!("the provider has no machine for `{}`", cx.tool),
            ));
        };
        let effect = self.meet(OPERATION, cx, &name, key).await?;
        let machine = self.world.keep_machine(&tool.words).map_err(|error| Self::broken(OPERATION, error))?;
        let now = self.clock.now();
        let started = self.world.change(&name, key, |record| {
            if record.runs.is_empty() || !self.settings.idempotent {
                let mut input = request.arguments;
                // What is configured is not the caller's to say.
                input.extend(tool.input.clone());
                let input = Value::Object(input);
                record.runs.push(Run {
                    tool: cx.tool.clone(),
                    machine,
                    input,
                    started_at: now.as_millis(),
                    happenings: Vec::new(),
                });
            }
            record.runs.last().cloned().map(|run| (run, record.runs.len() - 1))
        });
        let (run, nth) = started.map_err(|error| Self::broken(OPERATION, error))?.ok_or_else(|| unknown(OPERATION))?;
        let address = Address { name, nth };
        let seen = observe(self.look(OPERATION, &run, &address.id(), now)?, now);
        Self::answer(effect.as_ref(), OPERATION, Submitted { job: JobRef::new(address.id()), observation: Some(seen) })
    }

    async fn find(&self, cx: &CallContext, key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        const OPERATION: Operation = Operation::Find;
        if !self.settings.find {
            return Err(AdapterError::unsupported(OPERATION));
        }
        let name = name_of(key.as_str());
        let effect = self.meet(OPERATION, cx, &name, key.as_str()).await?;
        let record = self.world.look(&name).map_err(|error| Self::broken(OPERATION, error))?;
        let started = record.is_some_and(|record| !record.runs.is_empty());
        Self::answer(effect.as_ref(), OPERATION, started.then(|| JobRef::new(name)))
    }

    async fn poll(&self, cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        const OPERATION: Operation = Operation::Poll;
        let address = Address::parse(job.id()).ok_or_else(|| unknown(OPERATION))?;
        let effect = self.meet(OPERATION, cx, &address.name, cx.key.as_str()).await?;
        let record = self.world.look(&address.name).map_err(|error| Self::broken(OPERATION, error))?;
        let run = record.as_ref().and_then(|record| record.runs.get(address.nth)).ok_or_else(|| unknown(OPERATION))?;
        let now = self.clock.now();
        let seen = observe(self.look(OPERATION, run, job.id(), now)?, now);
        match effect {
            Some(Effect::Unrecognized(word)) if !seen.state.is_terminal() => {
                Ok(Observation { state: JobState::Unrecognized(word), ..seen })
            }
            Some(Effect::Gone) => Ok(Observation::new(JobState::Gone)),
            effect => Self::answer(effect.as_ref(), OPERATION, seen),
        }
    }

    async fn cancel(&self, cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        const OPERATION: Operation = Operation::Cancel;
        if !self.settings.cancel {
            return Err(AdapterError::unsupported(OPERATION));
        }
        let address = Address::parse(job.id()).ok_or_else(|| unknown(OPERATION))?;
        let effect = self.meet(OPERATION, cx, &address.name, cx.key.as_str()).await?;
        let refused = effect == Some(Effect::Refused);
        let outcome = self.change(OPERATION, &address, |run, now| {
            if self.look(OPERATION, run, job.id(), now)?.status.is_terminal() {
                return Ok(CancelOutcome::AlreadyEnded);
            }
            if refused {
                return Ok(CancelOutcome::Refused);
            }
            run.note(now, What::Cancelled);
            Ok(CancelOutcome::Requested)
        })?;
        Self::answer(effect.as_ref(), OPERATION, outcome)
    }

    async fn provide(&self, cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError> {
        const OPERATION: Operation = Operation::Provide;
        if !self.capabilities(&cx.tool).input {
            return Err(AdapterError::unsupported(OPERATION));
        }
        let address = Address::parse(job.id()).ok_or_else(|| unknown(OPERATION))?;
        let effect = self.meet(OPERATION, cx, &address.name, cx.key.as_str()).await?;
        self.change(OPERATION, &address, |run, now| {
            let open: Vec<String> = match self.look(OPERATION, run, job.id(), now)?.status {
                Status::Waiting(questions) => questions.into_iter().map(|question| question.key).collect(),
                Status::Queued | Status::Running | Status::Succeeded(_) | Status::Failed { .. } | Status::Cancelled => Vec::new(),
            };
            // What was answered before is not answered again: the first answer stands.
            let fresh: Vec<_> = answers.iter().filter(|(key, _)| !run.has_answer(key)).collect();
            if let Some((key, _)) = fresh.iter().find(|(key, _)| !open.contains(key)) {
                return Err(AdapterError::new(ErrorKind::Rejected, OPERATION, format!("the job asks no question `{key}` now")));
            }
            for (key, answer) in fresh {
                let answer = json!({"action": answer.action.as_str(), "content": answer.content});
                run.note(now, What::Answered { key: key.clone(), answer });
            }
            Ok(())
        })?;
        Self::answer(effect.as_ref(), OPERATION, ())
    }
}
