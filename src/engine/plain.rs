//! A plain call: the job is submitted and watched while the caller waits, and nothing is stored (requirement A4).

use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{AdapterError, CallContext, ErrorKind, Operation, Retry, SubmitRequest, Submitted};
use tokio::sync::mpsc;

use super::call::submit_key;
use super::core::{Core, Runtime};
use super::{Call, CallError, Update};
use crate::domain::{Category, JobOutput, JobRef, JobState, Observation, PollPolicy, TaskError, Timestamp, Tool, ToolResult};

impl Core {
    pub(super) async fn run_plain(
        self: &Arc<Self>,
        call: Call,
        updates: mpsc::Sender<Update>,
    ) -> Result<Arc<ToolResult>, CallError> {
        let (tool, runtime) = self.check(&call)?;
        let until = self.clock.now().plus(tool.policy.wait);
        let cx = CallContext {
            tool: tool.name.as_str().to_owned(),
            key: submit_key(self.random.as_ref()),
            timeout: runtime.provider.limits.call_timeout.min(tool.policy.wait),
            arguments: Arc::new(call.arguments.clone()),
            started_at: self.clock.now(),
            callback_url: None,
            cancel: None,
        };
        let plain = Plain { core: self, runtime: &runtime, tool: &tool, cx };
        let mut job = None;
        let in_time = async {
            tokio::select! {
                biased;
                ended = plain.run(call, &updates, &mut job) => Some(ended),
                () = self.clock.sleep_until(until) => None,
            }
        };
        let Some(ended) = self.supervisor.run(in_time).await else { return Err(CallError::ShuttingDown) };
        if let Some(ended) = ended {
            return ended.map(Arc::new).map_err(CallError::Fault);
        }
        if let Some(job) = job {
            plain.stop(job);
        }
        let limit = tool.policy.wait.as_secs_f64();
        Err(CallError::Fault(plain.error(Category::Deadline, true, format!("the job did not end within {limit} s"))))
    }
}

struct Plain<'a> {
    core: &'a Arc<Core>,
    runtime: &'a Arc<Runtime>,
    tool: &'a Tool,
    cx: CallContext,
}

