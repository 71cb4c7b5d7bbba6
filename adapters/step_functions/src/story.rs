//! An execution's history, told short: the states that it is in, how many it has left, and what waits for a task token.

use std::collections::BTreeMap;

use aws_sdk_sfn::types::{HistoryEvent, HistoryEventType};
use jobgate_adapter_api::JobRef;
use serde::{Deserialize, Serialize};

/// The handle under which a story is kept with its job.
pub(crate) const HANDLE: &str = "history";
/// States and tasks at once that are followed; a Map of more items shows the first of them.
const MOST_AT_ONCE: usize = 40;

/// What the events up to one of them have told. It is kept with the job, so that a look reads only what is new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Story {
    /// The id of the last event in it.
    pub(crate) seen: i64,
    /// How many states were left.
    pub(crate) done: u64,
    /// The names of the states that were entered and not left, in order.
    open: Vec<String>,
    /// Tasks at work, by the id of their last event: each event names the one before it, which is not the last one where branches run
    /// beside one another.
    tasks: BTreeMap<i64, Task>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Task {
    state: String,
    /// The event that scheduled it, where it waits for a task token.
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled: Option<i64>,
}

impl Story {
    /// As it was kept with the job; what cannot be read is told anew.
    pub(crate) fn of(job: &JobRef) -> Self {
        job.handle(HANDLE).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    pub(crate) fn handle(&self) -> String {
        serde_json::to_string(self).expect("a story can be written as JSON")
    }

    /// The state entered last of those that were not left.
    pub(crate) fn current(&self) -> Option<&str> {
        self.open.last().map(String::as_str)
    }

    /// Who waits for a task token: the state's name and the event that scheduled its task.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&str, i64)> {
        self.tasks.values().filter_map(|task| Some((task.state.as_str(), task.scheduled?)))
    }

    /// One more event; they come in the order of their ids.
    pub(crate) fn tell(&mut self, event: &HistoryEvent) {
        if event.id() <= self.seen {
            return;
        }
        self.seen = event.id();
        let (id, before) = (event.id(), event.previous_event_id());
        if let Some(entered) = event.state_entered_event_details() {
            if self.open.len() < MOST_AT_ONCE {
                self.open.push(entered.name().to_owned());
            }
            if *event.r#type() == HistoryEventType::TaskStateEntered && self.tasks.len() < MOST_AT_ONCE {
                self.tasks.insert(id, Task { state: entered.name().to_owned(), scheduled: None });
            }
        } else if let Some(exited) = event.state_exited_event_details() {
            self.done += 1;
            self.tasks.remove(&before);
            let inside = matches!(event.r#type(), HistoryEventType::MapStateExited | HistoryEventType::ParallelStateExited);
            self.leave(exited.name(), inside);
        } else {
            self.tell_of_task(event, id, before);
        }
    }

