//! Compiling texts at check time, and evaluating them with limited fuel.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::OnceLock;

use jobgate_adapter_api::Place;
use minijinja::value::{Serde, Value as Dynamic};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::source::{add, fault, has_marks, lone_expression, said};
use super::{Scope, filters};

/// Instructions that one evaluation may take: far more than any mapping needs, and over within milliseconds.
const FUEL: u64 = 100_000;
/// Everything but the unreserved characters of RFC 3986 section 2.3.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The variable that holds an expression's value; users cannot write a name that begins so without meaning it.
pub(super) const RESULT: &str = "__value";

/// The name of what the provider section sets.
pub(super) const SETTINGS: &str = "settings";

/// Every compiled text of one provider.
pub(crate) struct Engine {
    plain: Environment<'static>,
    path: Environment<'static>,
    settings: BTreeSet<String>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}

/// The names that an evaluation knows, with their values. Cloning a value is cheap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    names: Vec<(&'static str, Dynamic)>,
    /// All of them as one map, for every text that reads them until one changes.
    root: OnceLock<Dynamic>,
}

impl Context {
    pub(crate) fn set(&mut self, name: &'static str, value: &impl serde::Serialize) {
        self.set_dynamic(name, Dynamic::from(Serde(value)));
    }

    pub(crate) fn set_dynamic(&mut self, name: &'static str, value: Dynamic) {
        self.root.take();
        match self.names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.names.push((name, value)),
        }
    }

    /// The job that is spoken of.
    pub(crate) fn set_job(&mut self, job: &jobgate_adapter_api::JobRef) {
        self.set("job", &serde_json::json!({ "id": job.id(), "handles": job.handles() }));
    }

    /// What a look has learned of the job.
    pub(crate) fn learn(&mut self, handles: &[(String, String)]) {
        let Some((_, job)) = self.names.iter().find(|(known, _)| *known == "job") else { return };
        let mut job = fields(job);
        let mut all = job.get("handles").map(fields).unwrap_or_default();
        all.extend(handles.iter().map(|(name, value)| (name.clone(), Dynamic::from(value.as_str()))));
        job.insert("handles".to_owned(), Dynamic::from(all));
        self.set_dynamic("job", Dynamic::from(job));
    }

    /// What a further request gave: `steps.NAME`.
    pub(crate) fn add_step(&mut self, name: &str, value: Dynamic) {
        let steps = self.names.iter().find(|(known, _)| *known == "steps");
        let mut steps = steps.map(|(_, steps)| fields(steps)).unwrap_or_default();
        steps.insert(name.to_owned(), value);
        self.set_dynamic("steps", Dynamic::from(steps));
    }

    /// A value that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.names.iter().find(|(known, _)| *known == name)?.1.as_str()
    }

    /// A handle of the job.
    pub(crate) fn handle(&self, name: &str) -> Option<String> {
        let (_, job) = self.names.iter().find(|(known, _)| *known == "job")?;
        job.get_attr("handles").ok()?.get_attr(name).ok()?.as_str().map(str::to_owned)
    }

    fn root(&self) -> Dynamic {
        let all = || Dynamic::from(self.names.iter().cloned().collect::<BTreeMap<&'static str, Dynamic>>());
        self.root.get_or_init(all).clone()
    }
}

/// The fields of a map.
fn fields(map: &Dynamic) -> BTreeMap<String, Dynamic> {
    let names = map.try_iter().into_iter().flatten();
    names.map(|name| (name.to_string(), map.get_item(&name).unwrap_or_default())).collect()
}

/// Why a text has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Faulty {
    /// A sentence that names the text and what is wrong.
    pub(crate) message: String,
    /// A name it uses has no value; everything else is a mistake in the text.
    pub(crate) undefined: bool,
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A compiled text: a constant, one expression with a type of its own, or a template.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    kind: Kind,
    /// The names that it uses, first step only, and `job.handles.NAME`.
    uses: BTreeSet<String>,
}

#[derive(Clone, Debug)]
enum Kind {
    Constant(String),
    Expression { name: String, source: String },
    Template { name: String, source: String, is_path: bool },
}

/// A compiled condition.
#[derive(Clone, Debug)]
pub(crate) struct Condition(Text);

