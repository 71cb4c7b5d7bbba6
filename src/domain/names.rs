//! What a task is called beside its id: by its client, by the request that made it, and by what it may be joined with.

use std::borrow::Cow;

use super::{Principal, Task, TaskId};

/// The longest id that a client may give a task, in bytes.
pub const LONGEST_CLIENT_ID: usize = 256;

/// Names of a task that do not change over its life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The id that the client chose, one of a kind among its owner's tasks (requirement H8).
    pub client_id: Option<String>,
    /// The request that made the task, so that whoever lost the answer finds the task again.
    pub request: Option<RequestName>,
    /// A hash of the arguments: a call of the same owner and tool with the same hash joins this task while it is
    /// [joinable](Task::is_joinable).
    pub join: Option<[u8; 32]>,
}

/// Names a request of a caller. The same name may come again later; the newest task answers to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestName {
    /// The session that the request came in, or a hash of it.
    pub session: Option<String>,
    /// The JSON-RPC id as it was written: `1` and `"1"` are two ids.
    pub id: String,
}

/// Since when a task's life is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LifeFrom {
    /// Its creation.
    #[default]
    Creation,
    /// Its end, so that a task that has not ended never expires (requirement H7).
    End,
}

/// Whether a client may give a task this id: not an empty one, not a longer one than [`LONGEST_CLIENT_ID`], and none that could be
/// taken for an id of ours.
#[must_use]
pub fn is_client_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_CLIENT_ID && text.parse::<TaskId>().is_err()
}

impl Task {
    /// The same task under these names.
    #[must_use]
    pub fn with_names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// The id that callers see, whatever they speak: the client's own if it chose one.
    #[must_use]
    pub fn shown_id(&self) -> Cow<'_, str> {
        match &self.names.client_id {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(self.id.to_string()),
        }
    }

    /// The id under which `who` finds the task again: its client's own word counts for its owner alone (requirement H8), so an admin
    /// sees others' tasks by our ids.
    #[must_use]
    pub fn shown_to(&self, who: &Principal) -> Cow<'_, str> {
        if self.owner == *who { self.shown_id() } else { Cow::Owned(self.id.to_string()) }
    }

    /// Whether a further call may share the task's job: while it runs and nobody has asked for its cancel. A task that no longer is
    /// never is again.
    #[must_use]
    pub const fn is_joinable(&self) -> bool {
        self.names.join.is_some() && !self.is_ended() && self.cancellation.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H8: what a client may call a task; an id of ours stays ours.
    #[test]
    fn a_client_id_is_never_taken_for_an_id_of_ours() {
        for (text, good) in [
            ("786512e2-9e0d-44bd-8f29-789f320fe840", true),
            ("task_7", true),
            ("ü", true),
            ("", false),
            ("task_00112233445566778899aabbccddeeff", false),
        ] {
            assert_eq!(is_client_id(text), good, "{text}");
        }
        assert!(is_client_id(&"x".repeat(LONGEST_CLIENT_ID)));
        assert!(!is_client_id(&"x".repeat(LONGEST_CLIENT_ID + 1)));
    }
}
