//! When a task has to be looked at again, and what for: pure functions of the task, its policy and the moment.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, Timestamp};

use super::{Category, InputProgress, PollPolicy, Status, Task, TaskError, TaskState, ToolPolicy};

/// The shortest interval that callers are told, so that nobody spins.
const SHORTEST_CALLER_INTERVAL: Duration = Duration::from_millis(100);
/// The first and the longest pause after a failed call.
const BACKOFF: PollPolicy = PollPolicy { initial: Duration::from_secs(1), max: Duration::from_secs(60), factor: 2.0 };
/// A provider whose answers are not its API's this often in a row is given up.
pub const PROTOCOL_FAULTS_ALLOWED: u32 = 5;

/// How often the jobs of a task's tool are looked at (requirement A7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// By the tool's policy: looks alone tell of the job, or its deliveries are not relied upon.
    Usual,
    /// Deliveries tell of the job; a look after this long makes sure of it.
    Safety(Duration),
    /// The job cannot be looked at: its deliveries alone tell of it.
    Never,
}

/// What a due task needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing was started for certain: submit (again).
    Submit,
    /// A submit may have taken effect: find the job, or repeat with the same key.
    Settle,
    /// Tell the provider what was answered.
    Provide,
    /// Tell the provider to stop.
    Cancel,
    /// The task has ended, and its job was told to stop: see whether it did, else ask in a harder way.
    Escalate,
    /// Look at the job.
    Poll,
    /// Fetch what the job made.
    Keep,
    /// Nothing is left to do.
    Nothing,
}

impl Work {
    /// What `task` needs next. A cancel goes before all else, and a job that is being stopped gets no answers any more.
    #[must_use]
    pub fn of(task: &Task) -> Self {
        match &task.state {
            TaskState::Submitting { unsettled: true, .. } => Self::Settle,
            TaskState::Submitting { unsettled: false, .. } => Self::Submit,
            TaskState::Running { .. } | TaskState::InputRequired { .. } if task.owes_cancel() => Self::Cancel,
            TaskState::Running { .. } | TaskState::InputRequired { .. }
                if !task.is_stopping() && !task.unprovided_answers().is_empty() =>
            {
                Self::Provide
            }
            TaskState::Running { .. } | TaskState::InputRequired { .. } => Self::Poll,
            TaskState::Keeping { .. } => Self::Keep,
            TaskState::Ended { job: Some(_), .. } if task.owes_cancel() => Self::Cancel,
            TaskState::Ended { job: None, .. } if task.owes_cancel() => Self::Settle,
            TaskState::Ended { job: Some(_), .. } if task.escalates_at().is_some() => Self::Escalate,
            TaskState::Ended { .. } => Self::Nothing,
        }
    }
}

/// The moment at which a worker has to look at `task` again; `None` when nothing is left to do.
///
/// `unit` in `0.0..1.0` spreads the moments by up to a tenth (requirement K1: jitter). `asked` is what the provider asked for
/// (`Retry-After`, a hint in an observation) and is never undercut. Limits of time are moments to look, too.
#[must_use]
pub fn next_due(
    task: &Task,
    policy: &ToolPolicy,
    pace: Pace,
    now: Timestamp,
    unit: f64,
    asked: Option<Duration>,
) -> Option<Timestamp> {
    let work = Work::of(task);
    if work == Work::Poll && pace == Pace::Never {
        return first_limit(task, policy, now);
    }
    if work == Work::Escalate {
        return task.escalates_at().map(|at| at.max(now.plus(asked.unwrap_or_default())));
    }
    let telling = work == Work::Cancel || task.is_ended();
    let failures = if telling { task.cancellation.as_ref().map_or(0, |wish| wish.attempts) } else { task.troubles.count };
    let pause = match work {
        Work::Nothing | Work::Escalate => return None,
        Work::Submit | Work::Settle | Work::Provide | Work::Cancel | Work::Poll | Work::Keep if failures > 0 => {
            grown(BACKOFF, failures - 1)
        }
        Work::Submit | Work::Settle | Work::Provide | Work::Cancel | Work::Keep => Duration::ZERO,
        Work::Poll => match pace {
            // A job that is missing or has been told to stop is watched closely: providers seldom deliver that.
            Pace::Safety(rare) if task.missing_since.is_none() && !task.is_stopping() => rare,
            Pace::Safety(_) | Pace::Usual | Pace::Never => interval(policy.poll, now.since(task.updated_at)),
        },
    };
    let pause = pause.mul_f64(1.0 + unit / 10.0).max(asked.unwrap_or_default());
    let next = now.plus(pause);
    Some(first_limit(task, policy, now).map_or(next, |limit| next.min(limit)))
}

