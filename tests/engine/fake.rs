//! A provider in the test's own process: it does what the test scripts, keeps a journal of calls, and counts its jobs.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use jobgate_adapter_api::{
    Adapter, AdapterError, Artifact, ArtifactBody, CallContext, CancelOutcome, CancelWish, Capabilities, Clock, ErrorKind,
    IdempotencyKey, InputAnswers, JobOutput, JobRef, JobState, ManualClock, Observation, Operation, Retry, SubmitRequest,
    Submitted, Timestamp, Verified,
};
use serde_json::Value;

/// What goes wrong with one call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// The call fails and has no effect.
    Fail(ErrorKind, Retry),
    /// The call takes effect, and fails all the same.
    Late(ErrorKind),
    /// The call takes effect, and no answer ever comes.
    Hang,
    /// The call gets nowhere, and no answer ever comes.
    Lost,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) at: Timestamp,
    pub(crate) operation: Operation,
    /// The job's id, or the key for a submit or a search.
    pub(crate) about: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) key: String,
    /// Looks at the present step of the plan.
    step: usize,
    pub(crate) cancelled: bool,
    /// How often each question's answer had an effect.
    pub(crate) answers: BTreeMap<String, u32>,
    answered: InputAnswers,
}

pub(crate) type Chance = Box<dyn FnMut(Operation) -> Option<Trouble> + Send>;

pub(crate) struct State {
    pub(crate) capabilities: Capabilities,
    /// What successive looks at each job show; the last one stays. A question stays until it is answered.
    pub(crate) plan: Vec<Observation>,
    pub(crate) jobs: BTreeMap<String, Job>,
    pub(crate) journal: Vec<Entry>,
    pub(crate) troubles: HashMap<Operation, VecDeque<Trouble>>,
    /// Decides about every call that has no scripted trouble.
    pub(crate) chance: Option<Chance>,
    /// What a cancel is answered with.
    pub(crate) cancel: CancelOutcome,
    /// Says what became of the job in the answer to its submit.
    pub(crate) tell_at_once: bool,
    /// A job takes a usual cancel and runs on; only a harder one stops it.
    pub(crate) stubborn: bool,
    /// The wish to stop that looks and cancels were told of, in their order.
    pub(crate) wishes: Vec<(Operation, Option<CancelWish>)>,
    /// A job is found by its key only this long after its submit.
    pub(crate) find_lag: Duration,
    pub(crate) started: BTreeMap<String, Timestamp>,
    pub(crate) running_calls: usize,
    /// Jobs (and keys) about which a call is on its way.
    busy: Vec<String>,
    /// Calls that began while another one about the same job was on its way.
    pub(crate) overlaps: Vec<Entry>,
    pub(crate) most_calls: usize,
    /// Calls take this long.
    pub(crate) slow: Duration,
    /// A job is at each step of the plan for this long, whoever looks; without it every look takes it one step on.
    pub(crate) pace: Option<Duration>,
    /// Whether a delivery with the word `odd` can be read.
    pub(crate) reads_odd: bool,
    /// What files there are, in pieces; the connection breaks at one that is none.
    pub(crate) files: BTreeMap<String, Vec<Option<&'static [u8]>>>,
    /// Files never come to an end.
    pub(crate) stalls: bool,
}