    fn tell_of_task(&mut self, event: &HistoryEvent, id: i64, before: i64) {
        use HistoryEventType as Type;
        if *event.r#type() == Type::ExecutionRedriven {
            // It begins again where it failed.
            self.open.clear();
            self.tasks.clear();
            return;
        }
        let Some(mut task) = self.tasks.remove(&before) else { return };
        match event.r#type() {
            Type::TaskStateAborted => return self.leave(&task.state, false),
            Type::TaskScheduled => {
                let waits = |resource: &str| resource.ends_with(".waitForTaskToken");
                task.scheduled = event.task_scheduled_event_details().filter(|it| waits(it.resource())).map(|_| id);
            }
            Type::TaskSucceeded | Type::TaskFailed | Type::TaskTimedOut | Type::TaskStartFailed | Type::TaskSubmitFailed => {
                task.scheduled = None;
            }
            // Whatever else is told of a task is one more step of it.
            _ => {}
        }
        self.tasks.insert(id, task);
    }

    /// A state was left; with all `inside` of it, some of which may have been given up without a word.
    fn leave(&mut self, name: &str, inside: bool) {
        let Some(at) = self.open.iter().rposition(|open| open == name) else { return };
        if inside {
            self.open.truncate(at);
        } else {
            self.open.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_sfn::primitives::DateTime;
    use aws_sdk_sfn::types::builders::HistoryEventBuilder;
    use aws_sdk_sfn::types::{StateEnteredEventDetails, StateExitedEventDetails, TaskScheduledEventDetails};

    fn event(id: i64, before: i64, kind: HistoryEventType) -> HistoryEventBuilder {
        HistoryEvent::builder().timestamp(DateTime::from_secs(0)).id(id).previous_event_id(before).r#type(kind)
    }

    fn entered(id: i64, before: i64, kind: HistoryEventType, name: &str) -> HistoryEvent {
        let details = StateEnteredEventDetails::builder().name(name).build().unwrap();
        event(id, before, kind).state_entered_event_details(details).build().unwrap()
    }

    fn exited(id: i64, before: i64, kind: HistoryEventType, name: &str) -> HistoryEvent {
        let details = StateExitedEventDetails::builder().name(name).build().unwrap();
        event(id, before, kind).state_exited_event_details(details).build().unwrap()
    }

    fn scheduled(id: i64, before: i64, resource: &str) -> HistoryEvent {
        let details = TaskScheduledEventDetails::builder().resource_type("sqs").resource(resource).region("r").parameters("{}");
        event(id, before, HistoryEventType::TaskScheduled).task_scheduled_event_details(details.build().unwrap()).build().unwrap()
    }

    fn told(events: &[HistoryEvent]) -> Story {
        let mut story = Story::default();
        for event in events {
            story.tell(event);
        }
        story
    }

    /// Two branches wait at once; one of them is answered.
    fn branches() -> Vec<HistoryEvent> {
        use HistoryEventType as Type;
        const WAITS: &str = "sendMessage.waitForTaskToken";
        vec![
            event(1, 0, Type::ExecutionStarted).build().unwrap(),
            entered(2, 0, Type::PassStateEntered, "Prepare"),
            exited(3, 2, Type::PassStateExited, "Prepare"),
            entered(4, 3, Type::ParallelStateEntered, "Both"),
            event(5, 4, Type::ParallelStateStarted).build().unwrap(),
            entered(6, 5, Type::TaskStateEntered, "AskOps"),
            entered(7, 5, Type::TaskStateEntered, "AskLegal"),
            scheduled(8, 6, WAITS),
            scheduled(9, 7, WAITS),
            event(10, 8, Type::TaskStarted).build().unwrap(),
            event(11, 9, Type::TaskStarted).build().unwrap(),
            event(12, 10, Type::TaskSubmitted).build().unwrap(),
            event(13, 11, Type::TaskSubmitted).build().unwrap(),
            event(14, 12, Type::TaskSucceeded).build().unwrap(),
            exited(15, 14, Type::TaskStateExited, "AskOps"),
        ]
    }

    #[test]
    fn branches_that_wait_are_told_apart_by_their_chains() {
        let story = told(&branches()[..13]);
        assert_eq!(story.waiting().collect::<Vec<_>>(), [("AskOps", 8), ("AskLegal", 9)]);
        let story = told(&branches());
        assert_eq!(story.waiting().collect::<Vec<_>>(), [("AskLegal", 9)], "the other one was answered");
        assert_eq!((story.current(), story.done), (Some("AskLegal"), 2));
    }

    /// A look goes on where the one before it ended, whatever the answer repeats.
    #[test]
    fn a_story_that_was_kept_goes_on() {
        let events = branches();
        for split in 0..events.len() {
            let job = JobRef::new("arn").with(HANDLE, told(&events[..split]).handle());
            let mut story = Story::of(&job);
            for event in &events {
                story.tell(event);
            }
            assert_eq!(story, told(&events), "kept after {split} events");
        }
    }

    #[test]
    fn a_container_takes_what_is_inside_with_it() {
        let mut events = branches();
        events.push(exited(16, 15, HistoryEventType::ParallelStateExited, "Both"));
        assert_eq!(told(&events).current(), None);
    }

    #[test]
    fn other_tasks_wait_for_no_token_and_a_retry_asks_anew() {
        use HistoryEventType as Type;
        let run = [entered(2, 0, Type::TaskStateEntered, "Ask"), scheduled(3, 2, "sendMessage")];
        assert_eq!(told(&run).waiting().count(), 0);
        let again = [
            entered(2, 0, Type::TaskStateEntered, "Ask"),
            scheduled(3, 2, "invoke.waitForTaskToken"),
            event(4, 3, Type::TaskTimedOut).build().unwrap(),
            scheduled(5, 4, "invoke.waitForTaskToken"),
        ];
        assert_eq!(told(&again[..3]).waiting().count(), 0);
        assert_eq!(told(&again).waiting().collect::<Vec<_>>(), [("Ask", 5)]);
    }
}