/// The first moment from `now` on at which a limit of time strikes; `None` for a task that has ended.
#[must_use]
pub fn first_limit(task: &Task, policy: &ToolPolicy, now: Timestamp) -> Option<Timestamp> {
    if task.is_ended() {
        return None;
    }
    let silence = task.troubles.since.map(|since| since.plus(policy.silence_limit));
    if let TaskState::Keeping { keeping, .. } = &task.state {
        let whole = keeping.since.plus(policy.deadline);
        return Some(silence.map_or(whole, |silence| silence.min(whole)).max(now));
    }
    let submit = matches!(task.state, TaskState::Submitting { .. }).then(|| task.created_at.plus(policy.submit_budget));
    let input = policy.input_timeout.and_then(|timeout| oldest_question(task).map(|asked| asked.plus(timeout)));
    // Past the grace only a further look ends the task (or repeats the submit), and that has its own pace.
    let gone = task.missing_since.map(|since| since.plus(policy.gone_grace)).filter(|at| *at > now);
    // Past its moment a cancel is made again with the next work on the task, which a provider that is left alone puts off.
    let harder = task.escalates_at().filter(|at| *at > now);
    let limits = [Some(task.deadline_at), silence, submit, input, gone, harder];
    limits.into_iter().flatten().min().map(|limit| limit.max(now))
}

fn oldest_question(task: &Task) -> Option<Timestamp> {
    task.inputs.values().filter(|slot| slot.progress == InputProgress::Open).map(|slot| slot.asked_at).min()
}

/// Why what `task` has not kept yet is given up now: it may take as long as the job may, and fail as long as looks at the job may.
#[must_use]
pub fn keeping_over(task: &Task, policy: &ToolPolicy, now: Timestamp) -> Option<String> {
    let TaskState::Keeping { keeping, .. } = &task.state else { return None };
    let why = task.troubles.last.as_ref().map(|fault| format!(": {}", fault.message)).unwrap_or_default();
    if now.since(keeping.since) >= policy.deadline {
        return Some(format!("it could not be fetched within {} s{why}", policy.deadline.as_secs()));
    }
    let since = task.troubles.since.filter(|since| now.since(*since) >= policy.silence_limit)?;
    Some(format!("it could not be fetched for {} s{why}", now.since(since).as_secs()))
}

/// The limit of time or patience that `task` has run into, as the error it ends with.
#[must_use]
pub fn limit_reached(task: &Task, policy: &ToolPolicy, now: Timestamp) -> Option<TaskError> {
    if matches!(task.state, TaskState::Keeping { .. } | TaskState::Ended { .. }) {
        return None;
    }
    let why = task.troubles.last.as_ref().map(|fault| format!(": {}", fault.message)).unwrap_or_default();
    let error = |category, retryable, message| limit_error(task, category, retryable, message);
    if task.troubles.protocol_run >= PROTOCOL_FAULTS_ALLOWED {
        let unsettled = matches!(task.state, TaskState::Submitting { unsettled: true, .. });
        let category = if unsettled { Category::UnknownOutcome } else { Category::Provider(ErrorKind::Protocol) };
        return Some(error(category, false, format!("the provider's answers are not those of its API{why}")));
    }
    if let TaskState::Submitting { unsettled, .. } = task.state
        && now.since(task.created_at) >= policy.submit_budget.min(task.deadline_at.since(task.created_at))
    {
        return Some(if unsettled {
            let message = format!("a job may have been started, but the provider never confirmed it{why}");
            error(Category::UnknownOutcome, false, message)
        } else {
            let kind = task.troubles.last.as_ref().map_or(ErrorKind::Unavailable, |fault| fault.kind);
            error(Category::Provider(kind), true, format!("the job could not be submitted in time{why}"))
        });
    }
    if now >= task.deadline_at {
        let limit = task.deadline_at.since(task.created_at).as_secs();
        return Some(error(Category::Deadline, true, format!("the job did not end within its deadline of {limit} s")));
    }
    if let (Some(timeout), Some(asked)) = (policy.input_timeout, oldest_question(task))
        && now.since(asked) >= timeout
    {
        return Some(error(
            Category::InputTimeout,
            true,
            format!("nobody answered the job's question within {} s", timeout.as_secs()),
        ));
    }
    if let Some(since) = task.troubles.since
        && now.since(since) >= policy.silence_limit
    {
        let message = format!("the provider has given no usable answer for {} s{why}", now.since(since).as_secs());
        return Some(error(Category::Stuck, true, message));
    }
    None
}

