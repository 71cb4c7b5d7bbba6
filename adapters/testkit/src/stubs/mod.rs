//! WireMock stub mappings as a provider: recorded answers in files that the stock WireMock server reads too.
//!
//! A standard subset, by name: what is not listed in the types of this folder is an error that names the file and the key, so a file
//! never means less here than there. A few words are ours and lie where WireMock allows any: `"metadata": {"startsJob": true}` (or
//! `"takesAnswer"`) marks the mapping whose use starts a job (or lets an answer take effect), so that jobs can be counted, and
//! `"deliveryOf"` says what the provider would deliver of a job.

mod asked;
mod helpers;
mod json;
mod load;
mod moment;
mod pattern;
mod request;
mod response;
mod template;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jobgate_adapter_api::{Clock, FixedRandom, ManualClock, Random as _, Timestamp};
use serde_json::Value;
use wiremock::{Request, ResponseTemplate};

use self::asked::Asked;
use self::helpers::Told;
pub use self::load::StubError;
use self::request::RequestPattern;
use self::response::Response;
use crate::{Absent, MockApi};

/// The state that every WireMock scenario begins in.
const STARTED: &str = "Started";

/// A provider made of stub mappings. What no mapping matches is 404, as in WireMock. Random values are the same in each run, and the
/// time of day is the rig's.
#[derive(Debug)]
pub struct Stubs {
    mappings: Vec<Mapping>,
    state: Mutex<Played>,
    random: FixedRandom,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Played {
    scenarios: BTreeMap<String, String>,
    jobs: usize,
    answers: usize,
}

/// A mapping, checked.
#[derive(Debug)]
struct Mapping {
    priority: u32,
    scenario: Option<Scenario>,
    starts_job: bool,
    takes_answer: bool,
    delivery: Option<Delivery>,
    request: RequestPattern,
    response: Response,
}

/// What the provider delivers of a job in this mapping's state of the scenario.
#[derive(Debug)]
struct Delivery {
    job: String,
    body: Value,
    /// Nobody can look at the job, so the delivery itself moves the scenario on.
    moves: bool,
}

#[derive(Debug)]
struct Scenario {
    name: String,
    required: Option<String>,
    next: Option<String>,
}

impl Stubs {
    /// All mappings of a folder: its `*.json` files (one mapping each, or `{"mappings": [...]}`), or those below its `mappings/`, as
    /// WireMock's own folders have it. `bodyFileName` is below the folder's `__files/`. A single file will do, too.
    ///
    /// # Errors
    /// When the folder or a file cannot be read, is empty, or uses what the subset does not have.
    pub fn load(folder: impl AsRef<Path>) -> Result<Self, StubError> {
        let mut mappings = load::folder(folder.as_ref())?;
        // WireMock's default priority is 5, and 1 is the highest. The sort is stable, so files decide between equals.
        mappings.sort_by_key(|mapping| mapping.priority);
        Ok(Self {
            mappings,
            state: Mutex::default(),
            random: FixedRandom::new(11),
            clock: Arc::new(ManualClock::new(Timestamp::default())),
        })
    }

    fn count(&self, marked: fn(&Mapping) -> bool, counted: fn(&Played) -> usize, reason: &'static str) -> Result<usize, Absent> {
        if self.mappings.iter().any(marked) {
            Ok(counted(&self.state.lock().unwrap_or_else(PoisonError::into_inner)))
        } else {
            Err(Absent(reason))
        }
    }
}

impl MockApi for Stubs {
    fn set_clock(&mut self, clock: Arc<dyn Clock>) {
        self.clock = clock;
    }

    fn answer(&self, request: &Request) -> ResponseTemplate {
        let asked = Asked::new(request);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mapping) = self.mappings.iter().find(|mapping| mapping.is_for(&asked, &state)) else {
            return ResponseTemplate::new(404).set_body_string("no stub mapping matches this request");
        };
        if let Some(Scenario { name, next: Some(next), .. }) = &mapping.scenario {
            state.scenarios.insert(name.clone(), next.clone());
        }
        state.jobs += usize::from(mapping.starts_job);
        state.answers += usize::from(mapping.takes_answer);
        let names = mapping.request.url_path_template.as_ref().and_then(|template| template.names(asked.path()));
        let told = Told {
            asked: &asked,
            names: &names.unwrap_or_default(),
            parameters: mapping.response.parameters(),
            now: self.clock.now(),
            random: &self.random,
        };
        mapping.response.give(&told, self.random.unit())
    }

    fn delivery(&self, job: &str) -> Result<Vec<u8>, Absent> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let told = self.mappings.iter().filter(|mapping| mapping.is_in(&state));
        let found = told.filter_map(|mapping| Some((mapping, mapping.delivery.as_ref()?))).find(|(_, told)| told.job == job);
        let (mapping, told) = found.ok_or(Absent("no stub mapping of this state has `metadata.deliveryOf` with this job"))?;
        if let (true, Some(Scenario { name, next: Some(next), .. })) = (told.moves, &mapping.scenario) {
            state.scenarios.insert(name.clone(), next.clone());
        }
        Ok(told.body.to_string().into_bytes())
    }

    fn jobs(&self) -> Result<usize, Absent> {
        self.count(|mapping| mapping.starts_job, |played| played.jobs, "no stub mapping has `metadata.startsJob`")
    }

    fn answers(&self) -> Result<usize, Absent> {
        self.count(|mapping| mapping.takes_answer, |played| played.answers, "no stub mapping has `metadata.takesAnswer`")
    }
}

impl Mapping {
    fn is_for(&self, asked: &Asked<'_>, state: &Played) -> bool {
        self.is_in(state) && self.request.matches(asked)
    }

    fn is_in(&self, state: &Played) -> bool {
        match &self.scenario {
            Some(Scenario { name, required: Some(required), .. }) => {
                state.scenarios.get(name).map_or(STARTED, String::as_str) == required
            }
            _ => true,
        }
    }
}
