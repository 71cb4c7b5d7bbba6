//! Task ids: unguessable, without order or meaning (requirement C2).

use std::fmt;
use std::str::FromStr;

use jobgate_adapter_api::Random;

const PREFIX: &str = "task_";
const BYTES: usize = 16;

/// Names one task: 128 random bits, written as `task_` and 32 lower-case hexadecimal digits.
///
/// Comes only from [`TaskId::mint`] or from parsing what a caller sent. Where authentication is off it works like a password for
/// the task, so `Debug` shows its beginning alone; `Display` is for the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId([u8; BYTES]);

impl TaskId {
    /// A new id.
    #[must_use]
    pub fn mint(random: &dyn Random) -> Self {
        let mut bytes = [0; BYTES];
        random.fill(&mut bytes);
        Self(bytes)
    }

    /// The id's bytes, as the store's keys use them.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// The id with these bytes, read back from a store.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The first two bytes alone: enough to follow a task through a log, too little to use it.
impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{:02x}{:02x}…", self.0[0], self.0[1])
    }
}

/// The text is no task id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task id is `{PREFIX}` and 32 lower-case hexadecimal digits")]
pub struct InvalidTaskId;

impl FromStr for TaskId {
    type Err = InvalidTaskId;

    fn from_str(text: &str) -> Result<Self, InvalidTaskId> {
        let digits = text.strip_prefix(PREFIX).ok_or(InvalidTaskId)?.as_bytes();
        let (pairs, []) = digits.as_chunks::<2>() else { return Err(InvalidTaskId) };
        let pairs: &[[u8; 2]; BYTES] = pairs.try_into().map_err(|_| InvalidTaskId)?;
        let mut bytes = [0; BYTES];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Result<u8, InvalidTaskId> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(InvalidTaskId),
    }
}

#[cfg(test)]
mod tests {
    use jobgate_adapter_api::{FixedRandom, OsRandom};

    use super::*;

    #[test]
    fn an_id_survives_the_wire() {
        let id = TaskId::mint(&FixedRandom::new(7));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().len(), "task_".len() + 32);
    }

    /// C2: no two ids share bits beyond chance; every one of the 128 bits is seen both set and unset.
    #[test]
    fn every_bit_is_random() {
        let ids: Vec<TaskId> = (0..200).map(|_| TaskId::mint(&OsRandom)).collect();
        for byte in 0..BYTES {
            let (ones, zeros) = ids.iter().fold((0, 0), |(ones, zeros), id| (ones | id.0[byte], zeros | !id.0[byte]));
            assert_eq!((ones, zeros), (255, 255), "byte {byte}");
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in [
            "",
            "task_",
            "task_00",
            "TASK_00000000000000000000000000000000",
            "task_0000000000000000000000000000000G",
            "task_000000000000000000000000000000000",
            "task_ABCDEF00000000000000000000000000",
        ] {
            assert_eq!(text.parse::<TaskId>(), Err(InvalidTaskId), "{text}");
        }
    }

    #[test]
    fn debug_does_not_give_the_id_away() {
        let id = TaskId::mint(&FixedRandom::new(7));
        assert!(format!("{id:?}").chars().count() < 12);
    }
}
