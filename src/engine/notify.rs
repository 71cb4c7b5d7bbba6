//! Who waits for changes of tasks, and how the changes reach them. A courtesy: the store is the truth (requirement D4).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::domain::{Revision, Task, TaskId};

/// Hands every visible change to those who watch the task.
#[derive(Debug)]
pub(super) struct Hub {
    watchers: Mutex<HashMap<TaskId, Vec<Weak<Mailbox>>>>,
    closed: CancellationToken,
}

/// What one watcher has not taken yet: at most one state a task, the newest, so that a slow watcher costs no more than a quick one.
#[derive(Debug, Default)]
struct Mailbox {
    /// Takes changes that callers do not see, too.
    everything: bool,
    waiting: Mutex<Waiting>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    order: VecDeque<TaskId>,
    newest: HashMap<TaskId, Arc<Task>>,
    seen: HashMap<TaskId, Revision>,
}

impl Mailbox {
    fn put(&self, task: &Arc<Task>) {
        let mut waiting = lock(&self.waiting);
        // Two commits may be handed on in the wrong order; the older one is no news.
        if waiting.seen.get(&task.id).is_some_and(|seen| *seen >= task.revision) {
            return;
        }
        waiting.seen.insert(task.id, task.revision);
        if waiting.newest.insert(task.id, task.clone()).is_none() {
            waiting.order.push_back(task.id);
        }
        self.filled.notify_one();
    }

    fn take(&self) -> Option<Arc<Task>> {
        let mut waiting = lock(&self.waiting);
        let id = waiting.order.pop_front()?;
        waiting.newest.remove(&id)
    }
}

impl Hub {
    pub(super) fn new(closed: CancellationToken) -> Self {
        Self { watchers: Mutex::default(), closed }
    }

    /// Hands a task on to its watchers; a change that callers do not see only to those who want everything.
    pub(super) fn publish(&self, task: &Arc<Task>, visible: bool) {
        let mailboxes: Vec<Arc<Mailbox>> = match lock(&self.watchers).get(&task.id) {
            Some(watchers) => watchers.iter().filter_map(Weak::upgrade).collect(),
            None => return,
        };
        for mailbox in mailboxes.iter().filter(|mailbox| visible || mailbox.everything) {
            mailbox.put(task);
        }
    }

    /// A watch of these tasks; what they are now has to be put in by [`Watch::start_with`] after this call, so that nothing is missed.
    pub(super) fn watch(self: &Arc<Self>, ids: &[TaskId], everything: bool) -> Watch {
        let mailbox = Arc::new(Mailbox { everything, ..Mailbox::default() });
        let mut watchers = lock(&self.watchers);
        for id in ids {
            watchers.entry(*id).or_default().push(Arc::downgrade(&mailbox));
        }
        drop(watchers);
        Watch { hub: self.clone(), mailbox, ids: ids.to_vec() }
    }
}

/// Visible changes of some tasks, the present state of each first. A slow reader skips to the newest state.
#[derive(Debug)]
pub struct Watch {
    hub: Arc<Hub>,
    mailbox: Arc<Mailbox>,
    ids: Vec<TaskId>,
}

impl Watch {
    /// The tasks that are watched: those of the asked for that the owner has.
    #[must_use]
    pub fn ids(&self) -> &[TaskId] {
        &self.ids
    }

    /// The next change; `None` once the engine stops. May be dropped and called again: nothing is lost.
    pub async fn next(&mut self) -> Option<Arc<Task>> {
        loop {
            if let Some(task) = self.mailbox.take() {
                return Some(task);
            }
            tokio::select! {
                () = self.mailbox.filled.notified() => {}
                () = self.hub.closed.cancelled() => return self.mailbox.take(),
            }
        }
    }

    /// The task as it is now, for a watcher that has just begun.
    pub(super) fn start_with(&self, task: &Arc<Task>) {
        self.mailbox.put(task);
    }

    /// Watches these of the tasks alone.
    pub(super) fn keep(&mut self, ids: &[TaskId]) {
        let dropped: Vec<TaskId> = self.ids.iter().filter(|id| !ids.contains(id)).copied().collect();
        self.leave(&dropped);
        self.ids.retain(|id| ids.contains(id));
    }

    fn leave(&self, ids: &[TaskId]) {
        let mut watchers = lock(&self.hub.watchers);
        for id in ids {
            if let Some(of_task) = watchers.get_mut(id) {
                of_task.retain(|mailbox| !std::ptr::eq(mailbox.as_ptr(), Arc::as_ptr(&self.mailbox)));
                if of_task.is_empty() {
                    watchers.remove(id);
                }
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let ids = std::mem::take(&mut self.ids);
        self.leave(&ids);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
