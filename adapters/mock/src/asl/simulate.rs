//! The heart: what a run looks like at a moment, computed from its beginning. Pure: the same arguments give the same snapshot.
//!
//! Nothing is remembered between two looks. Each state's virtual time follows from the start of the run, the machine and what
//! happened from outside, so a run goes on while nobody watches and is the same in every process.

use jobgate_adapter_api::Timestamp;
use serde_json::{Value, json};

use super::fault::{self, Fault};
use super::machine::Machine;
use super::run::{Course, Open, Runner};
use super::snapshot::{Execution, Happening, Outside, Snapshot, Status};

/// How `execution` of `machine` looks at `now`, after what happened from outside.
///
/// Happenings after `now` count as already known: a clock that was set back does not undo them.
#[must_use]
pub fn simulate(machine: &Machine, execution: &Execution, journal: &[Happening], now: Timestamp) -> Snapshot {
    let last = journal.iter().map(|happening| happening.at.as_millis()).max();
    let now = now.as_millis().max(last.unwrap_or(i64::MIN));
    let begin = execution.started_at.as_millis().saturating_add(machine.queued);
    let deadline = machine.timeout.map(|timeout| begin.saturating_add(timeout)).filter(|deadline| *deadline <= now);
    let cancelled =
        journal.iter().filter(|happening| happening.what == Outside::Cancelled).map(|happening| happening.at.as_millis()).min();

    // Nothing of the run counts past the first of these moments.
    let horizon = [Some(now), deadline, cancelled].into_iter().flatten().min().unwrap_or(now);
    let course = if horizon < begin {
        None
    } else {
        Some(Runner::new(context(execution, begin), journal).scope(&machine.scope, execution.input.clone(), begin, horizon, ""))
    };
    match course {
        Some(Course::Done { result: Ok(output), .. }) => ended(Status::Succeeded(output)),
        Some(Course::Done { result: Err(fault), .. }) => failed(fault),
        Some(Course::Open(_)) | None if cancelled.is_some_and(|at| at == horizon) => ended(Status::Cancelled),
        Some(Course::Open(_)) | None if deadline.is_some() => {
            failed(Fault::new(fault::TIMEOUT, "the execution took longer than its TimeoutSeconds"))
        }
        Some(Course::Open(open)) => going(open, machine.timeout.map(|timeout| begin.saturating_add(timeout))),
        None => Snapshot {
            status: Status::Queued,
            stages: Vec::new(),
            counts: None,
            next_change: Some(Timestamp::from_millis(begin)),
        },
    }
}

fn going(open: Open, deadline: Option<i64>) -> Snapshot {
    let next_change = open.next_change.into_iter().chain(deadline).min().map(Timestamp::from_millis);
    let status = if open.questions.is_empty() { Status::Running } else { Status::Waiting(open.questions) };
    Snapshot { status, stages: open.stages, counts: open.counts, next_change }
}

fn ended(status: Status) -> Snapshot {
    Snapshot { status, stages: Vec::new(), counts: None, next_change: None }
}

fn failed(fault: Fault) -> Snapshot {
    ended(Status::Failed { error: fault.error, cause: fault.cause })
}

/// The context object (section "The Context Object").
fn context(execution: &Execution, begin: i64) -> Value {
    json!({
        "Execution": {
            "Id": execution.id,
            "Name": execution.id,
            "StartTime": Timestamp::from_millis(begin).to_string(),
            "Input": execution.input,
        },
        "StateMachine": {"Id": execution.machine, "Name": execution.machine},
    })
}
