//! What is in memory of sessions: their open stream, the tasks that they follow, the questions that they were asked, the requests
//! that are being answered. All of it can be lost without harm: a task belongs to its owner, and the store has it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use quick_cache::sync::Cache;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::progress::Progressing;
use crate::domain::{ConfirmPurpose, InputAnswer, InputKind, Principal, TaskId};

/// Sessions that are remembered while they have no stream open.
const SESSIONS: usize = 10_000;
/// Tasks that a session follows: the most recent ones.
const FOLLOWED: usize = 64;

/// In place of the id of a request that asks a question: it was answered. No request has this id.
const ANSWERED: &str = "";

/// All sessions that were heard of lately.
pub(crate) struct Live {
    recent: Cache<String, Arc<Here>>,
    /// Those that something holds: a stream, a request. They must not be forgotten while it does.
    held: Mutex<HashMap<String, Weak<Here>>>,
    /// Questions that a running call waits for, by the id of their request.
    waiting: Mutex<HashMap<String, Waiting>>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("recent", &self.recent.len()).finish_non_exhaustive()
    }
}

/// A question that a running call waits for.
#[derive(Debug)]
struct Waiting {
    owner: Principal,
    purpose: ConfirmPurpose,
    kind: InputKind,
    answer: oneshot::Sender<Option<InputAnswer>>,
}

/// A question that a running call waits for; forgotten when this is dropped.
#[derive(Debug)]
pub(crate) struct Expected<'a> {
    live: &'a Live,
    id: String,
    /// The answer; `None` where the client says that it cannot ask.
    pub(crate) answer: oneshot::Receiver<Option<InputAnswer>>,
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        lock(&self.live.waiting).remove(&self.id);
    }
}

impl Live {
    pub(crate) fn new() -> Self {
        Self { recent: Cache::new(SESSIONS), held: Mutex::default(), waiting: Mutex::default() }
    }

    /// What is known of a session.
    pub(crate) fn session(&self, nonce: &str) -> Arc<Here> {
        if let Some(here) = self.recent.get(nonce) {
            return here;
        }
        let mut held = lock(&self.held);
        let here = held.get(nonce).and_then(Weak::upgrade).unwrap_or_else(|| {
            // The dead are swept out now and then, at a cost that is spread over the living.
            if held.len() >= 2 * SESSIONS {
                held.retain(|_, here| here.strong_count() > 0);
            }
            let here = Arc::new(Here::default());
            held.insert(nonce.to_owned(), Arc::downgrade(&here));
            here
        });
        self.recent.insert(nonce.to_owned(), here.clone());
        here
    }

    /// Forgets a session that has ended, and ends its streams.
    pub(crate) fn end(&self, nonce: &str) {
        let here = self.session(nonce);
        here.end();
        self.recent.remove(nonce);
        lock(&self.held).remove(nonce);
    }

    /// Waits for the answer to a question of a running call.
    pub(crate) fn expect(&self, id: String, owner: Principal, purpose: ConfirmPurpose, kind: InputKind) -> Expected<'_> {
        let (sender, answer) = oneshot::channel();
        lock(&self.waiting).insert(id.clone(), Waiting { owner, purpose, kind, answer: sender });
        Expected { live: self, id, answer }
    }

    /// What a question is for that a running call of this owner waits for, and its form.
    pub(crate) fn expected(&self, id: &str, owner: &Principal) -> Option<(ConfirmPurpose, InputKind)> {
        let waiting = lock(&self.waiting);
        waiting.get(id).filter(|waiting| waiting.owner == *owner).map(|waiting| (waiting.purpose, waiting.kind.clone()))
    }

    /// Hands an answer to the call that waits for it.
    pub(crate) fn answer(&self, id: &str, answer: Option<InputAnswer>) {
        let waiting = lock(&self.waiting).remove(id);
        if let Some(waiting) = waiting {
            // A call that has gone meanwhile needs no answer.
            drop(waiting.answer.send(answer));
        }
    }
}

