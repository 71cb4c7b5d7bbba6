//! Files that a job made and that the gateway is to keep: what names one, and its bytes on their way.

use std::fmt;

use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::AdapterError;

/// A file of a job that ended well, to be kept by the gateway: fetched once, when the job has ended. Stored with the task until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Where it is: an absolute address. A `data:` address carries the file itself; the gateway reads it and asks no adapter.
    pub uri: String,
    /// What callers see it called. Never a path: the gateway makes it fit for a file name where it is used as one.
    pub name: String,
    /// Its type, where the provider or the configuration says it; else what its bytes are sent as.
    pub mime_type: Option<String>,
    /// One sentence.
    pub description: Option<String>,
    /// Bytes that it may have at most; `None` is the gateway's own limit, which holds in any case.
    pub max_bytes: Option<u64>,
    /// Types that it may have: `video/mp4`, `video/*`; none is any.
    pub types: Vec<String>,
    /// For the adapter alone: what [`crate::Adapter::fetch`] has to know beside the address. No secret.
    pub note: Option<String>,
}

impl Artifact {
    /// One at this address, with this name, of any type.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            mime_type: None,
            description: None,
            max_bytes: None,
            types: Vec::new(),
            note: None,
        }
    }

    /// Whether its address is the file itself (`data:`, RFC 2397).
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
    }
}

/// The bytes of an artifact, as they arrive.
pub struct ArtifactBody {
    /// The type that the sender says.
    pub mime_type: Option<String>,
    /// How many there are, where the sender says.
    pub size: Option<u64>,
    /// The bytes. After an error nothing follows; an end without one is the file's end. The gateway holds the stream against the
    /// limits of size and type and drops it when one is passed.
    pub chunks: BoxStream<'static, Result<Bytes, AdapterError>>,
}

impl fmt::Debug for ArtifactBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArtifactBody").field("mime_type", &self.mime_type).field("size", &self.size).finish_non_exhaustive()
    }
}
