//! The exchanges of a run: shown as they happen, and kept for a recorder.

use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use jobgate_adapter_api::{Exchanged, Tap};

use super::mask::Mask;
use crate::cli::out::note;

/// Of a body, this much is shown.
const MOST_SHOWN: usize = 2000;

/// Sees what a transport sends and receives.
#[derive(Debug)]
pub(super) struct Watch {
    mask: Arc<Mask>,
    kept: Mutex<Vec<Exchanged>>,
}

impl Watch {
    pub(super) fn new(mask: Arc<Mask>) -> Self {
        Self { mask, kept: Mutex::default() }
    }

    /// All of them so far.
    pub(super) fn exchanges(&self) -> Vec<Exchanged> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn show(&self, exchange: &Exchanged) {
        let mut text = format!("\n> {}: {} {}", exchange.operation, exchange.method, self.mask.clean(&exchange.uri.to_string()));
        self.add(&mut text, &exchange.headers, &exchange.body);
        match &exchange.answer {
            Ok((status, headers, body)) => {
                text.push_str(&format!("\n< {status}"));
                self.add(&mut text, headers, body);
            }
            Err(reason) => text.push_str(&format!("\n< no answer: {reason}")),
        }
        note(text);
    }

    fn add(&self, text: &mut String, headers: &HeaderMap, body: &[u8]) {
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            text.push_str(&format!("\n    {name}: {}", self.mask.clean_header(name.as_str(), &value)));
        }
        if body.is_empty() {
            return;
        }
        let Ok(body) = std::str::from_utf8(body) else {
            text.push_str(&format!("\n    ({} bytes that are no text)", body.len()));
            return;
        };
        // Cleaned before it is cut: half a secret is none that could be found.
        let body = self.mask.clean(body);
        let shown: String = body.chars().filter(|sign| !sign.is_control() || *sign == '\n').take(MOST_SHOWN).collect();
        let cut = if shown.len() < body.len() { format!(" ... ({} bytes in all)", body.len()) } else { String::new() };
        text.push_str(&format!("\n    {}{cut}", shown.replace('\n', "\n    ")));
    }
}

impl Tap for Watch {
    fn seen(&self, exchange: Exchanged) {
        self.mask.learn_from(&exchange);
        self.show(&exchange);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
    }
}