/// A compiled JSON tree.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Constant(Value),
    Text(Text),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Engine {
    /// Texts that know the provider's settings.
    pub(crate) fn new(settings: &BTreeMap<String, Value>) -> Self {
        let mut plain = environment(settings);
        filters::install(&mut plain);
        let mut path = environment(settings);
        filters::install(&mut path);
        path.set_formatter(|out, state, value| {
            if value.is_undefined() || value.is_safe() {
                return minijinja::escape_formatter(out, state, value);
            }
            let text = value.to_string();
            if value.is_none() || text.is_empty() {
                return Err(minijinja::Error::new(ErrorKind::InvalidOperation, "a value in a path is empty"));
            }
            let escaped = escape_segment(&text);
            minijinja::escape_formatter(out, state, &Dynamic::from_safe_string(escaped))
        });
        Self { plain, path, settings: settings.keys().cloned().collect() }
    }

    /// Compiles a text for `scope`; a problem is a sentence.
    pub(crate) fn text(&mut self, place: &Place, source: &str, scope: &Scope) -> Result<Text, String> {
        let name = place.to_string();
        match lone_expression(source) {
            Some(expression) => self.expression(name, expression, scope),
            None if !has_marks(source) => Ok(Text { kind: Kind::Constant(source.to_owned()), uses: BTreeSet::new() }),
            None => {
                let uses = add(&mut self.plain, &self.settings, &name, source.to_owned(), scope)?;
                Ok(Text { kind: Kind::Template { name, source: source.to_owned(), is_path: false }, uses })
            }
        }
    }

    /// Compiles a path: a template whose values are percent-escaped.
    pub(crate) fn path(&mut self, place: &Place, source: &str, scope: &Scope) -> Result<Text, String> {
        let name = place.to_string();
        let uses = add(&mut self.path, &self.settings, &name, source.to_owned(), scope)?;
        Ok(Text { kind: Kind::Template { name, source: source.to_owned(), is_path: true }, uses })
    }

    /// Compiles a condition: an expression without braces.
    pub(crate) fn condition(&mut self, place: &Place, source: &str, scope: &Scope) -> Result<Condition, String> {
        if has_marks(source) {
            return Err(format!("a condition is written without braces: `{}`", source.trim_matches(['{', '}', ' '])));
        }
        self.expression(place.to_string(), source.trim(), scope).map(Condition)
    }

    fn expression(&mut self, name: String, source: &str, scope: &Scope) -> Result<Text, String> {
        // Compiled alone first: then it is one expression and nothing else.
        self.plain.compile_expression_owned(source.to_owned()).map_err(|error| said(&error, source))?;
        let uses = add(&mut self.plain, &self.settings, &name, format!("{{% set {RESULT} = ({source}) %}}"), scope)?;
        Ok(Text { kind: Kind::Expression { name, source: source.to_owned() }, uses })
    }

    /// Compiles a JSON tree; every problem with its place.
    pub(crate) fn tree(&mut self, place: &Place, value: &Value, scope: &Scope, problems: &mut Vec<(Place, String)>) -> Tree {
        match value {
            Value::String(source) => match self.text(place, source, scope) {
                Ok(text) => Tree::Text(text),
                Err(problem) => {
                    problems.push((place.clone(), problem));
                    Tree::Constant(Value::Null)
                }
            },
            Value::Array(items) => Tree::List(
                items.iter().enumerate().map(|(nth, item)| self.tree(&place.index(nth), item, scope, problems)).collect(),
            ),
            Value::Object(fields) => Tree::Map(
                fields.iter().map(|(name, field)| (name.clone(), self.tree(&place.key(name), field, scope, problems))).collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => Tree::Constant(value.clone()),
        }
    }

    /// The value of a text; `None` where it was marked `| optional` and has none.
    pub(crate) fn value(&self, text: &Text, context: &Context) -> Result<Option<Value>, Faulty> {
        match &text.kind {
            Kind::Constant(constant) => Ok(Some(Value::String(constant.clone()))),
            Kind::Template { .. } => self.string(text, context).map(|string| Some(Value::String(string))),
            Kind::Expression { name, source } => {
                let value = self.evaluate(name, source, context)?;
                if filters::is_omitted(&value) {
                    return Ok(None);
                }
                if value.is_undefined() {
                    return Err(Faulty { message: format!("`{source}` has no value"), undefined: true });
                }
                serde_json::to_value(&value)
                    .map(Some)
                    .map_err(|error| Faulty { message: format!("`{source}` is no JSON: {error}"), undefined: false })
            }
        }
    }

    /// The value of a text as it is, for other texts to read.
    pub(crate) fn dynamic(&self, text: &Text, context: &Context) -> Result<Dynamic, Faulty> {
        match &text.kind {
            Kind::Expression { name, source } => {
                let value = self.evaluate(name, source, context)?;
                if value.is_undefined() {
                    return Err(Faulty { message: format!("`{source}` has no value"), undefined: true });
                }
                Ok(value)
            }
            Kind::Constant(_) | Kind::Template { .. } => self.string(text, context).map(Dynamic::from),
        }
    }

    /// The value of a text as a string; numbers digit for digit.
    pub(crate) fn string(&self, text: &Text, context: &Context) -> Result<String, Faulty> {
        match &text.kind {
            Kind::Constant(constant) => Ok(constant.clone()),
            Kind::Expression { source, .. } => {
                let value = self.value(text, context)?;
                value.and_then(written).ok_or_else(|| Faulty { message: format!("`{source}` has no value"), undefined: true })
            }
            Kind::Template { name, source, is_path } => {
                let environment = if *is_path { &self.path } else { &self.plain };
                let template = environment.get_template(name).map_err(|error| fault(&error, source))?;
                template.render(context.root()).map_err(|error| fault(&error, source))
            }
        }
    }

    /// As [`Engine::string`]; `None` where it was marked `| optional` and has none.
    pub(crate) fn string_or_omitted(&self, text: &Text, context: &Context) -> Result<Option<String>, Faulty> {
        let Kind::Expression { source, .. } = &text.kind else { return self.string(text, context).map(Some) };
        let Some(value) = self.value(text, context)? else { return Ok(None) };
        let missing = || Faulty { message: format!("`{source}` has no value"), undefined: true };
        written(value).map(Some).ok_or_else(missing)
    }

    /// A string where there is one: undefined, null and empty are `None`.
    pub(crate) fn string_if_any(&self, text: &Text, context: &Context) -> Result<Option<String>, Faulty> {
        match self.string(text, context) {
            Ok(string) => Ok(Some(string).filter(|string| !string.is_empty())),
            Err(faulty) if faulty.undefined => Ok(None),
            Err(faulty) => Err(faulty),
        }
    }

    /// Whether a condition holds. Where a value it asks for is missing, it does not.
    pub(crate) fn holds(&self, condition: &Condition, context: &Context) -> Result<bool, Faulty> {
        let Kind::Expression { name, source } = &condition.0.kind else { return Ok(false) };
        match self.evaluate(name, source, context) {
            Ok(value) => Ok(!value.is_undefined() && value.is_true()),
            Err(faulty) if faulty.undefined => Ok(false),
            Err(faulty) => Err(faulty),
        }
    }

    /// The value of a tree; fields that were marked `| optional` and have none are left out.
    pub(crate) fn json(&self, tree: &Tree, context: &Context) -> Result<Option<Value>, Faulty> {
        Ok(match tree {
            Tree::Constant(value) => Some(value.clone()),
            Tree::Text(text) => self.value(text, context)?,
            Tree::List(items) => {
                let items: Result<Vec<Option<Value>>, Faulty> = items.iter().map(|item| self.json(item, context)).collect();
                Some(Value::Array(items?.into_iter().flatten().collect()))
            }
            Tree::Map(fields) => {
                let mut map = serde_json::Map::new();
                for (name, field) in fields {
                    if let Some(value) = self.json(field, context)? {
                        map.insert(name.clone(), value);
                    }
                }
                Some(Value::Object(map))
            }
        })
    }

    fn evaluate(&self, name: &str, source: &str, context: &Context) -> Result<Dynamic, Faulty> {
        let template = self.plain.get_template(name).map_err(|error| fault(&error, source))?;
        let captured = template.render_captured(context.root()).map_err(|error| fault(&error, source))?;
        Ok(captured.state().lookup(RESULT).unwrap_or(Dynamic::UNDEFINED))
    }
}

impl Text {
    /// A text that is what it is.
    pub(crate) fn constant(text: String) -> Self {
        Self { kind: Kind::Constant(text), uses: BTreeSet::new() }
    }

    pub(crate) fn uses(&self, name: &str) -> bool {
        self.uses.contains(name)
    }

    /// Whether it has no value without this name: it uses it, and is not marked `| optional` as a whole.
    pub(crate) fn needs(&self, name: &str) -> bool {
        let optional = matches!(&self.kind, Kind::Expression { source, .. } if source.trim_end().ends_with("| optional"));
        self.uses(name) && !optional
    }
}

impl Condition {
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.0.uses(name)
    }
}

impl Tree {
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.any(&|text| text.uses(name))
    }

    /// Whether `what` holds for any of its texts.
    pub(crate) fn any(&self, what: &dyn Fn(&Text) -> bool) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::Text(text) => what(text),
            Self::List(items) => items.iter().any(|item| item.any(what)),
            Self::Map(fields) => fields.iter().any(|(_, field)| field.any(what)),
        }
    }
}

/// A value as a string; null is none.
fn written(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(string) => Some(string),
        other => Some(other.to_string()),
    }
}

/// A text as one segment of a path.
pub(super) fn escape_segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

fn environment(settings: &BTreeMap<String, Value>) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    // With it an error names the undefined value. The dump of variables that it also keeps is never printed here.
    environment.set_debug(true);
    // `debug()` prints every variable, `range` makes lists out of nothing: neither maps an answer.
    environment.remove_global("debug");
    environment.remove_global("range");
    environment.add_global(SETTINGS, Dynamic::from(Serde(settings.clone())));
    environment
}
