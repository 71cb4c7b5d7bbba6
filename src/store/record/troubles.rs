//! The stored form of the present run of failed calls.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::words::{KindV1, is_zero};
use crate::domain::{Fault, Timestamp, Troubles};

/// The present run of failed calls.
#[derive(Serialize, Deserialize)]
pub(super) struct TroublesV1<'a> {
    #[serde(rename = "n")]
    count: u32,
    #[serde(rename = "p", default, skip_serializing_if = "is_zero")]
    protocol_run: u32,
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none", borrow)]
    last: Option<FaultV1<'a>>,
}

#[derive(Serialize, Deserialize)]
struct FaultV1<'a> {
    #[serde(rename = "k")]
    kind: KindV1,
    #[serde(rename = "m", borrow)]
    message: Cow<'a, str>,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

impl<'a> TroublesV1<'a> {
    /// `None` when there are none.
    pub(super) fn of(troubles: &'a Troubles) -> Option<Self> {
        let fault =
            |fault: &'a Fault| FaultV1 { kind: fault.kind.into(), message: (&fault.message).into(), status: fault.status };
        (*troubles != Troubles::default()).then(|| Self {
            count: troubles.count,
            protocol_run: troubles.protocol_run,
            since: troubles.since.map(Timestamp::as_millis),
            last: troubles.last.as_ref().map(fault),
        })
    }
}

impl From<TroublesV1<'_>> for Troubles {
    fn from(troubles: TroublesV1<'_>) -> Self {
        let fault =
            |fault: FaultV1<'_>| Fault { kind: fault.kind.into(), message: fault.message.into_owned(), status: fault.status };
        Self {
            count: troubles.count,
            protocol_run: troubles.protocol_run,
            since: troubles.since.map(Timestamp::from_millis),
            last: troubles.last.map(fault),
        }
    }
}
