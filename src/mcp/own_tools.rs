//! The gateway's own tools, for clients without tasks: what they and their tickets look like. Written for models, which choose by it.

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::schema::{Schema, describe};
use crate::domain::OWN_TOOLS;

/// The longest that one call of `job_wait` blocks, in seconds: common clients give up on a call after 60.
const LONGEST_WAIT: u64 = 45;

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
pub(crate) enum Own {
    /// `job_wait`.
    Wait,
    /// `job_result`.
    Result,
    /// `job_cancel`.
    Cancel,
}

/// What a call of one of them asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redeemed {
    /// The ticket, as it came.
    pub(crate) ticket: String,
    /// How long to wait at most.
    pub(crate) wait: Duration,
}

impl Own {
    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let [wait, result, cancel] = OWN_TOOLS;
        [(wait, Self::Wait), (result, Self::Result), (cancel, Self::Cancel)]
            .into_iter()
            .find_map(|(own, which)| (own == name).then_some(which))
    }

    const fn index(self) -> usize {
        match self {
            Self::Wait => 0,
            Self::Result => 1,
            Self::Cancel => 2,
        }
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// A sentence for the model: the place, what was sent, what is wanted.
    pub(crate) fn read(self, arguments: &Value) -> Result<Redeemed, String> {
        static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
            let compile = |tool: &OwnTool| Schema::compile(&tool.input_schema).expect("a test compiles these schemas");
            all().iter().map(compile).collect()
        });
        let problems = SCHEMAS[self.index()].problems(arguments);
        let Some(ticket) = arguments["ticket"].as_str().filter(|_| problems.is_empty()) else {
            let text = describe("the call's `arguments`", &problems);
            return Err(format!("{text}\nA right example: {{\"ticket\": \"task_...\"}}"));
        };
        let longest = Duration::from_secs(LONGEST_WAIT);
        // What is beyond every span is more than the longest, too.
        let wait = arguments["wait_seconds"].as_f64().map(|span| Duration::try_from_secs_f64(span).unwrap_or(longest));
        Ok(Redeemed { ticket: ticket.trim().to_owned(), wait: wait.unwrap_or(longest).min(longest) })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A5: the wait is bounded below what common clients allow; what a model gets wrong it can put right.
    #[test]
    fn arguments_are_read_or_explained() {
        let read = |arguments: Value| Own::Wait.read(&arguments).map(|redeemed| redeemed.wait.as_millis());
        for (arguments, millis) in [
            (json!({ "ticket": "t" }), 45_000),
            (json!({ "ticket": "t", "wait_seconds": 0 }), 0),
            (json!({ "ticket": "t", "wait_seconds": 1.5 }), 1500),
            (json!({ "ticket": "t", "wait_seconds": 3600 }), 45_000),
            (json!({ "ticket": "t", "wait_seconds": 1e300 }), 45_000),
        ] {
            assert_eq!(read(arguments.clone()), Ok(millis), "{arguments}");
        }
        assert_eq!(Own::Result.read(&json!({ "ticket": " task_1\n" })).map(|redeemed| redeemed.ticket), Ok("task_1".to_owned()));
        for (which, wrong, names) in [
            (Own::Wait, json!({}), "ticket"),
            (Own::Wait, json!({ "ticket": 5 }), "/ticket"),
            (Own::Wait, json!({ "ticket": "t", "wait_seconds": -1 }), "/wait_seconds"),
            (Own::Wait, json!({ "ticket": "t", "wait_seconds": "10" }), "/wait_seconds"),
            (Own::Result, json!({ "ticket": "t", "wait_seconds": 1 }), "wait_seconds"),
            (Own::Cancel, json!({ "id": "t" }), "id"),
            (Own::Cancel, json!(null), "null"),
        ] {
            let told = which.read(&wrong).unwrap_err();
            assert!(told.contains(names) && told.contains("example"), "{told}");
        }
    }

    #[test]
    fn own_tools_have_good_schemas() {
        for tool in all() {
            assert!(jsonschema::draft202012::meta::is_valid(&tool.input_schema), "{}", tool.name);
            assert!(Own::named(tool.name).is_some());
        }
        assert!(jsonschema::draft202012::meta::is_valid(&ticket_schema()));
        assert_eq!(Own::named("render"), None);
    }
}
