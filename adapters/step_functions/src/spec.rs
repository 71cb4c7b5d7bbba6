//! Words to meaning to thing: `adapter: step_functions`.

use std::collections::BTreeMap;

use jobgate_adapter_api::{AdapterSpec, ApprovalWords, Deps, Issue, Issues, Place, Secret, SecretRef, ToolWords as Named};
use serde_json::{Map, Value};
use url::Url;

use crate::adapter::StepFunctionsAdapter;
use crate::client::{Access, Connection};
use crate::explain::explain;
use crate::words::{Config, ToolWords};

/// The kind: `adapter: step_functions`.
#[derive(Debug)]
pub struct StepFunctions;

/// What the words mean.
#[derive(Debug)]
pub struct Checked {
    config: Config,
    tools: BTreeMap<String, Tool>,
}

/// A tool's meaning.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    /// The ARN of its state machine.
    pub(crate) state_machine: String,
    pub(crate) input: Map<String, Value>,
    pub(crate) approvals: BTreeMap<String, ApprovalWords>,
    pub(crate) express: bool,
}

impl Tool {
    /// The ARN of the execution with this name: of its state machine, whatever version or alias started it.
    pub(crate) fn execution(&self, name: &str) -> String {
        let arn = self.state_machine.replacen(":stateMachine:", ":execution:", 1);
        let machine: Vec<&str> = arn.splitn(8, ':').take(7).collect();
        format!("{}:{name}", machine.join(":"))
    }
}

impl AdapterSpec for StepFunctions {
    const KIND: &'static str = "step_functions";
    type Config = Config;
    type Tool = ToolWords;
    type Checked = Checked;
    type Adapter = StepFunctionsAdapter;

    fn check(place: &Place, config: Config, tools: Vec<Named<ToolWords>>, issues: &mut Issues) -> Option<Checked> {
        check_provider(place, &config, issues);
        let mut meant = BTreeMap::new();
        for Named { name, place, words, .. } in tools {
            let state_machine = arn(&config, &words.state_machine, &place.key("state_machine"), issues);
            check_approvals(&words, &place, issues);
            let ToolWords { input, approvals, express, .. } = words;
            if let Some(state_machine) = state_machine {
                meant.insert(name, Tool { state_machine, input, approvals, express });
            }
        }
        Some(Checked { config, tools: meant })
    }

    fn reads_deliveries(_checked: &Checked) -> bool {
        true
    }

    fn explain(config: &Value, tool: &Value) -> Vec<String> {
        explain(config, tool)
    }

    fn build(checked: &Checked, deps: &Deps) -> Result<StepFunctionsAdapter, Issue> {
        let Config { region, endpoint, access_key_id, secret_access_key, session_token, profile, .. } = &checked.config;
        let read = |word: &str, reference: &SecretRef| {
            deps.secrets.read(reference).map_err(|error| Issue {
                place: deps.place.key(word),
                message: error.to_string(),
                hint: None,
            })
        };
        let optional = |word: &str, reference: &Option<SecretRef>| -> Result<Option<Secret>, Issue> {
            reference.as_ref().map(|reference| read(word, reference)).transpose()
        };
        let access = match (access_key_id, secret_access_key) {
            (Some(id), Some(key)) => Access::Key {
                id: read("access_key_id", id)?,
                key: read("secret_access_key", key)?,
                token: optional("session_token", session_token)?,
            },
            _ => Access::Usual { profile: profile.clone() },
        };
        let connection = Connection::new(region, endpoint.as_deref(), access, deps);
        Ok(StepFunctionsAdapter::new(connection, checked.tools.clone()))
    }
}

