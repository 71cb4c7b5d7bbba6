//! A credential in its place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderName, Request};
use jobgate_adapter_api::Secret;
use serde_json::Value;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

/// A credential, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Header(HeaderName, Secret),
    Query(String, Secret),
    /// A field of a JSON or form body.
    Field(String, Secret),
}

impl Piece {
    /// Every form in which it is sent.
    pub(super) fn forms(&self) -> Vec<Secret> {
        let (Self::Header(_, secret) | Self::Query(_, secret) | Self::Field(_, secret)) = self;
        let value = secret.expose();
        let mut forms = vec![secret.clone()];
        if !matches!(self, Self::Header(..)) {
            let json = Value::String(value.to_owned()).to_string();
            forms.push(Secret::new(byte_serialize(value.as_bytes()).collect()));
            forms.extend(json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).map(|json| Secret::new(json.to_owned())));
        }
        forms.dedup();
        forms
    }
}

/// User name and password as HTTP Basic sends them.
pub(super) fn basic_pair(username: &str, password: &Secret) -> Secret {
    Secret::new(STANDARD.encode(format!("{username}:{}", password.expose())))
}

/// Puts credentials on a request that is otherwise whole.
pub(super) fn put(pieces: &[Piece], request: &mut Request<Bytes>) -> Result<(), String> {
    for piece in pieces {
        match piece {
            Piece::Header(name, secret) => {
                let mut value =
                    HeaderValue::try_from(secret.expose()).map_err(|_| "the credential cannot be sent in a header".to_owned())?;
                value.set_sensitive(true);
                request.headers_mut().insert(name, value);
            }
            Piece::Query(name, secret) => {
                let invalid = "the address is not valid";
                let mut url = Url::parse(&request.uri().to_string()).map_err(|_| invalid.to_owned())?;
                url.query_pairs_mut().append_pair(name, secret.expose());
                *request.uri_mut() = url.as_str().parse().map_err(|_| invalid.to_owned())?;
            }
            Piece::Field(name, secret) => field(name, secret, request)?,
        }
    }
    Ok(())
}

/// Adds a field to the body, where there is a body.
fn field(name: &str, secret: &Secret, request: &mut Request<Bytes>) -> Result<(), String> {
    if request.body().is_empty() {
        return Ok(());
    }
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind == "application/x-www-form-urlencoded" {
        let form = String::from_utf8_lossy(request.body()).into_owned();
        *request.body_mut() = Serializer::new(form).append_pair(name, secret.expose()).finish().into();
        return Ok(());
    }
    match serde_json::from_slice(request.body()) {
        Ok(Value::Object(mut fields)) => {
            fields.insert(name.to_owned(), Value::String(secret.expose().to_owned()));
            *request.body_mut() = Value::Object(fields).to_string().into();
            Ok(())
        }
        Ok(_) | Err(_) => {
            Err("the credential is a field of the body, and this body is neither a JSON object nor a form".to_owned())
        }
    }
}
