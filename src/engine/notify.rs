//! Who waits for changes of tasks, and how the changes reach them. A courtesy: the store is the truth (requirement D4).
//!
//! A [`Wait`] is for the many who block on one task: all of one task share one channel, which keeps the newest state alone. A
//! [`Watch`] is for whoever follows several tasks: it has a mailbox of its own.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::domain::{Revision, Task, TaskId};

/// Hands every visible change to those who watch the task.
#[derive(Debug)]
pub(super) struct Hub {
    topics: Mutex<HashMap<TaskId, Topic>>,
    closed: CancellationToken,
}

/// Those who want news of one task.
#[derive(Debug, Default)]
struct Topic {
    /// The channel of all who block on it, while there are any.
    shared: Option<watch::Sender<Option<Arc<Task>>>>,
    /// Mailboxes by their address, so that each is found again at once, however many there are.
    mailboxes: HashMap<usize, Weak<Mailbox>>,
}

impl Topic {
    /// Forgets the shared channel once nobody has it; says whether nobody is left at all.
    fn is_deserted(&mut self) -> bool {
        if self.shared.as_ref().is_some_and(watch::Sender::is_closed) {
            self.shared = None;
        }
        self.shared.is_none() && self.mailboxes.is_empty()
    }
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
    tasks: HashMap<TaskId, Seen>,
}

#[derive(Debug)]
struct Seen {
    revision: Revision,
    /// What has not been taken yet.
    newest: Option<Arc<Task>>,
}

impl Mailbox {
    fn put(&self, task: &Arc<Task>) {
        let mut waiting = lock(&self.waiting);
        // Two commits may be handed on in the wrong order; the older one is no news.
        if waiting.tasks.get(&task.id).is_some_and(|seen| seen.revision >= task.revision) {
            return;
        }
        let seen = Seen { revision: task.revision, newest: Some(task.clone()) };
        if waiting.tasks.insert(task.id, seen).is_none_or(|before| before.newest.is_none()) {
            waiting.order.push_back(task.id);
        }
        self.filled.notify_one();
    }

    fn take(&self) -> Option<Arc<Task>> {
        let mut waiting = lock(&self.waiting);
        let id = waiting.order.pop_front()?;
        waiting.tasks.get_mut(&id)?.newest.take()
    }
}

impl Hub {
    pub(super) fn new(closed: CancellationToken) -> Self {
        Self { topics: Mutex::default(), closed }
    }

    /// Hands a task on to those who want news of it; a change that callers do not see only to those who want everything.
    pub(super) fn publish(&self, task: &Arc<Task>, visible: bool) {
        let mailboxes: Vec<Arc<Mailbox>> = {
            let topics = lock(&self.topics);
            let Some(topic) = topics.get(&task.id) else { return };
            if let Some(shared) = topic.shared.as_ref().filter(|_| visible) {
                shared.send_if_modified(|newest| {
                    let is_news = newest.as_ref().is_none_or(|before| before.revision < task.revision);
                    if is_news {
                        *newest = Some(task.clone());
                    }
                    is_news
                });
            }
            topic.mailboxes.values().filter_map(Weak::upgrade).collect()
        };
        for mailbox in mailboxes.iter().filter(|mailbox| visible || mailbox.everything) {
            mailbox.put(task);
        }
    }

    /// A wait for one task; what it is now has to be read after this call, so that nothing is missed.
    pub(super) fn wait(self: &Arc<Self>, id: TaskId) -> Wait {
        let mut topics = lock(&self.topics);
        let shared = topics.entry(id).or_default().shared.get_or_insert_with(|| watch::Sender::new(None));
        Wait { news: Some(shared.subscribe()), hub: self.clone(), id }
    }

    /// A watch of these tasks; what they are now has to be put in by [`Watch::start_with`] after this call, so that nothing is missed.
    pub(super) fn watch(self: &Arc<Self>, ids: &[TaskId], everything: bool) -> Watch {
        let mailbox = Arc::new(Mailbox { everything, ..Mailbox::default() });
        let watch = Watch { hub: self.clone(), mailbox, ids: ids.to_vec() };
        let mut topics = lock(&self.topics);
        for id in ids {
            topics.entry(*id).or_default().mailboxes.insert(watch.address(), Arc::downgrade(&watch.mailbox));
        }
        drop(topics);
        watch
    }

    fn leave(&self, id: &TaskId, leave: impl FnOnce(&mut Topic)) {
        let mut topics = lock(&self.topics);
        if let Some(topic) = topics.get_mut(id) {
            leave(topic);
            if topic.is_deserted() {
                topics.remove(id);
            }
        }
    }
}

/// Visible changes of one task. A slow reader skips to the newest state.
#[derive(Debug)]
pub(super) struct Wait {
    /// `None` only while it is dropped.
    news: Option<watch::Receiver<Option<Arc<Task>>>>,
    hub: Arc<Hub>,
    id: TaskId,
}

impl Wait {
    /// The next change; `None` once the engine stops. May be dropped and called again: nothing is lost.
    pub(super) async fn next(&mut self) -> Option<Arc<Task>> {
        let news = self.news.as_mut()?;
        tokio::select! {
            biased;
            changed = news.changed() => changed.ok().and_then(|()| news.borrow_and_update().clone()),
            () = self.hub.closed.cancelled() => None,
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let news = self.news.take();
        self.hub.leave(&self.id, |_| drop(news));
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
    /// The tasks that are watched: those of the asked for that are in the scope.
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
        self.ids.iter().filter(|id| !ids.contains(id)).for_each(|id| self.leave(id));
        self.ids.retain(|id| ids.contains(id));
    }

    /// Where the mailbox lies; nobody else's does while this lives.
    fn address(&self) -> usize {
        Arc::as_ptr(&self.mailbox).addr()
    }

    fn leave(&self, id: &TaskId) {
        self.hub.leave(id, |topic| drop(topic.mailboxes.remove(&self.address())));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ids.iter().for_each(|id| self.leave(id));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
