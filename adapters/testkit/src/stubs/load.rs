//! Reads stub mappings from files.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::request::RequestPattern;
use super::response::{Response, Words};
use super::{Delivery, Mapping, Scenario};

/// Why stub mappings cannot be used.
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
        /// The key, and what is wrong with it.
        reason: String,
    },
    /// The folder holds no stub mapping.
    #[error("{0}: no stub mappings (*.json)")]
    Empty(PathBuf),
}

/// A mapping as it is written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MappingWords {
    #[serde(rename = "id")]
    _id: Option<String>,
    #[serde(rename = "uuid")]
    _uuid: Option<String>,
    #[serde(rename = "name")]
    _name: Option<String>,
    #[serde(rename = "persistent")]
    _persistent: Option<bool>,
    priority: Option<u32>,
    scenario_name: Option<String>,
    required_scenario_state: Option<String>,
    new_scenario_state: Option<String>,
    #[serde(default)]
    metadata: serde_json::Map<String, Value>,
    request: RequestPattern,
    response: Words,
}

pub(super) fn folder(place: &Path) -> Result<Vec<Mapping>, StubError> {
    let (files, home) = if place.is_file() {
        (vec![place.to_owned()], place.parent().unwrap_or(place))
    } else {
        let mut files = Vec::new();
        list(place, false, &mut files)?;
        let below = place.join("mappings");
        if below.is_dir() {
            list(&below, true, &mut files)?;
        }
        (files, place)
    };
    let mut mappings = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|source| StubError::Read { path: path.clone(), source })?;
        mappings.extend(parse(&text, &home.join("__files")).map_err(|reason| StubError::Bad { path, reason })?);
    }
    if mappings.is_empty() { Err(StubError::Empty(place.to_owned())) } else { Ok(mappings) }
}

/// The JSON files of a folder, in order.
fn list(folder: &Path, deep: bool, files: &mut Vec<PathBuf>) -> Result<(), StubError> {
    let unreadable = |source| StubError::Read { path: folder.to_owned(), source };
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    paths.sort();
    for path in paths {
        if path.is_dir() && deep {
            list(&path, true, files)?;
        } else if path.is_file() && path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// One file's mappings, or why it has none.
fn parse(text: &str, files: &Path) -> Result<Vec<Mapping>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let many = match value {
        Value::Object(mut fields) if fields.contains_key("mappings") => {
            let list = fields.remove("mappings").unwrap_or_default();
            if let Some(other) = fields.keys().find(|key| *key != "meta") {
                return Err(format!("unknown key `{other}` beside mappings"));
            }
            match list {
                Value::Array(list) => {
                    list.into_iter().enumerate().map(|(index, it)| (format!("mappings[{index}]."), it)).collect()
                }
                _ => return Err("mappings: a list of stub mappings".to_owned()),
            }
        }
        value => vec![(String::new(), value)],
    };
    let read = |(place, value): (String, Value)| {
        let words: MappingWords =
            serde_path_to_error::deserialize(value).map_err(|error| format!("{place}{}: {}", error.path(), error.inner()))?;
        Mapping::new(words, files).map_err(|reason| format!("{place}{reason}"))
    };
    many.into_iter().map(read).collect()
}

impl Mapping {
    fn new(words: MappingWords, files: &Path) -> Result<Self, String> {
        words.request.check()?;
        let scenario = match (words.scenario_name, words.required_scenario_state, words.new_scenario_state) {
            (Some(name), required, next) => Some(Scenario { name, required, next }),
            (None, None, None) => None,
            (None, ..) => return Err("requiredScenarioState and newScenarioState need a scenarioName".to_owned()),
        };
        let marked = |name: &str| match words.metadata.get(name) {
            None => Ok(false),
            Some(Value::Bool(marked)) => Ok(*marked),
            Some(_) => Err(format!("metadata.{name}: true or false")),
        };
        let delivery = delivery(&words.metadata, words.response.json())?;
        let moves = marked("movesOn")?;
        let delivery = delivery.map(|(job, body)| Delivery { job, body, moves });
        Ok(Self {
            priority: words.priority.unwrap_or(5),
            scenario,
            starts_job: marked("startsJob")?,
            takes_answer: marked("takesAnswer")?,
            delivery,
            request: words.request,
            response: Response::new(words.response, files)?,
        })
    }
}

/// The job and the body of `deliveryOf`: the `delivery` beside it, or the answer itself.
fn delivery(metadata: &serde_json::Map<String, Value>, answer: Option<&Value>) -> Result<Option<(String, Value)>, String> {
    match (metadata.get("deliveryOf"), metadata.get("delivery")) {
        (Some(Value::String(job)), Some(body)) => Ok(Some((job.clone(), body.clone()))),
        (Some(Value::String(job)), None) => match answer {
            Some(body) => Ok(Some((job.clone(), body.clone()))),
            None => Err("metadata.deliveryOf: it needs a `delivery` beside it, or a response.jsonBody".to_owned()),
        },
        (Some(_), _) => Err("metadata.deliveryOf: the id of a job, as a text".to_owned()),
        (None, Some(_)) => Err("metadata.delivery: it needs `deliveryOf` beside it, the id of the job".to_owned()),
        (None, None) => Ok(None),
    }
}
