//! The JSON-RPC 2.0 envelope: read once, borrowing; written straight into bytes.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::error::RpcError;

/// The longest id of a request, as it is written, in bytes. Those in the field are counters and UUIDs.
pub(crate) const LONGEST_ID: usize = 1024;

/// One message from a client.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Answers a request of ours.
    Response(Response<'a>),
}

/// A message that wants an answer.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// A string or an integer, as it was written.
    pub(crate) id: &'a RawValue,
    pub(crate) method: Cow<'a, str>,
    /// An object, not yet read.
    pub(crate) params: Option<&'a RawValue>,
}

/// A message that wants no answer.
#[derive(Debug)]
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

/// An answer to a request of ours.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    /// The request's id, as it was written.
    pub(crate) id: &'a RawValue,
    /// The result, or the error as it was written.
    pub(crate) answer: Result<&'a RawValue, &'a RawValue>,
}

/// A message that is no message; with its id, where that much could be read.
#[derive(Debug)]
pub(crate) struct Unreadable<'a> {
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) error: RpcError,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, borrow)]
    jsonrpc: Option<Text<'a>>,
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// `null` is a value here, not an absence: an `id` of `null` must not turn a request into a notification.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&'de RawValue>::deserialize(deserializer).map(Some)
}

/// The id under which a message is answered, if it has one.
pub(crate) const fn id<'a>(parsed: &Result<Incoming<'a>, Unreadable<'a>>) -> Option<&'a RawValue> {
    match parsed {
        Ok(Incoming::Request(request)) => Some(request.id),
        Ok(Incoming::Response(response)) => Some(response.id),
        Ok(Incoming::Notification(_)) => None,
        Err(unreadable) => unreadable.id,
    }
}

/// Reads one message.
///
/// # Errors
/// -32700 for what is no JSON, -32600 for JSON that is no request or notification (JSON-RPC 2.0, section 5.1). Batches are not
/// part of this protocol.
pub(crate) fn parse(bytes: &[u8]) -> Result<Incoming<'_>, Unreadable<'_>> {
    let refuse = |id, error| Err(Unreadable { id, error });
    // All of it, also what no member of ours is read from: JSON is UTF-8 (RFC 8259, section 8.1).
    let Ok(text) = std::str::from_utf8(bytes) else {
        return refuse(None, RpcError::parse("this is no JSON: it is not UTF-8"));
    };
    let envelope: Envelope<'_> = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) => return refuse(None, no_envelope(text, &error)),
    };
    let id = match envelope.id {
        Some(id) if !is_request_id(id) => {
            return refuse(None, RpcError::invalid_request("`id` has to be a string or an integer"));
        }
        id => id,
    };
    if envelope.jsonrpc.is_none_or(|version| version.0 != "2.0") {
        return refuse(id, RpcError::invalid_request("`jsonrpc` has to be \"2.0\""));
    }
    let Some(method) = envelope.method else {
        return match (id, envelope.result, envelope.error) {
            (Some(id), Some(result), None) => Ok(Incoming::Response(Response { id, answer: Ok(result) })),
            (Some(id), None, Some(error)) => Ok(Incoming::Response(Response { id, answer: Err(error) })),
            (id, _, _) => refuse(id, RpcError::invalid_request("`method` is missing")),
        };
    };
    let Ok(method) = serde_json::from_str::<Text<'_>>(method.get()) else {
        return refuse(id, RpcError::invalid_request("`method` has to be a string"));
    };
    if let Some(params) = envelope.params
        && !params.get().starts_with('{')
    {
        return refuse(id, RpcError::invalid_request("`params` has to be an object"));
    }
    // Each message of the request's stream repeats it, and it may be kept as long as the task.
    if id.is_some_and(|id| id.get().len() > LONGEST_ID) {
        return refuse(None, RpcError::invalid_request(format!("`id` is longer than {LONGEST_ID} bytes")));
    }
    Ok(match id {
        Some(id) => Incoming::Request(Request { id, method: method.0, params: envelope.params }),
        None => Incoming::Notification(Notification { method: method.0, params: envelope.params }),
    })
}

/// A string that is borrowed wherever it has no escapes; a plain `Cow` would always be copied.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

fn no_envelope(text: &str, error: &serde_json::Error) -> RpcError {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return RpcError::parse(format!("this is no JSON: {error}"));
    }
    if text.trim_start().starts_with('[') {
        return RpcError::invalid_request("batches are not part of this protocol; send one message at a time");
    }
    RpcError::invalid_request(format!("this is no JSON-RPC message: {error}"))
}

