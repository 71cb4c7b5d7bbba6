//! How a job is watched: pace, faults, limits (requirements B9, D1, F4, K1, K3).

use jobgate::domain::{ErrorKind, JobOutput, JobState, Observation, Outcome, Status};
use jobgate::engine::Rate;
use jobgate_adapter_api::{Clock as _, Operation, Retry, Timestamp};
use serde_json::json;

use crate::fake::{Trouble, done, running};
use crate::rig::{HOUR, MINUTE, Rig, SECOND, failure, result};

fn gaps(moments: &[Timestamp]) -> Vec<f64> {
    moments.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect()
}

/// D1, K1: looks become rarer while nothing changes, up to the longest interval, and quick again after a change. A look that
/// changed nothing writes nothing. Callers are told the same pace, and their looks cost the provider none.
#[tokio::test]
async fn looks_become_rarer_while_nothing_changes() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let task = rig.task(1).await;
    rig.advance(10 * MINUTE).await;
    let looks = gaps(&rig.fake.calls(Operation::Poll));
    assert!((1.0..=1.7).contains(&looks[0]), "{looks:?}");
    assert!(looks.windows(2).all(|pair| pair[1] > pair[0] * 0.9), "{looks:?}");
    assert!(looks.iter().all(|gap| *gap <= 33.1), "{looks:?}");
    assert_eq!(rig.audit(&task.id).await, ["created", "accepted"]);
    let before = rig.fake.calls(Operation::Poll).len();
    for _ in 0..100 {
        let task = rig.get(&task.id).await;
        assert_eq!(rig.engine().caller_interval(&task), 30 * SECOND);
    }
    assert_eq!(rig.fake.calls(Operation::Poll).len(), before);

    rig.fake.plan([running().with_message("encoding")]);
    rig.advance(35 * SECOND).await;
    let task = rig.get(&task.id).await;
    assert_eq!(task.message.as_deref(), Some("encoding"));
    let after: Vec<Timestamp> = rig.fake.calls(Operation::Poll).into_iter().filter(|at| *at >= task.updated_at).collect();
    assert!(after[1].since(after[0]) < 2 * SECOND, "{after:?}");
}

/// B8: `updated_at` moves with a visible change and only then.
#[tokio::test]
async fn the_last_update_is_the_last_visible_change() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let task = rig.task(1).await;
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff)]);
    rig.advance(MINUTE).await;
    let later = rig.get(&task.id).await;
    assert_eq!(later.updated_at, task.created_at);
    assert!(later.revision > task.revision);
}

/// K1: a provider's `Retry-After` holds for all its tasks, and says nothing about any of them.
#[tokio::test]
async fn a_busy_provider_is_left_alone_for_as_long_as_it_asks() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let (one, two) = (rig.task(1).await, rig.task(2).await);
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::RateLimited, Retry::After(50 * SECOND))]);
    rig.advance(2 * SECOND).await;
    let limited = rig.fake.calls(Operation::Poll);
    rig.advance(45 * SECOND).await;
    assert_eq!(rig.fake.calls(Operation::Poll), limited, "called in spite of Retry-After");
    for id in [one.id, two.id] {
        let task = rig.get(&id).await;
        assert_eq!((task.troubles.count, task.message.as_deref()), (0, None));
    }
    let third = rig.task(3).await;
    assert!(third.job().is_none(), "{third:?}");
    rig.fake.plan([done("film")]);
    for id in [one.id, two.id, third.id] {
        assert_eq!(result(&rig.end(&id, 3 * MINUTE).await).1, "film");
    }
}

/// K1: an answer to a call that began before the rest does not end it; limits of time hold in it all the same.
#[tokio::test]
async fn a_rest_is_a_rest() {
    let mut rig = Rig::new();
    rig.policy.deadline = 10 * MINUTE;
    rig.start().await;
    rig.fake.plan([running()]);
    let ids = [rig.task(1).await.id, rig.task(2).await.id];
    rig.fake.state().slow = 2 * SECOND;
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::RateLimited, Retry::After(HOUR))]);
    rig.advance(4 * SECOND).await;
    assert_eq!(rig.fake.calls(Operation::Poll).len(), 2);
    rig.advance(9 * MINUTE).await;
    assert_eq!(rig.fake.calls(Operation::Poll).len(), 2);
    for id in ids {
        let task = rig.end(&id, 2 * MINUTE).await;
        assert_eq!(failure(&task).0, "deadline");
        assert!(task.updated_at.since(task.created_at) < 10 * MINUTE + 2 * SECOND, "{task:?}");
    }
    assert_eq!(rig.fake.calls(Operation::Cancel), []);
    rig.advance(HOUR).await;
    assert!(rig.fake.jobs().iter().all(|job| job.cancelled), "what is owed is owed until the rest is over");
}

