//! What has to be known before a submit or a find: asked for once, and remembered as long as its words say.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jobgate_adapter_api::{AdapterError, CallContext, ErrorKind, Operation, Timestamp};
use minijinja::value::Value as Dynamic;
use sha2::{Digest as _, Sha256};

use crate::exchange::Exchange;
use crate::language::Context;
use crate::plan::StepPlan;

/// Answers that are remembered.
const MOST: usize = 1000;

/// What earlier lookups gave. Only good answers are in it: it holds nothing of a job, and a gateway that starts anew asks again.
#[derive(Default)]
pub(crate) struct Remembered(Mutex<HashMap<Name, Entry>>);

/// A hash over the tool, the lookup and all that it would send: what is sent may be a large file.
type Name = [u8; 32];

struct Entry {
    value: Dynamic,
    until: Timestamp,
}

/// What the lookups of one call came to.
#[derive(Debug)]
pub(crate) struct Looked {
    /// Under which names what they gave is remembered.
    used: Vec<Name>,
    /// The time that is left for the call itself.
    pub(crate) timeout: Duration,
}

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Remembered")
    }
}

impl Remembered {
    fn entries(&self) -> MutexGuard<'_, HashMap<Name, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, name: &Name, now: Timestamp) -> Option<Dynamic> {
        self.entries().get(name).filter(|entry| entry.until > now).map(|entry| entry.value.clone())
    }

    fn put(&self, name: Name, value: Dynamic, until: Timestamp, now: Timestamp) {
        let mut entries = self.entries();
        if entries.len() >= MOST {
            entries.retain(|_, entry| entry.until > now);
        }
        if entries.len() >= MOST
            && let Some(first) = entries.iter().min_by_key(|(_, entry)| entry.until).map(|(name, _)| *name)
        {
            entries.remove(&first);
        }
        entries.insert(name, Entry { value, until });
    }
}

impl Exchange {
    /// Makes lookups of a tool; `context` then knows `steps`. They have half the time of a call.
    pub(crate) async fn look_up(
        &self,
        operation: Operation,
        cx: &CallContext,
        lookups: &[StepPlan],
        context: &mut Context,
    ) -> Result<Looked, AdapterError> {
        let all = self.left(cx.timeout);
        let mut used = Vec::new();
        let left = self.left(cx.timeout / 2);
        for step in lookups {
            let name = step.cache.map(|_| self.name_of(operation, cx, step, context)).transpose()?.flatten();
            let known = name.as_ref().and_then(|name| self.remembered.get(name, self.clock.now()));
            let value = match known {
                Some(value) => Some(value),
                None => self.step(operation, left, step, context).await.map_err(|error| harmless(operation, error))?,
            };
            let Some(value) = value else { continue };
            context.add_step(&step.name, value.clone());
            if let (Some(name), Some(cache)) = (name, step.cache) {
                let now = self.clock.now();
                if self.remembered.get(&name, now).is_none() {
                    self.remembered.put(name, value, now.plus(cache), now);
                }
                used.push(name);
            }
        }
        Ok(Looked { used, timeout: self.of(all) })
    }

    /// Forgets what led to a submit that the provider does not understand: what was looked up may exist no longer.
    pub(crate) fn doubt(&self, looked: &Looked, error: &AdapterError) {
        if matches!(error.status(), Some(404 | 422)) {
            let mut entries = self.remembered.entries();
            looked.used.iter().for_each(|name| drop(entries.remove(name)));
        }
    }

    /// Under which name the answer is remembered: the tool's, and the request as it would be sent. `None` where it is not made.
    fn name_of(
        &self,
        operation: Operation,
        cx: &CallContext,
        step: &StepPlan,
        context: &Context,
    ) -> Result<Option<Name>, AdapterError> {
        let repeated = self.repeat(operation, &step.repeat, context)?;
        if repeated.contexts.is_empty() {
            return Ok(None);
        }
        let mut name = Sha256::new();
        name.update(format!("{}\n{}", cx.tool, step.name));
        for context in &repeated.contexts {
            let request = self.rendered(&step.request, context);
            let request = request.map_err(|message| AdapterError::new(ErrorKind::Rejected, operation, message))?;
            name.update(format!("\n{} {} {:?} {:?}", request.method(), request.uri(), request.headers(), request.body()));
        }
        Ok(Some(name.finalize().into()))
    }
}

/// The error of a lookup. Before a submit nothing was started, whatever became of it.
fn harmless(operation: Operation, error: AdapterError) -> AdapterError {
    let unknown = matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Protocol);
    if operation != Operation::Submit || !unknown {
        return error;
    }
    let harmless = AdapterError::new(ErrorKind::Unavailable, operation, error.message()).with_retry(error.retry());
    match error.status() {
        Some(status) => harmless.with_status(status),
        None => harmless,
    }
}
