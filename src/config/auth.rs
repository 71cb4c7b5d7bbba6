//! The words of `auth` and what they mean: who may call, told by static tokens of which only hashes are written down.

use std::sync::Arc;

use jobgate_adapter_api::{Issues, Place};
use schemars::JsonSchema;
use serde::Deserialize;

use super::structure::choice;
use crate::domain::{Caller, Principal, Timestamp, TokenHash, ToolGrant};

/// The longest name of a principal or a tenant.
const LONGEST_NAME: usize = 128;

/// Who may call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "CallerAuth", extend("examples" = ["none"]))]
pub(super) enum AuthWords {
    Word(AuthWord),
    Tokens(TokensWords),
}

/// Who may call without being known.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "NoAuth")]
pub(super) enum AuthWord {
    /// Everyone who reaches the gateway: over stdio, or over HTTP from this machine alone.
    None,
}

/// Callers over HTTP name themselves by a token in `Authorization: Bearer`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tokens")]
pub(super) struct TokensWords {
    /// The tokens that are valid. `jobgate token new` makes one and prints its entry.
    #[schemars(length(min = 1), extend("examples" = [[{"hash": EXAMPLE_HASH, "principal": "ci-bot"}]]))]
    pub(super) tokens: Vec<TokenWords>,
}

/// One token, and who holds it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Token", extend("examples" = [{"hash": EXAMPLE_HASH, "principal": "ci-bot"}]))]
pub(super) struct TokenWords {
    /// SHA-256 of the token; never the token itself. `jobgate token new` prints both.
    #[schemars(extend("examples" = [EXAMPLE_HASH]))]
    pub(super) hash: HashWord,
    /// Who calls with it; owns the tasks. Several tokens may have one principal: the old and the new one while they are changed.
    #[schemars(extend("examples" = ["ci-bot"]))]
    pub(super) principal: String,
    /// What the principal belongs to. Default: default.
    #[schemars(extend("examples" = ["acme"]))]
    pub(super) tenant: Option<String>,
    /// The tools that it may use; a name that ends in `*` stands for all that begin so. Default: all.
    #[schemars(length(min = 1), extend("examples" = [["render_video", "deploy_*"]]))]
    pub(super) tools: Option<Vec<String>>,
    /// Sees and acts on the tasks of its whole tenant. Default: false.
    pub(super) admin: Option<bool>,
    /// From when on it is refused. Its tasks go on. Default: never.
    #[schemars(extend("examples" = ["2027-01-31T00:00:00Z"]))]
    pub(super) expires: Option<String>,
}

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "TokenHash", extend("examples" = [EXAMPLE_HASH]))]
pub(super) struct HashWord(String);

const EXAMPLE_HASH: &str = "sha256:7052ad187969060f6281826dcb2c34cfd5b180b29aacc08596e3a6228ebc003d";

/// Who may call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// Everyone who reaches the gateway (requirement I2).
    #[default]
    None,
    /// Who holds one of these.
    Tokens(Vec<TokenSettings>),
}

/// One token, as it may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// SHA-256 of the token.
    pub hash: TokenHash,
    /// Who holds it.
    pub caller: Caller,
    /// When it ends.
    pub expires: Option<Timestamp>,
    /// Where it stands, for people.
    pub place: Place,
}

impl Auth {
    /// Whether callers over HTTP have to be known.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        matches!(self, Self::Tokens(_))
    }

    /// A sentence for each token that is not valid any more. Not a problem of the configuration: a gateway has to start again on the
    /// day after one of its tokens has ended.
    #[must_use]
    pub fn expired(&self, now: Timestamp) -> Vec<String> {
        let Self::Tokens(tokens) = self else { return Vec::new() };
        let sentence = |token: &TokenSettings| {
            let at = token.expires.filter(|at| *at <= now)?;
            let whose = &token.caller.principal;
            Some(format!("{}: the token of {whose} has expired on {at}; make another with `jobgate token new`", token.place))
        };
        tokens.iter().filter_map(sentence).collect()
    }

    pub(super) fn from_words(words: AuthWords, tools: &[String], place: &Place, issues: &mut Issues) -> Self {
        let words = match words {
            AuthWords::Word(AuthWord::None) => return Self::None,
            AuthWords::Tokens(words) => words.tokens,
        };
        let place = place.key("tokens");
        let mut tokens: Vec<TokenSettings> = Vec::with_capacity(words.len());
        for (nth, words) in words.into_iter().enumerate() {
            let Some(token) = token(words, tools, &place.index(nth), issues) else { continue };
            if let Some(other) = tokens.iter().find(|other| other.hash == token.hash) {
                let hint = "each token has one entry; make another token with `jobgate token new`";
                issues.add_with_hint(token.place.key("hash"), format!("is the token of {}, too", other.place), hint);
            }
            tokens.push(token);
        }
        Self::Tokens(tokens)
    }
}

