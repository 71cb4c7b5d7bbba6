//! Fetching a file that a job made. An answer of a provider names where it is, so where the gateway goes is bounded, and as whom.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use http::{HeaderMap, Request};
use jobgate_adapter_api::{AdapterError, Artifact, ArtifactBody, CallContext, ErrorKind, Operation};
use mime::Mime;
use url::Url;

use crate::exchange::{Arriving, Exchange};
use crate::language::Context;
use crate::plan::{Admitted, Fetching, RequestPlan};

/// Redirects of one file.
const MOST_REDIRECTS: usize = 3;
const FETCH: Operation = Operation::Fetch;

impl Exchange {
    /// Begins to fetch a file. `context` is what the provider's own headers know.
    pub(crate) async fn fetch(
        &self,
        cx: &CallContext,
        artifact: &Artifact,
        context: &Context,
    ) -> Result<ArtifactBody, AdapterError> {
        let fetching: Fetching = match &artifact.note {
            Some(note) => serde_json::from_str(note).map_err(|_| rejected("how the file is fetched cannot be read"))?,
            None => Fetching::default(),
        };
        let mut url = Url::parse(&artifact.uri).map_err(|_| rejected("the file's address is none"))?;
        // Whoever redirects decides what is read, so a credential is for what the provider itself leads to.
        let mut trusted = fetching.credentials;
        for _ in 0..=MOST_REDIRECTS {
            trusted = trusted && self.is_ours(&url);
            let answer = self.begin(cx, &fetching, &url, trusted, context).await?;
            if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return self.body_of_file(artifact, answer, trusted);
            }
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok()).and_then(|to| url.join(to).ok());
            url = to.ok_or_else(|| rejected("the file's address redirects to what is no address"))?;
        }
        Err(rejected("the file's address redirects again and again"))
    }

    /// Asks for what is at `url`, where the words allow to go there.
    async fn begin(
        &self,
        cx: &CallContext,
        fetching: &Fetching,
        url: &Url,
        trusted: bool,
        context: &Context,
    ) -> Result<Arriving, AdapterError> {
        if !matches!(url.scheme(), "https" | "http") || !url.username().is_empty() || url.password().is_some() {
            return Err(rejected("the file is at no address that is fetched"));
        }
        if trusted {
            return self.send_streamed(FETCH, &RequestPlan::file(url), context, cx.timeout).await;
        }
        let timeout = cx.timeout.min(self.plan.timeout);
        let mut request = Request::get(url.as_str()).body(Bytes::new()).map_err(|_| rejected("the file's address is none"))?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("*/*"));
        if self.is_ours(url) {
            return self.transport.stream(FETCH, request, timeout).await;
        }
        match (fetching.admits(url), &self.outside) {
            (Some(Admitted::ByName), _) => self.elsewhere.stream(FETCH, request, timeout).await,
            (Some(Admitted::Public), Some(outside)) => outside.stream(FETCH, request, timeout).await,
            (Some(Admitted::Public), None) | (None, _) => {
                Err(rejected("the file is at an address from which this tool does not fetch"))
            }
        }
    }

    /// The file, held against what it may be.
    fn body_of_file(&self, artifact: &Artifact, answer: Arriving, trusted: bool) -> Result<ArtifactBody, AdapterError> {
        let (parts, chunks) = answer.into_parts();
        let status = parts.status;
        match status.as_u16() {
            200 => {}
            // What needs no credential and is shut all the same was open for a while.
            401 | 403 if !trusted => {
                let message = "the file's address is not valid any more";
                return Err(AdapterError::new(ErrorKind::NotFound, FETCH, message).with_status(status.as_u16()));
            }
            code => {
                let message = format!("the file could not be fetched: status {code}");
                return Err(AdapterError::from_status(FETCH, status, &parts.headers, self.clock.now(), message));
            }
        }
        let mime_type = kind(&parts.headers);
        if !artifact.types.is_empty() {
            // A store that does not know what it holds says so, and then the provider's word counts.
            let vague = |kind: &String| kind.ends_with("/octet-stream");
            let kind = mime_type.clone().filter(|kind| !vague(kind)).or_else(|| artifact.mime_type.clone()).unwrap_or_default();
            if !artifact.types.iter().any(|allowed| fits(allowed, &kind)) {
                return Err(rejected("the file is not of a type that this tool keeps"));
            }
        }
        let size = parts.headers.get(CONTENT_LENGTH).and_then(|size| size.to_str().ok()?.parse().ok());
        let most = artifact.max_bytes.unwrap_or(u64::MAX);
        if size.is_some_and(|size| size > most) {
            return Err(too_large(most));
        }
        Ok(ArtifactBody { mime_type, size, chunks: capped(chunks, most) })
    }
}

/// The bytes, and an error where there are too many.
fn capped(chunks: BoxStream<'static, Result<Bytes, AdapterError>>, most: u64) -> BoxStream<'static, Result<Bytes, AdapterError>> {
    let counted = futures_util::stream::unfold((Some(chunks), most), move |(open, left)| async move {
        let mut open = open?;
        match open.next().await? {
            Ok(chunk) => match left.checked_sub(chunk.len() as u64) {
                Some(left) => Some((Ok(chunk), (Some(open), left))),
                None => Some((Err(too_large(most)), (None, 0))),
            },
            Err(error) => Some((Err(error), (None, 0))),
        }
    });
    counted.boxed()
}

/// What a sender says that it sends, without parameters.
fn kind(headers: &HeaderMap) -> Option<String> {
    let said = headers.get(CONTENT_TYPE)?.to_str().ok()?.parse::<Mime>().ok()?;
    Some(said.essence_str().to_owned())
}

/// Whether a type is one of `video/mp4` or `video/*`.
fn fits(allowed: &str, kind: &str) -> bool {
    match allowed.strip_suffix('*') {
        Some(class) => kind.get(..class.len()).is_some_and(|start| start.eq_ignore_ascii_case(class)),
        None => kind.eq_ignore_ascii_case(allowed),
    }
}

fn rejected(message: &str) -> AdapterError {
    AdapterError::new(ErrorKind::Rejected, FETCH, message)
}

fn too_large(most: u64) -> AdapterError {
    rejected(&format!("the file is larger than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also where no length was announced there is an end to it.
    #[tokio::test]
    async fn too_many_bytes_are_an_error_and_the_last_thing_that_comes() {
        let sent = |sizes: &'static [usize]| {
            futures_util::stream::iter(sizes.iter().map(|size| Ok(Bytes::from(vec![0; *size])))).boxed()
        };
        let kinds = |chunks: Vec<Result<Bytes, AdapterError>>| -> Vec<Result<usize, ErrorKind>> {
            chunks.into_iter().map(|chunk| chunk.map(|bytes| bytes.len()).map_err(|error| error.kind())).collect()
        };
        assert_eq!(kinds(capped(sent(&[3, 4, 3]), 10).collect().await), [Ok(3), Ok(4), Ok(3)]);
        assert_eq!(kinds(capped(sent(&[3, 4, 4, 9]), 10).collect().await), [Ok(3), Ok(4), Err(ErrorKind::Rejected)]);
    }
}