/// The end of a task whose job the provider has not known for longer than the grace (requirement K3). Asked right after a look
/// that found no job, so that a job that is back is not given up.
#[must_use]
pub fn gone(task: &Task, policy: &ToolPolicy, now: Timestamp) -> Option<TaskError> {
    let since = task.missing_since.filter(|_| !task.is_ended() && task.job().is_some())?;
    let over = now.since(since) >= policy.gone_grace;
    over.then(|| limit_error(task, Category::Gone, false, "the provider no longer knows the job".to_owned()))
}

fn limit_error(task: &Task, category: Category, retryable: bool, message: String) -> TaskError {
    let provider_status = task.troubles.last.as_ref().and_then(|fault| fault.status);
    TaskError { category, message, retryable, attempts: task.troubles.count, provider_status }
}

/// What callers are told to wait between two looks (requirement D1): short while things change, longer the quieter the job.
#[must_use]
pub fn caller_interval(task: &Task, policy: &ToolPolicy, now: Timestamp) -> Duration {
    let interval = match task.status() {
        Status::Working | Status::InputRequired => interval(policy.poll, now.since(task.updated_at)),
        Status::Completed | Status::Failed | Status::Cancelled => policy.poll.initial,
    };
    interval.max(SHORTEST_CALLER_INTERVAL)
}

/// The interval after which a job that has been quiet for `quiet` is looked at: the sum of `n` intervals that each grow by the
/// factor is as long as this makes it, so nobody has to count looks, and a restart changes nothing.
fn interval(policy: PollPolicy, quiet: Duration) -> Duration {
    let interval = policy.initial.as_secs_f64() + (policy.factor.max(1.0) - 1.0) * quiet.as_secs_f64();
    if interval >= policy.max.as_secs_f64() { policy.max } else { Duration::from_secs_f64(interval) }
}