/// A word that stands where `none` or the tokens belong.
pub(super) fn wrong_word(place: &Place, issues: &mut Issues) {
    let hint = format!(
        "write `auth: none`, or `auth: {{ tokens: [{{ hash: {EXAMPLE_HASH}, principal: ci-bot }}] }}`; `jobgate token new` prints an entry"
    );
    issues.add_with_hint(place.clone(), "is neither `none` nor a mapping with `tokens`", hint);
}

fn token(words: TokenWords, tools: &[String], place: &Place, issues: &mut Issues) -> Option<TokenSettings> {
    let hash = hash(&words.hash.0, &place.key("hash"), issues);
    let tenant = words.tenant.unwrap_or_else(|| "default".to_owned());
    name(&words.principal, &place.key("principal"), issues);
    name(&tenant, &place.key("tenant"), issues);
    let tools = words.tools.map_or(ToolGrant::All, |names| grant(names, tools, &place.key("tools"), issues));
    let expires = words.expires.and_then(|text| moment(&text, &place.key("expires"), issues));
    let caller = Caller { principal: Principal::new(tenant, words.principal), tools, admin: words.admin.unwrap_or(false) };
    Some(TokenSettings { hash: hash?, caller, expires, place: place.clone() })
}

/// What is no hash may be the token itself: it is not repeated.
fn hash(text: &str, place: &Place, issues: &mut Issues) -> Option<TokenHash> {
    let hash = text.parse::<TokenHash>();
    if let Err(error) = hash {
        let hint = format!("`jobgate token new` makes a token and prints its entry, for example `hash: {EXAMPLE_HASH}`");
        issues.add_with_hint(place.clone(), error.to_string(), hint);
    }
    hash.ok()
}

fn name(text: &str, place: &Place, issues: &mut Issues) {
    if let Err(hint) = check_name(text) {
        issues.add_with_hint(place.clone(), "is no name", hint);
    }
}

/// Whether a text can name a principal or a tenant.
///
/// # Errors
/// What would be right.
pub fn check_name(text: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@' | b'+');
    if (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(fits) {
        return Ok(());
    }
    Err(format!("1 to {LONGEST_NAME} letters, digits and `.`, `_`, `-`, `@`, `+`, for example `ci-bot`"))
}

fn grant(names: Vec<String>, tools: &[String], place: &Place, issues: &mut Issues) -> ToolGrant {
    for (nth, name) in names.iter().enumerate() {
        let place = place.index(nth);
        let beginning = name.strip_suffix('*');
        if beginning.unwrap_or(name).contains('*') {
            let hint = "a `*` stands at the end alone, for example `deploy_*`";
            issues.add_with_hint(place, format!("`{}` is no name of a tool", name.escape_debug()), hint);
        } else if !tools.iter().any(|tool| beginning.map_or(tool == name, |beginning| tool.starts_with(beginning))) {
            let message = match beginning {
                Some(beginning) => format!("there is no tool that begins with `{}`", beginning.escape_debug()),
                None => format!("there is no tool `{}`", name.escape_debug()),
            };
            issues.add_with_hint(place, message, choice(name, tools, "tools").unwrap_or_default());
        }
    }
    ToolGrant::Named(Arc::from(names))
}

pub(super) fn moment(text: &str, place: &Place, issues: &mut Issues) -> Option<Timestamp> {
    let moment = text.parse().ok();
    if moment.is_none() {
        let hint = "date, time and zone (RFC 3339), for example `2027-01-31T00:00:00Z`";
        issues.add_with_hint(place.clone(), format!("`{}` is no moment", text.escape_debug()), hint);
    }
    moment
}
