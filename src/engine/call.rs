//! A call becomes a durable task, and its job is submitted.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::core::{Core, Runtime, lock};
use super::gate::{Pass, Turn};
use super::notify::Watch;
use super::sweep::was_refused;
use super::{Call, CallError, CallNames, Called};
use crate::domain::{
    CallerKey, Cause, IdempotencyKey, Join, Names, NewTask, Principal, Task, TaskId, TaskState, Tool, ToolPolicy, is_client_id,
};
use crate::store::{Created, StoreError};

/// A task that is being created: it counts against its owner's limit before the store knows it.
struct Arriving {
    core: Arc<Core>,
    owner: Principal,
}

impl Drop for Arriving {
    fn drop(&mut self) {
        let mut arriving = lock(&self.core.arriving);
        if let Some(count) = arriving.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                arriving.remove(&self.owner);
            }
        }
    }
}

impl Core {
    /// A known tool, its provider, and arguments within the limit.
    pub(super) fn check(&self, call: &Call) -> Result<(Arc<Tool>, Arc<Runtime>), CallError> {
        if self.supervisor.stopping().is_cancelled() {
            return Err(CallError::ShuttingDown);
        }
        let tool = self.tools.get(call.tool.as_str()).ok_or(CallError::UnknownTool)?;
        let runtime = self.providers.get(&tool.provider).ok_or(CallError::UnknownTool)?;
        let limit = self.limits.max_argument_bytes;
        if !fits(&call.arguments, limit) {
            return Err(CallError::ArgumentsTooLarge { limit });
        }
        Ok((tool.clone(), runtime.clone()))
    }

    pub(super) async fn call(self: &Arc<Self>, call: Call) -> Result<Arc<Task>, CallError> {
        let (tool, runtime) = self.check(&call)?;
        let CallNames { client_id, request, life_from } = call.names;
        let joins = tool.policy.join == Join::SameArguments && call.key.is_none() && client_id.is_none();
        let names = Names { client_id, request, join: joins.then(|| hash(&call.arguments)) };
        let key = call.key.map(|key| CallerKey { key, arguments_hash: hash(&call.arguments) });
        if let (Some(task), Some(key)) = (self.keyed(&call.owner, &tool.name, key.as_ref()).await?, &key) {
            return repeated(&task, key);
        }
        if let Some(client_id) = &names.client_id {
            if !is_client_id(client_id) {
                return Err(CallError::BadName);
            }
            self.is_free(&call.owner, client_id).await?;
        }
        if let Some(task) = self.joined(&call.owner, &tool.name, names.join.as_ref()).await? {
            return self.shared(task).await;
        }
        let arriving = self.admit(&call.owner).await?;
        let now = self.clock.now();
        let mut task = Task::new(NewTask {
            id: TaskId::mint(self.random.as_ref()),
            owner: call.owner,
            tool: tool.name.clone(),
            provider: tool.provider.clone(),
            arguments: Arc::new(tool.complete(call.arguments)),
            caller_key: key.clone(),
            submit_key: submit_key(self.random.as_ref()),
            created_at: now,
            ttl: granted(call.ttl, &tool.policy),
            deadline_at: now.plus(tool.policy.deadline),
        })
        .with_names(names);
        task.life_from = life_from;
        task.due_at = Some(now);
        let watch = self.hub.watch(&[task.id], true);
        let (created, answer) = oneshot::channel();
        // A dropped connection drops this future; the task and its submit go on.
        let core = self.clone();
        self.supervisor.spawn("submit", async move { core.create(&runtime, task, arriving, created).await });
        match answer.await {
            // Who chose the id knows the task by it already, and is told at once that it is there.
            Ok(Ok(Created::New(task))) if task.names.client_id.is_some() => Ok(task),
            Ok(Ok(Created::New(task))) => Ok(self.first_answer(task, watch).await?),
            Ok(Ok(Created::Existing(task))) => match &key {
                Some(key) => repeated(&task, key),
                None => self.shared(task).await,
            },
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(CallError::ShuttingDown),
        }
    }

    /// The answer to a call that joins the job of `task`: as quick and as telling as the one that the first call got.
    async fn shared(&self, task: Arc<Task>) -> Result<Arc<Task>, CallError> {
        let watch = self.hub.watch(&[task.id], true);
        let task = self.store.get(&task.id).await?.unwrap_or(task);
        Ok(self.first_answer(task, watch).await?)
    }

    /// Makes room for one more task of this owner.
    async fn admit(self: &Arc<Self>, owner: &Principal) -> Result<Arriving, CallError> {
        let limit = self.limits.max_live_tasks_per_principal;
        let arriving = {
            let mut arriving = lock(&self.arriving);
            let count = arriving.entry(owner.clone()).or_default();
            *count += 1;
            *count
        };
        let guard = Arriving { core: self.clone(), owner: owner.clone() };
        if self.store.count_live(owner).await?.saturating_add(arriving) > limit {
            return Err(CallError::TooManyTasks { limit });
        }
        Ok(guard)
    }

