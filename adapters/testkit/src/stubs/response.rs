//! What a mapping answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use wiremock::ResponseTemplate;

use super::helpers::Told;
use super::template::Template;
use crate::wire::{Breaks, Wire};

/// The longest that a stub may wait: tests wait for what they wait for, and no longer.
const LONGEST: Duration = Duration::from_secs(2);

/// A mapping's `response`, as it is written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Words {
    #[serde(default = "ok")]
    status: u16,
    status_message: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Texts>,
    body: Option<String>,
    json_body: Option<Value>,
    base64_body: Option<String>,
    body_file_name: Option<String>,
    fixed_delay_milliseconds: Option<u64>,
    delay_distribution: Option<Distribution>,
    chunked_dribble_delay: Option<Dribble>,
    fault: Option<Breaks>,
    #[serde(default)]
    transformers: Vec<Transformer>,
    #[serde(default)]
    transformer_parameters: Value,
}

impl Words {
    /// The JSON that it answers with, where it is written as such.
    pub(super) const fn json(&self) -> Option<&Value> {
        self.json_body.as_ref()
    }
}

const fn ok() -> u16 {
    200
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Distribution {
    Uniform { lower: u64, upper: u64 },
    Fixed { milliseconds: u64 },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Dribble {
    number_of_chunks: usize,
    total_duration: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Transformer {
    #[serde(rename = "response-template")]
    ResponseTemplate,
}

/// A mapping's `response`, ready to be given.
#[derive(Debug)]
pub(super) struct Response {
    status: u16,
    headers: Vec<(String, Text)>,
    body: Body,
    delay: Delay,
    wire: Wire,
    parameters: Value,
}

#[derive(Debug)]
enum Text {
    Fixed(String),
    Template(Template),
}

#[derive(Debug)]
enum Body {
    None,
    Bytes(Vec<u8>),
    Template(Template),
}

/// Milliseconds, from and to.
#[derive(Clone, Copy, Debug)]
struct Delay {
    from: u64,
    to: u64,
}

impl Response {
    /// Reads what the words point to, below `files`, and what they mean.
    pub(super) fn new(words: Words, files: &Path) -> Result<Self, String> {
        let bodies =
            [words.body.is_some(), words.json_body.is_some(), words.base64_body.is_some(), words.body_file_name.is_some()];
        if bodies.into_iter().filter(|given| *given).count() > 1 {
            return Err("response: at most one of body, jsonBody, base64Body, bodyFileName".to_owned());
        }
        http::StatusCode::from_u16(words.status).map_err(|_| format!("response.status: {} is no HTTP status", words.status))?;
        let templated = words.transformers.iter().any(|Transformer::ResponseTemplate| true);
        if !templated && !words.transformer_parameters.is_null() {
            return Err("response.transformerParameters: they need transformers: [\"response-template\"]".to_owned());
        }
        let template = |text: &str, place: &str| Template::parse(text).map_err(|reason| format!("response.{place}: {reason}"));
        let bytes = match (words.body, words.json_body, words.base64_body, words.body_file_name) {
            (Some(text), ..) => Some((text.into_bytes(), "body")),
            (_, Some(value), ..) => Some((value.to_string().into_bytes(), "jsonBody")),
            (_, _, Some(text), _) => {
                let bytes = STANDARD.decode(&text).map_err(|error| format!("response.base64Body: {error}"))?;
                Some((bytes, "base64Body"))
            }
            (.., Some(name)) => Some((read_file(files, &name)?, "bodyFileName")),
            _ => None,
        };
        let body = match bytes {
            None => Body::None,
            Some((bytes, place)) if templated && place != "base64Body" => match String::from_utf8(bytes) {
                Ok(text) => Body::Template(template(&text, place)?),
                Err(_) => return Err(format!("response.{place}: a template is text in UTF-8")),
            },
            Some((bytes, _)) => Body::Bytes(bytes),
        };
        let mut headers = Vec::new();
        for (name, texts) in words.headers {
            http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("response.headers: `{name}` is no header name"))?;
            let texts = match texts {
                Texts::One(text) => vec![text],
                Texts::Many(texts) => texts,
            };
            for text in texts {
                let text =
                    if templated { Text::Template(template(&text, &format!("headers.{name}"))?) } else { Text::Fixed(text) };
                headers.push((name.clone(), text));
            }
        }
        let delay = delay(words.fixed_delay_milliseconds, words.delay_distribution)?;
        let dribble = words.chunked_dribble_delay.map(|it| (it.number_of_chunks.max(1), it.total_duration));
        if dribble.is_some_and(|(_, total)| Duration::from_millis(total) > LONGEST) {
            return Err(too_long("chunkedDribbleDelay"));
        }
        let wire = Wire { breaks: words.fault, reason: words.status_message, dribble };
        Ok(Self { status: words.status, headers, body, delay, wire, parameters: words.transformer_parameters })
    }

    pub(super) const fn parameters(&self) -> &Value {
        &self.parameters
    }

    /// The answer to one request. A template that cannot be written is 500 with the reason.
    pub(super) fn give(&self, told: &Told<'_>, unit: f64) -> ResponseTemplate {
        self.written(told, unit).unwrap_or_else(|reason| ResponseTemplate::new(500).set_body_string(format!("[ERROR: {reason}]")))
    }

    fn written(&self, told: &Told<'_>, unit: f64) -> Result<ResponseTemplate, String> {
        let mut answer = match &self.body {
            Body::None => ResponseTemplate::new(self.status),
            Body::Bytes(bytes) => ResponseTemplate::new(self.status).set_body_bytes(bytes.clone()),
            Body::Template(template) => ResponseTemplate::new(self.status).set_body_bytes(template.render(told)?),
        };
        for (name, text) in &self.headers {
            let text = match text {
                Text::Fixed(text) => text.clone(),
                Text::Template(template) => template.render(told)?,
            };
            let value = http::HeaderValue::from_str(&text).map_err(|_| format!("`{text}` cannot be a header"))?;
            answer = answer.append_header(name.as_str(), value);
        }
        if self.delay.to > 0 {
            answer = answer.set_delay(self.delay.at(unit));
        }
        Ok(self.wire.mark(answer))
    }
}

impl Delay {
    fn at(self, unit: f64) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "at most two seconds")]
        let span = (self.to - self.from) as f64;
        Duration::from_millis(self.from) + Duration::from_secs_f64(span * unit / 1000.0)
    }
}

