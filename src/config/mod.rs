//! The configuration: words -> meaning -> thing. `load` finds every problem at once; what it gives back can be built.

mod auth;
mod diagnostic;
mod fixed;
mod limits;
mod offer;
mod own;
mod schema;
mod settings;
mod store;
mod structure;
mod tool;
mod webhook;
mod words;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use jobgate_adapter_api::{AdapterFactory, CheckedAdapter, HumanDuration, Issues, Place, ToolWords as NamedWords};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub use auth::{Auth, TokenSettings, check_name};
pub use diagnostic::{Diagnostic, Diagnostics, Warnings, locate};
pub use limits::Limits;
pub use own::{entry, names_file};
pub use schema::schema;
pub use settings::{ServerSettings, StoreSettings};
pub use webhook::{CheckedWebhook, KeySetSource, NamedSecret, WebhookSecret, WebhookTrust};

use crate::domain::{OWN_TOOLS, ProviderName, TaskMode, Tool};
use crate::registry::Registry;
use auth::AuthWords;
use diagnostic::located;
use limits::LimitWords;
use offer::ToolSection;
use schema::{Schemas, is_common_word, kinds, provider_definition};
use store::StoreWords;
use structure::{Section, choice};
use words::{ProviderWords, ServerWords, ToolWords};
use yaml::Document;

/// A configuration without problems: everything but secrets, network and disk is known to fit.
#[derive(Debug)]
pub struct Checked {
    /// HTTP.
    pub server: ServerSettings,
    /// Persistence.
    pub store: StoreSettings,
    /// Who may call.
    pub auth: Auth,
    /// What one caller may use up.
    pub limits: Limits,
    /// The providers, in the order of the file.
    pub providers: Vec<CheckedProvider>,
    /// The tools, in the order of the file.
    pub tools: Vec<Tool>,
    /// What is allowed and yet seldom meant.
    pub warnings: Warnings,
    /// The kinds that it may name: those that there are anyway, and its adapter files.
    pub kinds: Registry,
}

/// A provider section without problems.
#[derive(Debug)]
pub struct CheckedProvider {
    /// Its name.
    pub name: ProviderName,
    /// The adapter's kind.
    pub kind: String,
    /// Calls at the same time.
    pub concurrency: usize,
    /// At most so many calls in a span of time.
    pub rate: Option<(u32, Duration)>,
    /// Longest time for one call.
    pub call_timeout: Duration,
    /// How its deliveries are taken.
    pub webhook: Option<CheckedWebhook>,
    /// Ready to build.
    pub adapter: Box<dyn CheckedAdapter>,
    /// Where the section is, for problems that only building shows.
    pub place: Place,
}

/// Reads and checks `text`, which is in the file that the user calls `file`. No network, no secrets, no environment, and no file but the
/// adapter files that it names.
///
/// # Errors
/// All problems at once, each with its place.
pub fn load(text: &str, file: &str, registry: &Registry) -> Result<Checked, Diagnostics> {
    let mut problems = Vec::new();
    let document = match Document::read(text, &mut problems) {
        Ok(document) => document,
        Err(error) => {
            return Err(Diagnostics::new(file, vec![error.into()]));
        }
    };
    let base = Path::new(file).parent().unwrap_or(Path::new(""));
    let own::Files { registry, unusable } = own::files(&document, base, registry, &mut problems);
    let schemas = Schemas::of(&registry);
    let mut loader = Loader {
        document: &document,
        schemas: &schemas,
        registry: &registry,
        unusable: &unusable,
        base,
        problems,
        issues: Issues::new(),
        warnings: Issues::new(),
    };
    let checked = loader.root();
    let Loader { mut problems, issues, warnings, .. } = loader;
    problems.extend(located(&document, issues));
    match checked {
        Some(checked) if problems.is_empty() => {
            Ok(Checked { warnings: Warnings::new(file, located(&document, warnings).collect()), ..checked })
        }
        _ => Err(Diagnostics::new(file, problems)),
    }
}

struct Loader<'a> {
    document: &'a Document,
    schemas: &'a Schemas,
    registry: &'a Registry,
    /// Adapter files that could not be read, or are wrong; that is told.
    unusable: &'a BTreeSet<String>,
    base: &'a Path,
    problems: Vec<Diagnostic>,
    issues: Issues,
    warnings: Issues,
}

/// The tools of a provider, for its adapter, and whether each could be read.
#[derive(Default)]
struct Jobs {
    words: Vec<NamedWords<Value>>,
    complete: bool,
}

