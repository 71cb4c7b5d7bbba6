//! The body of a request, and its type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::Exchange;
use crate::language::Context;
use crate::plan::{BodyPlan, PartPlan, RequestPlan};

/// How deep the maps of a form may be.
const MOST_DEPTH: usize = 8;

impl Exchange {
    /// The body; its type goes into `headers`.
    pub(super) fn body(&self, request: &RequestPlan, context: &Context, headers: &mut HeaderMap) -> Result<Bytes, String> {
        let engine = &self.plan.engine;
        let (body, kind) = match &request.body {
            BodyPlan::None => return Ok(Bytes::new()),
            BodyPlan::Json(tree) => {
                // Left out as a whole, it is no body, which is not the body `null`.
                let Some(value) = engine.json(tree, context).map_err(|faulty| faulty.message)? else { return Ok(Bytes::new()) };
                (value.to_string().into_bytes(), "application/json".to_owned())
            }
            BodyPlan::Form(fields) => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                for (name, tree) in fields {
                    if let Some(value) = engine.json(tree, context).map_err(|faulty| faulty.message)? {
                        flatten(name, &value, 0, &mut |name, value| {
                            form.append_pair(name, value);
                        })?;
                    }
                }
                (form.finish().into_bytes(), "application/x-www-form-urlencoded".to_owned())
            }
            BodyPlan::Multipart(parts) => multipart(&self.parts(parts, context)?),
            BodyPlan::MultipartMap(text) => {
                let map = engine.value(text, context).map_err(|faulty| faulty.message)?;
                multipart(&parts_of(map.unwrap_or_else(|| Value::Object(serde_json::Map::new())))?)
            }
            BodyPlan::Raw(text) => {
                let text = engine.string(text, context).map_err(|faulty| faulty.message)?;
                (text.into_bytes(), "text/plain; charset=utf-8".to_owned())
            }
        };
        let own = match &request.content_type {
            Some(text) => self.header(&CONTENT_TYPE, text, context)?,
            None => None,
        };
        let kind = match own {
            Some(kind) => kind,
            None => HeaderValue::try_from(kind).map_err(|_| "the type of the body cannot be sent".to_owned())?,
        };
        headers.insert(CONTENT_TYPE, kind);
        Ok(body.into())
    }

    fn parts(&self, parts: &[PartPlan], context: &Context) -> Result<Vec<Written>, String> {
        let engine = &self.plan.engine;
        let string = |text| engine.string(text, context).map_err(|faulty| faulty.message);
        let mut written = Vec::new();
        for part in parts {
            let Some(value) = engine.value(&part.text, context).map_err(|faulty| faulty.message)? else { continue };
            let mut bytes = plain(&value).into_bytes();
            if part.base64 {
                bytes = STANDARD.decode(&bytes).map_err(|_| format!("the part `{}` is no base64", part.name))?;
            }
            let mut head = disposition(&part.name);
            if let Some(filename) = &part.filename {
                head += &format!("; filename=\"{}\"", quoted(&string(filename)?));
            }
            if let Some(kind) = &part.content_type {
                let kind = string(kind)?;
                HeaderValue::try_from(&kind).map_err(|_| format!("the type of the part `{}` cannot be sent", part.name))?;
                head += &format!("\r\nContent-Type: {kind}");
            }
            written.push(Written { head, bytes });
        }
        Ok(written)
    }
}

/// One part of a `multipart/form-data` body, as it is sent.
struct Written {
    head: String,
    bytes: Vec<u8>,
}

fn disposition(name: &str) -> String {
    format!("Content-Disposition: form-data; name=\"{}\"", quoted(name))
}

/// A part for each field of a map.
fn parts_of(map: Value) -> Result<Vec<Written>, String> {
    let Value::Object(fields) = map else { return Err("`multipart` gives no map".to_owned()) };
    let given = fields.into_iter().filter(|(_, value)| !value.is_null());
    Ok(given.map(|(name, value)| Written { head: disposition(&name), bytes: plain(&value).into_bytes() }).collect())
}

/// `multipart/form-data` (RFC 7578). The boundary is a hash of all parts, so that none of them holds it.
fn multipart(parts: &[Written]) -> (Vec<u8>, String) {
    let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(&part.head).chain_update(&part.bytes)).finalize();
    let boundary: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut body = Vec::new();
    for Written { head, bytes } in parts {
        body.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (body, format!("multipart/form-data; boundary={boundary}"))
}

/// A name inside of quotes, as browsers write it (WHATWG HTML, multipart form data).
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// A field of a form: a map becomes `name[key]`, a list the same name several times, null nothing.
fn flatten(name: &str, value: &Value, depth: usize, add: &mut impl FnMut(&str, &str)) -> Result<(), String> {
    if depth > MOST_DEPTH {
        return Err(format!("a form holds maps at most {MOST_DEPTH} deep"));
    }
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, field) in fields {
                flatten(&format!("{name}[{key}]"), field, depth + 1, add)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                flatten(name, item, depth + 1, add)?;
            }
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) => add(name, &plain(value)),
    }
    Ok(())
}

/// A value in a query, form or part: texts as they are, the rest as JSON writes it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
