//! A compiled request, and how its answer is read.

use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderName, Method};
use url::Url;

use super::Fetching;
use crate::codes::Codes;
use crate::language::{Text, Tree};
use crate::words::ParseAnswer;

#[derive(Clone, Debug)]
pub(crate) struct RequestPlan {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) query: Vec<(String, Tree)>,
    pub(crate) headers: Vec<(HeaderName, Text)>,
    pub(crate) body: BodyPlan,
    pub(crate) content_type: Option<Text>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) parse: ParseAnswer,
    /// Where redirects are followed to, beside the provider's own addresses; `None`: they are not followed.
    pub(crate) follow: Option<Fetching>,
}

#[derive(Clone, Debug)]
pub(crate) enum Target {
    Path { base: Url, path: Text },
    Url(Text),
}

#[derive(Clone, Debug)]
pub(crate) enum BodyPlan {
    None,
    Json(Tree),
    Form(Vec<(String, Tree)>),
    Multipart(Vec<PartPlan>),
    MultipartMap(Text),
    Raw(Text),
}

/// One part of a `multipart/form-data` body.
#[derive(Clone, Debug)]
pub(crate) struct PartPlan {
    pub(crate) name: String,
    pub(crate) text: Text,
    /// The text is base64 of what is sent.
    pub(crate) base64: bool,
    pub(crate) filename: Option<Text>,
    pub(crate) content_type: Option<Text>,
}

/// How an answer is read: which codes are good, and whether its body must be JSON or may be any text.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) accept: Codes,
    pub(crate) body: bool,
    pub(crate) text: bool,
}

impl RequestPlan {
    /// Fetches what is at an address of the provider's, whatever it is.
    pub(crate) fn file(url: &Url) -> Self {
        Self {
            method: Method::GET,
            target: Target::Url(Text::constant(url.to_string())),
            query: Vec::new(),
            headers: vec![(ACCEPT, Text::constant("*/*".to_owned()))],
            body: BodyPlan::None,
            content_type: None,
            timeout: None,
            parse: ParseAnswer::default(),
            follow: None,
        }
    }

    /// The named fields of its body.
    pub(crate) fn fields_mut(&mut self) -> Option<&mut Vec<(String, Tree)>> {
        if let BodyPlan::Json(Tree::Map(fields)) | BodyPlan::Form(fields) = &mut self.body { Some(fields) } else { None }
    }

    /// Whether any of its texts uses a name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.any(&|text| text.uses(name))
    }

    /// Whether it cannot be made without a name.
    pub(crate) fn needs(&self, name: &str) -> bool {
        self.any(&|text| text.needs(name))
    }

    fn any(&self, what: &dyn Fn(&Text) -> bool) -> bool {
        let target = match &self.target {
            Target::Path { path, .. } => what(path),
            Target::Url(url) => what(url),
        };
        let body = match &self.body {
            BodyPlan::None => false,
            BodyPlan::Json(tree) => tree.any(what),
            BodyPlan::Form(fields) => fields.iter().any(|(_, field)| field.any(what)),
            BodyPlan::Multipart(parts) => parts.iter().any(|part| what(&part.text)),
            BodyPlan::MultipartMap(text) | BodyPlan::Raw(text) => what(text),
        };
        target || body || self.query.iter().any(|(_, value)| value.any(what)) || self.headers.iter().any(|(_, value)| what(value))
    }
}