fn check_provider(place: &Place, config: &Config, issues: &mut Issues) {
    let plain =
        |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
    if !plain(&config.region) {
        issues.add_with_hint(place.key("region"), format!("`{}` is no region", config.region), "region: eu-west-1");
    }
    if let Some(account) = config.account.as_ref().filter(|it| it.len() != 12 || !it.bytes().all(|it| it.is_ascii_digit())) {
        let message = format!("`{account}` is no account, which is twelve digits in quotes");
        issues.add_with_hint(place.key("account"), message, "account: \"123456789012\"");
    }
    let an_address = |text: &str| Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if let Some(endpoint) = config.endpoint.as_ref().filter(|it| !an_address(it)) {
        let message = format!("`{endpoint}` is no http(s) address");
        issues.add_with_hint(place.key("endpoint"), message, "endpoint: http://127.0.0.1:5601");
    }
    match (&config.access_key_id, &config.secret_access_key) {
        (Some(_), None) => issues.add_with_hint(
            place.key("access_key_id"),
            "an id without its key is of no use",
            "secret_access_key: env:AWS_SECRET_ACCESS_KEY",
        ),
        (None, Some(_)) => {
            issues.add_with_hint(
                place.key("secret_access_key"),
                "a key without its id is of no use",
                "access_key_id: env:AWS_ACCESS_KEY_ID",
            );
        }
        (None, None) if config.session_token.is_some() => issues.add_with_hint(
            place.key("session_token"),
            "a token belongs to an id and a key",
            "access_key_id: env:AWS_ACCESS_KEY_ID",
        ),
        (Some(_), Some(_)) if config.profile.is_some() => {
            issues.add(place.key("profile"), "`access_key_id` says already who calls; one of the two is too many");
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
}

/// The ARN that a tool's word means.
fn arn(config: &Config, word: &str, place: &Place, issues: &mut Issues) -> Option<String> {
    const EXAMPLE: &str = "state_machine: arn:aws:states:eu-west-1:123456789012:stateMachine:deploy";
    if word.starts_with("arn:") {
        let steps: Vec<&str> = word.split(':').collect();
        let right = steps.len() >= 7
            && steps[2] == "states"
            && steps[5] == "stateMachine"
            && steps.iter().skip(3).all(|it| !it.is_empty());
        if !right {
            issues.add_with_hint(place.clone(), format!("`{word}` is not the ARN of a state machine"), EXAMPLE);
            return None;
        }
        if steps[3] != config.region {
            let message = format!("the state machine is in {}, and the provider in {}", steps[3], config.region);
            issues.add_with_hint(place.clone(), message, format!("region: {}", steps[3]));
            return None;
        }
        return Some(word.to_owned());
    }
    // The characters that AWS allows in a name, fewer than it tolerates.
    let plain =
        |text: &str| text.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.' | b'+' | b'!' | b'@'));
    if word.is_empty() || word.len() > 80 || !plain(word) {
        issues.add_with_hint(place.clone(), format!("`{word}` is no name of a state machine"), "state_machine: deploy");
        return None;
    }
    let Some(account) = &config.account else {
        let message = "a state machine is named by its ARN where the provider names no `account`";
        issues.add_with_hint(place.clone(), message, EXAMPLE);
        return None;
    };
    let partition = match config.region.get(..3) {
        Some("cn-") => "aws-cn",
        _ if config.region.starts_with("us-gov-") => "aws-us-gov",
        _ => "aws",
    };
    Some(format!("arn:{partition}:states:{}:{account}:stateMachine:{word}", config.region))
}

fn check_approvals(words: &ToolWords, place: &Place, issues: &mut Issues) {
    if words.express && !words.approvals.is_empty() {
        issues.add(place.key("approvals"), "an express state machine cannot wait for a person");
    }
    for (state, approval) in &words.approvals {
        let place = place.key("approvals").key(state);
        let a_form = |form: &Map<String, Value>| form.get("type").and_then(Value::as_str) == Some("object");
        if approval.form.as_ref().is_some_and(|form| !a_form(form)) {
            let hint = "form: { type: object, properties: { approved: { type: boolean } } }";
            issues.add_with_hint(place.key("form"), "a form is a JSON Schema of type `object`", hint);
        }
        if approval.decline.error.is_empty() {
            issues.add_with_hint(place.key("decline").key("error"), "the error has no name", "error: Rejected");
        }
    }
}
