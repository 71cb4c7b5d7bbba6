//! The components that an HTTP message signature covers (RFC 9421, section 2), and their values in a request.

use sfv::{BareItem, Item};
use url::Url;

use crate::refusal::{Part, Refusal};
use crate::request::{MAX_HEADER, Request, printable};

/// A component: a header, a derived one, or one field of the query. No parameter but the query field's name is known, so `req`, `tr`,
/// `bs`, `sf` and `key` are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Covered {
    Field(String),
    Derived(&'static str),
    QueryParam(String),
}

const DERIVED: [&str; 7] = ["@method", "@target-uri", "@authority", "@scheme", "@request-target", "@path", "@query"];

impl Covered {
    /// A component's name without parameters.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if let Some(derived) = DERIVED.iter().find(|it| **it == name) {
            return Some(Self::Derived(derived));
        }
        let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        (!name.is_empty() && name.len() <= 100 && name.bytes().all(lower)).then(|| Self::Field(name.to_owned()))
    }

    pub(crate) fn from_item(item: &Item) -> Option<Self> {
        let BareItem::String(name) = &item.bare_item else { return None };
        match (name.as_str(), item.params.len()) {
            ("@query-param", 1) => match item.params.iter().next()? {
                (key, BareItem::String(field)) if key.as_str() == "name" => Some(Self::QueryParam(field.as_str().to_owned())),
                _ => None,
            },
            (name, 0) => Self::parse(name),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Field(name) => name,
            Self::Derived(name) => name,
            Self::QueryParam(_) => "@query-param",
        }
    }

    /// As it stands in the base: a string with its parameters.
    pub(crate) fn identifier(&self) -> String {
        match self {
            Self::Field(name) => format!("\"{name}\""),
            Self::Derived(name) => format!("\"{name}\""),
            Self::QueryParam(field) => {
                let escaped = field.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"@query-param\";name=\"{escaped}\"")
            }
        }
    }
}

/// The value of a component.
pub(crate) fn value(component: &Covered, request: &Request<'_>) -> Result<String, Refusal> {
    let malformed = Refusal::Malformed(Part::Url);
    let url = || Url::parse(request.url).ok().filter(Url::has_host).ok_or(malformed);
    match component {
        Covered::Field(name) => field(name, request),
        Covered::Derived("@method") => Ok(request.method.to_owned()),
        Covered::Derived("@target-uri") => Ok(request.url.to_owned()),
        Covered::Derived("@scheme") => Ok(url()?.scheme().to_owned()),
        Covered::Derived("@authority") => {
            let url = url()?;
            let host = url.host_str().ok_or(malformed)?;
            Ok(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
        }
        Covered::Derived("@path") => Ok(url()?.path().to_owned()),
        Covered::Derived("@query") => Ok(format!("?{}", url()?.query().unwrap_or_default())),
        Covered::Derived(_) => {
            let url = url()?;
            Ok(url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path())))
        }
        Covered::QueryParam(wanted) => {
            let url = url()?;
            let mut values = url.query_pairs().filter(|(name, _)| name == wanted);
            let (_, value) = values.next().ok_or(Refusal::Missing(Part::Url))?;
            if values.next().is_some() {
                return Err(Refusal::Repeated(Part::Url));
            }
            // Encoded again with %20 for spaces (section 2.2.8).
            let encoded: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
            Ok(encoded.replace('+', "%20"))
        }
    }
}

/// All values of a header, trimmed and joined with comma and space (section 2.1). The digest may be there once.
fn field(name: &str, request: &Request<'_>) -> Result<String, Refusal> {
    if name == "content-digest" {
        return request.one(name, Part::Field).map(str::to_owned);
    }
    let mut joined = String::new();
    let mut any = false;
    for value in request.all(name) {
        let text = printable(value).ok_or(Refusal::Malformed(Part::Field))?;
        if joined.len() + text.len() > MAX_HEADER {
            return Err(Refusal::TooLong(Part::Field));
        }
        if any {
            joined.push_str(", ");
        }
        any = true;
        joined.push_str(text.trim_matches(' '));
    }
    if any { Ok(joined) } else { Err(Refusal::Missing(Part::Field)) }
}
