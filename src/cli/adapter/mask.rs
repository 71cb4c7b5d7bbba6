//! Secrets out of what is shown or written: those that were read, those that answers handed out, and whatever has the name of one.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jobgate_adapter_api::{Exchanged, Secret, SecretError, SecretRef, SecretSource};
use regex::{Captures, Regex};
use serde_json::Value;

/// Shorter texts occur by chance.
const SHORTEST: usize = 4;
/// Names of fields and parameters that hold secrets, in small letters and without separators.
const NAMES: [&str; 20] = [
    "accesstoken",
    "refreshtoken",
    "idtoken",
    "token",
    "authtoken",
    "sessiontoken",
    "apitoken",
    "clientsecret",
    "secret",
    "password",
    "passwd",
    "apikey",
    "privatekey",
    "assertion",
    "signature",
    "sig",
    "xamzsignature",
    "xamzcredential",
    "xamzsecuritytoken",
    "jwt",
];
/// Parts of the names of headers that do.
const HEADERS: [&str; 8] = ["authorization", "cookie", "token", "secret", "api-key", "apikey", "signature", "password"];

/// What must not show.
#[derive(Debug)]
pub(super) struct Mask {
    /// Each with what stands in its place, the longest first.
    secrets: Mutex<Vec<(String, String)>>,
    parameters: Regex,
}

impl Mask {
    pub(super) fn new() -> Self {
        let parameters = Regex::new(r#"([?&;]|^)([A-Za-z0-9_.-]+)=([^&\s"'<>]+)"#).expect("the expression is written right");
        Self { secrets: Mutex::default(), parameters }
    }

    /// From now on `secret` does not show, in no form that is sent.
    pub(super) fn learn(&self, secret: &str) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.len() < SHORTEST || secrets.iter().any(|(known, _)| known == secret) {
            return;
        }
        let number = secrets.iter().filter_map(|(_, shown)| shown.strip_prefix("scrubbed-")?.parse().ok()).max().unwrap_or(0) + 1;
        let quoted = Value::from(secret).to_string();
        let forms = [
            secret.to_owned(),
            url::form_urlencoded::byte_serialize(secret.as_bytes()).collect(),
            // JSON puts one quotation mark at each end; more of them are the secret's own.
            quoted.strip_prefix('"').and_then(|quoted| quoted.strip_suffix('"')).unwrap_or(&quoted).to_owned(),
            STANDARD.encode(secret),
        ];
        for form in forms {
            if !secrets.iter().any(|(known, _)| *known == form) {
                secrets.push((form, format!("scrubbed-{number}")));
            }
        }
        secrets.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
    }

    /// What an exchange holds of secrets that nobody has named.
    pub(super) fn learn_from(&self, exchange: &Exchanged) {
        let Ok((_, headers, body)) = &exchange.answer else { return };
        for line in headers.get_all("set-cookie").iter().filter_map(|line| line.to_str().ok()) {
            if let Some((_, value)) = line.split(';').next().and_then(|pair| pair.split_once('=')) {
                self.learn(value);
            }
        }
        for (name, value) in exchange.headers.iter().filter(|(name, _)| names_secret_header(name.as_str())) {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            // A scheme and a credential, a list of cookies, or the secret itself.
            match (name.as_str(), text.split_once(' ')) {
                ("cookie", _) => {
                    text.split("; ").filter_map(|pair| pair.split_once('=')).for_each(|(_, value)| self.learn(value))
                }
                (_, Some((_, credential))) => self.learn(credential),
                (_, None) => self.learn(&text),
            }
        }
        for body in [body, &exchange.body] {
            if let Ok(tree) = serde_json::from_slice(body) {
                self.learn_fields(&tree);
            }
        }
    }

    fn learn_fields(&self, tree: &Value) {
        match tree {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(secret) if names_secret(name) => self.learn(secret),
                        value => self.learn_fields(value),
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|value| self.learn_fields(value)),
            _ => {}
        }
    }

    /// The text without secrets.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (secret, shown) in self.secrets.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), shown);
            }
        }
        let hide = |found: &Captures<'_>| {
            if names_secret(&found[2]) && !found[3].starts_with("scrubbed") {
                format!("{}{}=scrubbed", &found[1], &found[2])
            } else {
                found[0].to_owned()
            }
        };
        self.parameters.replace_all(&text, hide).into_owned()
    }

    /// A header's value without secrets.
    pub(super) fn clean_header(&self, name: &str, value: &str) -> String {
        let text = self.clean(value);
        if !names_secret_header(name) || text.contains("scrubbed") {
            return text;
        }
        match value.split_once(' ') {
            Some((scheme, _)) if name.contains("authorization") => format!("{scheme} scrubbed"),
            _ => "scrubbed".to_owned(),
        }
    }

    /// Whether a text still holds a secret that was learned.
    pub(super) fn finds_in(&self, text: &str) -> bool {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(secret, _)| text.contains(secret.as_str()))
    }
}

/// Whether a header of this name carries a secret.
pub(super) fn names_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HEADERS.iter().any(|part| name.contains(part))
}

fn names_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|sign| sign.to_ascii_lowercase()).collect();
    NAMES.contains(&plain.as_str())
}

/// Secrets as they are read, each learned.
#[derive(Debug)]
pub(super) struct Learning {
    pub(super) inner: Arc<dyn SecretSource>,
    pub(super) mask: Arc<Mask>,
}

impl SecretSource for Learning {
    fn read(&self, reference: &SecretRef) -> Result<Secret, SecretError> {
        let secret = self.inner.read(reference)?;
        self.mask.learn(secret.expose());
        Ok(secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_in_each_of_its_forms_and_where_a_name_says_so() {
        let mask = Mask::new();
        mask.learn("s3cr&t \"x\"");
        let base64 = STANDARD.encode("s3cr&t \"x\"");
        for shown in ["s3cr&t \"x\"", "s3cr%26t+%22x%22", "s3cr&t \\\"x\\\"", &base64] {
            assert_eq!(mask.clean(&format!("<{shown}>")), "<scrubbed-1>", "{shown}");
        }
        assert_eq!(mask.clean("https://a/b?X-Amz-Signature=abc&page=2"), "https://a/b?X-Amz-Signature=scrubbed&page=2");
        assert_eq!(mask.clean_header("authorization", "Bearer abcd"), "Bearer scrubbed");
        assert_eq!(mask.clean_header("x-api-key", "abcd"), "scrubbed");
        assert_eq!(mask.clean_header("content-type", "text/plain"), "text/plain");
        assert!(mask.finds_in("a s3cr%26t+%22x%22 b") && !mask.finds_in("scrubbed-1"));
    }
}
