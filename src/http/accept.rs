//! What kinds of answers a client takes (RFC 9110, section 12.5.1).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use crate::mcp::Streams;

/// What a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    /// One JSON object.
    pub(super) json: bool,
    /// An event stream.
    pub(super) streams: Streams,
}

impl Accepts {
    /// Reads the `Accept` headers. A client that says nothing, or `*/*`, takes anything and gets JSON where there is a choice.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut accepts = Self { json: false, streams: Streams::Refused };
        let mut said = false;
        for range in headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            if kind.is_empty() {
                continue;
            }
            said = true;
            if parts.any(refuses) {
                continue;
            }
            match kind.as_str() {
                "*/*" => {
                    accepts.json = true;
                    accepts.streams = accepts.streams.max(Streams::Possible);
                }
                "application/json" | "application/*" => accepts.json = true,
                "text/event-stream" | "text/*" => accepts.streams = Streams::Wanted,
                _ => {}
            }
        }
        if said { accepts } else { Self { json: true, streams: Streams::Possible } }
    }

    /// Whether any answer of ours would be taken.
    pub(super) fn anything(self) -> bool {
        self.json || self.streams != Streams::Refused
    }
}

/// `q=0` takes a kind back.
fn refuses(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("q") && value.trim().parse::<f32>().is_ok_and(|quality| quality <= 0.0)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn accept_is_read_as_clients_write_it() {
        for (text, json, streams) in [
            (None, true, Streams::Possible),
            (Some(""), true, Streams::Possible),
            (Some("*/*"), true, Streams::Possible),
            (Some("application/json"), true, Streams::Refused),
            (Some("application/json, text/event-stream"), true, Streams::Wanted),
            (Some("text/event-stream, application/json"), true, Streams::Wanted),
            (Some("Text/Event-Stream;q=0.5"), false, Streams::Wanted),
            (Some("text/event-stream;q=0, application/*;q=0.1"), true, Streams::Refused),
            (Some("text/html, */*;q=0.1"), true, Streams::Possible),
            (Some("text/html"), false, Streams::Refused),
            (Some("application/json;q=0"), false, Streams::Refused),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(text) = text {
                headers.insert(ACCEPT, HeaderValue::from_static(text));
            }
            assert_eq!(Accepts::of(&headers), Accepts { json, streams }, "{text:?}");
        }
    }
}
