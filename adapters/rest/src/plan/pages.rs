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
}
