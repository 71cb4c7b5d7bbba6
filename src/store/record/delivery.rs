//! The stored form of deliveries that are kept: parked ones and dead letters.
//!
//! A row says when it came and when it goes; the rest is beside that, or a body where it would make the row too large.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jobgate_webhooks::Kept;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::task::Held;
use super::{BodyRef, INLINE, RecordError, json};
use crate::domain::{ProviderName, TaskId, Timestamp};
use crate::store::{Addressee, DeadLetter, DeliveryId, Parked, shortened};

/// Every form that a row has had.
#[derive(Serialize, Deserialize)]
enum Row<T> {
    #[serde(rename = "1")]
    V1(RowV1<T>),
}

#[derive(Serialize, Deserialize)]
struct RowV1<T> {
    #[serde(rename = "t")]
    at: i64,
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    #[serde(rename = "w")]
    what: Held<T>,
}

#[derive(Serialize, Deserialize)]
struct ParkedV1<'a> {
    #[serde(rename = "p")]
    provider: Cow<'a, str>,
    #[serde(rename = "a")]
    addressee: AddresseeV1<'a>,
    #[serde(rename = "k")]
    kept: KeptV1,
}

#[derive(Serialize, Deserialize)]
enum AddresseeV1<'a> {
    #[serde(rename = "j")]
    Job(Cow<'a, str>),
    #[serde(rename = "t")]
    Task(String),
}

#[derive(Serialize, Deserialize)]
struct DeadV1<'a> {
    #[serde(rename = "p")]
    provider: Cow<'a, str>,
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    #[serde(rename = "r")]
    reason: Cow<'a, str>,
    #[serde(rename = "k")]
    kept: KeptV1,
}

/// The bytes of a kept delivery in base64.
#[derive(Serialize, Deserialize)]
struct KeptV1(String);

impl KeptV1 {
    fn of(kept: &Kept) -> Self {
        Self(STANDARD.encode(kept.to_bytes()))
    }

    fn read(&self) -> Result<Kept, RecordError> {
        let kept = STANDARD.decode(&self.0).ok().as_deref().and_then(Kept::from_bytes);
        kept.ok_or_else(|| RecordError::Body("what was delivered cannot be read".to_owned()))
    }
}

/// A row ready to be written, and its body where it has one.
#[derive(Debug)]
pub(in crate::store) struct Slip {
    /// At most [`INLINE`] bytes.
    pub(in crate::store) row: Vec<u8>,
    /// What it says of itself.
    pub(in crate::store) head: SlipHead,
    /// What was moved out.
    pub(in crate::store) body: Option<Vec<u8>>,
}

/// What can be read of a row without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct SlipHead {
    /// When it came.
    pub(in crate::store) at: Timestamp,
    /// When it goes, for what is parked.
    pub(in crate::store) until: Option<Timestamp>,
    /// Its body.
    pub(in crate::store) body: Option<BodyRef>,
}

/// Where the body of a row comes from. The error says what is wrong with it.
pub(in crate::store) type FetchBody<'a> = &'a dyn Fn(&BodyRef) -> Result<Vec<u8>, String>;

const fn form<T>(at: Timestamp, until: Option<Timestamp>, what: Held<T>) -> Row<T> {
    let until = match until {
        Some(until) => Some(until.as_millis()),
        None => None,
    };
    Row::V1(RowV1 { at: at.as_millis(), until, what })
}

fn whole<T: Serialize>(at: Timestamp, until: Option<Timestamp>, what: &T) -> Vec<u8> {
    json(&form(at, until, Held::Here(what)))
}

fn slip<T: Serialize>(at: Timestamp, until: Option<Timestamp>, what: &T) -> Slip {
    let row = whole(at, until, what);
    if row.len() <= INLINE {
        return Slip { row, head: SlipHead { at, until, body: None }, body: None };
    }
    let bytes = json(what);
    let body = BodyRef::of(&bytes);
    let row = json(&form(at, until, Held::<T>::Body(body)));
    Slip { row, head: SlipHead { at, until, body: Some(body) }, body: Some(bytes) }
}

