//! Which requests a mapping answers.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Deserialize;

use super::asked::{Asked, Part};
use super::pattern::{Pattern, Values, whole};

/// A mapping's `request`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RequestPattern {
    method: String,
    url: Option<String>,
    url_path: Option<String>,
    url_pattern: Option<Expression>,
    url_path_pattern: Option<Expression>,
    pub(super) url_path_template: Option<Template>,
    #[serde(default)]
    path_parameters: BTreeMap<String, Pattern>,
    #[serde(default)]
    query_parameters: BTreeMap<String, Values>,
    #[serde(default)]
    form_parameters: BTreeMap<String, Values>,
    #[serde(default)]
    headers: BTreeMap<String, Values>,
    #[serde(default)]
    cookies: BTreeMap<String, Pattern>,
    basic_auth_credentials: Option<Credentials>,
    #[serde(default)]
    body_patterns: Vec<Pattern>,
    #[serde(default)]
    multipart_patterns: Vec<PartPattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Credentials {
    username: String,
    password: String,
}

/// A part that must be there. WireMock reads `name` and `fileName` here, too, and looks at neither; so they are not in the subset.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PartPattern {
    #[serde(default)]
    matching_type: Among,
    #[serde(default)]
    headers: BTreeMap<String, Values>,
    #[serde(default)]
    body_patterns: Vec<Pattern>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Among {
    #[default]
    Any,
    All,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Expression(Regex);

impl TryFrom<String> for Expression {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        whole(&text).map(Self)
    }
}

/// A path with names for its steps: `/jobs/{id}`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Template(Vec<Step>);

#[derive(Debug)]
enum Step {
    Word(String),
    Name(String),
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let step = |step: &str| match step.strip_prefix('{').and_then(|step| step.strip_suffix('}')) {
            Some(name) if !name.is_empty() && !name.contains(['{', '}']) => Ok(Step::Name(name.to_owned())),
            None if !step.contains(['{', '}', '?']) => Ok(Step::Word(step.to_owned())),
            Some(_) | None => Err(format!("`{text}`: a step of urlPathTemplate is a word or {{name}}, as in /jobs/{{id}}")),
        };
        text.split('/').map(step).collect::<Result<_, _>>().map(Self)
    }
}

impl Template {
    /// What its names stand for in this path; `None` where it is another path.
    pub(super) fn names(&self, path: &str) -> Option<BTreeMap<String, String>> {
        let steps: Vec<&str> = path.split('/').collect();
        if steps.len() != self.0.len() {
            return None;
        }
        let mut names = BTreeMap::new();
        for (step, found) in self.0.iter().zip(steps) {
            match step {
                Step::Word(word) if word == found => {}
                Step::Name(name) if !found.is_empty() => {
                    names.insert(name.clone(), found.to_owned());
                }
                Step::Word(_) | Step::Name(_) => return None,
            }
        }
        Some(names)
    }
}

impl RequestPattern {
    /// What the types cannot say.
    pub(super) fn check(&self) -> Result<(), String> {
        let urls = [
            self.url.is_some(),
            self.url_path.is_some(),
            self.url_pattern.is_some(),
            self.url_path_pattern.is_some(),
            self.url_path_template.is_some(),
        ];
        if urls.iter().filter(|given| **given).count() != 1 {
            return Err("request: exactly one of url, urlPath, urlPattern, urlPathPattern, urlPathTemplate".to_owned());
        }
        if let Some(method) = self.method.chars().find(|sign| !sign.is_ascii_uppercase()) {
            return Err(format!("request.method: `{}` has `{method}`; write GET, POST, ... or ANY", self.method));
        }
        let known = |name: &String| {
            let steps = self.url_path_template.iter().flat_map(|template| &template.0);
            steps.into_iter().any(|step| matches!(step, Step::Name(known) if known == name))
        };
        match self.path_parameters.keys().find(|name| !known(name)) {
            Some(name) => Err(format!("request.pathParameters.{name}: urlPathTemplate has no {{{name}}}")),
            None => Ok(()),
        }
    }

    pub(super) fn matches(&self, asked: &Asked<'_>) -> bool {
        (self.method == "ANY" || self.method == asked.method())
            && self.matches_address(asked)
            && self.query_parameters.iter().all(|(name, wanted)| wanted.fits(&asked.query(name)))
            && self.headers.iter().all(|(name, wanted)| wanted.fits(&asked.header(name)))
            && self.cookies.iter().all(|(name, wanted)| wanted.fits(asked.cookie(name).first().map(String::as_str)))
            && self.basic_auth_credentials.as_ref().is_none_or(|it| asked.has_credentials(&it.username, &it.password))
            && self.form_parameters.iter().all(|(name, wanted)| wanted.fits(&asked.form(name)))
            && self.body_patterns.iter().all(|wanted| fits_body(wanted, asked.body()))
            && (self.multipart_patterns.is_empty() || {
                let parts = asked.parts();
                self.multipart_patterns.iter().all(|wanted| wanted.fits(&parts))
            })
    }

    fn matches_address(&self, asked: &Asked<'_>) -> bool {
        let path = asked.path();
        self.url.as_ref().is_none_or(|url| *url == asked.url())
            && self.url_path.as_ref().is_none_or(|url| url == path)
            && self.url_pattern.as_ref().is_none_or(|pattern| pattern.0.is_match(&asked.url()))
            && self.url_path_pattern.as_ref().is_none_or(|pattern| pattern.0.is_match(path))
            && self.url_path_template.as_ref().is_none_or(|template| {
                template.names(path).is_some_and(|names| {
                    self.path_parameters.iter().all(|(name, wanted)| wanted.fits(names.get(name).map(String::as_str)))
                })
            })
    }
}

impl PartPattern {
    fn fits(&self, parts: &[Part]) -> bool {
        let fits = |part: &Part| {
            self.headers.iter().all(|(name, wanted)| wanted.fits(&part.header(name)))
                && self.body_patterns.iter().all(|wanted| fits_body(wanted, &part.body))
        };
        match self.matching_type {
            Among::Any => parts.iter().any(fits),
            Among::All => !parts.is_empty() && parts.iter().all(fits),
        }
    }
}

/// An empty body is not there.
fn fits_body(wanted: &Pattern, body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    wanted.fits((!body.is_empty()).then_some(&text))
}
