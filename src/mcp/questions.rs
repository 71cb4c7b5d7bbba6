//! Questions before a job: one after the other, over as many calls as it takes (MCP 2026-07-28, "Multi Round-Trip Requests").

use serde_json::{Map, Value};

use super::error::RpcError;
use super::forms::{Answers, as_approval, read_answer};
use super::schema::Problem;
use super::seal::Round;
use crate::domain::{ClientCapability, Confirm, ConfirmPurpose, InputAction, InputKind, Random, Tool};

/// What a call of a tool with questions comes to.
#[derive(Debug)]
pub(crate) enum Step<'t> {
    /// Everything is answered: the job may start, with these arguments. `once` names the run of questions that led here.
    Go { arguments: Map<String, Value>, once: Option<String> },
    /// This has to be asked, and the state handed out with it.
    Ask { question: &'t Confirm, round: Round },
    /// The person said no: the job is not started.
    Declined { question: &'t Confirm, action: InputAction },
}

/// One call, as far as its questions are concerned.
pub(crate) struct Answering<'a> {
    pub(crate) random: &'a dyn Random,
    /// Whether the client shows forms.
    pub(crate) forms: bool,
    /// What an earlier call left, if its state was echoed.
    pub(crate) round: Option<Round>,
    /// `params.inputResponses`.
    pub(crate) answers: &'a Answers<'a>,
}

impl Answering<'_> {
    /// Goes through the tool's questions until one has to be asked.
    ///
    /// An approval counts only together with the state that was handed out when it was asked for: it proves that the question
    /// was asked, for this caller, this tool and these arguments, and not too long ago. What fills in arguments needs no proof:
    /// the caller could have sent the argument in the first place.
    ///
    /// # Errors
    /// -32602 for an answer that is wrong, -32021 for a client that shows no forms.
    pub(crate) fn next<'t>(self, tool: &'t Tool, given: &Map<String, Value>) -> Result<Step<'t>, RpcError> {
        let (asked, nonce, mut filled) = match self.round {
            Some(round) => (Some(round.question), Some(round.nonce), round.filled),
            None => (None, None, Map::new()),
        };
        for (index, question) in tool.policy.confirm.iter().enumerate().skip(asked.unwrap_or(0)) {
            let answer = match question.purpose {
                ConfirmPurpose::Fill if holds(given, &filled, &question.schema) => continue,
                ConfirmPurpose::Approve if asked != Some(index) => None,
                ConfirmPurpose::Approve | ConfirmPurpose::Fill => self.answers.get(&question.key),
            };
            let Some(answer) = answer else {
                if !self.forms {
                    let what = format!("tool `{}` asks a question before it starts, which", tool.name);
                    return Err(RpcError::capabilities_required(&what, &[ClientCapability::Elicitation]));
                }
                let nonce = nonce.unwrap_or_else(|| fresh_nonce(self.random));
                return Ok(Step::Ask { question, round: Round { question: index, nonce, filled } });
            };
            let form = InputKind::Form { schema: question.schema.clone() };
            let answer = read_answer(&place_of(&question.key), &form, answer)?;
            let answer = match question.purpose {
                ConfirmPurpose::Approve => as_approval(&form, answer),
                ConfirmPurpose::Fill => answer,
            };
            match (answer.action, question.purpose, answer.content) {
                (InputAction::Decline | InputAction::Cancel, _, _) => {
                    return Ok(Step::Declined { question, action: answer.action });
                }
                (InputAction::Accept, ConfirmPurpose::Fill, Some(Value::Object(content))) => filled.extend(content),
                (InputAction::Accept, _, _) => {}
            }
        }
        let mut arguments = given.clone();
        arguments.extend(filled);
        Ok(Step::Go { arguments, once: nonce })
    }
}

fn fresh_nonce(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether the arguments hold what the form would fill in: its required fields, or any field of a form without required ones.
pub(crate) fn holds(given: &Map<String, Value>, filled: &Map<String, Value>, form: &Value) -> bool {
    let there = |name: &str| given.contains_key(name) || filled.contains_key(name);
    let required = form.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if required.is_empty() {
        return fields(form).any(there);
    }
    required.iter().filter_map(Value::as_str).all(there)
}

/// The names of a form's fields.
fn fields(form: &Value) -> impl Iterator<Item = &str> {
    form.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str)
}

/// Where the answer to a question is, for sentences about it.
pub(crate) fn place_of(key: &str) -> String {
    format!("params.inputResponses[\"{key}\"]")
}

/// The problems that no question will settle: what a question fills in may be missing.
pub(crate) fn beyond_questions(tool: &Tool, problems: Vec<Problem>) -> Vec<Problem> {
    let asked_for: Vec<&str> = tool
        .policy
        .confirm
        .iter()
        .filter(|question| question.purpose == ConfirmPurpose::Fill)
        .flat_map(|question| fields(&question.schema))
        .collect();
    problems.into_iter().filter(|problem| !problem.is_missing(&asked_for)).collect()
}

/// What a model reads where a person said no.
pub(crate) fn declined(question: &Confirm, action: InputAction) -> String {
    let how = match action {
        InputAction::Cancel => "The question was closed without an answer",
        InputAction::Decline | InputAction::Accept => "The answer was no",
    };
    format!("{how}: \"{}\". The job was not started.", question.message)
}