/// K1: after a run of failures nobody calls for a while; one call finds out whether the provider is back.
#[tokio::test]
async fn a_provider_that_is_down_is_left_alone_with_growing_pauses() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let mut ids = Vec::new();
    for n in 0..50 {
        ids.push(rig.task(n).await.id);
    }
    let before = rig.fake.calls(Operation::Poll).len();
    rig.fake.state().chance = Some(Box::new(|_| Some(Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff))));
    rig.advance(10 * MINUTE).await;
    let calls = rig.fake.calls(Operation::Poll).len() - before;
    // 50 tasks would make about 1000 looks in this time.
    assert!((6..80).contains(&calls), "{calls}");
    rig.fake.state().chance = None;
    rig.fake.plan([done("film")]);
    for id in ids {
        assert_eq!(result(&rig.end(&id, 5 * MINUTE).await).1, "film");
    }
}

/// K1: never more calls at once than configured, however many tasks are due.
#[tokio::test]
async fn calls_at_once_are_limited() {
    let mut rig = Rig::new();
    rig.provider.concurrency = 3;
    rig.start().await;
    rig.fake.state().slow = SECOND;
    rig.fake.plan([running(), done("film")]);
    let engine = rig.engine();
    let calls = (0..40).map(|n| engine.call(crate::rig::call(n)));
    rig.drive(futures_util::future::join_all(calls)).await;
    rig.advance(3 * MINUTE).await;
    assert_eq!(rig.fake.state().most_calls, 3);
    let tasks = rig
        .engine()
        .list(jobgate::store::ListQuery { scope: jobgate::domain::Scope::Everybody, after: None, limit: 99 })
        .await
        .unwrap();
    assert!(tasks.iter().all(|task| task.status() == Status::Completed), "{tasks:?}");
}

/// K1: never more calls in any window than configured, but for a small burst at its edge.
#[tokio::test]
async fn calls_over_time_are_limited() {
    let mut rig = Rig::new();
    rig.provider.rate = Some(Rate { calls: 50, per: MINUTE });
    rig.start().await;
    rig.fake.plan([running()]);
    for n in 0..30 {
        rig.task(n).await;
    }
    rig.advance(5 * MINUTE).await;
    let mut moments: Vec<Timestamp> = rig.fake.state().journal.iter().map(|entry| entry.at).collect();
    moments.sort();
    let busiest = moments.iter().map(|from| moments.iter().filter(|at| *at >= from && at.since(*from) < MINUTE).count()).max();
    assert!(busiest <= Some(55), "{busiest:?}");
    assert!(moments.len() > 200, "{}", moments.len());
    assert_eq!(rig.fake.jobs().len(), 30);
}

/// K3: a job that the provider does not know for a moment is no lost job; one that it does not know any more ends its task.
#[tokio::test]
async fn a_job_is_gone_after_a_grace() {
    let rig = Rig::started().await;
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::NotFound, Retry::Never); 3]);
    let task = rig.task(1).await;
    assert_eq!(result(&rig.end(&task.id, HOUR).await).1, "done");

    for gone in [false, true] {
        if gone {
            rig.fake.plan([Observation::new(JobState::Gone)]);
        } else {
            rig.fake.plan([running()]);
        }
        let task = rig.task(2).await;
        if !gone {
            rig.fake.state().jobs.clear();
        }
        let task = rig.end(&task.id, HOUR).await;
        assert_eq!(failure(&task), ("gone", "the provider no longer knows the job".to_owned()));
        assert!((30..45).contains(&task.updated_at.since(task.created_at).as_secs()), "{task:?}");
    }
}

/// E8 of providers-workflow.md: how long a job may be invisible is the tool's to say (`task.gone_grace`): one that is not to be seen yet is
/// waited for, one that is deleted ends its task.
#[tokio::test]
async fn a_tool_says_how_long_a_job_may_be_invisible() {
    let mut rig = Rig::new();
    rig.policy.gone_grace = 5 * MINUTE;
    rig.start().await;
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::NotFound, Retry::Never); 8]);
    let task = rig.task(1).await;
    rig.advance(2 * MINUTE).await;
    assert_eq!(result(&rig.end(&task.id, HOUR).await).1, "done");
    rig.fake.plan([running()]);
    let task = rig.task(2).await;
    rig.fake.state().jobs.clear();
    let task = rig.end(&task.id, HOUR).await;
    assert_eq!(failure(&task).0, "gone");
    assert!((300..360).contains(&task.updated_at.since(task.created_at).as_secs()), "{task:?}");
}

/// B9: a provider that says nothing useful for too long ends the task with the reason.
#[tokio::test]
async fn silence_ends_a_task() {
    let rig = Rig::started().await;
    rig.fake.plan([running()]);
    let task = rig.task(1).await;
    rig.fake.state().chance = Some(Box::new(|_| Some(Trouble::Fail(ErrorKind::Unauthorized, Retry::Never))));
    let task = rig.end(&task.id, 2 * HOUR).await;
    let (category, message) = failure(&task);
    assert_eq!(category, "stuck");
    assert!(message.contains("no usable answer") && message.contains("told to fail"), "{message}");
    let took = rig.clock.now().since(task.created_at);
    assert!(took >= HOUR && took < HOUR + 2 * MINUTE, "{took:?}");
    assert_eq!(rig.fake.calls(Operation::Cancel), [], "losing sight of a job is no reason to stop it");
}

