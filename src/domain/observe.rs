//! What a look at the job, and the answers to its questions, do to a task: the part of the transition that reads observations.

use jobgate_adapter_api::{InputAction, InputAnswers, InputRequest, JobRef, JobState, Observation, Timestamp};

use super::transition::failed;
use super::{CancelProgress, InputProgress, InputSlot, Outcome, Status, Task, TaskState, Troubles};

impl Task {
    pub(super) fn observe(&mut self, job: &JobRef, seen: &Observation, at: Timestamp) {
        self.troubles = Troubles::default();
        let job = seen.learned.iter().fold(job.clone(), |job, (name, value)| job.with(name, value));
        if !matches!(seen.state, JobState::Gone) {
            self.missing_since = None;
        }
        self.progress = seen.progress;
        if matches!(seen.state, JobState::Succeeded(_) | JobState::Failed(_) | JobState::Cancelled) {
            self.too_late_to_cancel();
        }
        match &seen.state {
            JobState::Queued | JobState::Running => {
                self.withdraw_inputs();
                self.note(seen, None);
                self.state = TaskState::Running { job };
            }
            JobState::Unrecognized(word) => {
                self.note(seen, Some(format!("the provider says `{word}`")));
                // A word nobody mapped says nothing of open questions, so they stay open.
                self.state = self.open_or_running(job);
            }
            JobState::InputRequired(requests) => {
                self.ask(requests, at);
                self.state = self.open_or_running(job);
                let waiting = self.status() == Status::InputRequired;
                let otherwise = if waiting { "waiting for input" } else { "answered; the provider has not gone on yet" };
                self.note(seen, Some(otherwise.to_owned()));
            }
            JobState::Succeeded(output) => self.succeed(job, output, seen.message.as_ref(), at),
            JobState::Failed(failure) => self.end(Some(job), failed(failure), at),
            JobState::Cancelled => {
                let message = if self.cancellation.is_some() { "cancelled" } else { "the job was cancelled at the provider" };
                self.end_with_message(Some(job), Outcome::Cancelled, message, at);
            }
            JobState::Gone => {
                self.missing_since = self.missing_since.or(Some(at));
                self.state = self.open_or_running(job);
            }
        }
    }

    /// Takes over what the provider says to people; while a cancel is on its way, that is the news.
    fn note(&mut self, seen: &Observation, otherwise: Option<String>) {
        let asked = self.cancellation.as_ref().map(|wish| match wish.progress {
            CancelProgress::Owed => "cancel requested",
            CancelProgress::Taken => "cancel accepted; the job is stopping",
            CancelProgress::TooLate => "cancel came too late",
            CancelProgress::Refused => "the provider refused the cancel: the job runs on",
            CancelProgress::Unsupported => "cancel asked for, but this provider has none: the job runs on",
        });
        let said = seen.message.clone().or(otherwise);
        self.message = match (asked, said) {
            (Some(asked), Some(said)) => Some(format!("{said} ({asked})")),
            (Some(asked), None) => Some(asked.to_owned()),
            (None, said) => said,
        };
    }

    fn open_or_running(&self, job: JobRef) -> TaskState {
        if self.open_inputs().next().is_some() { TaskState::InputRequired { job } } else { TaskState::Running { job } }
    }

    fn ask(&mut self, requests: &[InputRequest], at: Timestamp) {
        for (key, slot) in &mut self.inputs {
            if slot.progress == InputProgress::Open && requests.iter().all(|request| request.key != *key) {
                slot.progress = InputProgress::Withdrawn;
            }
        }
        for request in requests {
            // A key is one question over the task's whole life (E1): an answered one is not asked again.
            self.inputs.entry(request.key.clone()).or_insert_with(|| InputSlot {
                request: request.clone(),
                asked_at: at,
                progress: InputProgress::Open,
            });
        }
    }

    /// The job has gone on without us: nobody waits for answers any more, handed over or not.
    pub(super) fn withdraw_inputs(&mut self) {
        for slot in self.inputs.values_mut() {
            if matches!(slot.progress, InputProgress::Open | InputProgress::Answered(_)) {
                slot.progress = InputProgress::Withdrawn;
            }
        }
    }

    pub(super) fn answer(&mut self, job: &JobRef, answers: &InputAnswers) {
        for (key, answer) in answers {
            if let Some(slot) = self.inputs.get_mut(key).filter(|slot| slot.progress == InputProgress::Open) {
                slot.progress = InputProgress::Answered(answer.clone());
            }
        }
        self.state = self.open_or_running(job.clone());
        if self.status() == Status::Working && !self.is_stopping() {
            let declined = answers.values().any(|answer| answer.action != InputAction::Accept);
            self.message = Some(if declined { "answered (declined)" } else { "answered" }.to_owned());
        }
    }
}