impl<'a> Loader<'a> {
    fn root(&mut self) -> Option<Checked> {
        let root = Place::root();
        let empty = json!({});
        let value = if self.document.value.is_null() { &empty } else { &self.document.value };
        let no_sections = Map::new();
        let of_root = |key: &str| self.document.value[key].as_object().unwrap_or(&no_sections);
        let (provider_sections, tool_sections) = (of_root("providers"), of_root("tools"));
        let sections = self.tool_sections(provider_sections, tool_sections);
        self.structure(self.schemas.shallow_root(!sections.is_empty() || !self.unusable.is_empty()), &root, value);
        let auth = self.auth(&root.key("auth"), &sections);
        let server = self.section::<ServerWords>("server", "Server").unwrap_or_default();
        // Where `auth` is wrong it was meant.
        let known = auth.as_ref().is_none_or(Auth::is_on);
        let server = ServerSettings::from_words(server, known, &root.key("server"), &mut self.issues);
        let store = self.section::<StoreWords>("store", "Store").unwrap_or_default();
        let store = StoreSettings::from_words(store, self.base, &root.key("store"), &mut self.issues);
        let limits = self.section::<LimitWords>("limits", "Limits").unwrap_or_default();
        let limits = Limits::from_words(limits, &root.key("limits"), &mut self.issues);

        let mut tools = Vec::new();
        let mut by_provider: BTreeMap<&str, Jobs> =
            provider_sections.keys().map(|name| (name.as_str(), Jobs { complete: true, ..Jobs::default() })).collect();
        for ToolSection { name, place, words: section, kind } in &sections {
            let job_fits = self.job(kind.as_deref(), section, place);
            let tool = self.tool(name, section, place);
            let of_provider = section["provider"].as_str().and_then(|provider| by_provider.get_mut(provider));
            match (tool, of_provider) {
                (Some((tool, arguments)), Some(of_provider)) if job_fits => {
                    of_provider.words.push(NamedWords {
                        name: name.clone(),
                        input_schema: arguments,
                        place: place.key("job"),
                        words: section.get("job").cloned().unwrap_or_else(|| json!({})),
                    });
                    tools.push(tool);
                }
                (_, Some(of_provider)) => of_provider.complete = false,
                (_, None) => {}
            }
        }
        let mut providers = Vec::new();
        for (name, section) in provider_sections {
            let of_provider = by_provider.remove(name.as_str()).unwrap_or_default();
            let place = root.key("providers").key(name.as_str());
            let own = tools.iter().filter(|tool| tool.provider.as_str() == name);
            let written = |tool: &Tool| sections.iter().find(|section| section.name == tool.name.as_str());
            let named = own.filter_map(|tool| Some((tool.name.to_string(), written(tool)?.place.clone(), tool.policy.mode)));
            let named = named.collect();
            providers.extend(self.provider(name, section, &place, of_provider, named));
        }
        (providers.len() == provider_sections.len()).then(|| Checked {
            server,
            store,
            // Where it could not be read there is a problem, and nothing is given out.
            auth: auth.unwrap_or_default(),
            limits,
            providers,
            tools,
            warnings: Warnings::default(),
            kinds: self.registry.clone(),
        })
    }

    /// Checks `value` against `schema`; whether it fits.
    fn structure(&mut self, schema: Value, place: &Place, value: &Value) -> bool {
        Section::new(schema).check(self.document, place, value, &mut self.problems)
    }

    /// The words of a section of the root, if they fit.
    fn section<T: DeserializeOwned>(&mut self, key: &str, definition: &str) -> Option<T> {
        let value = self.document.value.get(key).filter(|value| value.is_object())?;
        let place = Place::root().key(key);
        if self.structure(self.schemas.section(definition), &place, value) { self.typed(value, &place) } else { None }
    }

    /// Who may call; `None` where that cannot be read.
    fn auth(&mut self, place: &Place, tools: &[ToolSection]) -> Option<Auth> {
        let value = match &self.document.value["auth"] {
            Value::Null => return Some(Auth::None),
            Value::String(word) if word != "none" => {
                auth::wrong_word(place, &mut self.issues);
                return None;
            }
            value => value,
        };
        if !self.structure(self.schemas.section("CallerAuth"), place, value) {
            return None;
        }
        let words: AuthWords = self.typed(value, place)?;
        let tools: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
        Some(Auth::from_words(words, &tools, place, &mut self.issues))
    }

    fn typed<T: DeserializeOwned>(&mut self, value: &Value, place: &Place) -> Option<T> {
        match T::deserialize(value) {
            Ok(words) => Some(words),
            Err(error) => {
                self.issues.add(place.clone(), error.to_string());
                None
            }
        }
    }

