//! A scheme: made from a name and a few words, immutable, and the only thing that decides how a request is verified.

use crate::config::{Problem, SchemeConfig, short, unknown};
use crate::custom;
use crate::jwt::Pushed;
use crate::messages::Policy;
use crate::presets;
use crate::refusal::Refusal;
use crate::request::{Request, Window};
use crate::secret::{KeyForm, Secrets};
use crate::sns::Topic;
use crate::table::Table;
use crate::verified::{Binds, Verified};
use crate::{basic, cloudevents, token, twilio};

/// Every scheme, in the order of the documentation.
pub const NAMES: [&str; 35] = [
    "standard_webhooks",
    "svix",
    "openai",
    "replicate",
    "anthropic",
    "gemini",
    "gitlab",
    "gitlab_token",
    "github",
    "bitbucket",
    "stripe",
    "slack",
    "shopify",
    "twilio",
    "circleci",
    "buildkite",
    "mux",
    "elevenlabs",
    "zoom",
    "meta",
    "cloudinary",
    "fal",
    "synthesia",
    "bfl",
    "heygen",
    "heygen_legacy",
    "discord",
    "aws_sns",
    "google_pubsub",
    "cloudevents",
    "rfc9421",
    "basic",
    "static_token",
    "hmac",
    "ed25519",
];

/// The longest tolerance, in seconds: a captured delivery can be sent again for that long.
const MAX_TOLERANCE: u32 = 7200;

/// What a route verifies with, beside the words of its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// A secret that both sides know, or a public key that is said like one.
    Secret,
    /// A secret or public key, or a set of keys.
    SecretOrKeySet,
    /// A set of keys, and no secret.
    KeySet,
    /// A certificate that a delivery names, and no secret.
    Certificate,
}

/// How the deliveries of a route are verified.
#[derive(Clone, Debug)]
pub struct Scheme {
    name: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Table(Box<Table>),
    Twilio,
    Sns(Topic),
    PubSub(Pushed),
    Messages(Policy),
    Basic,
    Token(token::Place),
    CloudEvents(cloudevents::Consent),
}

impl Scheme {
    /// A scheme that needs nothing but its name.
    ///
    /// # Errors
    /// An unknown name, or a scheme that needs more words.
    pub fn named(name: &str) -> Result<Self, Vec<Problem>> {
        Self::from_config(&SchemeConfig::named(name))
    }

    /// Words become a scheme, or all that is wrong with them.
    ///
    /// # Errors
    /// Words that are unknown, missing, not for this scheme, or unsafe together.
    pub fn from_config(config: &SchemeConfig) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let kind = kind(config, &mut problems);
        if let Some((_, allowed)) = &kind {
            for word in config.given().into_iter().filter(|word| !allowed.contains(word)) {
                let message = format!("`{}` does not take this word", config.scheme);
                problems.push(Problem::new(word, message, format!("leave `{word}` out")));
            }
        }
        if let Some(tolerance) = config.tolerance.filter(|tolerance| !(1..=MAX_TOLERANCE).contains(tolerance)) {
            let message = format!("{tolerance} s: a captured delivery could be sent again for that long; 1 to {MAX_TOLERANCE}");
            problems.push(Problem::new("tolerance", message, "tolerance: 300"));
        }
        match kind {
            Some((kind, _)) if problems.is_empty() => Ok(Self { name: config.scheme.clone(), kind }),
            Some(_) | None => Err(problems),
        }
    }

    /// The scheme's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its signature protects; a scheme that does not bind body and time gives hints, no data.
    #[must_use]
    pub fn binds(&self) -> Binds {
        match &self.kind {
            Kind::Table(table) => table.binds(),
            Kind::Twilio => Binds { body: true, time: false },
            Kind::Sns(_) => Binds { body: true, time: true },
            Kind::PubSub(_) => Binds { body: false, time: true },
            Kind::Messages(policy) => policy.binds(),
            Kind::Basic | Kind::Token(_) | Kind::CloudEvents(_) => Binds { body: false, time: false },
        }
    }

    /// What a route of this scheme verifies with.
    #[must_use]
    pub fn verifies_with(&self) -> Keys {
        match self.key_form() {
            KeyForm::Text { .. }
            | KeyForm::Standard { .. }
            | KeyForm::Encoded { .. }
            | KeyForm::UserPassword
            | KeyForm::Token => Keys::Secret,
            KeyForm::Public | KeyForm::KeySetOrMac => Keys::SecretOrKeySet,
            KeyForm::KeySet if matches!(self.kind, Kind::Sns(_)) => Keys::Certificate,
            KeyForm::KeySet => Keys::KeySet,
        }
    }

    /// Where the provider publishes its keys, where it does so for everybody at one address.
    #[must_use]
    pub fn key_set_url(&self) -> Option<&'static str> {
        match self.name.as_str() {
            // https://docs.fal.ai, "Webhooks": the keys of all users.
            "fal" => Some("https://rest.alpha.fal.ai/.well-known/jwks.json"),
            // https://accounts.google.com/.well-known/openid-configuration, `jwks_uri`.
            "google_pubsub" => Some("https://www.googleapis.com/oauth2/v3/certs"),
            _ => None,
        }
    }

    /// Whether the address that the sender knows is part of what is signed: then the receiver has to be told of it.
    #[must_use]
    pub const fn signs_address(&self) -> bool {
        matches!(self.kind, Kind::Twilio | Kind::Messages(_))
    }

    /// How many seconds after its signed moment a delivery is still taken; nothing where no moment is signed, or where it is the token of
    /// the sender that says when it ends.
    #[must_use]
    pub fn tolerance(&self) -> Option<u32> {
        match &self.kind {
            Kind::Table(table) => table.time.as_ref().map(|time| time.window.past),
            Kind::Sns(topic) => Some(topic.window.past),
            Kind::Messages(policy) => Some(policy.window.past),
            Kind::Twilio | Kind::PubSub(_) | Kind::Basic | Kind::Token(_) | Kind::CloudEvents(_) => None,
        }
    }

    pub(crate) fn key_form(&self) -> KeyForm {
        match &self.kind {
            Kind::Table(table) => table.key.clone(),
            Kind::Twilio => KeyForm::Text { prefix: None },
            Kind::Sns(_) | Kind::PubSub(_) => KeyForm::KeySet,
            Kind::Messages(_) => KeyForm::KeySetOrMac,
            Kind::Basic => KeyForm::UserPassword,
            Kind::Token(_) | Kind::CloudEvents(_) => KeyForm::Token,
        }
    }

    pub(crate) fn verify<'a>(&self, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
        match &self.kind {
            Kind::Table(table) => table.verify(secrets, request, now),
            Kind::Twilio => twilio::verify(secrets, request, now),
            Kind::Sns(topic) => topic.verify(secrets, request, now),
            Kind::PubSub(pushed) => pushed.verify(secrets, request, now),
            Kind::Messages(policy) => policy.verify(secrets, request, now),
            Kind::Basic => basic::verify(secrets, request, now),
            Kind::Token(place) => place.verify(secrets, request, now),
            Kind::CloudEvents(consent) => consent.verify(secrets, request, now),
        }
    }
}

