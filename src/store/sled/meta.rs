//! The counts of the store, one row that every group writes, and the mark beside the database that tells lost writes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::domain::Status;

/// The rows that this version writes. A database of form 1, which has no rows by tenant, gets them when it is opened.
pub(super) const FORM: u64 = 2;

/// Written in the same step as the rows it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// Which rows there are: see [`FORM`].
    pub(super) form: u64,
    /// Groups committed so far.
    pub(super) seq: u64,
    /// Bytes of all keys and values.
    pub(super) live_bytes: u64,
    /// Tasks: working, input required, completed, failed, cancelled.
    pub(super) tasks: [u64; 5],
}

impl Default for Meta {
    fn default() -> Self {
        Self { form: FORM, seq: 0, live_bytes: 0, tasks: [0; 5] }
    }
}

impl Meta {
    /// One task more in this status.
    pub(super) fn enter(&mut self, status: Status) {
        self.tasks[place(status)] += 1;
    }

    /// One task less.
    pub(super) fn leave(&mut self, status: Status) {
        let count = &mut self.tasks[place(status)];
        *count = count.saturating_sub(1);
    }

    /// How many tasks are in this status.
    pub(super) fn count(&self, status: Status) -> u64 {
        self.tasks[place(status)]
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.seq, self.live_bytes].into_iter().chain(self.tasks).chain([self.form]);
        numbers.flat_map(u64::to_be_bytes).collect()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<8>() else { return None };
        let (form, numbers) = match numbers.split_at_checked(7)? {
            (numbers, []) => (1, numbers),
            (numbers, [form]) => (u64::from_be_bytes(*form), numbers),
            (_, _) => return None,
        };
        let [seq, live_bytes, tasks @ ..] = <[[u8; 8]; 7]>::try_from(numbers).ok()?.map(u64::from_be_bytes);
        Some(Self { form, seq, live_bytes, tasks })
    }
}

const fn place(status: Status) -> usize {
    match status {
        Status::Working => 0,
        Status::InputRequired => 1,
        Status::Completed => 2,
        Status::Failed => 3,
        Status::Cancelled => 4,
    }
}

/// The file `mark` in the database's folder: the last group known to be on disk.
///
/// sled takes a file that was cut short for one that was never longer, and starts as if nothing were missing. The mark is written
/// after a group has become durable, so it is never ahead of a database that lost nothing; it costs no sync of its own.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
}

impl Mark {
    /// Opens the mark; gives its number, or `None` when it says nothing (it was never written, or cannot be read).
    pub(super) fn open(dir: &Path) -> io::Result<(Self, Option<u64>)> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(dir.join("mark"))?;
        let mut text = [0; LEN];
        let number = file.read_exact_at(&mut text, 0).ok().and_then(|()| parse(&text));
        Ok((Self { file }, number))
    }

    /// Notes that group `seq` is on disk.
    pub(super) fn set(&self, seq: u64) -> io::Result<()> {
        self.file.write_all_at(text(seq).as_bytes(), 0)
    }
}

/// The number's twenty digits, a space, eight digits of their hash, a line feed.
const LEN: usize = 20 + 1 + 8 + 1;

fn text(seq: u64) -> String {
    let number = format!("{seq:020}");
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(&number));
    format!("{number} {a:02x}{b:02x}{c:02x}{d:02x}\n")
}

fn parse(bytes: &[u8; LEN]) -> Option<u64> {
    let found = std::str::from_utf8(bytes).ok()?;
    let seq = found.split_once(' ')?.0.parse().ok()?;
    (text(seq) == found).then_some(seq)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_with_a_flipped_bit_says_nothing() {
        let mut bytes: [u8; LEN] = text(4711).into_bytes().try_into().unwrap();
        assert_eq!(parse(&bytes), Some(4711));
        bytes[19] ^= 1;
        assert_eq!(parse(&bytes), None);
    }

    #[test]
    fn counts_are_read_as_they_were_written() {
        let meta = Meta { form: FORM, seq: 3, live_bytes: 70_000, tasks: [1, 2, 3, 4, 5] };
        assert_eq!(Meta::from_bytes(&meta.to_bytes()), Some(meta));
        assert_eq!(Meta::from_bytes(&meta.to_bytes()[..56]), Some(Meta { form: 1, ..meta }));
        assert_eq!(Meta::from_bytes(&[meta.to_bytes(), vec![0; 8]].concat()), None);
        assert_eq!(Meta::from_bytes(b"short"), None);
    }
}
