//! The gateway's own tools, for clients without tasks: what they and their tickets look like. Written for models, which choose by it.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::domain::OWN_TOOLS;

/// The longest that one call of `job_wait` blocks, in seconds: common clients give up on a call after 60.
pub(crate) const LONGEST_WAIT: u64 = 45;

/// One of the gateway's own tools.
#[derive(Debug)]
pub(super) struct OwnTool {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) input_schema: Value,
    pub(super) annotations: Value,
}

/// Which of them a call means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// `job_wait`.
    Wait,
    /// `job_result`.
    Result,
    /// `job_cancel`.
    Cancel,
}

impl Verb {
    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let [wait, result, cancel] = OWN_TOOLS;
        [(wait, Self::Wait), (result, Self::Result), (cancel, Self::Cancel)]
            .into_iter()
            .find_map(|(own, verb)| (own == name).then_some(verb))
    }
}

/// All of them, in the order in which they are listed.
pub(super) fn all() -> &'static [OwnTool] {
    static ALL: LazyLock<[OwnTool; 3]> = LazyLock::new(|| {
        let [wait, result, cancel] = OWN_TOOLS;
        let ticket = json!({ "type": "string", "description": "The `ticket` that the tool gave instead of its result." });
        let input = |properties: Value| json!({ "type": "object", "properties": properties, "required": ["ticket"], "additionalProperties": false });
        [
            OwnTool {
                name: wait,
                title: "Wait for a job",
                description: "Waits for a job whose tool gave a ticket instead of a result. Once the job has ended this gives the \
                              very result of that tool; until then it gives the ticket again, with how far the job is: then call \
                              job_wait again. Do not call the other tool again meanwhile, which could start a second job.",
                input_schema: input(json!({
                    "ticket": ticket,
                    "wait_seconds": {
                        "type": "number",
                        "minimum": 0,
                        "description": "How long to wait at most, in seconds; more than 45 counts as 45. Default: 45.",
                    },
                })),
                annotations: json!({ "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false }),
            },
            OwnTool {
                name: result,
                title: "Look at a job",
                description: "Gives the result of a job by its ticket, without waiting: the very result of the tool that started \
                              it or, while the job runs, the ticket with how far it is. To wait for the end use job_wait. A result \
                              can be read as often as needed until it expires.",
                input_schema: input(json!({ "ticket": ticket })),
                annotations: json!({ "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false }),
            },
            OwnTool {
                name: cancel,
                title: "Cancel a job",
                description: "Asks for a running job to be stopped, by its ticket, and says what became of that: cancelled, \
                              requested, too late, or not possible. Use it only when the person no longer wants the job.",
                input_schema: input(json!({ "ticket": ticket })),
                annotations: json!({ "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": true }),
            },
        ]
    });
    &*ALL
}

/// What a ticket's structured content looks like (JSON Schema 2020-12).
pub(super) fn ticket_schema() -> Value {
    json!({
        "type": "object",
        "description": "A ticket: the job has not ended. Redeem it with the tool job_wait or job_result.",
        "properties": {
            "ticket": { "type": "string" },
            "status": { "enum": ["working", "input_required"] },
            "poll_after_ms": { "type": "integer", "minimum": 0 },
            "message": { "type": "string" },
            "questions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "message": { "type": "string" }, "url": { "type": "string" } },
                    "required": ["message"],
                },
            },
        },
        "required": ["ticket", "status", "poll_after_ms"],
    })
}