fn parked_form(parked: &Parked) -> ParkedV1<'_> {
    let addressee = match &parked.addressee {
        Addressee::Job(job) => AddresseeV1::Job(job.into()),
        Addressee::Task(id) => AddresseeV1::Task(id.to_string()),
    };
    ParkedV1 { provider: parked.provider.as_str().into(), addressee, kept: KeptV1::of(&parked.kept) }
}

/// The stored form of a parked delivery.
pub(in crate::store) fn encode_parked(parked: &Parked) -> Slip {
    slip(parked.at, Some(parked.until), &parked_form(parked))
}

/// The same with everything in it, for an export.
pub(in crate::store) fn encode_parked_whole(parked: &Parked) -> Vec<u8> {
    whole(parked.at, Some(parked.until), &parked_form(parked))
}

fn dead_form(letter: &DeadLetter) -> DeadV1<'_> {
    DeadV1 {
        provider: letter.provider.as_str().into(),
        task: letter.task.as_ref().map(ToString::to_string),
        reason: shortened(&letter.reason).into(),
        kept: KeptV1::of(&letter.kept),
    }
}

/// The stored form of a dead letter.
pub(in crate::store) fn encode_dead(letter: &DeadLetter) -> Slip {
    slip(letter.at, None, &dead_form(letter))
}

/// The same with everything in it, for an export.
pub(in crate::store) fn encode_dead_whole(letter: &DeadLetter) -> Vec<u8> {
    whole(letter.at, None, &dead_form(letter))
}

/// Reads what a row of any version says of itself.
pub(in crate::store) fn decode_head(row: &[u8]) -> Result<SlipHead, RecordError> {
    let Row::V1(RowV1 { at, until, what }) = serde_json::from_slice::<Row<IgnoredAny>>(row)?;
    let body = match what {
        Held::Here(_) => None,
        Held::Body(body) => Some(body),
    };
    Ok(SlipHead { at: Timestamp::from_millis(at), until: until.map(Timestamp::from_millis), body })
}

fn read<T: DeserializeOwned>(row: &[u8], fetch: FetchBody<'_>) -> Result<(Timestamp, Option<Timestamp>, T), RecordError> {
    let Row::V1(RowV1 { at, until, what }) = serde_json::from_slice::<Row<T>>(row)?;
    let what = match what {
        Held::Here(what) => what,
        Held::Body(body) => serde_json::from_slice(&fetch(&body).map_err(RecordError::Body)?)?,
    };
    Ok((Timestamp::from_millis(at), until.map(Timestamp::from_millis), what))
}

fn task_id(text: &str) -> Result<TaskId, RecordError> {
    text.parse().map_err(|error| RecordError::Body(format!("{error}")))
}

/// Reads a parked delivery of any version.
pub(in crate::store) fn decode_parked(delivery: DeliveryId, row: &[u8], fetch: FetchBody<'_>) -> Result<Parked, RecordError> {
    let (at, until, what) = read::<ParkedV1<'_>>(row, fetch)?;
    let addressee = match what.addressee {
        AddresseeV1::Job(job) => Addressee::Job(job.into_owned()),
        AddresseeV1::Task(id) => Addressee::Task(task_id(&id)?),
    };
    let until = until.unwrap_or(at);
    Ok(Parked { provider: ProviderName::new(what.provider), addressee, delivery, at, until, kept: what.kept.read()? })
}