    /// The adapter of the provider that a tool names.
    fn factory_of(
        &mut self,
        provider: &Value,
        sections: &Map<String, Value>,
        names: &[String],
        place: &Place,
    ) -> Option<&'a dyn AdapterFactory> {
        let name = provider.as_str()?;
        let Some(section) = sections.get(name) else {
            let message = format!("there is no provider `{name}`");
            let hint = match names {
                [] => "add a section of that name under `providers`".to_owned(),
                names => choice(name, names, "providers").unwrap_or_default(),
            };
            self.issues.add_with_hint(place.key("provider"), message, hint);
            return None;
        };
        let kind = section["adapter"].as_str()?;
        self.registry.get(kind)
    }

    /// Checks a tool's `job` section against the words of its adapter.
    fn job(&mut self, kind: Option<&str>, section: &Value, place: &Place) -> bool {
        let Some(kind) = kind else { return false };
        let empty = json!({});
        let job = section.get("job").unwrap_or(&empty);
        // Something else than a mapping is told with the tool's own section.
        job.is_object() && self.structure(self.schemas.job(kind), &place.key("job"), job)
    }

    /// A tool, and the schema of all its arguments, with those that are fixed.
    fn tool(&mut self, name: &str, section: &Value, place: &Place) -> Option<(Tool, Value)> {
        self.name(name, place);
        if OWN_TOOLS.contains(&name) {
            let message = format!("`{name}` is a tool of the gateway's own, for clients without tasks");
            let hint = format!("choose another name, for example `my_{name}`");
            self.problems.push(Diagnostic::at(self.document.key_spot(place), place, message, Some(hint)));
        }
        if !self.structure(self.schemas.tool(), place, section) {
            return None;
        }
        let words: ToolWords = self.typed(section, place)?;
        let (tool, arguments) = tool::tool(name, words, place, &mut self.issues);
        tool::doubts(&tool, place, &mut self.warnings);
        Some((tool, arguments))
    }

    fn name(&mut self, name: &str, place: &Place) {
        let fits = (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if !fits {
            let message =
                format!("the name `{}` has a character that clients do not accept, or is too long", name.escape_debug());
            let hint = "a name has 1 to 64 letters, digits, `_` and `-`, for example `render_video`";
            self.problems.push(Diagnostic::at(self.document.key_spot(place), place, message, Some(hint.to_owned())));
        }
    }

    fn provider(
        &mut self,
        name: &str,
        section: &Value,
        place: &Place,
        jobs: Jobs,
        tools: Vec<(String, Place, TaskMode)>,
    ) -> Option<CheckedProvider> {
        self.name(name, place);
        let kinds: Vec<String> = kinds(self.registry).into_iter().map(str::to_owned).collect();
        let kind = match section {
            Value::Object(words) => match words.get("adapter") {
                Some(Value::String(kind)) => kind,
                Some(_) | None => {
                    let hint = format!(
                        "add `adapter: {}` (allowed: {})",
                        kinds.iter().find(|kind| *kind == "rest").or(kinds.first()).map_or("rest", String::as_str),
                        kinds.join(", ")
                    );
                    self.issues.add_with_hint(place.clone(), "`adapter` is missing: it says which kind of job API this is", hint);
                    return None;
                }
            },
            _ => {
                self.issues.add_with_hint(place.clone(), "has to be a mapping", "for example `{ adapter: rest }`");
                return None;
            }
        };
        if self.unusable.contains(kind) {
            return None;
        }
        let Some(factory) = self.registry.get(kind) else {
            let hint = choice(kind, &kinds, "adapters").unwrap_or_default();
            self.issues.add_with_hint(place.key("adapter"), format!("there is no adapter `{kind}`"), hint);
            return None;
        };
        let section = &offer::with_webhook(section, factory);
        if !self.structure(self.schemas.section(&provider_definition(kind)), place, section) {
            return None;
        }
        let words: ProviderWords = self.typed(section, place)?;
        let call_timeout = words.call_timeout.map_or(Duration::from_secs(30), HumanDuration::get);
        if call_timeout < Duration::from_millis(100) {
            self.issues.add_with_hint(place.key("call_timeout"), "has to be at least 100ms", "for example `30s`");
        }
        if words.rate.as_ref().is_some_and(|rate| rate.per.get().is_zero()) {
            self.issues.add_with_hint(place.key("rate").key("per"), "has to be longer than nothing", "for example `1m`");
        }
        let own: Map<String, Value> = section
            .as_object()?
            .iter()
            .filter(|(word, _)| !is_common_word(word))
            .map(|(word, value)| (word.clone(), value.clone()))
            .collect();
        let complete = jobs.complete;
        let mut found = Issues::new();
        let adapter = factory.check(place, Value::Object(own), jobs.words, &mut found);
        if adapter.is_none() && found.is_empty() {
            found.add(place.clone(), format!("the adapter `{kind}` refuses this without saying why"));
        }
        self.issues.extend_under(&Place::root(), found);
        // A tool that could not be read has told its problem; the adapter was asked without it, so its word is no promise.
        let adapter = adapter.filter(|_| complete);
        let around = webhook::Around {
            base: self.base,
            name,
            place,
            public_url: !self.document.value["server"]["public_url"].is_null(),
            adapter: adapter.as_deref(),
            tools: &tools,
        };
        let webhook = match words.webhook {
            Some(words) => Some(webhook::check(words, &around, &mut self.issues)?),
            None => {
                webhook::check_absent(&around, &mut self.issues);
                None
            }
        };
        let adapter = adapter?;
        Some(CheckedProvider {
            name: ProviderName::new(name),
            kind: factory.kind().to_owned(),
            concurrency: words.concurrency.unwrap_or(16),
            rate: words.rate.map(|rate| (rate.calls, rate.per.get())),
            call_timeout,
            webhook,
            adapter,
            place: place.clone(),
        })
    }
}
