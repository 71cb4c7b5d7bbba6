//! A provider in the test's own process: what looks at its jobs show is scripted by tool.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelOutcome, Capabilities, ErrorKind, IdempotencyKey, InputAnswers, InputKind,
    InputRequest, JobFailure, JobOutput, JobRef, JobState, Observation, Operation, Progress, SubmitRequest, Submitted,
};
use serde_json::{Map, Value};

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
    step: usize,
    pub(crate) cancelled: bool,
    pub(crate) answers: InputAnswers,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// What successive looks at a tool's jobs show; the last one stays. A question stays until it is answered.
    pub(crate) plans: HashMap<String, Vec<Observation>>,
    pub(crate) jobs: BTreeMap<String, Job>,
}

#[derive(Debug, Default)]
pub(crate) struct Provider(Mutex<State>);

pub(crate) fn done(text: &str) -> Observation {
    Observation::new(JobState::Succeeded(JobOutput::text(text)))
}

pub(crate) fn finished(text: &str, data: Value) -> Observation {
    Observation::new(JobState::Succeeded(JobOutput::text(text).with_data(data)))
}

pub(crate) fn running() -> Observation {
    Observation::new(JobState::Running)
}

pub(crate) fn counted(done: f64, total: f64) -> Observation {
    running().with_progress(Progress { done, total: Some(total) })
}

pub(crate) fn failed(message: &str) -> Observation {
    Observation::new(JobState::Failed(JobFailure::new(message)))
}

pub(crate) fn asks(questions: &[(&str, Value)]) -> Observation {
    let question = |(key, schema): &(&str, Value)| InputRequest {
        key: (*key).to_owned(),
        message: format!("{key}?"),
        kind: InputKind::Form { schema: schema.clone() },
    };
    Observation::new(JobState::InputRequired(questions.iter().map(question).collect()))
}

impl Provider {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn plan(&self, tool: &str, plan: impl IntoIterator<Item = Observation>) {
        self.state().plans.insert(tool.to_owned(), plan.into_iter().collect());
    }

    pub(crate) fn jobs(&self) -> Vec<Job> {
        self.state().jobs.values().cloned().collect()
    }
}

impl State {
    fn look(&mut self, id: &str) -> Result<Observation, AdapterError> {
        let unknown = || AdapterError::new(ErrorKind::NotFound, Operation::Poll, "no such job");
        let job = self.jobs.get_mut(id).ok_or_else(unknown)?;
        // A stubborn job goes on for a while.
        if job.cancelled && job.tool != "stubborn" {
            return Ok(Observation::new(JobState::Cancelled));
        }
        let plan = &self.plans[&job.tool];
        loop {
            let seen = &plan[job.step.min(plan.len() - 1)];
            match &seen.state {
                JobState::InputRequired(asked) if asked.iter().all(|question| job.answers.contains_key(&question.key)) => {
                    job.step += 1;
                }
                JobState::InputRequired(_) => return Ok(seen.clone()),
                _ => {
                    job.step += 1;
                    return Ok(seen.clone());
                }
            }
        }
    }
}

#[async_trait]
impl Adapter for Provider {
    fn capabilities(&self, tool: &str) -> Capabilities {
        // A submit of the tool `lost` is never answered, and nobody can tell what became of it.
        let told = tool != "lost";
        Capabilities { idempotent_submit: told, find: told, cancel: tool != "endless", input: true, ..Capabilities::default() }
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        if request.arguments.get("refuse") == Some(&Value::Bool(true)) {
            return Err(AdapterError::new(ErrorKind::Rejected, Operation::Submit, "the farm takes no such job"));
        }
        if request.arguments.get("late") == Some(&Value::Bool(true)) {
            return Err(AdapterError::new(ErrorKind::Unavailable, Operation::Submit, "the farm is closed"));
        }
        if cx.tool == "lost" {
            return Err(AdapterError::new(ErrorKind::OutcomeUnknown, Operation::Submit, "no answer came"));
        }
        let state = &mut *self.state();
        let id = format!("job-{}", state.jobs.len() + 1);
        let job =
            Job { tool: cx.tool.clone(), arguments: request.arguments, step: 0, cancelled: false, answers: InputAnswers::new() };
        state.jobs.insert(id.clone(), job);
        Ok(Submitted { job: JobRef::new(id), observation: None })
    }

    async fn find(&self, _cx: &CallContext, _key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        Ok(None)
    }

    async fn poll(&self, _cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        self.state().look(job.id())
    }

    async fn cancel(&self, _cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        let state = &mut *self.state();
        let unknown = || AdapterError::new(ErrorKind::NotFound, Operation::Cancel, "no such job");
        state.jobs.get_mut(job.id()).ok_or_else(unknown)?.cancelled = true;
        Ok(CancelOutcome::Requested)
    }

    async fn provide(&self, _cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError> {
        let state = &mut *self.state();
        let unknown = || AdapterError::new(ErrorKind::NotFound, Operation::Provide, "no such job");
        let job = state.jobs.get_mut(job.id()).ok_or_else(unknown)?;
        job.answers.extend(answers.clone());
        Ok(())
    }
}

/// The trait object that an engine takes.
pub(crate) fn adapter(provider: &Arc<Provider>) -> Arc<dyn Adapter> {
    provider.clone()
}
