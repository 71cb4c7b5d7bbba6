//! Making a provider's sentence fit for a caller: no secrets, no addresses, no tokens, no control characters, not long.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use crate::Secret;
use regex::Regex;
use serde_json::Value;

/// Characters of an error's sentence: what [`Cleaner::sentence`] is usually cut to.
pub const ERROR_CHARS: usize = 300;
/// Characters of a status message.
pub const MESSAGE_CHARS: usize = 200;

/// Addresses with a scheme, with or without credentials in them.
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>)\]]+"#).expect("the pattern is constant"));
/// What looks like a key or token: 20 or more characters without a space.
static LONG: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9_\-+/=.]{20,}").expect("the pattern is constant"));

/// Secrets that are remembered of those that appear while the gateway runs: tokens, cookies, signatures. The oldest have ended long since.
const LEARNED: usize = 64;

/// Knows the secrets of one provider, in every form in which they are sent.
#[derive(Clone, Debug, Default)]
pub struct Cleaner {
    secrets: Vec<Secret>,
    /// Shared by all clones.
    learned: Arc<RwLock<VecDeque<Secret>>>,
}

impl Cleaner {
    /// Knows these secrets.
    #[must_use]
    pub fn new(secrets: Vec<Secret>) -> Self {
        let secrets = secrets.into_iter().filter(|secret| !secret.expose().is_empty()).collect();
        Self { secrets, learned: Arc::default() }
    }

    /// Knows one more secret from now on.
    pub fn learn(&self, secret: Secret) {
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        if secret.expose().is_empty() || learned.contains(&secret) {
            return;
        }
        if learned.len() == LEARNED {
            learned.pop_front();
        }
        learned.push_back(secret);
    }

    /// Knows the secrets of one task as well: the address of its deliveries, as whoever has it can make one, and `others`.
    #[must_use]
    pub fn with_task(&self, url: Option<&str>, others: Vec<Secret>) -> Cow<'_, Self> {
        let url = url.filter(|url| !url.is_empty());
        if url.is_none() && others.is_empty() {
            return Cow::Borrowed(self);
        }
        let token = url.and_then(|url| url.rsplit('/').next()).filter(|token| !token.is_empty());
        let of_url = [url, token].into_iter().flatten().map(|text| Secret::new(text.to_owned()));
        let known = self.secrets.iter().cloned();
        let secrets = of_url.chain(others).chain(known).filter(|secret| !secret.expose().is_empty()).collect();
        Cow::Owned(Self { secrets, learned: Arc::clone(&self.learned) })
    }

    /// The text without secrets, and otherwise as it is: for results, which may hold addresses and long words.
    #[must_use]
    pub fn redact(&self, text: String) -> String {
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        let without = |text: String, secret: &Secret| {
            if text.contains(secret.expose()) { text.replace(secret.expose(), "***") } else { text }
        };
        self.secrets.iter().chain(learned.iter()).fold(text, without)
    }

    /// The same for every text and name in a JSON value.
    #[must_use]
    pub fn redact_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact(text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_json(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, field)| (self.redact(name), self.redact_json(field))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    /// The sentence, cleaned and cut to `most` characters; `None` when nothing is left of it.
    #[must_use]
    pub fn sentence(&self, text: &str, most: usize) -> Option<String> {
        let text = self.redact(text.to_owned());
        let text = ADDRESS.replace_all(&text, "(address)");
        let text = LONG.replace_all(&text, |found: &regex::Captures<'_>| {
            let word = &found[0];
            // A long word of letters is a word; with digits in it, it may be a key.
            if word.chars().any(|c| c.is_ascii_digit()) { "(token)".to_owned() } else { word.to_owned() }
        });
        let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let line = words.join(" ");
        match line.char_indices().nth(most.saturating_sub(1)) {
            _ if line.is_empty() => None,
            Some((cut, _)) if line.chars().count() > most => Some(format!("{}…", line.get(..cut).unwrap_or_default())),
            _ => Some(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_loses_what_a_caller_must_not_see() {
        let cleaner = Cleaner::new(vec![Secret::new("hunter2".to_owned())]);
        for (given, wanted) in [
            ("the disk is full", "the disk is full"),
            ("see https://user:pw@ci.internal:8443/x?y=1 for more", "see (address) for more"),
            ("key sk-live-4eC39HqLyjWDarjtT1zdp7dc is wrong", "key (token) is wrong"),
            ("token hunter2 was refused", "token *** was refused"),
            ("line one\r\n\tline\u{7} two", "line one line two"),
            ("Incomprehensibilities are plain words", "Incomprehensibilities are plain words"),
        ] {
            assert_eq!(cleaner.sentence(given, 300).as_deref(), Some(wanted));
        }
        assert_eq!(cleaner.sentence(" \n ", 300), None);
        assert_eq!(cleaner.sentence(&"ä ".repeat(400), 10).map(|text| text.chars().count()), Some(10));
    }

    proptest::proptest! {
        /// Whatever a provider says around it, the secret does not come through, and the length holds.
        #[test]
        fn no_text_carries_the_secret_through(before in ".{0,400}", after in ".{0,40}", most in 1_usize..300) {
            let cleaner = Cleaner::new(vec![Secret::new("hunter2".to_owned())]);
            let cleaned = cleaner.sentence(&format!("{before}hunter2{after}"), most).unwrap_or_default();
            proptest::prop_assert!(!cleaned.contains("hunter2"));
            proptest::prop_assert!(cleaned.chars().count() <= most);
        }
    }
}
