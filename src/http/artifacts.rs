//! `/artifacts/{token}/{number}?expires=...&signature=...`: a kept artifact for whoever has its address, whole or a range of it.
//!
//! `Host` and `Origin` are not looked at: an address has no rights but its signature's. Whatever is wrong with one, the answer is the same.
//! A file is what a job made, so a browser shows none of it as a page of ours: it is saved under a name that is no path.

use std::fmt;
use std::fs::File;
use std::io::{self, SeekFrom};
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE, REFERRER_POLICY, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bytes::Bytes;
use futures_util::stream;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use crate::domain::{ContentHash, KeptArtifact};
use crate::engine::ArtifactAddress;

/// Bytes read at a time.
const PIECE: u64 = 64 * 1024;
/// Characters of a file's name.
const LONGEST_NAME: usize = 100;
/// What may stand unescaped in `filename*` (RFC 5987, section 3.2.1), and is no letter or digit.
const IN_NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// Who knows of kept artifacts.
#[async_trait]
pub trait ArtifactSource: fmt::Debug + Send + Sync + 'static {
    /// The artifact that an address stands for, while it lasts.
    ///
    /// # Errors
    /// When nobody can tell now.
    async fn addressed(&self, address: &ArtifactAddress) -> Result<Option<KeptArtifact>, Unknown>;

    /// A kept file. Waits for the disk.
    ///
    /// # Errors
    /// When it is not there.
    fn file(&self, hash: &ContentHash) -> io::Result<File>;
}

/// Nobody can tell now whether there is such an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

/// The routes of kept artifacts.
pub(super) fn router(source: Arc<dyn ArtifactSource>) -> Router {
    Router::new().route("/artifacts/{token}/{number}", any(serve)).with_state(source)
}

async fn serve(State(source): State<Arc<dyn ArtifactSource>>, request: Request<Body>) -> Response {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")]).into_response();
    }
    let Some(address) = address(request.uri().path(), request.uri().query()) else { return no_such_artifact() };
    let kept = match source.addressed(&address).await {
        Ok(Some(kept)) => kept,
        Ok(None) => return no_such_artifact(),
        Err(Unknown) => return not_now(),
    };
    let hash = kept.hash;
    let opened = tokio::task::spawn_blocking(move || {
        let file = source.file(&hash)?;
        let size = file.metadata()?.len();
        io::Result::Ok((file, size))
    });
    match opened.await {
        Ok(Ok((file, size))) if size == kept.size => respond(&kept, file, request.method(), request.headers()).await,
        Ok(Ok(_)) => {
            tracing::error!(%hash, "a kept artifact is not as long as it was");
            no_such_artifact()
        }
        Ok(Err(error)) => {
            tracing::error!(%error, %hash, "a kept artifact cannot be read");
            no_such_artifact()
        }
        Err(_) => not_now(),
    }
}

fn no_such_artifact() -> Response {
    (StatusCode::NOT_FOUND, "there is no such artifact, or its address has ended\n").into_response()
}

fn not_now() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "5")], "nobody can tell now; try again\n").into_response()
}

/// The address in its one spelling.
fn address(path: &str, query: Option<&str>) -> Option<ArtifactAddress> {
    let (token, number) = path.strip_prefix("/artifacts/")?.split_once('/')?;
    let (expires, signature) = query?.strip_prefix("expires=")?.split_once("&signature=")?;
    let (token, signature) = (token.to_owned(), signature.to_owned());
    Some(ArtifactAddress { token, number: number.parse().ok()?, expires: expires.parse().ok()?, signature })
}

async fn respond(kept: &KeptArtifact, file: File, method: &Method, asked: &HeaderMap) -> Response {
    let etag = format!("\"{}\"", kept.hash);
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let text = |text: String| HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
    headers.insert(ETAG, text(etag.clone()));
    let is_this = |value: &HeaderValue| {
        value
            .to_str()
            .is_ok_and(|tags| tags.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag || tag.trim() == "*"))
    };
    if asked.get(IF_NONE_MATCH).is_some_and(is_this) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    let mime_type = kept.mime_type.clone().and_then(|it| HeaderValue::try_from(it).ok());
    headers.insert(CONTENT_TYPE, mime_type.unwrap_or(HeaderValue::from_static("application/octet-stream")));
    headers.insert(CONTENT_DISPOSITION, text(disposition(&kept.name)));
    // A range of another version is none of this one: then the whole is sent (RFC 9110, section 13.1.5).
    let same = asked.get(IF_RANGE).is_none_or(|tag| tag.as_bytes() == etag.as_bytes());
    let range = asked
        .get(RANGE)
        .filter(|_| same)
        .and_then(|range| range.to_str().ok())
        .map_or(Range::Whole, |range| wanted(range, kept.size));
    let (status, start, length) = match range {
        Range::Whole => (StatusCode::OK, 0, kept.size),
        Range::Part(start, end) => {
            headers.insert(CONTENT_RANGE, text(format!("bytes {start}-{end}/{}", kept.size)));
            (StatusCode::PARTIAL_CONTENT, start, end - start + 1)
        }
        Range::Beyond => {
            let unsatisfied = text(format!("bytes */{}", kept.size));
            return (StatusCode::RANGE_NOT_SATISFIABLE, [(CONTENT_RANGE, unsatisfied)]).into_response();
        }
    };
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    if *method == Method::HEAD {
        return (status, headers).into_response();
    }
    let mut file = tokio::fs::File::from_std(file);
    if start > 0 && file.seek(SeekFrom::Start(start)).await.is_err() {
        return not_now();
    }
    (status, headers, Body::from_stream(pieces(file, length))).into_response()
}