/// The kind of a name, and the words that it takes.
fn kind(config: &SchemeConfig, problems: &mut Vec<Problem>) -> Option<(Kind, &'static [&'static str])> {
    let window = config.tolerance.map(Window::both);
    let name = config.scheme.as_str();
    let mut need = |word: &'static str, value: &Option<String>, why: &str, example: &str| {
        let value = value.clone().filter(|value| !value.is_empty());
        if value.is_none() {
            problems.push(Problem::new(word, why, example));
        }
        value.unwrap_or_default()
    };
    Some(match name {
        "hmac" | "ed25519" => (Kind::Table(Box::new(custom::table(config, problems))), custom::WORDS),
        "fal" => {
            let why = "the keys are the same for all users of fal, so anybody there could sign for you";
            let user = need("user_id", &config.user_id, why, "user_id: github|123456");
            if !custom::prefixes(&user) || user.ends_with(' ') {
                problems.push(Problem::new("user_id", custom::UNPRINTABLE, "user_id: github|123456"));
            }
            (Kind::Table(Box::new(timed(presets::fal(&user), window))), &["user_id", "tolerance"])
        }
        "cloudinary" => {
            let table = timed(presets::cloudinary(config.allow_sha1), window);
            (Kind::Table(Box::new(table)), &["allow_sha1", "tolerance"])
        }
        "twilio" => (Kind::Twilio, &[]),
        "aws_sns" => {
            let why = "anybody with an account there can send you validly signed messages of a topic of their own";
            let arn = need("topic_arn", &config.topic_arn, why, "topic_arn: arn:aws:sns:eu-central-1:123456789012:jobs");
            (Kind::Sns(Topic::new(arn, config.allow_sha1, window)), &["topic_arn", "allow_sha1", "tolerance"])
        }
        "google_pubsub" => {
            let why = "the audience that the subscription was made with";
            let audience = need("audience", &config.audience, why, "audience: https://gateway.example.com/hooks/jobs");
            let why = "any Google account can get a signed token; say which one pushes";
            let email = need("email", &config.email, why, "email: pusher@project.iam.gserviceaccount.com");
            (Kind::PubSub(Pushed::new(audience, email, config.key_id.clone())), &["audience", "email", "key_id"])
        }
        "rfc9421" => (Kind::Messages(Policy::new(config, window, problems)), &["label", "components", "key_id", "tolerance"]),
        "basic" => (Kind::Basic, &[]),
        "static_token" => {
            let why = "which header carries the token";
            let header = need("header", &config.header, why, "header: X-Webhook-Secret");
            let prefix = config.prefix.clone().unwrap_or_default();
            if !header.is_empty() {
                custom::header_name("header", Some(&header), problems);
            }
            if !custom::prefixes(&prefix) {
                problems.push(Problem::new("prefix", custom::UNPRINTABLE, "prefix: 'Bearer '"));
            }
            (Kind::Token(token::Place { header, prefix }), &["header", "prefix"])
        }
        "gitlab_token" => (Kind::Token(token::Place { header: "X-Gitlab-Token".to_owned(), prefix: String::new() }), &[]),
        "cloudevents" => {
            let consent = cloudevents::Consent { origins: config.origins.clone(), rate: config.rate };
            (Kind::CloudEvents(consent), &["origins", "rate"])
        }
        _ => match presets::table(name) {
            Some(table) if table.time.is_some() => (Kind::Table(Box::new(timed(table, window))), &["tolerance"]),
            Some(table) => (Kind::Table(Box::new(table)), &[]),
            None => {
                problems.push(unknown(&short(name)));
                return None;
            }
        },
    })
}

/// The table with another window.
fn timed(mut table: Table, window: Option<Window>) -> Table {
    if let (Some(time), Some(window)) = (&mut table.time, window) {
        time.window = window;
    }
    table
}