impl Plain<'_> {
    async fn run(&self, call: Call, updates: &mpsc::Sender<Update>, known: &mut Option<JobRef>) -> Result<ToolResult, TaskError> {
        let request = SubmitRequest { key: self.cx.key.clone(), arguments: self.tool.complete(call.arguments) };
        let Submitted { mut job, observation } = match self.submit(request).await {
            Ok(submitted) => submitted,
            Err(error) if matches!(error.kind(), ErrorKind::Rejected | ErrorKind::NotFound) => {
                return Ok(ToolResult { output: JobOutput::text(error.message()), is_error: true, kept: Vec::new() });
            }
            Err(error) => return Err(self.failed(&error)),
        };
        *known = Some(job.clone());
        let mut seen = observation;
        let mut said = Update { message: None, progress: None };
        let mut quiet_since = self.core.clock.now();
        let mut missing_since: Option<Timestamp> = None;
        loop {
            let mut asked = None;
            if let Some(seen) = seen.take() {
                let seen = self.core.taken(self.tool.name.as_str(), seen);
                asked = seen.next_poll;
                job = seen.learned.iter().fold(job, |job, (name, value)| job.with(name, value));
                *known = Some(job.clone());
                let now = Update { message: seen.message.clone(), progress: seen.progress };
                if now != said {
                    said = now.clone();
                    quiet_since = self.core.clock.now();
                    // A courtesy: when the reader is slow, the next one will do.
                    drop(updates.try_send(now));
                }
                if let Some(ended) = self.end(seen) {
                    if ended.as_ref().is_err_and(|error| error.category == Category::Provider(ErrorKind::Unsupported)) {
                        self.stop(job.clone());
                    }
                    return ended;
                }
            }
            self.pause(quiet_since, asked).await;
            seen = match self.call(Operation::Poll, self.runtime.provider.adapter.poll(&self.cx, &job)).await {
                Ok(seen) => {
                    missing_since = None;
                    Some(seen)
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let since = *missing_since.get_or_insert(self.core.clock.now());
                    if self.core.clock.now().since(since) >= self.tool.policy.gone_grace {
                        let message = "the provider no longer knows the job".to_owned();
                        return Err(self.error(Category::Gone, false, message));
                    }
                    None
                }
                Err(error) if error.retry() == Retry::Never => return Err(self.failed(&error)),
                Err(error) => {
                    if let Retry::After(pause) = error.retry() {
                        self.core.clock.sleep(pause).await;
                    }
                    None
                }
            };
        }
    }

    /// Submits until the provider takes or refuses the job; only where nothing was started, or the key makes it harmless.
    async fn submit(&self, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        let adapter = &self.runtime.provider.adapter;
        let harmless = adapter.capabilities(&self.cx.tool).idempotent_submit;
        let begun = self.core.clock.now();
        loop {
            let error = match self.call(Operation::Submit, adapter.submit(&self.cx, request.clone())).await {
                Ok(submitted) => return Ok(submitted),
                Err(error) => error,
            };
            let again = match error.kind() {
                ErrorKind::RateLimited | ErrorKind::Unavailable => error.retry() != Retry::Never,
                ErrorKind::OutcomeUnknown => harmless,
                ErrorKind::Rejected
                | ErrorKind::NotFound
                | ErrorKind::Unauthorized
                | ErrorKind::Protocol
                | ErrorKind::Unsupported => false,
            };
            if !again {
                return Err(error);
            }
            let asked = if let Retry::After(pause) = error.retry() { Some(pause) } else { None };
            self.pause(begun, asked).await;
        }
    }

    /// One call, as soon as the provider's limits allow it.
    async fn call<T>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, AdapterError>>,
    ) -> Result<T, AdapterError> {
        let mut pass = self.runtime.gate.pass().await;
        loop {
            match self.runtime.gate.turn(&mut pass).await {
                Ok(turn) => return turn.run(operation, call).await,
                Err(until) => self.core.clock.sleep_until(until).await,
            }
        }
    }

    async fn pause(&self, quiet_since: Timestamp, asked: Option<Duration>) {
        let PollPolicy { initial, max, factor } = self.tool.policy.poll;
        let quiet = self.core.clock.now().since(quiet_since);
        let pause = (initial + quiet.mul_f64((factor - 1.0).max(0.0))).min(max);
        self.core.clock.sleep(pause.max(asked.unwrap_or_default())).await;
    }

    /// The result, once the job has ended.
    fn end(&self, seen: Observation) -> Option<Result<ToolResult, TaskError>> {
        match seen.state {
            JobState::Queued | JobState::Running => None,
            JobState::Unrecognized(word) => {
                self.runtime.note_strange(&self.cx.tool, &word);
                None
            }
            JobState::Succeeded(output) => Some(Ok(ToolResult::of(&output, &[], "a call without a task keeps nothing"))),
            JobState::Failed(failure) => Some(Ok(ToolResult::from(&failure))),
            JobState::Cancelled => {
                let output = JobOutput::text("the job was cancelled at the provider");
                Some(Ok(ToolResult { output, is_error: true, kept: Vec::new() }))
            }
            JobState::Gone => Some(Err(self.error(Category::Gone, false, "the provider no longer has the job".to_owned()))),
            JobState::InputRequired(_) => {
                let message = "the job asks a person, which a plain call cannot; the job is cancelled".to_owned();
                Some(Err(self.error(Category::Provider(ErrorKind::Unsupported), false, message)))
            }
        }
    }

    /// Tells the provider, once, that nobody waits for the job any more; the caller does not wait for that.
    fn stop(&self, job: JobRef) {
        let (runtime, cx) = (self.runtime.clone(), self.cx.clone());
        if !runtime.provider.adapter.capabilities(&cx.tool).cancel {
            return;
        }
        self.core.supervisor.spawn("cancel of a plain call", async move {
            let mut pass = runtime.gate.pass().await;
            let Ok(turn) = runtime.gate.turn(&mut pass).await else { return };
            if let Err(error) = turn.run(Operation::Cancel, runtime.provider.adapter.cancel(&cx, &job)).await {
                tracing::warn!(tool = cx.tool, %error, "the job of a plain call could not be cancelled");
            }
        });
    }

    fn failed(&self, error: &AdapterError) -> TaskError {
        let retryable = error.retry() != Retry::Never && error.kind() != ErrorKind::OutcomeUnknown;
        let error_of = self.error(Category::Provider(error.kind()), retryable, error.message().to_owned());
        TaskError { provider_status: error.status(), ..error_of }
    }

    fn error(&self, category: Category, retryable: bool, message: String) -> TaskError {
        TaskError { category, message, retryable, attempts: 1, provider_status: None }
    }
}
