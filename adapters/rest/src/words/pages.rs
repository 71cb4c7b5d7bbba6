//! The words of lists that come in several answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// How a list goes on after its first answer. Exactly one of `next`, `page`, `offset` and `token`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// `link`: the `Link` header names the next page (`rel="next"`, RFC 8288).
    pub next: Option<NextPage>,
    /// The query parameter that counts pages. A page with less than `size`, or nothing, is the last.
    pub page: Option<String>,
    /// The number of the first page. Without it: 1.
    pub first: Option<u64>,
    /// With `page`: the query parameter for the length of a page, and a length that the API grants, for example `{ per_page: 50 }`.
    #[serde(default)]
    pub size: BTreeMap<String, u64>,
    /// The query parameter for how many elements are left out. A page with less than `limit`, or nothing, is the last.
    pub offset: Option<String>,
    /// With `offset`: like `size`.
    #[serde(default)]
    pub limit: BTreeMap<String, u64>,
    /// The parameter, field or header for the token that the answer before gave.
    pub token: Option<String>,
    /// With `token`: where the answer names the next one, for example `{{ body.nextPageToken }}`. Undefined, null or empty: that was all.
    pub from: Option<String>,
    /// With `token`: where it goes. Without it: `query`.
    #[serde(rename = "in")]
    pub place: Option<TokenPlace>,
    /// Where an answer has its part of the list, for example `{{ body.items }}`. All parts together are `items`.
    pub items: Option<String>,
    /// Answers that are asked for, 1 to 50. A list that then still goes on makes the call fail, unless `until` has ended it.
    #[serde(default = "five")]
    pub most: usize,
    /// When enough is known: an expression over `items` (all so far), for example `(items | last).created_at < started_at`. Asked after each
    /// answer.
    pub until: Option<String>,
}

/// Names the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NextPage {
    /// The `Link` header.
    Link,
}

/// Where a page's token goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenPlace {
    /// A query parameter.
    #[default]
    Query,
    /// A field of the JSON body or form.
    Body,
    /// A header.
    Header,
}

fn five() -> usize {
    5
}
