//! What a wish to stop a job comes to: told, taken, and made again in a harder way where the job runs on.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, CancelWish, Timestamp};

use super::{CancelProgress, Cancellation, Escalation, Task};

impl Task {
    /// Whether someone wants the job stopped, and the provider has not said that it will not be.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.cancellation.as_ref().is_some_and(|wish| matches!(wish.progress, CancelProgress::Owed | CancelProgress::Taken))
    }

    /// The wish to stop the job, where the provider was told of it or will be. One that came too late counts only where an earlier attempt
    /// may have got through: else the job ended by itself.
    #[must_use]
    pub fn cancel_wish(&self) -> Option<CancelWish> {
        let wish = self.cancellation.as_ref().filter(|wish| match wish.progress {
            CancelProgress::Owed | CancelProgress::Taken => true,
            CancelProgress::TooLate => wish.attempts > 0,
            CancelProgress::Refused | CancelProgress::Unsupported => false,
        })?;
        Some(CancelWish { requested_at: wish.requested_at, escalated: wish.escalation == Escalation::Made })
    }

    /// Whether the provider has yet to be told of a wish to cancel.
    #[must_use]
    pub fn owes_cancel(&self) -> bool {
        self.cancellation.as_ref().is_some_and(|wish| wish.progress == CancelProgress::Owed)
    }

    /// When a cancel that the provider took is made again in a harder way; `None` where that is not to be.
    #[must_use]
    pub fn escalates_at(&self) -> Option<Timestamp> {
        match self.cancellation.as_ref()? {
            Cancellation { progress: CancelProgress::Taken, escalation: Escalation::Due(at), .. } => Some(*at),
            Cancellation { .. } => None,
        }
    }

    /// Whether the task is still needed for its job: a cancel has to be told, or may have to be made again.
    #[must_use]
    pub fn is_bound_to_stop(&self) -> bool {
        self.owes_cancel() || self.escalates_at().is_some()
    }

    pub(super) fn want_cancel(&mut self, at: Timestamp) {
        // A refusal may have been of its moment; any other answer to an earlier wish still stands.
        if self.cancellation.as_ref().is_none_or(|wish| wish.progress == CancelProgress::Refused) {
            let wish =
                Cancellation { requested_at: at, attempts: 0, progress: CancelProgress::Owed, escalation: Escalation::None };
            self.cancellation = Some(wish);
        }
    }

    /// What is owed to a job that has ended, or was never started, is owed no more.
    pub(super) fn too_late_to_cancel(&mut self) {
        if self.owes_cancel() {
            // A harder way that was not needed any more: the job has heeded the first.
            let progress = if self.is_escalated() { CancelProgress::Taken } else { CancelProgress::TooLate };
            self.cancellation_is(progress);
        }
        if self.escalates_at().is_some() {
            self.heeded();
        }
    }

    pub(super) fn cancellation_is(&mut self, progress: CancelProgress) {
        if let Some(wish) = &mut self.cancellation {
            wish.progress = progress;
        }
    }

    pub(super) fn cancel_failed(&mut self) {
        if let Some(wish) = &mut self.cancellation {
            wish.attempts = wish.attempts.saturating_add(1);
        }
    }

    /// Notes how the provider took the cancel; gives what a live task says of it.
    pub(super) fn cancel_answered(
        &mut self,
        outcome: CancelOutcome,
        escalate_after: Option<Duration>,
        at: Timestamp,
    ) -> &'static str {
        let escalated = self.is_escalated();
        let Some(wish) = &mut self.cancellation else { return "cancel requested" };
        if escalated {
            // The provider took the first one, whatever it makes of this.
            wish.progress = CancelProgress::Taken;
            return match outcome {
                CancelOutcome::Requested | CancelOutcome::AlreadyEnded => "cancel accepted; the job is stopping",
                CancelOutcome::Refused => "the job has not stopped, and the provider refuses to stop it in a harder way",
            };
        }
        match outcome {
            CancelOutcome::Requested => {
                wish.progress = CancelProgress::Taken;
                wish.escalation = escalate_after.map_or(Escalation::None, |after| Escalation::Due(at.plus(after)));
                "cancel accepted; the job is stopping"
            }
            CancelOutcome::AlreadyEnded => {
                wish.progress = CancelProgress::TooLate;
                "cancel came too late: the job had ended"
            }
            CancelOutcome::Refused => {
                wish.progress = CancelProgress::Refused;
                "the provider refused the cancel: the job runs on"
            }
        }
    }

    /// What a cancelled task says once the provider has answered.
    pub(super) fn told(&self, outcome: CancelOutcome) -> &'static str {
        match (outcome, self.is_escalated()) {
            (CancelOutcome::Requested, _) | (CancelOutcome::AlreadyEnded, true) => "cancelled",
            (CancelOutcome::AlreadyEnded, false) => "cancelled; the job had ended before",
            (CancelOutcome::Refused, false) => "cancelled; the provider refused to stop the job, so it runs on unwatched",
            (CancelOutcome::Refused, true) => {
                "cancelled; the provider took that and refused a harder way, so the job may run on unwatched"
            }
        }
    }

    /// The harder way is owed from now on.
    pub(super) fn escalate(&mut self) {
        if let Some(wish) = &mut self.cancellation {
            *wish = Cancellation { attempts: 0, progress: CancelProgress::Owed, escalation: Escalation::Made, ..*wish };
        }
    }

    /// The job has ended: no harder way is needed.
    pub(super) fn heeded(&mut self) {
        if let Some(wish) = &mut self.cancellation {
            wish.escalation = Escalation::None;
        }
    }

    fn is_escalated(&self) -> bool {
        self.cancellation.as_ref().is_some_and(|wish| wish.escalation == Escalation::Made)
    }
}
