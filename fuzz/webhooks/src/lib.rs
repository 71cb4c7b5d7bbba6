//! Every verifier of webhooks, fed with whatever a fuzzer thinks of: no panic, no secret in what it says, nothing accepted but what was
//! signed.
//!
//! A target is a scheme, or a part that reads what others wrote. An input is choices: which delivery that the provider really signed is
//! taken, how it is bent, what the clock says. [`Target::feed`] knows what was signed, so it also knows what may pass.

mod bend;
mod choices;
mod deliveries;
mod parts;
mod rig;
mod same;
mod sent;
mod words;

use std::fmt;

use jobgate_webhooks::NAMES;

use crate::choices::Choices;
use crate::deliveries::Deliveries;
use crate::parts::{Feed, PARTS};

/// The longest input that is looked at, in bytes.
pub const LONGEST: usize = 1024;

/// The names of all targets: every scheme, then the parts.
pub fn targets() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(PARTS.iter().map(|(name, _)| *name))
}

/// Something to feed.
pub struct Target(Kind);

enum Kind {
    Scheme(Box<Deliveries>),
    Part(Feed),
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Scheme(deliveries) => write!(f, "Target({})", deliveries.name()),
            Kind::Part(_) => f.write_str("Target(a part)"),
        }
    }
}

impl Target {
    /// The target of that name; nothing when there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if let Some((_, feed)) = PARTS.iter().find(|(known, _)| *known == name) {
            return Some(Self(Kind::Part(*feed)));
        }
        NAMES.contains(&name).then(|| Self(Kind::Scheme(Box::new(Deliveries::of(name)))))
    }

    /// Makes a request of an input, has it judged, and panics where the verdict is wrong.
    pub fn feed(&self, input: &[u8]) {
        let input = input.get(..LONGEST).unwrap_or(input);
        let mut choices = Choices::new(input);
        match &self.0 {
            Kind::Scheme(deliveries) => deliveries.feed(&mut choices),
            Kind::Part(feed) => feed(&mut choices),
        }
    }
}
