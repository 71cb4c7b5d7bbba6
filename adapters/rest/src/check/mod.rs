//! From words to meaning: every text compiled, every name checked, every problem said with its place.

mod artifact;
mod auth;
mod cancel;
mod delivery;
mod find;
mod input;
mod log;
mod pace;
mod pages;
mod progress;
mod provider;
mod request;
mod resolve;
mod result;
mod sign_in;
mod status;
mod step;
mod submit;
mod tool;

use std::collections::BTreeMap;
use std::sync::Arc;

use jobgate_adapter_api::{Issues, Place, ToolWords};
use serde_json::Value;

use crate::language::{Condition, Context, Engine, Scope, Text, Tree};
use crate::plan::{Checked, ProviderPlan};
use crate::words::{Job, Provider};

/// What every step of the check shares.
pub(crate) struct Checker<'a> {
    pub(crate) engine: Engine,
    pub(crate) issues: &'a mut Issues,
    pub(crate) base: Option<url::Url>,
    pub(crate) bases: BTreeMap<String, Option<url::Url>>,
    /// Whether a request follows redirects.
    pub(crate) follows: bool,
}

/// Checks a provider section and its tools.
pub(crate) fn check(place: &Place, words: Provider, tools: Vec<ToolWords<Job>>, issues: &mut Issues) -> Option<Checked> {
    provider::settings(issues, place, &words);
    let engine = Engine::new(&words.settings);
    let mut checker = Checker { engine, issues, base: None, bases: BTreeMap::new(), follows: false };
    provider::addresses(&mut checker, place, &words);
    let headers = provider::headers(&mut checker, place, &words);
    let auth = words.auth.as_ref().map(|words| auth::check(&mut checker, &place.key("auth"), words));
    let tls = words.tls.as_ref().map(|words| auth::tls(&mut checker, &place.key("tls"), words));
    let scope = Scope::request().with_answer();
    let error_message = checker.optional_text(&place.key("error_message"), words.error_message.as_deref(), &scope);
    let errors = pace::errors(&mut checker, &place.key("errors"), &words.errors);
    let pace = words.pace.as_ref().map(|words| pace::pace(&mut checker, &place.key("pace"), words));
    let opened = words.delivery.as_ref().map(|words| delivery::check(&mut checker, &place.key("delivery"), words));
    let mut plans = BTreeMap::new();
    for named in tools {
        if let Some(plan) = tool::check(&mut checker, &named, words.delivery.as_ref()) {
            plans.insert(named.name, plan);
        }
    }
    let Checker { engine, base, bases, follows, .. } = checker;
    let bases = bases.into_iter().filter_map(|(name, url)| Some((name, url?))).collect();
    let delivery = match opened {
        Some(opened) => Some(opened?),
        None => None,
    };
    let pace = tool::transpose(pace)?;
    let timeout = words.timeout.get();
    let provider =
        ProviderPlan { base: base?, bases, headers, timeout, error_message, errors, pace, delivery, tools: plans, engine };
    let (provider, auth) = (Arc::new(provider), tool::transpose(auth)?);
    Some(Checked { provider, auth, tls, max_body_bytes: words.max_body_bytes, follows })
}

impl Checker<'_> {
    pub(crate) fn text(&mut self, place: &Place, source: &str, scope: &Scope) -> Option<Text> {
        self.engine.text(place, source, scope).map_err(|problem| self.issues.add(place.clone(), problem)).ok()
    }

    /// The value of a text that knows nothing but `settings`.
    pub(crate) fn constant(&mut self, place: &Place, source: &str) -> Option<String> {
        let text = self.text(place, source, &Scope::default())?;
        let value = self.engine.string(&text, &Context::default());
        value.map_err(|faulty| self.issues.add(place.clone(), faulty.message)).ok()
    }

    pub(crate) fn optional_text(&mut self, place: &Place, source: Option<&str>, scope: &Scope) -> Option<Text> {
        source.and_then(|source| self.text(place, source, scope))
    }

    pub(crate) fn condition(&mut self, place: &Place, source: &str, scope: &Scope) -> Option<Condition> {
        self.engine.condition(place, source, scope).map_err(|problem| self.issues.add(place.clone(), problem)).ok()
    }

    pub(crate) fn tree(&mut self, place: &Place, value: &Value, scope: &Scope) -> Tree {
        let mut problems = Vec::new();
        let tree = self.engine.tree(place, value, scope, &mut problems);
        problems.into_iter().for_each(|(place, problem)| self.issues.add(place, problem));
        tree
    }

    pub(crate) fn texts<'t>(
        &mut self,
        place: &Place,
        texts: impl IntoIterator<Item = (&'t String, &'t String)>,
        scope: &Scope,
    ) -> Vec<(String, Text)> {
        texts.into_iter().filter_map(|(name, source)| Some((name.clone(), self.text(&place.key(name), source, scope)?))).collect()
    }
}
