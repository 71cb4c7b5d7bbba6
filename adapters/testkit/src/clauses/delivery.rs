//! C14: a delivery says what a look would have said, and nothing that nobody told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{Adapter, AdapterError, ErrorKind, JobRef, JobState, Observation};
use serde_json::{Value, json};

use crate::suite::{Breach, Started, Suite, all_texts, ensure};
use crate::{Scenario, verified};

/// Deliveries that are compared of one job; a job that has not ended by then is the business of other clauses.
const MOST_DELIVERIES: usize = 20;
/// What no delivery is, in any form.
const UNREADABLE: [(&str, &[u8]); 2] = [("an empty one", b""), ("bytes that are no text", b"{\"\xff\xfe\": \"\xc3\x28\"}")];

pub(crate) async fn c14(suite: &Suite<'_>) -> Result<(), Breach> {
    let adapter = suite.instance()?;
    for tool in suite.rig.tools() {
        let claims = adapter.capabilities(&tool.name);
        ensure!(claims.webhook || !claims.pushed_only, "`{}` claims pushed_only, and not webhook", tool.name);
    }
    let case = suite.case(Scenario::RunsToEnd)?;
    if !adapter.capabilities(&case.tool).webhook {
        return refused(suite, adapter.as_ref()).await;
    }
    let mut told = 0;
    for scenario in [Scenario::RunsToEnd, Scenario::Fails, Scenario::UnknownWord, Scenario::WaitsForPerson] {
        match suite.rig.case(scenario) {
            Ok(case) if adapter.capabilities(&case.tool).webhook => told += compared(suite, &adapter, scenario).await?,
            Ok(_) => {}
            Err(absent) => suite.note_absent(&format!("{scenario:?}"), absent)?,
        }
    }
    let hints = suite.rig.deliveries_are_hints();
    ensure!(hints || told > 0, "webhook is claimed, and no delivery says anything of its job");
    ensure!(!hints || told == 0, "the rig's deliveries are hints, and yet {told} of them say something of their jobs");
    odd_ones(suite, adapter.as_ref()).await
}

/// Not claimed: said plainly.
async fn refused(suite: &Suite<'_>, adapter: &dyn Adapter) -> Result<(), Breach> {
    let started = suite.start(adapter, Scenario::RunsLong).await?;
    for body in [&b"{}"[..], b""] {
        for answer in [
            jobs_in(adapter, body)?.map(|jobs| format!("{jobs:?}")),
            read(adapter, &started, body)?.map(|seen| format!("{seen:?}")),
        ] {
            ensure!(
                matches!(&answer, Err(error) if error.kind() == ErrorKind::Unsupported),
                "webhook is not claimed, so a delivery should be Unsupported, and is {answer:?}"
            );
        }
    }
    Ok(())
}

/// Follows a job; every delivery of it is held against a look at the same moment. The number of deliveries that said something.
async fn compared(suite: &Suite<'_>, adapter: &Arc<dyn Adapter>, scenario: Scenario) -> Result<usize, Breach> {
    let mut started = suite.start(adapter.as_ref(), scenario).await?;
    let pushed_only = adapter.capabilities(&started.cx.tool).pushed_only;
    let mut told = 0;
    for _ in 0..MOST_DELIVERIES {
        let body = suite.delivery(&started).await?;
        names_its_job(adapter.as_ref(), &started, &body)?;
        let said = unmoved(suite, adapter.as_ref(), &started, &body)?;
        let seen = if pushed_only {
            match adapter.poll(&started.cx, &started.job).await {
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                other => {
                    let message = format!("pushed_only is claimed, so a look should be Unsupported, and is {other:?}");
                    return Err(Breach::new(message));
                }
            }
            said.clone().ok_or_else(|| Breach::new("pushed_only is claimed, and a delivery says nothing of its job"))?
        } else {
            suite.look(adapter.as_ref(), &mut started).await?
        };
        if let Some(said) = said {
            told += 1;
            same(&said, &seen)?;
        }
        if seen.state.is_terminal() || matches!(seen.state, JobState::InputRequired(_) | JobState::Unrecognized(_)) {
            break;
        }
        suite.rig.pass_time(seen.next_poll.unwrap_or(Duration::from_secs(1))).await;
    }
    Ok(told)
}

fn same(said: &Observation, seen: &Observation) -> Result<(), Breach> {
    // When to look again is said by a look alone; and a delivery may hand over what cannot be asked for: where an answer goes.
    let known = |(name, _): &(&String, &String)| seen.learned.contains_key(*name);
    let learned = said.learned.iter().filter(known).map(|(name, value)| (name.clone(), value.clone())).collect();
    let said_of_it = Observation { next_poll: None, learned, ..said.clone() };
    let seen_of_it = Observation { next_poll: None, ..seen.clone() };
    ensure!(said_of_it == seen_of_it, "a delivery says {said:?} where a look shows {seen:?}");
    Ok(())
}

/// The delivery names this job, by the id that the submit gave, and no job twice.
fn names_its_job(adapter: &dyn Adapter, started: &Started, body: &[u8]) -> Result<(), Breach> {
    let jobs =
        jobs_in(adapter, body)?.map_err(|error| Breach::new(format!("the provider's own delivery cannot be read: {error}")))?;
    let times = |job: &JobRef| jobs.iter().filter(|other| other.id() == job.id()).count();
    ensure!(
        times(&started.job) == 1 && jobs.iter().all(|job| times(job) == 1),
        "a delivery of the job {} should name it, and each job once, and names {:?}",
        started.job.id(),
        jobs.iter().map(JobRef::id).collect::<Vec<_>>()
    );
    Ok(())
}