/// Reads a dead letter of any version.
pub(in crate::store) fn decode_dead(id: DeliveryId, row: &[u8], fetch: FetchBody<'_>) -> Result<DeadLetter, RecordError> {
    let (at, _, what) = read::<DeadV1<'_>>(row, fetch)?;
    let task = what.task.as_deref().map(task_id).transpose()?;
    let provider = ProviderName::new(what.provider);
    Ok(DeadLetter { id, provider, task, at, reason: what.reason.into_owned(), kept: what.kept.read()? })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: DeliveryId = DeliveryId::new([7; 32]);

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn kept(size: usize) -> Kept {
        Kept::from_bytes(&[&[1, 7][..], &5_i64.to_be_bytes(), &[9; 32], &vec![b'x'; size]].concat()).unwrap()
    }

    fn parked(addressee: Addressee, size: usize) -> Parked {
        Parked { provider: ProviderName::new("ci"), addressee, delivery: ID, at: at(1), until: at(2), kept: kept(size) }
    }

    fn letter(reason: &str, size: usize) -> DeadLetter {
        let (provider, reason) = (ProviderName::new("ci"), reason.to_owned());
        DeadLetter { id: ID, provider, task: None, at: at(3), reason, kept: kept(size) }
    }

    fn json_of(slip: &Slip) -> Value {
        serde_json::from_slice(&slip.row).unwrap()
    }

    /// What this version writes is what it wrote first: a change of form is a new version.
    #[test]
    fn the_first_form_stays() {
        let what = "AQcAAAAAAAAABQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJeHg=";
        let row = json!({"1": {"t": 1, "u": 2, "w": {"=": {"p": "ci", "a": {"j": "4711"}, "k": what}}}});
        let early = parked(Addressee::Job("4711".to_owned()), 2);
        assert_eq!(json_of(&encode_parked(&early)), row);
        assert_eq!(decode_parked(ID, row.to_string().as_bytes(), &|_| panic!("no body")).unwrap(), early);
        let row = json!({"1": {"t": 3, "w": {"=": {"p": "ci", "r": "no state", "k": what}}}});
        let dead = letter("no state", 2);
        assert_eq!(json_of(&encode_dead(&dead)), row);
        assert_eq!(decode_dead(ID, row.to_string().as_bytes(), &|_| panic!("no body")).unwrap(), dead);
    }

    /// However large a delivery is, or the id of the job that it tells of, or the reason, its row fits and it is read back whole.
    #[test]
    fn large_ones_become_bodies() {
        let task = Addressee::Task(TaskId::from_bytes([7; 16]));
        for early in [parked(task, 1 << 20), parked(Addressee::Job("😀".repeat(9000)), 2)] {
            let slip = encode_parked(&early);
            assert!(slip.row.len() < 300, "{} bytes", slip.row.len());
            assert_eq!(decode_head(&slip.row).unwrap(), slip.head);
            let fetch = |name: &BodyRef| Ok((Some(*name) == slip.head.body).then(|| slip.body.clone().unwrap()).unwrap());
            assert_eq!(decode_parked(ID, &slip.row, &fetch).unwrap(), early);
            assert_eq!(decode_parked(ID, &encode_parked_whole(&early), &|_| panic!("no body")).unwrap(), early);
        }
        let slip = encode_dead(&letter(&"😀".repeat(9000), 2));
        assert_eq!(slip.body, None);
        let read = decode_dead(ID, &slip.row, &|_| panic!("no body")).unwrap();
        assert_eq!(read.reason, "😀".repeat(500) + "…");
    }

    /// What a newer version wrote, or nobody, is refused with a word about it.
    #[test]
    fn an_unknown_form_is_refused() {
        for text in [
            &b"{\"7\":{}}"[..],
            b"{}",
            b"",
            b"\xff",
            b"{\"1\":{\"t\":1,\"w\":{\"=\":{\"p\":\"ci\",\"a\":{\"j\":\"7\"},\"k\":\"!\"}}}}",
        ] {
            assert!(decode_parked(ID, text, &|_| panic!("no body")).is_err());
        }
        let missing = decode_dead(ID, &encode_dead(&letter("", 1 << 14)).row, &|_| Err("the body is missing".to_owned()));
        assert_eq!(missing.unwrap_err().to_string(), "the body is missing");
    }
}