/// A run of answers that are not the API's ends the task; one of them does not.
#[tokio::test]
async fn garbage_is_borne_for_a_while() {
    let rig = Rig::started().await;
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::Protocol, Retry::Backoff); 4]);
    let task = rig.task(1).await;
    assert_eq!(result(&rig.end(&task.id, HOUR).await).1, "done");
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::Protocol, Retry::Backoff); 5]);
    let task = rig.task(2).await;
    assert_eq!(failure(&rig.end(&task.id, HOUR).await).0, "protocol");
}

/// K1: what will not change is not tried again.
#[tokio::test]
async fn a_refused_look_ends_the_task() {
    let rig = Rig::started().await;
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::Rejected, Retry::Never)]);
    let task = rig.task(1).await;
    assert_eq!(failure(&rig.end(&task.id, MINUTE).await).0, "rejected");
    assert_eq!(rig.fake.calls(Operation::Poll).len(), 1);
}

/// A look that never answers is dropped and made again.
#[tokio::test]
async fn a_hanging_look_is_dropped() {
    let rig = Rig::started().await;
    rig.fake.trouble(Operation::Poll, [Trouble::Hang]);
    let task = rig.task(1).await;
    assert_eq!(result(&rig.end(&task.id, MINUTE).await).1, "done");
}

/// A word that nobody mapped is no end and no error.
#[tokio::test]
async fn an_unknown_word_is_working() {
    let rig = Rig::started().await;
    rig.fake.plan([Observation::new(JobState::Unrecognized("defrosting".to_owned())), running(), done("film")]);
    let task = rig.task(1).await;
    rig.advance(SECOND + SECOND / 5).await;
    let seen = rig.get(&task.id).await;
    assert_eq!(seen.status(), Status::Working);
    assert!(seen.message.as_ref().is_some_and(|message| message.contains("defrosting")), "{seen:?}");
    assert_eq!(result(&rig.end(&task.id, MINUTE).await).1, "film");
}

/// F4: the deadline ends the task and cancels the job, again and again until the provider answers.
#[tokio::test]
async fn a_deadline_ends_the_task_and_cancels_the_job() {
    let mut rig = Rig::new();
    rig.policy.deadline = 10 * MINUTE;
    rig.start().await;
    rig.fake.plan([running()]);
    let task = rig.task(1).await;
    rig.fake.trouble(Operation::Cancel, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff); 3]);
    let ended = rig.end(&task.id, HOUR).await;
    assert_eq!(failure(&ended), ("deadline", "the job did not end within its deadline of 600 s".to_owned()));
    assert_eq!(ended.updated_at.since(task.created_at), 10 * MINUTE);
    rig.advance(MINUTE).await;
    assert!(rig.fake.jobs()[0].cancelled);
    assert_eq!(rig.fake.calls(Operation::Cancel).len(), 4);
    assert_eq!(failure(&rig.get(&task.id).await).0, "deadline");
}

/// G4: a result that is too large is cut and says so.
#[tokio::test]
async fn a_large_result_is_cut() {
    let mut rig = Rig::new();
    rig.limits.max_result_bytes = 100;
    rig.start().await;
    rig.fake.plan([done(&"x".repeat(1000))]);
    let task = rig.task(1).await;
    let (is_error, text) = result(&rig.end(&task.id, MINUTE).await);
    assert!(!is_error && text.starts_with(&"x".repeat(100)) && text.contains("1000 bytes"), "{text}");
}

/// D5, B4: a tool that promises a shape of its result never hands over another; what the job said can still be read.
#[tokio::test]
async fn a_result_that_breaks_its_tools_promise_is_a_failure_that_says_so() {
    let mut rig = Rig::new();
    rig.output_schema = Some(json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}));
    rig.start().await;
    let with = |data: serde_json::Value| Observation::new(JobState::Succeeded(JobOutput::text("rendered").with_data(data)));
    rig.fake.plan([with(json!({"url": 7}))]);
    let ended = rig.task(1).await.id;
    let ended = rig.end(&ended, MINUTE).await;
    let Some(Outcome::Result(kept)) = ended.outcome() else { panic!("{ended:?}") };
    assert_eq!((ended.status(), kept.is_error, &kept.output.data), (Status::Completed, true, &None));
    let texts: Vec<_> = kept.output.parts.iter().map(|part| format!("{part:?}")).collect();
    assert!(texts[0].contains("/url") && texts[0].contains("output schema") && texts[1].contains("rendered"), "{texts:?}");
    rig.fake.plan([with(json!({"url": "https://videos.example.com/1"}))]);
    let fits = rig.task(2).await.id;
    assert!(!result(&rig.end(&fits, MINUTE).await).0);
}
