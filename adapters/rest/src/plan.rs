//! What the words mean: compiled texts, parsed addresses, ordered rules.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method};
use url::Url;

use crate::codes::Codes;
use crate::language::{Condition, Engine, Text, Tree};
use crate::words::{Auth, Parse, StateWord};

/// A provider and its tools, checked.
#[derive(Debug)]
pub struct Checked {
    pub(crate) provider: Arc<ProviderPlan>,
    pub(crate) auth: Option<Auth>,
    pub(crate) max_body_bytes: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct ProviderPlan {
    pub(crate) base: Url,
    pub(crate) bases: BTreeMap<String, Url>,
    pub(crate) headers: Vec<(HeaderName, Text)>,
    pub(crate) timeout: Duration,
    pub(crate) error_message: Option<Text>,
    pub(crate) delivery: Option<DeliveryPlan>,
    pub(crate) tools: BTreeMap<String, ToolPlan>,
    pub(crate) engine: Engine,
}

#[derive(Debug)]
pub(crate) struct ToolPlan {
    pub(crate) idempotent: bool,
    pub(crate) submit: SubmitPlan,
    pub(crate) find: Option<FindPlan>,
    pub(crate) status: StatusPlan,
    pub(crate) result: ResultPlan,
    pub(crate) failure: FailurePlan,
    pub(crate) told: Option<ToldPlan>,
    pub(crate) cancel: Option<CancelPlan>,
    pub(crate) input: Option<InputPlan>,
}

#[derive(Debug)]
pub(crate) struct RequestPlan {
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) query: Vec<(String, Tree)>,
    pub(crate) headers: Vec<(HeaderName, Text)>,
    pub(crate) body: BodyPlan,
}

#[derive(Debug)]
pub(crate) enum Target {
    Path { base: Url, path: Text },
    Url(Text),
}

#[derive(Debug)]
pub(crate) enum BodyPlan {
    None,
    Json(Tree),
    Form(Vec<(String, Tree)>),
}

/// How an answer is read: which codes are good, and whether its body must be JSON or may be any text.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) accept: Codes,
    pub(crate) body: bool,
    pub(crate) text: bool,
}

#[derive(Debug)]
pub(crate) struct NamesPlan {
    pub(crate) id: Text,
    pub(crate) handles: Vec<(String, Text)>,
}

#[derive(Debug)]
pub(crate) struct SubmitPlan {
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) job: NamesPlan,
    pub(crate) busy: Option<Condition>,
    pub(crate) rejected: Vec<(Condition, Option<Text>)>,
}

#[derive(Debug)]
pub(crate) struct FindPlan {
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) not_found: Codes,
    pub(crate) job: NamesPlan,
}

#[derive(Debug)]
pub(crate) struct StatusPlan {
    pub(crate) request: Option<RequestPlan>,
    pub(crate) reading: Reading,
    pub(crate) not_found: Codes,
    pub(crate) rules: Rules,
}

/// From what was seen, in an answer or in a delivery, to an observation.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) word: Option<Text>,
    pub(crate) list: Vec<RulePlan>,
    pub(crate) message: Option<Text>,
    pub(crate) progress: Option<(Text, Option<Text>)>,
    pub(crate) handles: Vec<(String, Text)>,
}

#[derive(Clone, Debug)]
pub(crate) struct RulePlan {
    pub(crate) when: Option<Condition>,
    pub(crate) is: Vec<String>,
    pub(crate) state: StateWord,
    pub(crate) message: Option<Text>,
}

#[derive(Debug)]
pub(crate) struct ResultPlan {
    pub(crate) more: Option<(RequestPlan, Reading)>,
    pub(crate) output: OutputPlan,
}

/// What is made of the answer that holds the result.
#[derive(Clone, Debug)]
pub(crate) struct OutputPlan {
    pub(crate) text: Option<Text>,
    pub(crate) data: Option<Tree>,
    pub(crate) links: Vec<LinkPlan>,
}

#[derive(Clone, Debug)]
pub(crate) struct LinkPlan {
    pub(crate) uri: Text,
    pub(crate) name: Text,
    pub(crate) mime_type: Option<Text>,
    pub(crate) description: Option<Text>,
}

#[derive(Debug)]
pub(crate) struct FailurePlan {
    pub(crate) more: Option<(RequestPlan, Reading)>,
    pub(crate) reason: ReasonPlan,
}

/// What is made of the answer that says why a job failed.
#[derive(Clone, Debug)]
pub(crate) struct ReasonPlan {
    pub(crate) message: Option<Text>,
    pub(crate) code: Option<Text>,
    pub(crate) data: Option<Tree>,
}

/// How a provider's deliveries are opened.
#[derive(Debug)]
pub(crate) struct DeliveryPlan {
    pub(crate) parse: Parse,
    pub(crate) when: Option<Condition>,
    pub(crate) jobs: Option<Text>,
    pub(crate) id: Option<Text>,
    pub(crate) body: Option<Text>,
}

/// What a tool makes of a delivery.
#[derive(Debug)]
pub(crate) struct ToldPlan {
    pub(crate) body: Option<Text>,
    pub(crate) rules: Rules,
    /// `None` where the result takes another request, which reading cannot make.
    pub(crate) output: Option<OutputPlan>,
    /// `None` likewise.
    pub(crate) reason: Option<ReasonPlan>,
}

#[derive(Debug)]
pub(crate) struct CancelPlan {
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) already_ended: Codes,
    pub(crate) refused: Codes,
}

#[derive(Debug)]
pub(crate) struct InputPlan {
    pub(crate) key: Text,
    pub(crate) message: Text,
    pub(crate) kind: InputKindPlan,
    pub(crate) accept: Option<AnswerPlan>,
    pub(crate) decline: Option<AnswerPlan>,
}

#[derive(Debug)]
pub(crate) enum InputKindPlan {
    Form(Tree),
    Page(Text),
}

#[derive(Debug)]
pub(crate) struct AnswerPlan {
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) already_answered: Codes,
}

impl StatusPlan {
    /// Whether a look can show that a job ended well; else its deliveries alone tell.
    pub(crate) fn sees_success(&self) -> bool {
        self.request.is_some() && self.rules.list.iter().any(|rule| rule.state == StateWord::Succeeded)
    }
}

impl RequestPlan {
    /// Whether any of its texts uses a name.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let target = match &self.target {
            Target::Path { path, .. } => path.uses(name),
            Target::Url(url) => url.uses(name),
        };
        let body = match &self.body {
            BodyPlan::None => false,
            BodyPlan::Json(tree) => tree.uses(name),
            BodyPlan::Form(fields) => fields.iter().any(|(_, field)| field.uses(name)),
        };
        target
            || body
            || self.query.iter().any(|(_, value)| value.uses(name))
            || self.headers.iter().any(|(_, value)| value.uses(name))
    }
}
