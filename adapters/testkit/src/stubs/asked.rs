//! A request, taken apart once: what the matchers and the templates look at.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{FutureExt as _, stream};
use wiremock::Request;

/// A request and its parts.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    request: &'a Request,
    pub(super) query: Vec<(String, String)>,
}

/// A part of a multipart body.
#[derive(Debug)]
pub(super) struct Part {
    headers: http::HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Part {
    pub(super) fn header(&self, name: &str) -> Vec<String> {
        texts(&self.headers, name)
    }
}

impl<'a> Asked<'a> {
    pub(super) fn new(request: &'a Request) -> Self {
        Self { request, query: request.url.query_pairs().into_owned().collect() }
    }

    pub(super) fn method(&self) -> &str {
        self.request.method.as_str()
    }

    /// The path as it was sent.
    pub(super) fn path(&self) -> &str {
        self.request.url.path()
    }

    /// Path and query as they were sent.
    pub(super) fn url(&self) -> String {
        self.request.url.query().map_or_else(|| self.path().to_owned(), |query| format!("{}?{query}", self.path()))
    }

    /// The host as the `Host` header says it: the address that came is a path alone.
    pub(super) fn host(&self) -> String {
        self.address().and_then(|address| address.host_str().map(str::to_owned)).unwrap_or_default()
    }

    pub(super) fn port(&self) -> u16 {
        self.address().and_then(|address| address.port_or_known_default()).unwrap_or_default()
    }

    fn address(&self) -> Option<url::Url> {
        let host = self.header("host").into_iter().next();
        host.map_or_else(|| Some(self.request.url.clone()), |host| url::Url::parse(&format!("http://{host}/")).ok())
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.request.body
    }

    pub(super) fn query(&self, name: &str) -> Vec<String> {
        all(&self.query, name)
    }

    pub(super) fn header(&self, name: &str) -> Vec<String> {
        texts(&self.request.headers, name)
    }

    pub(super) fn cookie(&self, name: &str) -> Vec<String> {
        let lines = self.header("cookie");
        let pairs = lines.iter().flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(found, _)| *found == name).map(|(_, value)| value.to_owned()).collect()
    }

    /// The fields of a form; none where the body is announced as something else.
    pub(super) fn form(&self, name: &str) -> Vec<String> {
        if !self.is_of("application/x-www-form-urlencoded") {
            return Vec::new();
        }
        all(&url::form_urlencoded::parse(self.body()).into_owned().collect::<Vec<_>>(), name)
    }

    pub(super) fn has_credentials(&self, username: &str, password: &str) -> bool {
        let wanted = format!("Basic {}", STANDARD.encode(format!("{username}:{password}")));
        self.header("authorization").contains(&wanted)
    }

    /// The parts of a multipart body; none where it is not one.
    pub(super) fn parts(&self) -> Vec<Part> {
        let kind = self.header("content-type");
        let Some(boundary) = kind.first().and_then(|kind| multer::parse_boundary(kind).ok()) else { return Vec::new() };
        let body = bytes::Bytes::copy_from_slice(self.body());
        let read = async move {
            let mut parts = Vec::new();
            let mut form = multer::Multipart::new(stream::iter([Ok::<_, std::convert::Infallible>(body)]), boundary);
            while let Ok(Some(field)) = form.next_field().await {
                let headers = field.headers().clone();
                let Ok(body) = field.bytes().await else { break };
                parts.push(Part { headers, body: body.to_vec() });
            }
            parts
        };
        // The whole body is there, so nothing is waited for.
        read.now_or_never().unwrap_or_default()
    }

    fn is_of(&self, kind: &str) -> bool {
        self.header("content-type").first().is_some_and(|found| found.to_ascii_lowercase().starts_with(kind))
    }
}

fn all(pairs: &[(String, String)], name: &str) -> Vec<String> {
    pairs.iter().filter(|(found, _)| found == name).map(|(_, value)| value.clone()).collect()
}

fn texts(headers: &http::HeaderMap, name: &str) -> Vec<String> {
    headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}
