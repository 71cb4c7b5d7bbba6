//! The interpreter, by tables: a machine, its input, what happens from outside, and what each look must show.
//!
//! The tables are the YAML files of `tests/asl`. Moments are seconds after the start of the run.
#![expect(clippy::unwrap_used, reason = "a table that cannot be read fails its test")]

use std::fs;
use std::path::Path;

use jobgate_adapter_api::{Place, Timestamp};
use jobgate_adapter_mock::asl::{Counts, Execution, Happening, Machine, Outside, Question, Snapshot, Status, simulate};
use serde::Deserialize;
use serde_json::{Value, json};

/// 2026-07-28T12:00:00Z
const START: i64 = 1_785_240_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    machine: Value,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    journal: Vec<Entry>,
    looks: Vec<Look>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    at: f64,
    #[serde(default)]
    cancelled: bool,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    answer: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Look {
    at: f64,
    is: String,
    #[serde(default)]
    stages: Vec<String>,
    #[serde(default)]
    counts: Option<Value>,
    #[serde(default)]
    questions: Vec<Value>,
    #[serde(default)]
    next: Option<f64>,
    #[serde(default)]
    output: Option<Value>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    cause: Option<String>,
}

fn moment(seconds: f64) -> Timestamp {
    Timestamp::from_millis(START + (seconds * 1000.0).round() as i64)
}

fn happening(entry: &Entry) -> Happening {
    let what = match &entry.key {
        Some(key) => Outside::Answered { key: key.clone(), answer: entry.answer.clone().unwrap() },
        None => {
            assert!(entry.cancelled, "an entry is an answer or a stop");
            Outside::Cancelled
        }
    };
    Happening { at: moment(entry.at), what }
}

fn question(question: &Question) -> Value {
    let mut shown = json!({"key": question.key, "message": question.message, "form": question.form});
    if let Some(url) = &question.url {
        shown["url"] = json!(url);
    }
    shown
}

fn counts(counts: Counts) -> Value {
    let mut shown = json!({"done": counts.done});
    if let Some(total) = counts.total {
        shown["total"] = json!(total);
    }
    shown
}

/// What a table says of a look, and what was seen, in the same form.
fn compare(wanted: &Look, seen: &Snapshot) -> (Value, Value) {
    let (is, more) = match &seen.status {
        Status::Queued => ("queued", json!({})),
        Status::Running => ("running", json!({})),
        Status::Waiting(questions) => ("waiting", json!({"questions": questions.iter().map(question).collect::<Vec<_>>()})),
        Status::Succeeded(output) => ("succeeded", json!({"output": output})),
        Status::Failed { error, cause } => ("failed", json!({"error": error, "cause": cause})),
        Status::Cancelled => ("cancelled", json!({})),
    };
    let next = seen.next_change.map(|at| at.as_millis() - START);
    let seen = json!({"is": is, "more": more, "stages": seen.stages, "counts": seen.counts.map(counts), "next": next});
    let more = match wanted.is.as_str() {
        "waiting" => json!({"questions": wanted.questions}),
        "succeeded" => json!({"output": wanted.output}),
        "failed" => json!({"error": wanted.error, "cause": wanted.cause}),
        _ => json!({}),
    };
    let number = |value: &Value| json!(value.as_f64());
    let counts = wanted.counts.as_ref().map(|counts| {
        Value::Object(counts.as_object().unwrap().iter().map(|(key, value)| (key.clone(), number(value))).collect())
    });
    let next = wanted.next.map(|next| (next * 1000.0).round() as i64);
    (json!({"is": wanted.is, "more": more, "stages": wanted.stages, "counts": counts, "next": next}), seen)
}

fn run(case: &Case) -> Result<(), String> {
    let machine = Machine::parse(&case.machine, &Place::root()).map_err(|issues| format!("{issues:#?}"))?;
    let input = case.input.clone().unwrap_or_else(|| json!({}));
    let execution =
        Execution { id: "run-1".to_owned(), machine: "table".to_owned(), input, started_at: Timestamp::from_millis(START) };
    let journal: Vec<Happening> = case.journal.iter().map(happening).collect();
    for look in &case.looks {
        let (wanted, seen) = compare(look, &simulate(&machine, &execution, &journal, moment(look.at)));
        if wanted != seen {
            return Err(format!("at {} s\n  wanted {wanted}\n  seen   {seen}", look.at));
        }
    }
    Ok(())
}

#[test]
fn every_machine_of_the_tables_shows_what_its_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asl");
    let mut broken = Vec::new();
    let mut run_cases = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let cases: Vec<Case> =
            serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for case in &cases {
            run_cases += 1;
            if let Err(how) = run(case) {
                broken.push(format!("{:?}: {}: {how}", path.file_name().unwrap(), case.name));
            }
        }
    }
    assert!(run_cases >= 40, "only {run_cases} cases were found");
    assert!(broken.is_empty(), "{} of {run_cases} broken:\n{}", broken.len(), broken.join("\n"));
}
