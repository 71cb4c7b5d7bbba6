//! Compiled pages.

use super::RequestPlan;
use crate::language::{Condition, Text};

#[derive(Debug)]
pub(crate) struct PagesPlan {
    pub(crate) kind: PageKind,
    pub(crate) items: Text,
    pub(crate) most: usize,
    pub(crate) until: Option<Condition>,
}

/// How the next page is asked for.
#[derive(Debug)]
pub(crate) enum PageKind {
    /// At the address that the `Link` header names.
    Link,
    /// By number, in the name [`PagesPlan::PLACE`].
    Page { first: u64, size: Option<u64> },
    /// By how many came before, likewise.
    Offset { limit: Option<u64> },
    /// With a token, likewise; `further` is the request with it.
    Token { from: Text, further: Box<RequestPlan> },
}

impl PagesPlan {
    /// The name under which a request knows which page is wanted.
    pub(crate) const PLACE: &'static str = "page";

    /// Whether any of its texts uses a name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let token = matches!(&self.kind, PageKind::Token { from, further } if from.uses(name) || further.uses(name));
        token || self.items.uses(name) || self.until.as_ref().is_some_and(|until| until.uses(name))
    }
}