fn delay(fixed: Option<u64>, distribution: Option<Distribution>) -> Result<Delay, String> {
    let delay = match (fixed, distribution) {
        (None, None) => Delay { from: 0, to: 0 },
        (Some(span), None) | (None, Some(Distribution::Fixed { milliseconds: span })) => Delay { from: span, to: span },
        (None, Some(Distribution::Uniform { lower, upper })) if lower <= upper => Delay { from: lower, to: upper },
        (None, Some(_)) => return Err("response.delayDistribution: lower is at most upper".to_owned()),
        (Some(_), Some(_)) => return Err("response: fixedDelayMilliseconds or delayDistribution, not both".to_owned()),
    };
    if Duration::from_millis(delay.to) > LONGEST { Err(too_long("the delay")) } else { Ok(delay) }
}

fn too_long(place: &str) -> String {
    format!("response: {place} is longer than {} ms, and tests wait on the wall clock for it", LONGEST.as_millis())
}

fn read_file(files: &Path, name: &str) -> Result<Vec<u8>, String> {
    let path = Path::new(name);
    if !path.components().all(|part| matches!(part, std::path::Component::Normal(_))) || name.contains("{{") {
        return Err(format!("response.bodyFileName: `{name}` is no plain path below __files"));
    }
    let path = files.join(path);
    std::fs::read(&path).map_err(|error| format!("response.bodyFileName: {}: {error}", path.display()))
}
