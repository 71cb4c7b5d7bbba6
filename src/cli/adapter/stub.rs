//! An exchange as a WireMock stub mapping: what the request must be, what the answer is, both without secrets.

use http::{HeaderMap, Uri, header};
use jobgate_adapter_api::{Exchanged, Operation};
use regex::Regex;
use serde_json::{Map, Value, json};

use super::mask::{Mask, names_secret_header};

/// What stands for a text that is another one in each run.
const ANY_TEXT: &str = "${json-unit.any-string}";
/// Headers of one connection or one moment.
const LEFT_OUT: [&str; 12] = [
    "connection",
    "content-length",
    "transfer-encoding",
    "keep-alive",
    "date",
    "server",
    "via",
    "alt-svc",
    "strict-transport-security",
    "set-cookie",
    "age",
    "cf-ray",
];

/// Writes stubs of one run.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    pub(super) mask: &'a Mask,
    /// The key of the run: another one in each.
    pub(super) key: &'a str,
    /// The origins that requests went to.
    pub(super) origins: Vec<String>,
}

/// The origin of an address: `https://api.example.com`.
pub(super) fn origin(uri: &Uri) -> Option<String> {
    Some(format!("{}://{}", uri.scheme()?, uri.authority()?.as_str().rsplit('@').next()?))
}

impl Writer<'_> {
    /// What a request like this one must be.
    pub(super) fn request(&self, exchange: &Exchanged) -> Value {
        let mut request = Map::new();
        request.insert("method".to_owned(), exchange.method.as_str().into());
        let path = exchange.uri.path();
        if self.varies(path) {
            request.insert("urlPathPattern".to_owned(), self.pattern(path).into());
        } else {
            request.insert("urlPath".to_owned(), path.into());
        }
        let pairs = |text: &str| -> Map<String, Value> {
            url::form_urlencoded::parse(text.as_bytes())
                .map(|(name, value)| (name.clone().into_owned(), self.wanted(&value)))
                .collect()
        };
        if let Some(query) = exchange.uri.query().filter(|query| !query.is_empty()) {
            request.insert("queryParameters".to_owned(), pairs(query).into());
        }
        let mut headers = Map::new();
        for name in exchange.headers.keys() {
            if names_secret_header(name.as_str()) || self.varies(&text(&exchange.headers, name.as_str())) {
                headers.insert(name.as_str().to_owned(), json!({ "matches": ".+" }));
            }
        }
        let kind = text(&exchange.headers, header::CONTENT_TYPE.as_str());
        if !exchange.body.is_empty() {
            let body = String::from_utf8_lossy(&exchange.body).into_owned();
            if kind.starts_with("application/x-www-form-urlencoded") {
                request.insert("formParameters".to_owned(), pairs(&body).into());
            } else if let Ok(tree) = serde_json::from_slice::<Value>(&exchange.body) {
                request.insert("bodyPatterns".to_owned(), json!([{ "equalToJson": self.tree(tree) }]));
            } else if !kind.starts_with("multipart/") {
                request.insert("bodyPatterns".to_owned(), json!([self.wanted(&body)]));
            }
        }
        if !headers.is_empty() {
            request.insert("headers".to_owned(), headers.into());
        }
        request.into()
    }

    /// The answer that came, with the address of whoever plays it in the place of the provider's.
    pub(super) fn response(&self, exchange: &Exchanged) -> Option<Value> {
        let (status, found, body) = exchange.answer.as_ref().ok()?;
        let mut response = Map::new();
        response.insert("status".to_owned(), status.as_u16().into());
        let mut templated = false;
        let mut headers = Map::new();
        for name in found.keys().filter(|name| !LEFT_OUT.contains(&name.as_str())) {
            let value = self.moved(&self.mask.clean_header(name.as_str(), &text(found, name.as_str())), &mut templated);
            headers.insert(name.as_str().to_owned(), value.into());
        }
        if !headers.is_empty() {
            response.insert("headers".to_owned(), headers.into());
        }
        match std::str::from_utf8(body) {
            Ok("") => {}
            Err(_) => {
                use base64::Engine as _;
                response.insert("base64Body".to_owned(), base64::engine::general_purpose::STANDARD.encode(body).into());
            }
            Ok(body) => {
                let body = self.mask.clean(body);
                // A template would read these; elsewhere they are text.
                let own_braces = body.contains("{{");
                let moved = self.moved(&if own_braces { body.replace("{{", "\\{{") } else { body.clone() }, &mut templated);
                let moved = if templated { moved } else { body };
                match serde_json::from_str::<Value>(&moved) {
                    Ok(tree) if !own_braces && (tree.is_object() || tree.is_array()) => {
                        response.insert("jsonBody".to_owned(), tree)
                    }
                    _ => response.insert("body".to_owned(), moved.into()),
                };
            }
        }
        if templated {
            response.insert("transformers".to_owned(), json!(["response-template"]));
        }
        Some(response.into())
    }

    /// Whether an exchange started the job.
    pub(super) fn starts_job(exchange: &Exchanged) -> bool {
        let good = exchange.answer.as_ref().is_ok_and(|(status, ..)| status.is_success());
        good && exchange.operation == Operation::Submit && !exchange.method.is_safe()
    }

    fn moved(&self, text: &str, templated: &mut bool) -> String {
        let mut text = text.to_owned();
        for origin in &self.origins {
            if text.contains(origin.as_str()) {
                text = text.replace(origin.as_str(), "{{request.baseUrl}}");
                *templated = true;
            }
        }
        text
    }

    /// Whether a text holds what is another in each run.
    fn varies(&self, text: &str) -> bool {
        text.contains(self.key) || self.mask.clean(text) != text
    }

    fn pattern(&self, text: &str) -> String {
        let cleaned = self.mask.clean(&text.replace(self.key, "scrubbed"));
        let scrubbed = Regex::new("scrubbed(?:-[0-9]+)?").expect("the expression is written right");
        let mut pattern = String::new();
        let mut end = 0;
        for found in scrubbed.find_iter(&cleaned) {
            pattern.push_str(&regex::escape(cleaned.get(end..found.start()).unwrap_or_default()));
            pattern.push_str("[^/]+");
            end = found.end();
        }
        pattern + &regex::escape(cleaned.get(end..).unwrap_or_default())
    }

    fn wanted(&self, text: &str) -> Value {
        if self.varies(text) { json!({ "matches": ".+" }) } else { json!({ "equalTo": text }) }
    }

    fn tree(&self, tree: Value) -> Value {
        match tree {
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, self.tree(value))).collect(),
            Value::Array(list) => list.into_iter().map(|value| self.tree(value)).collect(),
            Value::String(text) if self.varies(&text) => ANY_TEXT.into(),
            value => value,
        }
    }
}

fn text(headers: &HeaderMap, name: &str) -> String {
    let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    values.collect::<Vec<_>>().join(", ")
}