pub(crate) struct Fake {
    state: Mutex<State>,
    clock: Arc<ManualClock>,
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

pub(crate) fn done(text: &str) -> Observation {
    Observation::new(JobState::Succeeded(JobOutput::text(text)))
}

pub(crate) fn running() -> Observation {
    Observation::new(JobState::Running)
}

impl Fake {
    pub(crate) fn new(clock: Arc<ManualClock>) -> Arc<Self> {
        let state = State {
            capabilities: Capabilities {
                idempotent_submit: true,
                find: true,
                cancel: true,
                input: true,
                ..Capabilities::default()
            },
            plan: vec![running(), done("done")],
            jobs: BTreeMap::new(),
            journal: Vec::new(),
            troubles: HashMap::new(),
            chance: None,
            cancel: CancelOutcome::Requested,
            tell_at_once: false,
            stubborn: false,
            wishes: Vec::new(),
            find_lag: Duration::ZERO,
            started: BTreeMap::new(),
            running_calls: 0,
            busy: Vec::new(),
            overlaps: Vec::new(),
            most_calls: 0,
            slow: Duration::ZERO,
            pace: None,
            reads_odd: false,
            files: BTreeMap::new(),
            stalls: false,
        };
        Arc::new(Self { state: Mutex::new(state), clock })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn plan(&self, plan: impl IntoIterator<Item = Observation>) {
        self.state().plan = plan.into_iter().collect();
    }

    pub(crate) fn trouble(&self, operation: Operation, troubles: impl IntoIterator<Item = Trouble>) {
        self.state().troubles.entry(operation).or_default().extend(troubles);
    }

    pub(crate) fn calls(&self, operation: Operation) -> Vec<Timestamp> {
        self.state().journal.iter().filter(|entry| entry.operation == operation).map(|entry| entry.at).collect()
    }

    pub(crate) fn jobs(&self) -> Vec<Job> {
        self.state().jobs.values().cloned().collect()
    }

    async fn call<T>(
        &self,
        operation: Operation,
        about: &str,
        effect: impl FnOnce(&mut State, Timestamp) -> Result<T, AdapterError> + Send,
    ) -> Result<T, AdapterError>
    where
        T: Send,
    {
        let now = self.clock.now();
        let (trouble, slow) = {
            let state = &mut *self.state();
            state.journal.push(Entry { at: now, operation, about: about.to_owned() });
            let scripted = state.troubles.get_mut(&operation).and_then(VecDeque::pop_front);
            (scripted.or_else(|| state.chance.as_mut().and_then(|chance| chance(operation))), state.slow)
        };
        let _running = Running::of(self, about);
        if !slow.is_zero() {
            self.clock.sleep(slow).await;
        }
        let error = |kind, retry| AdapterError::new(kind, operation, "the fake was told to fail").with_retry(retry);
        match trouble {
            Some(Trouble::Fail(kind, retry)) => Err(error(kind, retry)),
            Some(Trouble::Late(kind)) => {
                drop(effect(&mut self.state(), now));
                Err(error(kind, Retry::Backoff))
            }
            Some(Trouble::Hang) => {
                drop(effect(&mut self.state(), now));
                std::future::pending().await
            }
            Some(Trouble::Lost) => std::future::pending().await,
            None => effect(&mut self.state(), now),
        }
    }
}

struct Running<'a>(&'a Fake, String);

impl<'a> Running<'a> {
    fn of(fake: &'a Fake, about: &str) -> Self {
        let state = &mut *fake.state();
        state.running_calls += 1;
        state.most_calls = state.most_calls.max(state.running_calls);
        if state.busy.iter().any(|busy| busy == about) {
            let entry = state.journal.last().cloned();
            state.overlaps.extend(entry);
        }
        state.busy.push(about.to_owned());
        Self(fake, about.to_owned())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running_calls -= 1;
        if let Some(place) = state.busy.iter().position(|busy| *busy == self.1) {
            state.busy.swap_remove(place);
        }
    }
}

impl Fake {
    fn body(&self, delivery: &Verified<'_>) -> Result<Value, AdapterError> {
        let unreadable = || AdapterError::new(ErrorKind::Protocol, Operation::Read, "no such delivery is known");
        let body: Value = serde_json::from_slice(delivery.body()).map_err(|_| unreadable())?;
        if body["odd"] == true && !self.state().reads_odd { Err(unreadable()) } else { Ok(body) }
    }
}

impl State {
    fn job(&mut self, id: &str, operation: Operation) -> Result<&mut Job, AdapterError> {
        self.jobs.get_mut(id).ok_or_else(|| AdapterError::new(ErrorKind::NotFound, operation, "no such job"))
    }

    fn look(&mut self, id: &str, now: Timestamp) -> Result<Observation, AdapterError> {
        let plan = self.plan.clone();
        if let (Some(pace), Some(since)) = (self.pace, self.started.get(id)) {
            let steps = now.since(*since).as_millis() / pace.as_millis().max(1);
            let step = usize::try_from(steps).unwrap_or(usize::MAX).min(plan.len() - 1);
            return Ok(plan[step].clone());
        }
        let cancel = self.cancel;
        let job = self.job(id, Operation::Poll)?;
        if job.cancelled && cancel == CancelOutcome::Requested {
            return Ok(Observation::new(JobState::Cancelled));
        }
        let seen = plan[job.step.min(plan.len() - 1)].clone();
        let waits =
            matches!(&seen.state, JobState::InputRequired(asked) if asked.iter().any(|q| !job.answered.contains_key(&q.key)));
        if waits {
            return Ok(seen);
        }
        if job.step + 1 < plan.len() {
            job.step += 1;
        }
        if matches!(seen.state, JobState::InputRequired(_)) { self.look(id, now) } else { Ok(seen) }
    }

