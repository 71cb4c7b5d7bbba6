//! The keys of deliveries: taken ones, parked ones, dead letters.

use super::{Row, from_moment, hash, key, moment};
use crate::domain::{ProviderName, Timestamp};
use crate::store::record::SlipHead;
use crate::store::{Addressee, DeliveryId, ParkedKey};

/// Stands for a provider in keys.
pub(in crate::store::sled) type ProviderKey = [u8; 16];

/// That a delivery was taken.
pub(in crate::store::sled) fn taken(id: DeliveryId) -> Vec<u8> {
    key(b'd', &[id.as_bytes()])
}

/// What the row of a delivery that was taken holds.
pub(in crate::store::sled) fn taken_value(keep_until: Timestamp, body_hash: &[u8; 32]) -> Vec<u8> {
    [&moment(keep_until)[..], body_hash].concat()
}

/// Reads [`taken_value`].
pub(in crate::store::sled) fn taken_in(value: &[u8]) -> Option<(Timestamp, [u8; 32])> {
    let (until, hash) = value.split_first_chunk()?;
    Some((from_moment(*until), hash.try_into().ok()?))
}

/// The row that ends the memory of a delivery.
pub(in crate::store::sled) fn memory_end(keep_until: Timestamp, id: DeliveryId) -> Vec<u8> {
    key(b'x', &[&moment(keep_until), id.as_bytes()])
}

/// The delivery that ends a key.
pub(in crate::store::sled) fn delivery_in(key: &[u8]) -> Option<DeliveryId> {
    key.last_chunk().copied().map(DeliveryId::new)
}

/// The prefix of what is parked for an addressee.
pub(in crate::store::sled) fn parked_for(provider: &ProviderName, addressee: &Addressee) -> Vec<u8> {
    let to = match addressee {
        Addressee::Job(job) => hash(&["job", job]),
        Addressee::Task(id) => hash(&["task", &id.to_string()]),
    };
    key(b'p', &[&provider_key(provider), &to[..16]])
}

pub(in crate::store::sled) fn parked(named: &ParkedKey) -> Vec<u8> {
    let mut key = parked_for(&named.provider, &named.addressee);
    key.extend_from_slice(named.delivery.as_bytes());
    key
}

/// Stands for a provider.
pub(in crate::store::sled) fn provider_key(provider: &ProviderName) -> ProviderKey {
    *hash(&[provider.as_str()]).first_chunk().expect("a hash of 32 bytes begins with 16")
}

/// The provider in the key of a parked delivery; `None` for another key.
pub(in crate::store::sled) fn provider_in(key: &[u8]) -> Option<ProviderKey> {
    key.strip_prefix(b"p")?.first_chunk().copied()
}

/// The prefix of a provider's parked deliveries in order.
pub(in crate::store::sled) fn parked_in_order(provider: &ProviderKey) -> Vec<u8> {
    key(b'q', &[provider])
}

/// The prefix of deliveries that were taken.
pub(in crate::store::sled) const TAKEN: &[u8] = b"d";

/// The prefix of parked deliveries.
pub(in crate::store::sled) const PARKED: &[u8] = b"p";

/// The prefix of dead letters.
pub(in crate::store::sled) const DEAD: &[u8] = b"l";

/// The prefix of all parked deliveries in order.
pub(in crate::store::sled) const PARKED_IN_ORDER: &[u8] = b"q";

/// The prefix of dead letters in order.
pub(in crate::store::sled) const DEAD_IN_ORDER: &[u8] = b"y";

/// The prefix of the ends of waiting.
pub(in crate::store::sled) const WAITING: &[u8] = b"u";

/// The prefix of the ends of memory.
pub(in crate::store::sled) const MEMORY: &[u8] = b"x";

/// The key of the parked delivery or dead letter that a row of order or of the end of waiting is about.
pub(in crate::store::sled) fn slip_of(row: &[u8]) -> Option<Vec<u8>> {
    match row.split_first()? {
        (b'q', rest) => {
            let (provider, rest) = rest.split_first_chunk::<16>()?;
            Some(key(b'p', &[provider, rest.get(8..)?]))
        }
        (b'u', rest) => Some(key(b'p', &[rest.get(8..)?])),
        (b'y', rest) => Some(key(b'l', &[rest.get(8..)?])),
        _ => None,
    }
}

pub(in crate::store::sled) fn dead(id: DeliveryId) -> Vec<u8> {
    key(b'l', &[id.as_bytes()])
}

/// All rows of a parked delivery or dead letter but the one at `slip`.
pub(in crate::store::sled) fn slip_rows(slip: &[u8], head: &SlipHead) -> Vec<Row> {
    let mut rows = Vec::new();
    match slip.split_first() {
        Some((b'p', rest)) => {
            let (provider, to) = rest.split_at(rest.len().min(16));
            rows.push((key(b'q', &[provider, &moment(head.at), to]), Vec::new()));
            rows.push((key(b'u', &[&moment(head.until.unwrap_or(head.at)), rest]), Vec::new()));
        }
        Some((_, id)) => rows.push((key(b'y', &[&moment(head.at), id]), Vec::new())),
        None => {}
    }
    if let Some(body) = &head.body {
        rows.push((key(b'b', &[&body.hash, slip]), Vec::new()));
    }
    rows
}