/// MCP allows strings and integers (schema `RequestId` and `ProgressToken`); anything else could not be sent back under that schema. Half
/// of a surrogate pair is no text: many readers would refuse the message that repeats it.
pub(crate) fn is_request_id(id: &RawValue) -> bool {
    let text = id.get();
    let is_text = || !text.contains('\\') || serde_json::from_str::<Text<'_>>(text).is_ok();
    (text.starts_with('"') && is_text())
        || (text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && !text.contains(['.', 'e', 'E']))
}

/// A successful answer.
pub(crate) fn result(id: &RawValue, result: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Success<'a, R> {
        jsonrpc: &'static str,
        id: &'a RawValue,
        result: &'a R,
    }
    write(&Success { jsonrpc: "2.0", id, result })
}

/// A successful answer whose result was written before.
pub(crate) fn prepared(id: &RawValue, result: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(result.len() + id.get().len() + 40);
    bytes.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    bytes.extend_from_slice(id.get().as_bytes());
    bytes.extend_from_slice(b",\"result\":");
    bytes.extend_from_slice(result);
    bytes.push(b'}');
    bytes.into()
}

/// An answer that says no. Without an id where none could be read: MCP has no `null` ids (schema `JSONRPCErrorResponse`).
pub(crate) fn failure(id: Option<&RawValue>, error: &RpcError) -> Bytes {
    #[derive(Serialize)]
    struct Failure<'a> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RawValue>,
        error: &'a RpcError,
    }
    write(&Failure { jsonrpc: "2.0", id, error })
}

/// A message that wants no answer.
pub(crate) fn notification(method: &str, params: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Message<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a P,
    }
    write(&Message { jsonrpc: "2.0", method, params })
}

/// A request of ours.
pub(crate) fn request(id: &str, method: &str, params: &impl Serialize) -> Bytes {
    #[derive(Serialize)]
    struct Message<'a, P> {
        jsonrpc: &'static str,
        id: &'a str,
        method: &'a str,
        params: &'a P,
    }
    write(&Message { jsonrpc: "2.0", id, method, params })
}

/// The bytes of a value of ours.
pub(crate) fn write(value: &impl Serialize) -> Bytes {
    let mut bytes = Vec::with_capacity(512);
    serde_json::to_writer(&mut bytes, value).expect("our own messages have string keys and go to memory");
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (i64, Option<String>) {
        match parse(text.as_bytes()) {
            Ok(message) => panic!("{text} was read as {message:?}"),
            Err(refused) => (refused.error.code(), refused.id.map(|id| id.get().to_owned())),
        }
    }

    #[test]
    fn what_is_no_message_is_refused_with_the_right_code_and_its_id_where_it_has_one() {
        for (text, code, id) in [
            ("", -32700, None),
            ("{", -32700, None),
            ("[", -32700, None),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"} x", -32700, None),
            ("[]", -32600, None),
            (" [{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}]", -32600, None),
            ("5", -32600, None),
            ("null", -32600, None),
            ("{}", -32600, None),
            ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", -32600, None),
            ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}", -32600, None),
            ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}", -32600, None),
            ("{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"a\"}", -32600, Some("7")),
            ("{\"id\":7,\"method\":\"a\"}", -32600, Some("7")),
            ("{\"jsonrpc\":\"2.0\",\"id\":7}", -32600, Some("7")),
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":5}", -32600, Some("7")),
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":null}", -32600, Some("7")),
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":[]}", -32600, Some("7")),
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":null}", -32600, Some("7")),
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{},\"error\":{}}", -32600, Some("7")),
            ("{\"jsonrpc\":\"2.0\",\"result\":{}}", -32600, None),
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":8,\"method\":\"a\"}", -32600, None),
        ] {
            assert_eq!(refused(text), (code, id.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn ids_come_back_as_they_were_written() {
        for id in ["1", "-1", "\"a\"", "\"\\u0041\"", "123456789012345678901234567890"] {
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"a\",\"params\":{{\"deep\":[{{}}]}}}}");
            let Ok(Incoming::Request(request)) = parse(text.as_bytes()) else { panic!("{text}") };
            assert_eq!(request.id.get(), id);
            assert_eq!(prepared(request.id, b"{}"), format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}"));
        }
    }

    #[test]
    fn an_escaped_method_is_understood() {
        let Ok(Incoming::Notification(seen)) = parse(b"{\"jsonrpc\":\"2.0\",\"method\":\"tools\\/call\"}") else { panic!() };
        assert_eq!(seen.method, "tools/call");
    }
}
