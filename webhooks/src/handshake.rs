//! What providers ask before they deliver, and the answers. Each is capped, plain and impossible to use as a signing service.

use serde::Deserialize;
use url::Url;

use crate::mac::{self, Algorithm};
use crate::refusal::{Part, Refusal};
use crate::request::{Request, object};
use crate::scheme::{Kind, Scheme};
use crate::secret::{Key, Secrets};
use crate::verified::Verified;

/// The longest word that is repeated to a provider, in bytes.
const MAX_WORD: usize = 128;
/// The longest body that is looked at for a handshake.
const MAX_BODY: usize = 4096;

/// An answer to a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers; their values are printable ASCII.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    fn text(body: String) -> Self {
        let headers =
            vec![("Content-Type", "text/plain; charset=utf-8".to_owned()), ("X-Content-Type-Options", "nosniff".to_owned())];
        Self { status: 200, headers, body }
    }

    fn json(body: &serde_json::Value) -> Self {
        Self { status: 200, headers: vec![("Content-Type", "application/json".to_owned())], body: body.to_string() }
    }
}

/// What a request on a route is.
#[derive(Clone, Debug)]
pub enum Received<'a> {
    /// A delivery.
    Delivery(Verified<'a>),
    /// A handshake; send this, nothing more.
    Answer(Answer),
}

#[derive(Deserialize)]
struct Zoom {
    event: String,
    payload: ZoomPayload,
}

#[derive(Deserialize)]
struct ZoomPayload {
    #[serde(rename = "plainToken")]
    plain_token: String,
}

#[derive(Deserialize)]
struct Slack {
    r#type: String,
    challenge: String,
}

#[derive(Deserialize)]
struct Discord {
    r#type: u32,
}

/// The answer to a handshake of the scheme, where the request is one.
pub(crate) fn answer(scheme: &Scheme, secrets: &Secrets, request: &Request<'_>, now: i64) -> Option<Result<Answer, Refusal>> {
    match (scheme.name(), request.method, &scheme.kind) {
        ("meta", "GET", _) => Some(meta(secrets, request)),
        (_, "OPTIONS", Kind::CloudEvents(consent)) => Some(consent.answer(request)),
        ("zoom", "POST", _) => {
            let asked: Zoom = parse(request)?;
            (asked.event == "endpoint.url_validation").then(|| zoom(scheme, secrets, request, &asked.payload.plain_token, now))
        }
        ("slack", "POST", _) => {
            let asked: Slack = parse(request)?;
            let url_verification = asked.r#type == "url_verification";
            url_verification.then(|| {
                scheme.verify(secrets, request, now)?;
                Ok(Answer::text(word(&asked.challenge)?.to_owned()))
            })
        }
        ("discord", "POST", _) => {
            let asked: Discord = parse(request)?;
            (asked.r#type == 1).then(|| {
                scheme.verify(secrets, request, now)?;
                Ok(Answer::json(&serde_json::json!({ "type": 1 })))
            })
        }
        _ => None,
    }
}

fn parse<'a, T: Deserialize<'a>>(request: &Request<'a>) -> Option<T> {
    if request.body.len() > MAX_BODY {
        return None;
    }
    object(request.body)
}

/// A word of letters, digits, `-` and `_`: it can be no signed content of any scheme, no markup and no second header.
fn word(text: &str) -> Result<&str, Refusal> {
    let fine = !text.is_empty()
        && text.len() <= MAX_WORD
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if fine { Ok(text) } else { Err(Refusal::Handshake) }
}

/// Signs a short word for Zoom. What Zoom's deliveries sign has colons, which a word has not, so nobody can have a delivery signed here.
/// A validation that carries a signature has to carry a right one.
fn zoom(scheme: &Scheme, secrets: &Secrets, request: &Request<'_>, token: &str, now: i64) -> Result<Answer, Refusal> {
    let token = word(token)?;
    if request.has("x-zm-signature") || request.has("x-zm-request-timestamp") {
        scheme.verify(secrets, request, now)?;
    }
    let key = secrets.valid(now).find_map(|key| if let Key::Mac(key) = key { Some(key) } else { None });
    let code = Algorithm::HmacSha256.mac(key.ok_or(Refusal::NoSecret)?, &[token]).ok_or(Refusal::Algorithm)?;
    let encrypted = data_encoding::HEXLOWER.encode(&code);
    Ok(Answer::json(&serde_json::json!({ "plainToken": token, "encryptedToken": encrypted })))
}

/// Repeats the challenge of who knows the verify token.
fn meta(secrets: &Secrets, request: &Request<'_>) -> Result<Answer, Refusal> {
    if request.url.len() > MAX_BODY {
        return Err(Refusal::TooLong(Part::Url));
    }
    let url = Url::parse(request.url).map_err(|_| Refusal::Handshake)?;
    let one = |wanted: &str| {
        let mut values = url.query_pairs().filter(|(name, _)| name == wanted).map(|(_, value)| value);
        let value = values.next().ok_or(Refusal::Handshake)?;
        if values.next().is_some() { Err(Refusal::Handshake) } else { Ok(value) }
    };
    let right = secrets.verify_token.as_ref().ok_or(Refusal::Handshake)?;
    let token = mac::blind(one("hub.verify_token")?.as_bytes());
    if !mac::same(&right[..], &token[..]) || one("hub.mode")? != "subscribe" {
        return Err(Refusal::Handshake);
    }
    Ok(Answer::text(word(&one("hub.challenge")?)?.to_owned()))
}
