//! WireMock stub mappings as a provider: recorded answers in files that the stock WireMock server reads too.
//!
//! A standard subset, by name: what is not listed in the types below is an error, so a file never means less here than
//! there. One word is ours and lies where WireMock allows any: `"metadata": {"startsJob": true}` (or `"takesAnswer"`)
//! marks the mapping whose use starts a job (or lets an answer take effect), so that jobs can be counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use wiremock::{Request, ResponseTemplate};

use crate::{Absent, MockApi};

/// The state that every WireMock scenario begins in.
const STARTED: &str = "Started";

/// Why a folder of stub mappings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StubError {
    /// The folder or a file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A file is no stub mapping of the subset.
    #[error("{path}: {reason}")]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        reason: String,
    },
    /// The folder holds no stub mapping.
    #[error("{0}: no stub mappings (*.json)")]
    Empty(PathBuf),
}

/// A provider made of stub mappings. What no mapping matches is 404, as in WireMock.
#[derive(Debug)]
pub struct Stubs {
    mappings: Vec<Mapping>,
    state: Mutex<Played>,
}

#[derive(Debug, Default)]
struct Played {
    scenarios: BTreeMap<String, String>,
    jobs: usize,
    answers: usize,
}

impl Stubs {
    /// All `*.json` files of a folder, one mapping each or `{"mappings": [...]}`.
    ///
    /// # Errors
    /// When the folder or a file cannot be read, is empty, or uses what the subset does not have.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, StubError> {
        let folder = folder.as_ref();
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| StubError::Read { path, source }
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable(folder))? {
            let path = entry.map_err(unreadable(folder))?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
        files.sort();
        let mut mappings = Vec::new();
        for path in files {
            let text = std::fs::read_to_string(&path).map_err(unreadable(&path))?;
            mappings.extend(parse(&text).map_err(|reason| StubError::Bad { path, reason })?);
        }
        if mappings.is_empty() {
            return Err(StubError::Empty(folder.to_owned()));
        }
        // WireMock's default priority is 5, and 1 is the highest. The sort is stable, so files decide between equals.
        mappings.sort_by_key(|mapping| mapping.priority.unwrap_or(5));
        Ok(Self { mappings, state: Mutex::default() })
    }
}

impl MockApi for Stubs {
    fn answer(&self, request: &Request) -> ResponseTemplate {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mapping) = self.mappings.iter().find(|mapping| mapping.is_for(request, &state)) else {
            return ResponseTemplate::new(404).set_body_string("no stub mapping matches this request");
        };
        if let (Some(scenario), Some(next)) = (&mapping.scenario_name, &mapping.new_scenario_state) {
            state.scenarios.insert(scenario.clone(), next.clone());
        }
        state.jobs += usize::from(mapping.metadata.starts_job);
        state.answers += usize::from(mapping.metadata.takes_answer);
        mapping.response.template()
    }

    fn jobs(&self) -> Result<usize, Absent> {
        if self.mappings.iter().any(|mapping| mapping.metadata.starts_job) {
            Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner).jobs)
        } else {
            Err(Absent("no stub mapping has `metadata.startsJob`"))
        }
    }

    fn answers(&self) -> Result<usize, Absent> {
        if self.mappings.iter().any(|mapping| mapping.metadata.takes_answer) {
            Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner).answers)
        } else {
            Err(Absent("no stub mapping has `metadata.takesAnswer`"))
        }
    }
}

