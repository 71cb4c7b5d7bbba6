//! An answer, as texts read it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response, StatusCode};
use minijinja::value::{Serde, Value as Dynamic};
use serde_json::{Value, json};
use sse_stream::SseStream;

use crate::language::Context;
use crate::words::ParseAnswer;

/// An answer, read as far as it can be.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(super) text: String,
    pub(super) body: Option<Dynamic>,
    /// It says that it is JSON and is not.
    pub(super) broken: bool,
    pub(super) html: bool,
    /// What texts read of it.
    described: OnceLock<[(&'static str, Dynamic); 4]>,
}

impl Answer {
    pub(crate) fn read(answer: Response<Bytes>, parse: ParseAnswer) -> Self {
        let (parts, bytes) = answer.into_parts();
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let json = serde_json::from_slice::<Value>(&bytes).ok();
        let start = text.trim_start().get(..9).unwrap_or_default().to_ascii_lowercase();
        let html = parse != ParseAnswer::Text
            && json.is_none()
            && (kind.contains("html") || start.starts_with("<!doctype") || start.starts_with("<html"));
        let announced = json.is_none() && kind.contains("json") && !bytes.is_empty();
        let value = match parse {
            // No body is null: an API may answer with nothing, and a job may return nothing.
            ParseAnswer::Json if bytes.is_empty() => Some(Value::Null),
            ParseAnswer::Json => json,
            ParseAnswer::Lines => lines(&text),
            ParseAnswer::Events => events(bytes),
            ParseAnswer::Text => Some(Value::String(text.clone())),
        };
        let broken = match parse {
            ParseAnswer::Json => announced,
            ParseAnswer::Lines | ParseAnswer::Events => value.is_none(),
            ParseAnswer::Text => false,
        };
        let body = value.map(|value| Dynamic::from(Serde(value)));
        Self { status: parts.status, headers: parts.headers, text, body, broken, html, described: OnceLock::new() }
    }

    /// Bytes of the body, as far as it was read.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Adds `code`, `headers`, `body` and `text`. A header is named in lower case, with `-` or `_`.
    pub(crate) fn describe(&self, context: &mut Context) {
        for (name, value) in self.values() {
            context.set_dynamic(name, value.clone());
        }
    }

    /// The same names as one value.
    pub(crate) fn as_value(&self) -> Dynamic {
        Dynamic::from(BTreeMap::from(self.values().clone()))
    }

    fn values(&self) -> &[(&'static str, Dynamic); 4] {
        self.described.get_or_init(|| self.read_values())
    }

    fn read_values(&self) -> [(&'static str, Dynamic); 4] {
        let mut headers: BTreeMap<String, Dynamic> = BTreeMap::new();
        for (name, value) in &self.headers {
            let value = Dynamic::from(String::from_utf8_lossy(value.as_bytes()).as_ref());
            headers.insert(name.as_str().replace('-', "_"), value.clone());
            headers.insert(name.as_str().to_owned(), value);
        }
        [
            ("code", Dynamic::from(self.status.as_u16())),
            ("headers", Dynamic::from(headers)),
            ("body", self.body.clone().unwrap_or(Dynamic::UNDEFINED)),
            ("text", Dynamic::from(self.text.as_str())),
        ]
    }
}

/// The JSON values of lines; `None` where one of them is none.
fn lines(text: &str) -> Option<Value> {
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str::<Value>(line).ok()).collect()
}

/// The events of a stream that has ended (WHATWG HTML, server-sent events).
fn events(bytes: Bytes) -> Option<Value> {
    let whole = stream::iter([Ok::<_, std::convert::Infallible>(bytes)]);
    let events: Vec<_> = SseStream::from_bytes_stream(whole).collect().now_or_never()?;
    let event = |event: Result<sse_stream::Sse, _>| {
        let sse_stream::Sse { event, data, id, .. } = event.ok()?;
        let data = data.map_or(Value::Null, |data| serde_json::from_str(&data).unwrap_or(Value::String(data)));
        Some(json!({ "event": event.unwrap_or_else(|| "message".to_owned()), "data": data, "id": id }))
    };
    events.into_iter().map(event).collect()
}
