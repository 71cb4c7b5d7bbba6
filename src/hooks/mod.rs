//! Deliveries of providers: which route they came to, whether they are what they claim, and what the sender is told.
//!
//! Strictly in this order: method; size and time of the body (by who reads it, see [`Hooks::look`]); route; address; the scheme's own
//! order (`jobgate_webhooks::receive`); charset; the engine, which records the delivery together with what it causes; and only then 2xx.
//! Whatever does not verify gets one answer. Why is for counters and the debug log, never for the sender.

mod answer;
mod certificates;
mod fetch;
mod intake;
mod keys;
mod media;
mod receiver;
mod route;
mod verdict;

pub use answer::{HookAnswer, HookRequest, Hooks, Unread};
pub use certificates::OneCertificate;
pub use intake::Intake;
pub use keys::KeySource;
pub use receiver::{Receiver, ReceiverParts};
pub use route::{Route, Routes, RoutesParts};
