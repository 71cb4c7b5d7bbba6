//! Files of a job that ended well, on their way into the gateway's keeping: the task has not ended until each is kept or given up.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jobgate_adapter_api::{Artifact, JobOutput, JobRef, Part, Timestamp};

use super::{Outcome, Task, TaskState, ToolResult, Troubles};

/// The SHA-256 of a file's bytes: its name among the kept ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// From the bytes of the hash.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes of the hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Not 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the SHA-256 of a file: 64 hexadecimal digits in lower case")]
pub struct InvalidContentHash;

impl FromStr for ContentHash {
    type Err = InvalidContentHash;

    fn from_str(text: &str) -> Result<Self, InvalidContentHash> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(InvalidContentHash),
        };
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| InvalidContentHash)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

/// A file that the gateway keeps for as long as its task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptArtifact {
    /// What callers see it called; never used as a path.
    pub name: String,
    /// Its type, where known.
    pub mime_type: Option<String>,
    /// One sentence.
    pub description: Option<String>,
    /// Its bytes.
    pub size: u64,
    /// What they are.
    pub hash: ContentHash,
}

/// What became of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is kept.
    Kept(KeptArtifact),
    /// It is not, and why: the end of a sentence that callers read.
    Left(String),
}

/// A job that ended well and whose artifacts are not all settled.
#[derive(Clone, Debug, PartialEq)]
pub struct Keeping {
    /// What it handed over; its artifacts are those to keep.
    pub output: JobOutput,
    /// What the provider said of the end.
    pub message: Option<String>,
    /// When the end was seen.
    pub since: Timestamp,
    /// What became of the first of the artifacts.
    pub settled: Vec<Settled>,
}

impl Keeping {
    /// One of which nothing has been read.
    #[must_use]
    pub fn unread() -> Self {
        Self { output: JobOutput::default(), message: None, since: Timestamp::default(), settled: Vec::new() }
    }

    /// The next artifact, with its place among them.
    #[must_use]
    pub fn next(&self) -> Option<(usize, &Artifact)> {
        let place = self.settled.len();
        self.output.artifacts.get(place).map(|artifact| (place, artifact))
    }

    fn news(&self) -> String {
        let all = self.output.artifacts.len();
        let which = if all > 1 { format!(" ({} of {all})", self.settled.len()) } else { String::new() };
        format!("the job has ended; its artifacts are being kept{which}")
    }
}

impl ToolResult {
    /// The result of a job that ended well, with what became of its artifacts, in their order; of those that nothing is said of,
    /// `otherwise` is. What is not kept is there as a link, where it has an address, with a sentence that says why.
    #[must_use]
    pub fn of(output: &JobOutput, settled: &[Settled], otherwise: &str) -> Self {
        let mut result = Self { output: JobOutput { artifacts: Vec::new(), ..output.clone() }, ..Self::default() };
        let unsaid = Settled::Left(otherwise.to_owned());
        for (place, artifact) in output.artifacts.iter().enumerate() {
            match settled.get(place).unwrap_or(&unsaid) {
                Settled::Kept(kept) => result.kept.push(kept.clone()),
                Settled::Left(why) => {
                    result.output.parts.extend(link(artifact));
                    let sentence = format!("[The artifact {:?} is not kept: {why}.]", artifact.name);
                    result.output.parts.push(Part::Text(sentence));
                }
            }
        }
        result
    }
}

/// An artifact that is not kept, by its address; one that carries itself (`data:`) has none.
pub(super) fn link(artifact: &Artifact) -> Option<Part> {
    (!artifact.is_inline()).then(|| Part::Link {
        uri: artifact.uri.clone(),
        name: artifact.name.clone(),
        mime_type: artifact.mime_type.clone(),
        description: artifact.description.clone(),
        size: None,
    })
}

impl Task {
    /// The job has ended well: the task has, too, unless something is to be kept.
    pub(super) fn succeed(&mut self, job: JobRef, output: &JobOutput, message: Option<&String>, at: Timestamp) {
        if output.artifacts.is_empty() {
            let result = ToolResult { output: output.clone(), ..ToolResult::default() };
            self.end(Some(job), Outcome::Result(Arc::new(result)), at);
            self.message = message.cloned();
            return;
        }
        self.withdraw_inputs();
        let keeping = Keeping { output: output.clone(), message: message.cloned(), since: at, settled: Vec::new() };
        self.progress = None;
        self.message = Some(keeping.news());
        self.state = TaskState::Keeping { job, keeping: Arc::new(keeping) };
    }

    /// The next artifact is settled; with the last one the task ends.
    pub(super) fn settle(&mut self, job: &JobRef, keeping: &Keeping, settled: &Settled, at: Timestamp) {
        let mut keeping = keeping.clone();
        keeping.settled.push(settled.clone());
        self.troubles = Troubles::default();
        if keeping.next().is_none() {
            return self.kept(job, &keeping, "", at);
        }
        self.message = Some(keeping.news());
        self.state = TaskState::Keeping { job: job.clone(), keeping: Arc::new(keeping) };
    }

    /// The task ends with what is kept; `otherwise` is why the rest is not.
    pub(super) fn kept(&mut self, job: &JobRef, keeping: &Keeping, otherwise: &str, at: Timestamp) {
        let result = ToolResult::of(&keeping.output, &keeping.settled, otherwise);
        self.end(Some(job.clone()), Outcome::Result(Arc::new(result)), at);
        self.message.clone_from(&keeping.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_written_and_read() {
        let hash = ContentHash::new(std::array::from_fn(|index| u8::try_from(index * 7).unwrap()));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for text in ["", "00", &"0".repeat(63), &"0".repeat(65), &"A".repeat(64), &"ä".repeat(32), &"../".repeat(22)] {
            assert_eq!(text.parse::<ContentHash>(), Err(InvalidContentHash), "{text}");
        }
    }
}