/// One file's mappings, or why it has none.
fn parse(text: &str) -> Result<Vec<Mapping>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Many {
        mappings: Vec<Mapping>,
    }
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mappings = if value.get("mappings").is_some() {
        serde_json::from_value::<Many>(value).map_err(|error| error.to_string())?.mappings
    } else {
        vec![serde_json::from_value::<Mapping>(value).map_err(|error| error.to_string())?]
    };
    mappings.iter().try_for_each(Mapping::check)?;
    Ok(mappings)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Mapping {
    #[serde(rename = "id")]
    _id: Option<String>,
    #[serde(rename = "name")]
    _name: Option<String>,
    priority: Option<u32>,
    scenario_name: Option<String>,
    required_scenario_state: Option<String>,
    new_scenario_state: Option<String>,
    #[serde(default)]
    metadata: Metadata,
    request: RequestPattern,
    response: ResponseDefinition,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Metadata {
    #[serde(default)]
    starts_job: bool,
    #[serde(default)]
    takes_answer: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RequestPattern {
    method: String,
    url: Option<String>,
    url_path: Option<String>,
    url_pattern: Option<Pattern>,
    url_path_pattern: Option<Pattern>,
    #[serde(default)]
    query_parameters: BTreeMap<String, TextPattern>,
    #[serde(default)]
    headers: BTreeMap<String, TextPattern>,
    #[serde(default)]
    body_patterns: Vec<BodyPattern>,
}

/// A regular expression that must match the whole text, as in WireMock.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Self, regex::Error> {
        Regex::new(&format!("^(?:{text})$")).map(Self)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TextPattern {
    equal_to: Option<String>,
    contains: Option<String>,
    matches: Option<Pattern>,
    #[serde(default)]
    absent: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BodyPattern {
    equal_to: Option<String>,
    contains: Option<String>,
    matches: Option<Pattern>,
    equal_to_json: Option<Value>,
    #[serde(default)]
    ignore_extra_elements: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResponseDefinition {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    json_body: Option<Value>,
    fixed_delay_milliseconds: Option<u64>,
}

impl Mapping {
    fn check(&self) -> Result<(), String> {
        let request = &self.request;
        let urls = [
            request.url.is_some(),
            request.url_path.is_some(),
            request.url_pattern.is_some(),
            request.url_path_pattern.is_some(),
        ];
        if urls.iter().filter(|given| **given).count() != 1 {
            return Err("a request names exactly one of url, urlPath, urlPattern, urlPathPattern".to_owned());
        }
        if self.response.body.is_some() && self.response.json_body.is_some() {
            return Err("a response has body or jsonBody, not both".to_owned());
        }
        let moves = self.required_scenario_state.is_some() || self.new_scenario_state.is_some();
        if moves && self.scenario_name.is_none() {
            return Err("requiredScenarioState and newScenarioState need a scenarioName".to_owned());
        }
        Ok(())
    }

    fn is_for(&self, request: &Request, state: &Played) -> bool {
        let in_state = match (&self.scenario_name, &self.required_scenario_state) {
            (Some(scenario), Some(required)) => state.scenarios.get(scenario).map_or(STARTED, String::as_str) == required,
            _ => true,
        };
        in_state && self.request.matches(request)
    }
}

impl RequestPattern {
    fn matches(&self, request: &Request) -> bool {
        let path = request.url.path();
        let whole = request.url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        let query = |name: &str| request.url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned());
        let header = |name: &str| request.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        (self.method == "ANY" || self.method == request.method.as_str())
            && self.url.as_ref().is_none_or(|url| *url == whole)
            && self.url_path.as_ref().is_none_or(|url| url == path)
            && self.url_pattern.as_ref().is_none_or(|pattern| pattern.0.is_match(&whole))
            && self.url_path_pattern.as_ref().is_none_or(|pattern| pattern.0.is_match(path))
            && self.query_parameters.iter().all(|(name, pattern)| pattern.matches(query(name).as_deref()))
            && self.headers.iter().all(|(name, pattern)| pattern.matches(header(name).as_deref()))
            && self.body_patterns.iter().all(|pattern| pattern.matches(&request.body))
    }
}

impl TextPattern {
    fn matches(&self, text: Option<&str>) -> bool {
        match text {
            None => self.absent,
            Some(text) => {
                !self.absent
                    && self.equal_to.as_ref().is_none_or(|wanted| wanted == text)
                    && self.contains.as_ref().is_none_or(|wanted| text.contains(wanted))
                    && self.matches.as_ref().is_none_or(|pattern| pattern.0.is_match(text))
            }
        }
    }
}

impl BodyPattern {
    fn matches(&self, body: &[u8]) -> bool {
        let text = String::from_utf8_lossy(body);
        let json = || serde_json::from_slice::<Value>(body).ok();
        self.equal_to.as_ref().is_none_or(|wanted| *wanted == text)
            && self.contains.as_ref().is_none_or(|wanted| text.contains(wanted))
            && self.matches.as_ref().is_none_or(|pattern| pattern.0.is_match(&text))
            && self.equal_to_json.as_ref().is_none_or(|wanted| json().is_some_and(|found| self.fits(wanted, &found)))
    }

    fn fits(&self, wanted: &Value, found: &Value) -> bool {
        match (wanted, found) {
            (Value::Object(wanted), Value::Object(found)) => {
                (self.ignore_extra_elements || wanted.len() == found.len())
                    && wanted.iter().all(|(name, value)| found.get(name).is_some_and(|other| self.fits(value, other)))
            }
            (Value::Array(wanted), Value::Array(found)) => {
                wanted.len() == found.len() && wanted.iter().zip(found).all(|(value, other)| self.fits(value, other))
            }
            (wanted, found) => wanted == found,
        }
    }
}

impl ResponseDefinition {
    fn template(&self) -> ResponseTemplate {
        let mut template = ResponseTemplate::new(self.status);
        if let Some(body) = &self.json_body {
            template = template.set_body_json(body);
        }
        if let Some(body) = &self.body {
            template = template.set_body_bytes(body.as_bytes());
        }
        for (name, value) in &self.headers {
            template = template.insert_header(name.as_str(), value.as_str());
        }
        match self.fixed_delay_milliseconds {
            Some(delay) => template.set_delay(std::time::Duration::from_millis(delay)),
            None => template,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, url: &str, body: &str) -> Request {
        Request {
            url: url::Url::parse(&format!("http://localhost{url}")).unwrap(),
            method: method.parse().unwrap(),
            headers: http::HeaderMap::new(),
            body: body.as_bytes().to_vec(),
        }
    }

    fn stubs(text: &str) -> Stubs {
        Stubs { mappings: parse(text).unwrap(), state: Mutex::default() }
    }

    #[test]
    fn an_unknown_key_is_an_error_at_every_depth() {
        for text in [
            r#"{"request": {"method": "GET", "url": "/"}, "response": {"status": 200}, "postServeActions": []}"#,
            r#"{"request": {"method": "GET", "url": "/", "cookies": {}}, "response": {"status": 200}}"#,
            r#"{"request": {"method": "GET", "url": "/"}, "response": {"status": 200, "fault": "EMPTY_RESPONSE"}}"#,
            r#"{"request": {"method": "GET", "url": "/", "bodyPatterns": [{"matchesXPath": "/a"}]}, "response": {"status": 200}}"#,
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("unknown field"), "{error}");
        }
        let error = parse(r#"{"request": {"method": "GET"}, "response": {"status": 200}}"#).unwrap_err();
        assert!(error.contains("exactly one of url"), "{error}");
    }

    #[test]
    fn a_scenario_moves_from_state_to_state_and_jobs_are_counted() {
        let stubs = stubs(
            r#"{"mappings": [
            {"request": {"method": "POST", "urlPath": "/jobs", "bodyPatterns": [{"equalToJson": {"kind": "ok"}, "ignoreExtraElements": true}]},
             "response": {"status": 201, "jsonBody": {"id": 7}}, "metadata": {"startsJob": true}},
            {"scenarioName": "job 7", "requiredScenarioState": "Started", "newScenarioState": "done",
             "request": {"method": "GET", "url": "/jobs/7"}, "response": {"status": 200, "jsonBody": {"status": "running"}}},
            {"scenarioName": "job 7", "requiredScenarioState": "done",
             "request": {"method": "GET", "urlPathPattern": "/jobs/[0-9]+"}, "response": {"status": 200, "jsonBody": {"status": "done"}}}]}"#,
        );
        let told = |template: ResponseTemplate| format!("{template:?}");
        assert!(told(stubs.answer(&request("POST", "/jobs", r#"{"kind": "ok", "more": 1}"#))).contains("201"));
        assert!(told(stubs.answer(&request("POST", "/jobs", r#"{"kind": "other"}"#))).contains("404"));
        assert_eq!(stubs.jobs(), Ok(1));
        let first = told(stubs.answer(&request("GET", "/jobs/7", "")));
        let second = told(stubs.answer(&request("GET", "/jobs/7", "")));
        assert_ne!(first, second);
        assert_eq!(told(stubs.answer(&request("GET", "/jobs/7", ""))), second);
        assert!(stubs.answers().is_err());
    }
}