/// So many bytes of a file from where it stands. A file that ends before breaks the connection, so that nobody takes it for whole.
fn pieces(file: tokio::fs::File, length: u64) -> impl futures_util::Stream<Item = io::Result<Bytes>> {
    stream::try_unfold((file, length), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let mut piece = vec![0; usize::try_from(left.min(PIECE)).unwrap_or(usize::MAX)];
        let read = file.read(&mut piece).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        piece.truncate(read);
        Ok(Some((Bytes::from(piece), (file, left - read as u64))))
    })
}

/// What of a file is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    /// All of it, also where what was asked for is not understood, or is several ranges.
    Whole,
    /// From this byte to this one.
    Part(u64, u64),
    /// Nothing that is there.
    Beyond,
}

/// Reads `Range` (RFC 9110, section 14.1.2).
fn wanted(range: &str, size: u64) -> Range {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().unwrap_or(u64::MAX));
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-')) else {
        return Range::Whole;
    };
    match (first, last) {
        ("", "") => Range::Whole,
        ("", last) => match digits(last) {
            None => Range::Whole,
            Some(0) => Range::Beyond,
            Some(_) if size == 0 => Range::Beyond,
            Some(count) => Range::Part(size.saturating_sub(count), size - 1),
        },
        (first, last) => {
            let last = if last.is_empty() { Some(u64::MAX) } else { digits(last) };
            match (digits(first), last) {
                (Some(first), Some(last)) if first <= last => {
                    if first < size {
                        Range::Part(first, last.min(size - 1))
                    } else {
                        Range::Beyond
                    }
                }
                _ => Range::Whole,
            }
        }
    }
}

/// `Content-Disposition` that has a file saved under a name which is no path (RFC 6266).
fn disposition(name: &str) -> String {
    let fine = |c: char| !c.is_control() && !"/\\:*?\"<>|".contains(c) && !is_invisible(c);
    let name: String = name.chars().filter(|c| fine(*c)).take(LONGEST_NAME).collect();
    let name = name.trim().trim_matches('.').trim();
    let name = if name.is_empty() { "artifact" } else { name };
    let plain: String = name.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{}", utf8_percent_encode(name, IN_NAME))
}

/// Marks that turn or hide what is read: `gpj.exe` must not look like `exe.jpg`.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (range, wanted_part) in [
            ("bytes=0-0", Range::Part(0, 0)),
            ("bytes=2-", Range::Part(2, 9)),
            ("bytes=2-99", Range::Part(2, 9)),
            ("bytes=-3", Range::Part(7, 9)),
            ("bytes=-99", Range::Part(0, 9)),
            ("bytes=10-", Range::Beyond),
            ("bytes=99999999999999999999-", Range::Beyond),
            ("bytes=-0", Range::Beyond),
            ("bytes=3-2", Range::Whole),
            ("bytes=0-1,3-4", Range::Whole),
            ("bytes=-", Range::Whole),
            ("bytes=a-b", Range::Whole),
            ("bytes=+1-2", Range::Whole),
            ("lines=0-1", Range::Whole),
        ] {
            assert_eq!(wanted(range, 10), wanted_part, "{range}");
        }
        assert_eq!((wanted("bytes=0-", 0), wanted("bytes=-1", 0)), (Range::Beyond, Range::Beyond));
    }

    /// A provider's name for a file is never a path, a second header, or something that looks like another type.
    #[test]
    fn a_name_is_made_fit_to_be_saved_under() {
        for (name, saved) in [
            ("film.mp4", "attachment; filename=\"film.mp4\"; filename*=UTF-8''film.mp4"),
            ("../../etc/passwd", "attachment; filename=\"etcpasswd\"; filename*=UTF-8''etcpasswd"),
            ("a\"; filename=\"b\r\nX: y", "attachment; filename=\"a; filename=bX y\"; filename*=UTF-8''a%3B%20filename%3DbX%20y"),
            ("über.png", "attachment; filename=\"_ber.png\"; filename*=UTF-8''%C3%BCber.png"),
            ("x\u{202e}gpj.exe", "attachment; filename=\"xgpj.exe\"; filename*=UTF-8''xgpj.exe"),
            ("..", "attachment; filename=\"artifact\"; filename*=UTF-8''artifact"),
            ("", "attachment; filename=\"artifact\"; filename*=UTF-8''artifact"),
        ] {
            assert_eq!(disposition(name), saved, "{name:?}");
        }
        assert!(disposition(&"x".repeat(10_000)).len() < 300);
    }
}