    /// Makes the task durable and, where the provider can be called at once, submits its job; else the poller does.
    async fn create(
        self: Arc<Self>,
        runtime: &Arc<Runtime>,
        task: Task,
        arriving: Arriving,
        created: oneshot::Sender<Result<Created, StoreError>>,
    ) {
        let id = task.id;
        let busy = self.busy(id);
        let now = runtime.gate.try_turn();
        let (task, claimed_until) = match &now {
            Some(_) => (task.with_submit_begun(), Some(self.clock.now().plus(runtime.lease()))),
            None => (task, None),
        };
        let cause = Cause::Caller(task.owner.clone());
        let answer = self.timed(self.store.create(task, claimed_until, cause)).await;
        drop(arriving);
        let new = match &answer {
            Ok(Created::New(task)) => Some(task.clone()),
            Ok(Created::Existing(_)) | Err(_) => None,
        };
        if let Some(task) = &new {
            self.observer.created(task);
        }
        // Nobody may be there any more to hear it.
        drop(created.send(answer));
        if let (Some(task), Some((pass, turn))) = (new, now) {
            self.send_now(runtime, &task, pass, turn).await;
        }
        drop(busy);
        // Only now: the poller may have claimed the task in vain while it was busy, and whoever claims it from here on finds nobody
        // at work on it.
        if let Err(error) = self.store.release(&[id]).await {
            tracing::warn!(task = ?id, %error, "the claim could not be given back; it ends by itself");
        }
        runtime.wake.notify_one();
    }

    async fn send_now(self: &Arc<Self>, runtime: &Arc<Runtime>, task: &Arc<Task>, pass: Pass, turn: Turn) {
        if let Err(error) = self.send(runtime, task, turn, false).await {
            tracing::error!(task = ?task.id, %error, "the outcome of a submit could not be recorded; it has to be settled");
        }
        drop(pass);
    }

    /// The task once its provider has answered, or has failed to, or as it is after `submit_wait`.
    async fn first_answer(&self, mut task: Arc<Task>, mut watch: Watch) -> Result<Arc<Task>, StoreError> {
        let until = self.clock.now().plus(self.limits.submit_wait);
        while matches!(task.state, TaskState::Submitting { .. }) && task.troubles.count == 0 {
            tokio::select! {
                biased;
                next = watch.next() => match next {
                    Some(next) => task = next,
                    None => break,
                },
                () = self.clock.sleep_until(until) => break,
            }
        }
        Ok(task)
    }
}

/// Gives back the task of an earlier call with the same key.
fn repeated(task: &Arc<Task>, key: &CallerKey) -> Result<Arc<Task>, CallError> {
    match &task.caller_key {
        Some(then) if then.arguments_hash == key.arguments_hash => Ok(task.clone()),
        Some(_) | None => Err(CallError::KeyConflict),
    }
}

/// The answer to a caller that takes either a task or the tool's own error.
pub(super) fn called(task: &Arc<Task>) -> Called {
    was_refused(task).map_or_else(|| Called::Task(task.clone()), |result| Called::Refused(result.clone()))
}

/// The life of a task: what was asked for within the tool's limit, or the tool's own.
fn granted(asked: Option<Duration>, policy: &ToolPolicy) -> Option<Duration> {
    match (asked, policy.max_ttl) {
        (Some(asked), Some(most)) => Some(asked.min(most)),
        (Some(asked), None) => Some(asked),
        (None, _) => policy.ttl,
    }
}

pub(super) fn submit_key(random: &dyn crate::domain::Random) -> IdempotencyKey {
    use std::fmt::Write as _;
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    let mut text = String::with_capacity(32);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a string takes what is written");
    }
    IdempotencyKey::new(text)
}

/// A hash of arguments that does not depend on the order of their fields.
fn hash(arguments: &serde_json::Map<String, Value>) -> [u8; 32] {
    let mut sorted = Value::Object(arguments.clone());
    sorted.sort_all_objects();
    Sha256::digest(sorted.to_string().as_bytes()).into()
}

/// Whether `arguments` take at most `limit` bytes as JSON; counts without building the text.
fn fits(arguments: &serde_json::Map<String, Value>, limit: usize) -> bool {
    struct Counted(usize);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => {
                    self.0 = left;
                    Ok(bytes.len())
                }
                None => Err(std::io::ErrorKind::WriteZero.into()),
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Counted(limit), arguments).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> serde_json::Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other}"),
        }
    }

    /// C3: the same wish in another spelling is the same wish.
    #[test]
    fn the_order_of_fields_does_not_matter() {
        let one = object(json!({"a": {"x": 1, "y": [1, 2]}, "b": 2}));
        let other = object(json!({"b": 2, "a": {"y": [1, 2], "x": 1}}));
        assert_eq!(hash(&one), hash(&other));
        assert_ne!(hash(&one), hash(&object(json!({"a": {"x": 1, "y": [2, 1]}, "b": 2}))));
    }

    #[test]
    fn arguments_are_measured_as_json() {
        let arguments = object(json!({"a": "bcd"}));
        assert!(fits(&arguments, 11));
        assert!(!fits(&arguments, 10));
    }

    /// G1: within the tool's limit a caller gets what it asks for.
    #[test]
    fn a_life_is_granted_within_limits() {
        let hours = |n: u64| Duration::from_secs(n * 3600);
        let policy = ToolPolicy { ttl: Some(hours(2)), max_ttl: Some(hours(5)), ..ToolPolicy::default() };
        assert_eq!(granted(None, &policy), Some(hours(2)));
        assert_eq!(granted(Some(hours(1)), &policy), Some(hours(1)));
        assert_eq!(granted(Some(hours(9)), &policy), Some(hours(5)));
        assert_eq!(granted(Some(hours(9)), &ToolPolicy { max_ttl: None, ..policy }), Some(hours(9)));
    }
}
