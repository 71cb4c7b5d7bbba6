//! Following one task on a request's own stream: progress, news of its status, and its questions.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::ask::Asker;
use super::stream::{Outlet, lock};
use crate::domain::{Task, TaskId, Timestamp};
use crate::engine::AccessError;
use crate::mcp::dialects::core::status;
use crate::mcp::dialects::said::{access_error, store_error};
use crate::mcp::error::RpcError;
use crate::mcp::live::StreamOf;
use crate::mcp::progress::{Progressing, update_of};

/// What is to be followed, and how.
#[derive(Debug)]
pub(in crate::mcp::dialects) struct Follow {
    /// The task.
    pub(in crate::mcp::dialects) task: TaskId,
    /// The dialect's key for the task that a message is about; `None` where clients know of no tasks.
    pub(in crate::mcp::dialects) related: Option<&'static str>,
    /// Whether `notifications/tasks/status` are sent.
    pub(in crate::mcp::dialects) statuses: bool,
    /// Whether the job's questions are asked here.
    pub(in crate::mcp::dialects) questions: bool,
    /// How long nothing may happen before progress is told all the same.
    pub(in crate::mcp::dialects) heartbeat: Option<Duration>,
    /// When to stop.
    pub(in crate::mcp::dialects) until: Option<Timestamp>,
}

/// How following ended.
#[derive(Debug)]
pub(in crate::mcp::dialects) enum Followed {
    /// The task has ended.
    Ended(Arc<Task>),
    /// The time is up.
    TimeUp(Arc<Task>),
    /// The gateway is stopping.
    Stopping,
}

/// What the stream holds in its session while it follows.
struct Held {
    changes: watch::Receiver<()>,
    asker: Option<Asker>,
    _stream: StreamOf,
}

impl Outlet {
    /// Tells the client about a task until it has ended. The job's questions are asked on this very stream, where the client takes one.
    ///
    /// # Errors
    /// -32602 for a task that the caller does not have.
    pub(in crate::mcp::dialects) async fn follow(&mut self, follow: Follow) -> Result<Followed, RpcError> {
        let (engine, clock) = (self.spoken.shared.engine.clone(), self.spoken.shared.clock.clone());
        let caller = self.spoken.context.caller.clone();
        let mut watch = engine.watch(&caller, &[follow.task]).await.map_err(|error| store_error(&error))?;
        if watch.ids().is_empty() {
            return Err(access_error(AccessError::NotFound));
        }
        let Some(mut task) = watch.next().await else { return Ok(Followed::Stopping) };
        let mut held = self.hold(&follow);
        let mut said = None;
        let mut quiet_since = clock.now();
        loop {
            if follow.statuses {
                let now = status::gist(&task);
                if said.as_ref().is_some_and(|said| *said != now) {
                    self.notify("notifications/tasks/status", &status::View::new(&task, &self.spoken)).await;
                }
                said = Some(now);
            }
            if let Some(asker) = held.as_mut().and_then(|held| held.asker.as_mut()) {
                for message in asker.news(&task) {
                    self.say(message).await;
                }
            }
            if task.is_ended() {
                drop(held);
                if let Some(here) = self.spoken.here() {
                    here.leave(task.id);
                }
                return Ok(Followed::Ended(task));
            }
            let beat = follow.heartbeat.map(|silence| quiet_since.plus(silence));
            tokio::select! {
                biased;
                next = watch.next() => {
                    let Some(next) = next else { return Ok(Followed::Stopping) };
                    task = next;
                    quiet_since = clock.now();
                    if !task.is_ended() {
                        self.progress(&update_of(&task));
                    }
                }
                () = changed(&mut held) => {}
                () = until(&*clock, follow.until) => return Ok(Followed::TimeUp(task)),
                () = until(&*clock, beat) => {
                    quiet_since = clock.now();
                    self.heartbeat();
                }
            }
        }
    }

    fn hold(&mut self, follow: &Follow) -> Option<Held> {
        if !self.streams() {
            return None;
        }
        let here = self.spoken.here()?;
        let (stream, progress) = here.stream_of(follow.task, follow.related);
        self.tell_also(progress);
        let asker = follow.questions.then(|| Asker::new(self.spoken.clone(), here.clone(), follow.task, follow.related));
        Some(Held { changes: here.changes(), asker, _stream: stream })
    }

    /// The token of the call that made the task stays good for the task's whole life (tasks, "Task Progress Notifications").
    fn tell_also(&mut self, progress: Option<Arc<Mutex<Progressing>>>) {
        let Some(progress) = progress else { return };
        let token = |progress: &Arc<Mutex<Progressing>>| lock(progress).token().get().to_owned();
        if self.progress.iter().all(|known| token(known) != token(&progress)) {
            self.progress.push(progress);
        }
    }
}

async fn changed(held: &mut Option<Held>) {
    if let Some(held) = held
        && held.changes.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

async fn until(clock: &dyn crate::domain::Clock, moment: Option<Timestamp>) {
    match moment {
        Some(moment) => clock.sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