/// Read twice, and by another instance, it says the same; of a job that it does not name it says nothing.
fn unmoved(suite: &Suite<'_>, adapter: &dyn Adapter, started: &Started, body: &[u8]) -> Result<Option<Observation>, Breach> {
    let fails = |error| Breach::new(format!("the provider's own delivery cannot be read: {error}"));
    let said = read(adapter, started, body)?.map_err(fails)?;
    for other in [read(adapter, started, body)?, read(suite.instance()?.as_ref(), started, body)?] {
        let other = other.map_err(fails)?;
        ensure!(other == said, "one delivery says {said:?}, and read again {other:?}");
    }
    let stranger = Started { job: suite.rig.unknown_job(), case: started.case.clone(), cx: started.cx.clone(), first: None };
    let other = read(adapter, &stranger, body)?;
    ensure!(
        matches!(other, Ok(None)),
        "a delivery should say nothing of a job that it does not name, and says {other:?} of {}",
        stranger.job.id()
    );
    Ok(said)
}

/// What cannot be read is said to be unreadable; what is odd moves no job to an end.
async fn odd_ones(suite: &Suite<'_>, adapter: &dyn Adapter) -> Result<(), Breach> {
    let started = suite.start(adapter, Scenario::RunsLong).await?;
    let good = suite.delivery(&started).await?;
    let parsed: Option<Value> = serde_json::from_slice(&good).ok();
    let half = good.split_at(good.len() / 2).0;
    let cut = parsed.is_some().then_some(("one that was cut in half", half));
    for (what, body) in UNREADABLE.into_iter().chain(cut) {
        for answer in [
            jobs_in(adapter, body)?.map(|jobs| format!("{jobs:?}")),
            read(adapter, &started, body)?.map(|seen| format!("{seen:?}")),
        ] {
            match answer {
                Err(error) if error.kind() == ErrorKind::Protocol => silent(&error, body)?,
                other => return Err(Breach::new(format!("{what} cannot be read, so it should be Protocol, and is {other:?}"))),
            }
        }
    }
    let mut odd: Vec<Vec<u8>> = ["null", "[]", "{}", "0", "\"\"", "true"].iter().map(|text| text.as_bytes().to_vec()).collect();
    odd.extend([b"[".repeat(100_000), br#"{"a":"#.repeat(100_000)]);
    odd.extend(parsed.iter().flat_map(variants).map(|value| value.to_string().into_bytes()));
    for body in odd {
        let shown: String = String::from_utf8_lossy(&body).chars().take(200).collect();
        match jobs_in(adapter, &body)? {
            Err(error) => ensure!(error.kind() == ErrorKind::Protocol, "`{shown}` is {error:?}, which is no error of reading"),
            Ok(jobs) => ensure!(jobs.iter().all(|job| !job.id().is_empty()), "`{shown}` names a job without an id"),
        }
        match read(adapter, &started, &body)? {
            Err(error) => ensure!(error.kind() == ErrorKind::Protocol, "`{shown}` is {error:?}, which is no error of reading"),
            Ok(None) => {}
            Ok(Some(seen)) => {
                ensure!(!seen.state.is_terminal(), "the job runs, and `{shown}` is taken for its end: {:?}", seen.state);
            }
        }
    }
    Ok(())
}

/// An error about a delivery does not repeat it.
fn silent(error: &AdapterError, body: &[u8]) -> Result<(), Breach> {
    let text = all_texts(error);
    ensure!(body.is_empty() || !text.contains(&*String::from_utf8_lossy(body)), "an error repeats the delivery: {text}");
    Ok(())
}

/// The same JSON with each of its members in turn of another type, two levels deep.
fn variants(value: &Value) -> Vec<Value> {
    let others = [json!(null), json!([]), json!({}), json!("boom"), json!(17), json!(-1.5), json!(true), json!([[["x"]]])];
    let Value::Object(fields) = value else { return others.to_vec() };
    let mut found = Vec::new();
    for (name, field) in fields {
        let inner = if field.is_object() { variants(field) } else { Vec::new() };
        for other in others.iter().cloned().chain(inner) {
            let mut changed = fields.clone();
            changed.insert(name.clone(), other);
            found.push(Value::Object(changed));
        }
        let mut without = fields.clone();
        without.remove(name);
        found.push(Value::Object(without));
    }
    found
}

fn jobs_in(adapter: &dyn Adapter, body: &[u8]) -> Result<Result<Vec<JobRef>, AdapterError>, Breach> {
    unpanicked(body, || adapter.jobs_in(&verified(body)))
}

fn read(adapter: &dyn Adapter, started: &Started, body: &[u8]) -> Result<Result<Option<Observation>, AdapterError>, Breach> {
    unpanicked(body, || adapter.read(&started.cx, &started.job, &verified(body)))
}

/// A receiver reads what strangers send, so a panic is a breach of its own.
fn unpanicked<T>(body: &[u8], call: impl FnOnce() -> T) -> Result<T, Breach> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|_| {
        let shown: String = String::from_utf8_lossy(body).chars().take(200).collect();
        Breach::new(format!("reading a delivery panics: `{shown}`"))
    })
}
