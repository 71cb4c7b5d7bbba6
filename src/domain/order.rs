//! Whether what a delivery says is older than what is known: deliveries come in any order, and none moves a task backwards (J3).

use jobgate_adapter_api::{InputRequest, JobState, Observation};

use super::{InputProgress, Task, TaskState};

impl Task {
    /// Whether `seen` tells of an earlier moment of the job than the one that the task shows, as far as that can be told: a job that has
    /// ended is past everything, a question is past running, running is past the queue, and counts of one whole only grow. What cannot be told
    /// apart is taken as news.
    #[must_use]
    pub fn is_past(&self, seen: &Observation) -> bool {
        let asking = match self.state {
            TaskState::Submitting { .. } => return false,
            TaskState::Keeping { .. } | TaskState::Ended { .. } => return true,
            TaskState::Running { .. } => false,
            TaskState::InputRequired { .. } => true,
        };
        match &seen.state {
            JobState::Succeeded(_) | JobState::Failed(_) | JobState::Cancelled | JobState::Gone => false,
            JobState::Queued => {
                let has_begun = asking || self.progress.is_some() || !self.inputs.is_empty();
                has_begun || (seen.message.is_none() && self.message.is_some())
            }
            JobState::Running => asking || self.has_counted_past(seen),
            JobState::InputRequired(requests) => self.has_been_asked(requests) || self.has_counted_past(seen),
            JobState::Unrecognized(_) => self.has_counted_past(seen),
        }
    }

    /// Whether this is `earlier`, but for deliveries that were noted since.
    #[must_use]
    pub fn is_but_for_notes(&self, earlier: &Self) -> bool {
        self.revision == earlier.revision || *self == Self { revision: self.revision, due_at: self.due_at, ..earlier.clone() }
    }

    fn has_counted_past(&self, seen: &Observation) -> bool {
        match (&self.progress, &seen.progress) {
            (Some(known), Some(told)) => known.total == told.total && told.done < known.done,
            (_, _) => false,
        }
    }

    /// Whether all of these questions are known, and not all that are open are among them.
    fn has_been_asked(&self, requests: &[InputRequest]) -> bool {
        let asks = |key: &String| requests.iter().any(|request| request.key == *key);
        let news = requests.iter().any(|request| !self.inputs.contains_key(&request.key));
        let mut open = self.inputs.iter().filter(|(_, slot)| slot.progress == InputProgress::Open).peekable();
        !news && (open.peek().is_none() || !open.all(|(key, _)| asks(key)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jobgate_adapter_api::{
        IdempotencyKey, InputAction, InputAnswer, InputKind, JobFailure, JobOutput, JobRef, Progress, Timestamp,
    };
    use serde_json::json;

    use super::super::{NewTask, Principal, ProviderName, TaskEvent, TaskId, ToolName};
    use super::*;

    fn after(events: &[TaskEvent]) -> Task {
        let fresh = Task::new(NewTask {
            id: TaskId::from_bytes([1; 16]),
            owner: Principal::local(),
            tool: ToolName::new("render"),
            provider: ProviderName::new("farm"),
            arguments: Arc::default(),
            caller_key: None,
            submit_key: IdempotencyKey::new("k"),
            created_at: Timestamp::from_millis(0),
            ttl: None,
            deadline_at: Timestamp::from_millis(7_200_000),
        });
        let accepted = fresh.apply(&TaskEvent::Accepted(JobRef::new("j1")), Timestamp::from_millis(1)).unwrap();
        events.iter().fold(accepted, |task, event| task.apply(event, Timestamp::from_millis(2)).unwrap())
    }

    fn saw(seen: &Observation) -> TaskEvent {
        TaskEvent::Observed(seen.clone())
    }

    fn of(state: JobState) -> Observation {
        Observation::new(state)
    }

    fn counts(done: f64, total: f64) -> Observation {
        of(JobState::Running).with_progress(Progress { done, total: Some(total) })
    }

    fn asks(keys: &[&str]) -> Observation {
        let kind = || InputKind::Form { schema: json!({"type": "object"}) };
        let request = |key: &&str| InputRequest { key: (*key).to_owned(), message: "Go?".to_owned(), kind: kind() };
        of(JobState::InputRequired(keys.iter().map(request).collect()))
    }

    /// J3: the order of a job's life, as pairs of what is known and what a delivery tells.
    #[test]
    fn a_delivery_of_an_earlier_moment_is_told_from_news() {
        let half = counts(5.0, 10.0);
        let answered = {
            let answer = InputAnswer { action: InputAction::Accept, content: None };
            TaskEvent::Answered([("a".to_owned(), answer)].into())
        };
        let ended = after(&[saw(&of(JobState::Succeeded(JobOutput::text("film"))))]);
        let running = after(&[saw(&half)]);
        let asking = after(&[saw(&asks(&["a", "b"]))]);
        let answered = after(&[saw(&asks(&["a"])), answered]);
        let table: &[(&str, &Task, Observation, bool)] = &[
            ("nothing is past an end", &ended, of(JobState::Failed(JobFailure::new("no"))), true),
            ("the queue after counts", &running, of(JobState::Queued).with_message("waiting"), true),
            ("the queue after a question", &asking, of(JobState::Queued), true),
            (
                "the queue, silent, after words",
                &after(&[saw(&of(JobState::Running).with_message("x"))]),
                of(JobState::Queued),
                true,
            ),
            ("the queue at first", &after(&[]), of(JobState::Queued), false),
            ("the queue goes on", &after(&[saw(&of(JobState::Queued))]), of(JobState::Queued).with_message("3rd"), false),
            ("fewer of the same", &running, counts(4.0, 10.0), true),
            ("as many of the same", &running, half.clone(), false),
            ("more of the same", &running, counts(6.0, 10.0), false),
            ("fewer of another whole", &running, counts(1.0, 3.0), false),
            ("running after a question", &asking, of(JobState::Running), true),
            ("running after an answer", &answered, of(JobState::Running), false),
            ("the same questions", &asking, asks(&["a", "b"]), false),
            ("some of the open questions", &asking, asks(&["a"]), true),
            ("a new question", &asking, asks(&["c"]), false),
            ("an answered question", &answered, asks(&["a"]), true),
            ("an end", &asking, of(JobState::Cancelled), false),
            ("no longer there", &asking, of(JobState::Gone), false),
            ("a strange word", &asking, of(JobState::Unrecognized("odd".to_owned())), false),
        ];
        for (what, task, seen, past) in table {
            assert_eq!(task.is_past(seen), *past, "{what}");
        }
    }
}