/// One session.
#[derive(Debug)]
pub(crate) struct Here {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

impl Default for Here {
    fn default() -> Self {
        Self { state: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

#[derive(Debug, Default)]
struct State {
    /// Least recent first.
    followed: VecDeque<Followed>,
    /// The questions that are out, each with the id of the request that asks it, and those that were [`ANSWERED`].
    asked: HashMap<(TaskId, String), String>,
    /// The questions that the client sent back; they are not asked again before another stream opens.
    sent_back: HashSet<(TaskId, String)>,
    /// What is being answered, by the request's id as it was written.
    running: HashMap<String, Vec<CancellationToken>>,
    /// Ends the stream that messages are pushed on.
    stream: Option<CancellationToken>,
}

/// A task that a session follows.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) task: TaskId,
    /// The key of the dialect in which the client last spoke of the task; `None` where it knows of no task, only of a call.
    pub(crate) related: Option<&'static str>,
    /// The progress of the call that made it, where that call asked for it.
    pub(crate) progress: Option<Arc<Mutex<Progressing>>>,
    /// Whether the client has looked at the task: before that, it may not know what a question is about.
    pub(crate) looked: bool,
    /// Streams that are open for this very task; what concerns it goes out there.
    pub(crate) streams: usize,
}

impl Here {
    /// Wakes whenever something changes here that decides what goes out where.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Follows a task that this session made.
    pub(crate) fn made(&self, task: TaskId, related: &'static str, progress: Option<Progressing>) {
        self.with(task, Some(related), |followed| {
            if let Some(progress) = progress {
                followed.progress = Some(Arc::new(Mutex::new(progress)));
            }
        });
    }

    /// Follows a task that this session has looked at.
    pub(crate) fn looked(&self, task: TaskId, related: &'static str) {
        {
            let state = lock(&self.state);
            let known = |one: &Followed| one.task == task && one.looked && one.related == Some(related);
            if state.followed.iter().any(known) {
                return;
            }
        }
        self.with(task, Some(related), |followed| followed.looked = true);
    }

    /// The tasks that are followed.
    pub(crate) fn followed(&self) -> Vec<Followed> {
        lock(&self.state).followed.iter().cloned().collect()
    }

    /// Stops following a task that has ended.
    pub(crate) fn leave(&self, task: TaskId) {
        let mut state = lock(&self.state);
        state.followed.retain(|followed| followed.task != task || followed.streams > 0);
        state.sent_back.retain(|(of, _)| *of != task);
        state.asked.retain(|(of, _), id| *of != task || id != ANSWERED);
    }

    /// Opens a stream for one task. Until the guard is dropped, what concerns the task goes out there.
    pub(crate) fn stream_of(
        self: &Arc<Self>,
        task: TaskId,
        related: Option<&'static str>,
    ) -> (StreamOf, Option<Arc<Mutex<Progressing>>>) {
        let mut progress = None;
        lock(&self.state).sent_back.retain(|(of, _)| *of != task);
        self.with(task, related, |followed| {
            followed.streams += 1;
            progress.clone_from(&followed.progress);
        });
        (StreamOf { here: self.clone(), task }, progress)
    }

    /// Opens the stream that messages are pushed on; the one before it ends.
    pub(crate) fn open(&self) -> CancellationToken {
        let ends = CancellationToken::new();
        let mut state = lock(&self.state);
        state.sent_back.clear();
        if let Some(before) = state.stream.replace(ends.clone()) {
            before.cancel();
        }
        ends
    }

    fn end(&self) {
        let mut state = lock(&self.state);
        if let Some(stream) = state.stream.take() {
            stream.cancel();
        }
        let running = std::mem::take(&mut state.running);
        drop(state);
        running.into_values().flatten().for_each(|request| request.cancel());
    }

    /// Takes it upon a stream to ask a question; `false` where another stream has asked it, or the client does not want it.
    pub(crate) fn claim(&self, task: TaskId, key: &str, id: &str) -> bool {
        let mut state = lock(&self.state);
        let question = (task, key.to_owned());
        if state.sent_back.contains(&question) || state.asked.contains_key(&question) {
            return false;
        }
        state.asked.insert(question, id.to_owned());
        true
    }

    /// The stream that asked has ended, or nothing came of it: the question may be asked again. Says whether it was still out.
    pub(crate) fn free(&self, task: TaskId, key: &str, id: &str) -> bool {
        let mut state = lock(&self.state);
        let question = (task, key.to_owned());
        if state.asked.get(&question).is_none_or(|asked| asked != id) {
            return false;
        }
        state.asked.remove(&question);
        drop(state);
        self.changed.send_replace(());
        true
    }

    /// The client answered: this request is not out any more, and the question is nobody's to ask while the answer is written down. A
    /// stream that has not heard of it yet would ask again otherwise.
    pub(crate) fn answered(&self, task: TaskId, key: &str, id: &str) {
        if let Some(asked) = lock(&self.state).asked.get_mut(&(task, key.to_owned()))
            && asked == id
        {
            ANSWERED.clone_into(asked);
        }
    }

    /// Nothing came of an answer: the question may be asked again.
    pub(crate) fn unanswered(&self, task: TaskId, key: &str) {
        self.free(task, key, ANSWERED);
    }

    /// The client sent the question back: it is not asked here again before another stream opens.
    pub(crate) fn sent_back(&self, task: TaskId, key: &str, id: &str) {
        let mut state = lock(&self.state);
        let question = (task, key.to_owned());
        if state.asked.get(&question).is_some_and(|asked| asked == id) {
            state.asked.remove(&question);
        }
        state.sent_back.insert(question);
    }

    /// Notes a request that is being answered; cancelling the token stops that. It is cancelled at the latest when the guard is dropped.
    pub(crate) fn runs(self: &Arc<Self>, id: &str, cancel: CancellationToken) -> Runs {
        lock(&self.state).running.entry(id.to_owned()).or_default().push(cancel.clone());
        Runs { here: self.clone(), id: id.to_owned(), cancel }
    }

    /// Stops answering a request.
    pub(crate) fn cancel(&self, id: &str) {
        let running = lock(&self.state).running.remove(id);
        running.into_iter().flatten().for_each(|request| request.cancel());
    }

    fn with(&self, task: TaskId, related: Option<&'static str>, change: impl FnOnce(&mut Followed)) {
        let mut state = lock(&self.state);
        let place = state.followed.iter().position(|followed| followed.task == task);
        let mut followed = place.and_then(|place| state.followed.remove(place)).unwrap_or(Followed {
            task,
            related,
            progress: None,
            looked: false,
            streams: 0,
        });
        followed.related = related.or(followed.related);
        change(&mut followed);
        state.followed.push_back(followed);
        if state.followed.len() > FOLLOWED
            && let Some(oldest) = state.followed.iter().position(|followed| followed.streams == 0)
            && let Some(oldest) = state.followed.remove(oldest)
        {
            state.asked.retain(|(of, _), id| *of != oldest.task || id != ANSWERED);
        }
        drop(state);
        self.changed.send_replace(());
    }
}

/// A stream that is open for one task.
#[derive(Debug)]
pub(crate) struct StreamOf {
    here: Arc<Here>,
    task: TaskId,
}

impl Drop for StreamOf {
    fn drop(&mut self) {
        let mut state = lock(&self.here.state);
        if let Some(followed) = state.followed.iter_mut().find(|followed| followed.task == self.task) {
            followed.streams = followed.streams.saturating_sub(1);
        }
        drop(state);
        self.here.changed.send_replace(());
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(crate) struct Runs {
    here: Arc<Here>,
    id: String,
    cancel: CancellationToken,
}

impl Drop for Runs {
    fn drop(&mut self) {
        // Which is how it is told from others with its id.
        self.cancel.cancel();
        let mut state = lock(&self.here.state);
        if let Some(same) = state.running.get_mut(&self.id) {
            same.retain(|request| !request.is_cancelled());
            if same.is_empty() {
                state.running.remove(&self.id);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E2: a question whose answer is being written down, or is, is not asked by a stream that has not heard of it.
    #[test]
    fn an_answered_question_is_nobodys_to_ask() {
        let (here, task) = (Here::default(), TaskId::from_bytes([7; 16]));
        assert!(here.claim(task, "k", "first"));
        assert!(!here.claim(task, "k", "second"), "one stream asks it");
        here.answered(task, "k", "first");
        assert!(!here.free(task, "k", "first"), "the copy is not out any more, so nobody takes it back");
        assert!(!here.claim(task, "k", "second"));
        here.unanswered(task, "k");
        assert!(here.claim(task, "k", "second"), "nothing came of the answer");
        here.answered(task, "k", "second");
        here.leave(task);
        assert!(lock(&here.state).asked.is_empty());
    }
}
