//! The stored form of what a task is called beside its id.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::words::hex32;
use crate::domain::{Names, RequestName};

/// Names; those that a task does not have are left out.
#[derive(Serialize, Deserialize)]
pub(super) struct NamesV1<'a> {
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none", borrow)]
    client_id: Option<Cow<'a, str>>,
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none", borrow)]
    request: Option<RequestV1<'a>>,
    #[serde(rename = "j", default, skip_serializing_if = "Option::is_none")]
    join: Option<JoinV1>,
}

/// The session and the id.
#[derive(Serialize, Deserialize)]
struct RequestV1<'a>(#[serde(borrow)] Option<Cow<'a, str>>, #[serde(borrow)] Cow<'a, str>);

#[derive(Serialize, Deserialize)]
struct JoinV1(#[serde(with = "hex32")] [u8; 32]);

impl<'a> NamesV1<'a> {
    /// `None` when there are none.
    pub(super) fn of(names: &'a Names) -> Option<Self> {
        let request = |request: &'a RequestName| RequestV1(request.session.as_deref().map(Cow::from), request.id.as_str().into());
        (*names != Names::default()).then(|| Self {
            client_id: names.client_id.as_deref().map(Cow::from),
            request: names.request.as_ref().map(request),
            join: names.join.map(JoinV1),
        })
    }
}

impl From<NamesV1<'_>> for Names {
    fn from(names: NamesV1<'_>) -> Self {
        let request =
            |RequestV1(session, id): RequestV1<'_>| RequestName { session: session.map(Cow::into_owned), id: id.into_owned() };
        Self {
            client_id: names.client_id.map(Cow::into_owned),
            request: names.request.map(request),
            join: names.join.map(|JoinV1(hash)| hash),
        }
    }
}