fn grown(policy: PollPolicy, steps: u32) -> Duration {
    let factor = policy.factor.max(1.0).powi(i32::try_from(steps.min(64)).unwrap_or(64));
    let grown = policy.initial.as_secs_f64() * factor;
    if grown >= policy.max.as_secs_f64() { policy.max } else { Duration::from_secs_f64(grown) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jobgate_adapter_api::{IdempotencyKey, InputKind, InputRequest, JobRef};

    use super::super::{
        CancelProgress, Cancellation, Escalation, InputSlot, NewTask, Outcome, Principal, ProviderName, TaskId, ToolName,
    };
    use super::*;

    const POLICY: PollPolicy = PollPolicy { initial: Duration::from_secs(1), max: Duration::from_secs(30), factor: 1.5 };

    /// K1: intervals grow from the first to the longest and stay there, by the factor each time.
    #[test]
    fn intervals_grow_to_the_longest() {
        let mut quiet = Duration::ZERO;
        for steps in [0, 1, 2, 3, 40, u32::MAX] {
            while quiet < Duration::from_secs(3600) && interval(POLICY, quiet) < grown(POLICY, steps) {
                quiet += interval(POLICY, quiet);
            }
            assert_eq!(interval(POLICY, quiet), grown(POLICY, steps), "after {steps} looks");
        }
        assert_eq!(interval(POLICY, Duration::MAX), POLICY.max);
    }

    fn task(state: TaskState) -> Task {
        let new = NewTask {
            id: TaskId::from_bytes([1; 16]),
            owner: Principal::local(),
            tool: ToolName::new("render"),
            provider: ProviderName::new("farm"),
            arguments: Arc::default(),
            caller_key: None,
            submit_key: IdempotencyKey::new("k"),
            created_at: at(0),
            ttl: None,
            deadline_at: at(7200),
        };
        Task { state, ..Task::new(new) }
    }

    fn running() -> Task {
        task(TaskState::Running { job: JobRef::new("j1") })
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1000)
    }

    fn due(task: &Task, now: i64, asked: Option<u64>) -> Option<f64> {
        let policy = ToolPolicy { poll: POLICY, ..ToolPolicy::default() };
        let due = next_due(task, &policy, Pace::Usual, at(now), 0.0, asked.map(Duration::from_secs));
        due.map(|due| due.since(at(0)).as_secs_f64())
    }

    /// K1: what the provider asks for is never undercut; jitter only ever makes a pause longer.
    #[test]
    fn a_look_is_not_earlier_than_asked() {
        assert_eq!(due(&running(), 0, None), Some(1.0));
        assert_eq!(due(&running(), 10, None), Some(16.0));
        assert_eq!(due(&running(), 10, Some(3)), Some(16.0));
        assert_eq!(due(&running(), 10, Some(40)), Some(50.0));
        let policy = ToolPolicy { poll: POLICY, ..ToolPolicy::default() };
        let late = next_due(&running(), &policy, Pace::Usual, at(0), 0.999, None);
        assert!(late > Some(at(1)) && late < Some(Timestamp::from_millis(1101)), "{late:?}");
    }

    /// B9, F4: limits of time are moments to look, whatever the provider asks for.
    #[test]
    fn limits_are_moments_to_look() {
        assert_eq!(due(&running(), 7190, Some(3600)), Some(7200.0));
        let mut silent = running();
        silent.troubles.count = 9;
        silent.troubles.since = Some(at(100));
        assert_eq!(due(&silent, 3690, None), Some(3700.0));
        let submitting = task(TaskState::Submitting { attempt: 1, unsettled: false });
        assert_eq!(due(&submitting, 590, Some(60)), Some(600.0));
        let mut missing = running();
        missing.missing_since = Some(at(10));
        assert_eq!(due(&missing, 20, Some(60)), Some(40.0));
        assert_eq!(due(&missing, 50, Some(60)), Some(110.0), "past the grace the pace is the usual one");
    }

    /// Failed calls make pauses grow to a minute; what has to be told goes at once the first time.
    #[test]
    fn failures_make_pauses_grow() {
        let mut failing = running();
        let pauses = [1, 2, 3, 6, 7, 30].map(|count| {
            failing.troubles.count = count;
            due(&failing, 0, None)
        });
        assert_eq!(pauses, [Some(1.0), Some(2.0), Some(4.0), Some(32.0), Some(60.0), Some(60.0)]);
        assert_eq!(due(&task(TaskState::Submitting { attempt: 0, unsettled: false }), 5, None), Some(5.0));
        let ended = TaskState::Ended { job: Some(JobRef::new("j1")), outcome: Outcome::Cancelled, at: at(0) };
        assert_eq!(due(&task(ended.clone()), 5, None), None);
        let wish = |attempts| Cancellation {
            requested_at: at(0),
            attempts,
            progress: CancelProgress::Owed,
            escalation: Escalation::None,
        };
        assert_eq!(due(&Task { cancellation: Some(wish(0)), ..task(ended.clone()) }, 5, None), Some(5.0));
        assert_eq!(due(&Task { cancellation: Some(wish(3)), ..task(ended) }, 5, None), Some(9.0));
    }

    /// A7, B9: where deliveries tell of a job it is looked at rarely, or never; its limits hold all the same, and so does all that is not a
    /// look.
    #[test]
    fn a_job_that_tells_of_itself_is_looked_at_rarely() {
        let policy = ToolPolicy { poll: POLICY, ..ToolPolicy::default() };
        let due = |task: &Task, pace| next_due(task, &policy, pace, at(10), 0.0, None).map(|due| due.since(at(0)).as_secs_f64());
        let safety = Pace::Safety(Duration::from_secs(300));
        assert_eq!((due(&running(), safety), due(&running(), Pace::Never)), (Some(310.0), Some(7200.0)));
        let mut failing = running();
        failing.troubles.count = 2;
        failing.troubles.since = Some(at(0));
        assert_eq!((due(&failing, safety), due(&failing, Pace::Never)), (Some(12.0), Some(3600.0)));
        let mut missing = running();
        missing.missing_since = Some(at(5));
        assert_eq!((due(&missing, safety), due(&missing, Pace::Never)), (Some(16.0), Some(35.0)));
        let wish =
            Cancellation { requested_at: at(0), attempts: 0, progress: CancelProgress::Owed, escalation: Escalation::None };
        for pace in [safety, Pace::Never] {
            assert_eq!(due(&Task { cancellation: Some(wish.clone()), ..running() }, pace), Some(10.0));
            assert_eq!(due(&task(TaskState::Submitting { attempt: 0, unsettled: false }), pace), Some(10.0));
        }
    }

    /// Each limit has its category, and none strikes a moment early.
    #[test]
    fn limits_strike_on_time() {
        let policy = ToolPolicy { input_timeout: Some(Duration::from_secs(60)), ..ToolPolicy::default() };
        let submitting = |unsettled| task(TaskState::Submitting { attempt: 1, unsettled });
        let mut silent = running();
        silent.troubles.since = Some(at(100));
        let mut asking = running();
        let request = InputRequest { key: "a".into(), message: "Go?".into(), kind: InputKind::Url { url: "u".into() } };
        asking.inputs.insert("a".into(), InputSlot { request, asked_at: at(5), progress: InputProgress::Open });
        for (task, moment, category) in [
            (running(), 7200, "deadline"),
            (submitting(false), 600, "unavailable"),
            (submitting(true), 600, "unknown_outcome"),
            (silent, 3700, "stuck"),
            (asking, 65, "input_timeout"),
        ] {
            let struck = |second| limit_reached(&task, &policy, at(second)).map(|error| error.category.as_str());
            assert_eq!((struck(moment - 1), struck(moment)), (None, Some(category)));
        }
    }
}