    fn has_ended(&self, id: &str) -> bool {
        self.jobs.get(id).is_some_and(|job| job.step + 1 == self.plan.len() && self.plan[job.step].state.is_terminal())
    }
}

#[async_trait]
impl Adapter for Fake {
    fn capabilities(&self, _tool: &str) -> Capabilities {
        self.state().capabilities
    }

    async fn submit(&self, _cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        let key = request.key.as_str().to_owned();
        self.call(Operation::Submit, &key, |state, now| {
            let known = state.jobs.iter().find(|(_, job)| job.key == key).map(|(id, _)| id.clone());
            let id = match known {
                Some(id) if state.capabilities.idempotent_submit => id,
                Some(_) | None => {
                    let id = format!("job-{}", state.jobs.len() + 1);
                    let (answers, answered) = Default::default();
                    let job = Job { key: key.clone(), step: 0, cancelled: false, answers, answered };
                    state.jobs.insert(id.clone(), job);
                    state.started.insert(id.clone(), now);
                    id
                }
            };
            let observation = if state.tell_at_once { Some(state.look(&id, now)?) } else { None };
            Ok(Submitted { job: JobRef::new(id), observation })
        })
        .await
    }

    async fn find(&self, _cx: &CallContext, key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        self.call(Operation::Find, key.as_str(), |state, now| {
            let lag = state.find_lag;
            let visible = |id: &String| state.started.get(id).is_some_and(|at| now.since(*at) >= lag);
            let found = state.jobs.iter().find(|(id, job)| job.key == key.as_str() && visible(id));
            Ok(found.map(|(id, _)| JobRef::new(id.clone())))
        })
        .await
    }

    async fn poll(&self, cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        self.state().wishes.push((Operation::Poll, cx.cancel));
        self.call(Operation::Poll, job.id(), |state, now| state.look(job.id(), now)).await
    }

    async fn cancel(&self, cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        self.state().wishes.push((Operation::Cancel, cx.cancel));
        let harder = cx.cancel.is_some_and(|wish| wish.escalated);
        self.call(Operation::Cancel, job.id(), |state, _| {
            if state.has_ended(job.id()) {
                return Ok(CancelOutcome::AlreadyEnded);
            }
            let works = harder || !state.stubborn;
            state.job(job.id(), Operation::Cancel)?.cancelled |= works;
            Ok(state.cancel)
        })
        .await
    }

    async fn provide(&self, _cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError> {
        self.call(Operation::Provide, job.id(), |state, _| {
            let job = state.job(job.id(), Operation::Provide)?;
            for (key, answer) in answers {
                // The same answer again acts no second time (clause C13).
                if job.answered.insert(key.clone(), answer.clone()).is_none() {
                    *job.answers.entry(key.clone()).or_default() += 1;
                }
            }
            Ok(())
        })
        .await
    }

    async fn fetch(&self, _cx: &CallContext, job: &JobRef, artifact: &Artifact) -> Result<ArtifactBody, AdapterError> {
        let chunks = self.call(Operation::Fetch, job.id(), |state, _| {
            let gone = || AdapterError::new(ErrorKind::NotFound, Operation::Fetch, "the file is gone");
            state.files.get(&artifact.uri).cloned().ok_or_else(gone)
        });
        let chunks = chunks.await?;
        let broken = || AdapterError::new(ErrorKind::Unavailable, Operation::Fetch, "the connection broke");
        let chunks: Vec<_> = chunks.into_iter().map(|chunk| chunk.map(Bytes::from_static).ok_or_else(broken)).collect();
        let chunks = stream::iter(chunks);
        let chunks = if self.state().stalls { chunks.chain(stream::pending()).boxed() } else { chunks.boxed() };
        Ok(ArtifactBody { mime_type: Some("video/mp4".to_owned()), size: None, chunks })
    }

    fn jobs_in(&self, delivery: &Verified<'_>) -> Result<Vec<JobRef>, AdapterError> {
        let body = self.body(delivery)?;
        let jobs = body["jobs"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Ok(jobs.map(JobRef::new).collect())
    }

    fn read(&self, _: &CallContext, _: &JobRef, delivery: &Verified<'_>) -> Result<Option<Observation>, AdapterError> {
        let body = self.body(delivery)?;
        if body["state"] == "nonsense" {
            return Err(AdapterError::new(ErrorKind::Protocol, Operation::Read, "this state is nonsense"));
        }
        let step = body["step"].as_u64().and_then(|step| usize::try_from(step).ok());
        Ok(step.and_then(|step| self.state().plan.get(step).cloned()))
    }
}
