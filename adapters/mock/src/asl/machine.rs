//! A checked machine: what its words mean.

use std::collections::BTreeMap;

use jobgate_adapter_api::ApprovalWords;
use serde_json::Value;

use super::choice::Test;
use super::path::Path;
use super::template::Template;

/// A state machine in the States Language, checked: every state is known, every path and function can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub(crate) scope: Scope,
    /// Milliseconds that a run may take.
    pub(crate) timeout: Option<i64>,
    /// Milliseconds between the start of a run and its first state.
    pub(crate) queued: i64,
}

/// States that reach each other: a whole machine, a branch, or what is done to one item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scope {
    pub(crate) start: String,
    pub(crate) states: BTreeMap<String, State>,
}

/// One state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) comment: Option<String>,
    pub(crate) progress: Option<StatedProgress>,
    /// What a person is asked who holds the task token.
    pub(crate) approval: Option<ApprovalWords>,
    pub(crate) data: DataFlow,
    pub(crate) retry: Vec<Retrier>,
    pub(crate) catch: Vec<Catcher>,
    /// `None` ends the scope.
    pub(crate) next: Option<String>,
    pub(crate) kind: Kind,
}

/// What goes into a state and comes out of it (section "Input and Output Processing").
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DataFlow {
    pub(crate) input: Selection,
    pub(crate) parameters: Option<Template>,
    pub(crate) selector: Option<Template>,
    /// `None` throws the result away.
    pub(crate) result: Option<Path>,
    pub(crate) output: Selection,
}

/// `InputPath` or `OutputPath`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Selection {
    /// `$`, or not given.
    Whole,
    /// `null`: an empty object.
    Nothing,
    Path(Path),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Pass { result: Option<Value> },
    Wait(WaitFor),
    Choice { rules: Vec<(Test, String)>, default: Option<String> },
    Task { resource: Resource, timeout: Option<Span>, heartbeat: Option<Span> },
    Succeed,
    Fail { error: Option<Words>, cause: Option<Words> },
    Parallel(Vec<Scope>),
    Map { items: Path, item: Option<Template>, each: Scope, at_once: Limit },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WaitFor {
    Span(Span),
    /// Milliseconds since the epoch.
    Until(i64),
    UntilPath(Path),
}

/// Milliseconds, or a path to seconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Span {
    Fixed(i64),
    Path(Path),
}

/// A text, or where to take it from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Words {
    Fixed(String),
    From(Template),
}

/// How many items are worked on at once; 0 means all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Limit {
    Fixed(u64),
    Path(Path),
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// Takes some time and gives a canned result or error.
    Result,
    /// Waits for a person.
    Callback,
    /// Hands its task token to a service, and waits for a person to send it back.
    TaskToken,
}

/// Section "Retrying after error".
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Retrier {
    pub(crate) errors: Vec<String>,
    /// Milliseconds before the first retry.
    pub(crate) interval: i64,
    pub(crate) rate: f64,
    pub(crate) attempts: u64,
    /// Milliseconds that a wait is at most.
    pub(crate) longest: Option<i64>,
}

/// Section "Fallback States".
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Catcher {
    pub(crate) errors: Vec<String>,
    pub(crate) next: String,
    pub(crate) result: Option<Path>,
}

/// Counts that a state states of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StatedProgress {
    /// Where it begins; the same as `done` when it does not move.
    pub(crate) from: f64,
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    /// Into how many equal steps a `Wait` or a canned task divides the way.
    pub(crate) steps: u32,
}

impl State {
    /// What people read while it is at work.
    pub(crate) fn label(&self) -> &str {
        self.comment.as_deref().unwrap_or(&self.name)
    }

    /// Every state that may follow this one in its scope.
    pub(crate) fn followers(&self) -> impl Iterator<Item = &str> {
        let (rules, default) = match &self.kind {
            Kind::Choice { rules, default } => (rules.as_slice(), default.as_deref()),
            Kind::Pass { .. }
            | Kind::Wait(_)
            | Kind::Task { .. }
            | Kind::Succeed
            | Kind::Fail { .. }
            | Kind::Parallel(_)
            | Kind::Map { .. } => (&[][..], None),
        };
        let caught = self.catch.iter().map(|catcher| catcher.next.as_str());
        self.next.as_deref().into_iter().chain(rules.iter().map(|(_, next)| next.as_str())).chain(default).chain(caught)
    }
}

impl Machine {
    /// Whether some state of it waits for a person.
    #[must_use]
    pub fn asks_people(&self) -> bool {
        self.scope.asks_people()
    }
}

impl Scope {
    fn asks_people(&self) -> bool {
        self.states.values().any(|state| match &state.kind {
            Kind::Task { resource, .. } => matches!(resource, Resource::Callback | Resource::TaskToken),
            Kind::Parallel(branches) => branches.iter().any(Self::asks_people),
            Kind::Map { each, .. } => each.asks_people(),
            Kind::Pass { .. } | Kind::Wait(_) | Kind::Choice { .. } | Kind::Succeed | Kind::Fail { .. } => false,
        })
    }
}
