//! What an adapter claims to be able to do.

use std::time::Duration;

/// One field, one clause: the kit tests the promise where it is `true` and the refusal where it is `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// A repeated submit with the same key gives the first job and starts no second one.
    pub idempotent_submit: bool,
    /// A job can be found again by the key of its submit.
    pub find: bool,
    /// A running job can be asked to stop.
    pub cancel: bool,
    /// A job may wait for a person, and takes answers.
    pub input: bool,
    /// A delivery can be read: [`crate::Adapter::jobs_in`] and [`crate::Adapter::read`] answer, and `read` says what `poll` would say.
    pub webhook: bool,
    /// A submit hands the provider the address to deliver to ([`crate::CallContext::callback_url`]), so that what it delivers there tells
    /// which job was started, also when the submit's answer was lost.
    pub callback: bool,
    /// A job cannot be looked at, so its deliveries alone tell of it: `poll` is `Unsupported`. Only with `webhook`.
    pub pushed_only: bool,
    /// How long a job that took a cancel may run on before `cancel` is asked again with [`crate::CancelWish::escalated`]; `None` where there
    /// is no harder way. Only with `cancel`.
    pub escalates_after: Option<Duration>,
}
