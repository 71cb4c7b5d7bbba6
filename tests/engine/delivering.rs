//! Deliveries of the provider, in every order and of every worth (requirements J2 to J5, A7): what callers and the provider notice of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jobgate::domain::{JobState, ManualClock, ProviderName, Status, Task, TaskId, Timestamp};
use jobgate::engine::{Delivery, IngestError, Ingested, ProviderWebhook, RedriveError, Trust};
use jobgate::store::{MemoryStore, StoreError};
use jobgate_adapter_api::{ErrorKind, Observation, Operation, Progress, Retry};
use jobgate_webhooks::{CallbackKey, Credential, Kept, Outgoing, Request, Scheme, Secret, Secrets, sign, verify};
use serde_json::{Value, json};

use crate::fake::{Trouble, done, running};
use crate::rig::{HOUR, MINUTE, Rig, SECOND, call, failure, result};

pub(crate) const WEBHOOK: ProviderWebhook = ProviderWebhook {
    trust: Trust::Hint,
    safety_poll: Duration::from_secs(300),
    keep_for: Duration::from_secs(72 * 3600),
    park_for: Duration::from_secs(600),
    refuse_unknown: false,
};

/// A delivery whose body and moment are signed.
pub(crate) fn signed(id: &str, body: &Value) -> Kept {
    let scheme = Scheme::named("standard_webhooks").unwrap();
    let secret = Secret::new("whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
    let body = body.to_string().into_bytes();
    let out = Outgoing { url: "https://gateway.example.com/hooks/farm", id, body: &body };
    let signed = sign(&scheme, &secret, &out, 1_800_000_000).unwrap();
    let headers: Vec<(&str, &[u8])> = signed.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let request = Request { method: "POST", url: &signed.url, headers: &headers, body: &signed.body };
    let secrets = Secrets::new(&scheme, [Credential::new(secret)]).unwrap();
    verify(&scheme, &secrets, &request, 1_800_000_000).unwrap().keep()
}

/// A delivery of which nothing is signed.
pub(crate) fn unsigned(body: &Value) -> Kept {
    let key = CallbackKey::new(&[7; 32]);
    let address = key.open(&key.token([1; 16])).unwrap();
    let body = body.to_string();
    let request = Request { method: "POST", url: "https://x.example.com/", headers: &[], body: body.as_bytes() };
    address.unsigned(&request).unwrap().keep()
}

/// What the step of the plan looks like in a delivery.
pub(crate) fn step(job: &str, step: usize) -> Value {
    json!({"jobs": [job], "step": step})
}

async fn started(trust: Trust) -> Rig {
    let mut rig = Rig::new();
    rig.webhook = Some(ProviderWebhook { trust, ..WEBHOOK });
    rig.public_url = Some("https://gateway.example.com".to_owned());
    rig.start().await;
    rig
}

pub(crate) async fn tell(rig: &Rig, kept: &Kept, task: Option<TaskId>) -> Result<Ingested, IngestError> {
    let (engine, verified, farm) = (rig.engine(), kept.verified(), ProviderName::new("farm"));
    rig.drive(engine.ingest(Delivery { provider: &farm, verified: &verified, task })).await
}

async fn told(rig: &Rig, kept: &Kept) -> Ingested {
    tell(rig, kept, None).await.unwrap()
}

async fn count(rig: &Rig, id: &TaskId, event: &str) -> usize {
    rig.audit(id).await.iter().filter(|it| *it == event).count()
}

/// J4, hostile 64: a hint has the job asked at once, and what the provider says then counts, whatever the delivery said.
#[tokio::test]
async fn a_hint_makes_the_job_due_and_the_provider_decides() {
    let rig = started(Trust::Hint).await;
    rig.fake.plan([running().with_message("half")]);
    let task = rig.task(1).await;
    rig.advance(10 * MINUTE).await;
    let before = rig.fake.calls(Operation::Poll).len();
    rig.fake.plan([running().with_message("half"), done("film")]);
    assert_eq!(told(&rig, &signed("evt_1", &step("job-1", 1))).await, Ingested::Hinted);
    rig.settle().await;
    assert_eq!(rig.fake.calls(Operation::Poll).len(), before + 1, "asked at once");
    assert_eq!(rig.get(&task.id).await.status(), Status::Working, "the provider says running, the delivery said done");
    assert_eq!(told(&rig, &signed("evt_2", &step("job-1", 0))).await, Ingested::Hinted);
    rig.settle().await;
    assert_eq!(result(rig.get(&task.id).await), (false, "film".to_owned()));
    assert_eq!(count(&rig, &task.id, "delivered_hint").await, 2);
}

/// J5, hostile 66: a hint that was acknowledged is not lost with the process, though the safety poll is minutes away.
#[tokio::test]
async fn a_hint_outlives_the_process() {
    let mut rig = started(Trust::Hint).await;
    rig.fake.plan([running()]);
    let task = rig.task(1).await;
    rig.advance(10 * MINUTE).await;
    rig.fake.plan([done("film")]);
    rig.fake.trouble(Operation::Poll, [Trouble::Hang]);
    assert_eq!(told(&rig, &signed("evt_1", &step("job-1", 0))).await, Ingested::Hinted);
    rig.kill().await;
    let stored = rig.store.get(&task.id).await.unwrap().unwrap();
    assert!(stored.due_at.is_some_and(|due| due <= jobgate_adapter_api::Clock::now(&*rig.clock)), "{:?}", stored.due_at);
    // Claims do not outlive a process.
    rig.store.release(&[task.id]).await.unwrap();
    rig.start().await;
    rig.advance(2 * MINUTE).await;
    assert_eq!(rig.get(&task.id).await.status(), Status::Completed);
}

/// J4: a payload that is believed ends the task without a call to the provider; hostile 62: nothing moves it afterwards.
#[tokio::test]
async fn a_payload_that_is_believed_counts_and_late_ones_are_noted() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running(), running().with_message("half"), done("film")]);
    let task = rig.task(1).await;
    let looks = rig.fake.calls(Operation::Poll).len();
    assert_eq!(told(&rig, &signed("evt_1", &step("job-1", 1))).await, Ingested::Applied);
    assert_eq!(rig.get(&task.id).await.message.as_deref(), Some("half"));
    assert_eq!(told(&rig, &signed("evt_2", &step("job-1", 2))).await, Ingested::Applied);
    let ended = rig.get(&task.id).await;
    assert_eq!(result(&ended), (false, "film".to_owned()));
    assert_eq!(rig.fake.calls(Operation::Poll).len(), looks, "nobody had to be asked");
    assert_eq!(told(&rig, &signed("evt_3", &step("job-1", 1))).await, Ingested::Late);
    let after = rig.get(&task.id).await;
    assert_eq!((result(&after), after.updated_at), (result(&ended), ended.updated_at));
    assert_eq!(count(&rig, &task.id, "delivered_late").await, 1);
}

/// J4: what is not signed, or only in part, is a hint even where payloads are believed.
#[tokio::test]
async fn an_unsigned_payload_at_the_route_of_the_provider_is_a_hint() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running()]);
    let task = rig.task(1).await;
    rig.advance(MINUTE).await;
    rig.fake.plan([running(), done("film")]);
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff)]);
    assert_eq!(told(&rig, &unsigned(&step("job-1", 1))).await, Ingested::Hinted);
    assert_eq!(rig.get(&task.id).await.status(), Status::Working);
}

/// J2, hostile 54, 58, 60: a repeat has no effect, copies at once have one, and another body under one id is told.
#[tokio::test]
async fn a_repeat_has_no_effect() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running(), running().with_message("half"), done("film")]);
    let task = rig.task(1).await;
    let kept = signed("evt_1", &step("job-1", 1));
    let (engine, verified, farm) = (rig.engine(), kept.verified(), ProviderName::new("farm"));
    let copies = (0..32).map(|_| engine.ingest(Delivery { provider: &farm, verified: &verified, task: None }));
    let answers = rig.drive(futures_util::future::join_all(copies)).await;
    let applied = answers.iter().filter(|it| matches!(it, Ok(Ingested::Applied))).count();
    let repeats = answers.iter().filter(|it| matches!(it, Ok(Ingested::Repeat { conflict: false }))).count();
    assert_eq!((applied, repeats), (1, 31), "{answers:?}");
    assert_eq!(count(&rig, &task.id, "observed").await, 1);
    assert_eq!(told(&rig, &signed("evt_1", &step("job-1", 2))).await, Ingested::Repeat { conflict: true });
    assert_eq!(rig.get(&task.id).await.status(), Status::Working, "the first one wins");
}

/// J3: what tells of an earlier moment is noted, moves nothing backwards, and has the provider asked.
#[tokio::test]
async fn a_stale_delivery_moves_nothing_backwards() {
    let rig = started(Trust::Payload).await;
    let counts = |done| running().with_progress(Progress { done, total: Some(9.0) });
    rig.fake.plan([counts(2.0), counts(5.0)]);
    rig.fake.trouble(Operation::Poll, [Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff); 9]);
    let task = rig.task(1).await;
    assert_eq!(told(&rig, &signed("evt_2", &step("job-1", 1))).await, Ingested::Applied);
    assert_eq!(told(&rig, &signed("evt_1", &step("job-1", 0))).await, Ingested::Stale);
    let now = rig.store.get(&task.id).await.unwrap().unwrap();
    assert_eq!(now.progress.map(|progress| progress.done), Some(5.0));
    assert_eq!(count(&rig, &task.id, "delivered_stale").await, 1);
}

/// J3: a delivery that beats the submit's answer waits for it, by its job's id and at its task's address alike.
#[tokio::test]
async fn an_early_delivery_waits_for_its_job() {
    for at_address in [false, true] {
        let rig = started(Trust::Payload).await;
        rig.fake.plan([running(), done("film")]);
        rig.fake.state().slow = 5 * SECOND;
        let engine = rig.engine();
        let calling = tokio::task::LocalSet::new();
        let task = calling
            .run_until(async {
                let submit = engine.call_for_task(call(1));
                let early = async {
                    rig.advance(SECOND).await;
                    let all = engine.list(everybodys()).await.unwrap();
                    let id = all[0].id;
                    let kept = signed("evt_1", &step("job-1", 1));
                    assert_eq!(tell(&rig, &kept, at_address.then_some(id)).await.unwrap(), Ingested::Parked);
                    rig.advance(10 * SECOND).await;
                    id
                };
                let (task, id) = futures_util::future::join(submit, early).await;
                assert_eq!(task.unwrap().id, id);
                id
            })
            .await;
        let ended = rig.get(&task).await;
        assert_eq!(result(&ended), (false, "film".to_owned()), "at its address: {at_address}");
        assert!(rig.store.all_parked(9).await.unwrap().is_empty());
    }
}

fn everybodys() -> jobgate::store::ListQuery {
    jobgate::store::ListQuery { scope: jobgate::domain::Scope::Everybody, after: None, limit: 100 }
}

/// Starts a job whose submit's answer is lost; gives its task.
async fn unsettled(rig: &Rig) -> Arc<Task> {
    {
        let mut state = rig.fake.state();
        state.capabilities.find = false;
        state.capabilities.idempotent_submit = false;
        state.capabilities.callback = true;
    }
    rig.fake.trouble(Operation::Submit, [Trouble::Late(ErrorKind::OutcomeUnknown)]);
    let task = rig.task(1).await;
    assert_eq!(task.status(), Status::Working);
    task
}

/// C4, J3: where nobody can be asked, the first delivery at the task's address tells which job was started: no second one ever is.
#[tokio::test]
async fn a_delivery_settles_a_submit_whose_answer_was_lost() {
    for crash in [false, true] {
        let mut rig = started(Trust::Payload).await;
        rig.fake.plan([running(), done("film")]);
        let task = unsettled(&rig).await;
        if crash {
            rig.crash().await;
        }
        rig.advance(MINUTE).await;
        assert_eq!(rig.get(&task.id).await.status(), Status::Working);
        let kept = unsigned(&step("job-1", 1));
        assert_eq!(tell(&rig, &kept, Some(task.id)).await.unwrap(), Ingested::Parked);
        rig.advance(SECOND).await;
        assert_eq!(result(rig.get(&task.id).await), (false, "film".to_owned()), "after a crash: {crash}");
        assert_eq!(rig.fake.calls(Operation::Submit).len(), 1);
        assert!(rig.store.all_parked(9).await.unwrap().is_empty());
    }
}

/// C4: without any word of the job the task says in the end that it does not know.
#[tokio::test]
async fn a_submit_that_nothing_settles_ends_as_unknown() {
    let rig = started(Trust::Payload).await;
    let task = unsettled(&rig).await;
    rig.advance(HOUR).await;
    assert_eq!(failure(rig.get(&task.id).await).0, "unknown_outcome");
    assert_eq!(rig.fake.calls(Operation::Submit).len(), 1);
}

/// F1: a task that was cancelled at once learns its job's name by a delivery, and the job is told to stop.
#[tokio::test]
async fn a_cancelled_task_learns_its_job_by_a_delivery() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running()]);
    let task = unsettled(&rig).await;
    rig.engine().cancel(&crate::rig::me(), &task.id, true).await.unwrap();
    rig.advance(SECOND).await;
    assert_eq!(tell(&rig, &unsigned(&step("job-1", 0)), Some(task.id)).await.unwrap(), Ingested::Applied);
    rig.advance(SECOND).await;
    assert!(rig.fake.jobs()[0].cancelled);
    assert_eq!(rig.get(&task.id).await.status(), Status::Cancelled);
}

/// J3: a job that can only tell of itself is never looked at; it ends by its delivery, or by its deadline.
#[tokio::test]
async fn a_job_that_only_tells_is_never_looked_at() {
    let mut rig = started(Trust::Payload).await;
    rig.fake.state().capabilities.pushed_only = true;
    rig.fake.plan([running(), done("film")]);
    rig.policy.deadline = HOUR;
    rig.crash().await;
    let (first, second) = (rig.task(1).await, rig.task(2).await);
    rig.advance(30 * MINUTE).await;
    assert_eq!(tell(&rig, &unsigned(&step("job-1", 1)), Some(first.id)).await.unwrap(), Ingested::Applied);
    assert_eq!(rig.get(&first.id).await.status(), Status::Completed);
    rig.advance(HOUR).await;
    assert_eq!(failure(rig.get(&second.id).await).0, "deadline");
    assert_eq!(rig.fake.calls(Operation::Poll).len(), 0);
}

/// J3: deliveries for jobs of nobody are kept for a while, then forgotten and counted; another job's name at a task's address does nothing.
#[tokio::test]
async fn deliveries_for_jobs_of_nobody_do_nothing() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running(), done("film")]);
    let task = rig.task(1).await;
    assert_eq!(tell(&rig, &unsigned(&step("job-99", 1)), Some(task.id)).await.unwrap(), Ingested::Unknown);
    assert_eq!(rig.get(&task.id).await.status(), Status::Working, "another job's end at this task's address");
    assert_eq!(told(&rig, &signed("evt_1", &step("job-99", 1))).await, Ingested::Parked);
    assert_eq!(rig.store.all_parked(9).await.unwrap().len(), 1);
    rig.advance(11 * MINUTE).await;
    assert!(rig.store.all_parked(9).await.unwrap().is_empty());
    assert_eq!(rig.engine().webhook_health()[&ProviderName::new("farm")].forgotten, 1);
    assert_eq!(tell(&rig, &unsigned(&step("job-1", 1)), Some(TaskId::from_bytes([9; 16]))).await.unwrap(), Ingested::Unknown);
    assert_eq!(told(&rig, &signed("evt_2", &json!({"ping": true}))).await, Ingested::Nothing);
    assert_ne!(rig.get(&task.id).await.outcome().map(|_| ()), None, "its own looks ended it");
}

/// J3: where jobs of nobody are refused, their deliveries are not kept, and count when they come again and the job is known.
#[tokio::test]
async fn a_refused_delivery_counts_when_it_comes_again() {
    let mut rig = started(Trust::Payload).await;
    rig.webhook = Some(ProviderWebhook { trust: Trust::Payload, refuse_unknown: true, ..WEBHOOK });
    rig.crash().await;
    rig.fake.plan([running(), running(), done("film")]);
    let kept = signed("evt_1", &step("job-1", 2));
    assert_eq!(told(&rig, &kept).await, Ingested::Unknown);
    assert_eq!(told(&rig, &kept).await, Ingested::Unknown);
    assert!(rig.store.all_parked(9).await.unwrap().is_empty());
    let task = rig.task(1).await;
    assert_eq!(told(&rig, &kept).await, Ingested::Applied);
    assert_eq!(rig.get(&task.id).await.status(), Status::Completed);
}

/// Hostile 73: what cannot be read is refused and laid aside; read anew once the adapter can, it does what it would have done.
#[tokio::test]
async fn a_dead_letter_is_used_once_it_can_be_read() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running(), running(), running(), done("film")]);
    let task = rig.task(1).await;
    let mut body = step("job-1", 3);
    body["odd"] = true.into();
    let kept = signed("evt_1", &body);
    let refused = tell(&rig, &kept, None).await;
    assert!(matches!(&refused, Err(IngestError::Unreadable(why)) if why.contains("no such delivery")), "{refused:?}");
    assert_eq!(told(&rig, &kept).await, Ingested::Repeat { conflict: false });
    let engine = rig.engine();
    let letters = engine.dead_letters(9).await.unwrap();
    assert_eq!((letters.len(), letters[0].reason.as_str()), (1, "no such delivery is known"));
    let id = letters[0].id;
    assert!(matches!(rig.drive(engine.redrive(&id)).await, Err(RedriveError::Ingest(IngestError::Unreadable(_)))));
    rig.fake.state().reads_odd = true;
    assert_eq!(rig.drive(engine.redrive(&id)).await.unwrap(), Ingested::Applied);
    assert_eq!(result(rig.get(&task.id).await), (false, "film".to_owned()));
    assert!(matches!(rig.drive(engine.redrive(&id)).await, Err(RedriveError::NoSuchLetter)));
    assert!(engine.dead_letters(9).await.unwrap().is_empty());
}

/// One delivery may tell of several jobs, and each of them counts.
#[tokio::test]
async fn one_delivery_tells_of_several_jobs() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running(), running(), done("film")]);
    let (first, second) = (rig.task(1).await, rig.task(2).await);
    let body = json!({"jobs": ["job-1", "job-2", "job-7"], "step": 2});
    assert_eq!(told(&rig, &signed("evt_1", &body)).await, Ingested::Applied);
    for task in [first, second] {
        assert_eq!(rig.get(&task.id).await.status(), Status::Completed);
    }
    assert_eq!(rig.store.all_parked(9).await.unwrap().len(), 1, "the third is nobody's yet");
}

/// A7: while deliveries come, jobs are looked at rarely; once a look shows what none told of, as often as before.
#[tokio::test]
async fn a_webhook_that_falls_silent_is_noticed() {
    let rig = started(Trust::Hint).await;
    rig.fake.plan([running()]);
    let task = rig.task(1).await;
    let health = || rig.engine().webhook_health()[&ProviderName::new("farm")].healthy;
    rig.advance(10 * MINUTE).await;
    let looks = || rig.fake.calls(Operation::Poll).len();
    let usual = looks();
    assert!(usual > 15 && !health(), "{usual} looks in ten minutes");
    told(&rig, &signed("evt_1", &step("job-1", 0))).await;
    rig.advance(SECOND).await;
    assert!(health());
    let before = looks();
    rig.advance(20 * MINUTE).await;
    assert!((3..=5).contains(&(looks() - before)), "{} looks in twenty minutes", looks() - before);
    rig.fake.plan([running().with_message("half")]);
    rig.advance(6 * MINUTE).await;
    assert!(!health(), "the safety poll has shown what no delivery told of");
    assert_eq!(rig.get(&task.id).await.message.as_deref(), Some("half"));
    let before = looks();
    rig.advance(10 * MINUTE).await;
    assert!(looks() - before > 15, "{} looks in ten minutes", looks() - before);
}

/// A store that refuses deliveries while it is told to.
#[derive(Debug, Default)]
struct Down {
    inner: MemoryStore,
    down: AtomicBool,
}

impl Down {
    async fn around(&self, call: &str) -> Result<(), StoreError> {
        let refuses = call == "take" && self.down.load(Ordering::SeqCst);
        if refuses { Err(StoreError::Unavailable("the disk is full".to_owned())) } else { Ok(()) }
    }
}

wrapped_store!(Down);

/// J5, hostile 65: while the store is down nothing is taken, and the same delivery is taken later.
#[tokio::test]
async fn a_store_that_is_down_takes_nothing() {
    let store = Arc::new(Down::default());
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
    let mut rig = Rig::over(clock, store.clone());
    rig.webhook = Some(ProviderWebhook { trust: Trust::Payload, ..WEBHOOK });
    rig.start().await;
    rig.fake.plan([running(), running(), done("film")]);
    let task = rig.task(1).await;
    let kept = signed("evt_1", &step("job-1", 2));
    store.down.store(true, Ordering::SeqCst);
    let refused = tell(&rig, &kept, None).await;
    assert!(matches!(refused, Err(IngestError::Store(StoreError::Unavailable(_)))), "{refused:?}");
    assert_eq!(rig.get(&task.id).await.status(), Status::Working);
    store.down.store(false, Ordering::SeqCst);
    assert_eq!(told(&rig, &kept).await, Ingested::Applied);
    assert_eq!(result(rig.get(&task.id).await), (false, "film".to_owned()));
}

/// A sender that hangs up before its answer changes nothing about what is taken: those who wait see the end.
#[tokio::test]
async fn a_delivery_whose_sender_hangs_up_is_seen_all_the_same() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running(), running(), done("film")]);
    let task = rig.task(1).await;
    let mut watch = rig.engine().watch(&crate::rig::me(), &[task.id]).await.unwrap();
    let kept = signed("evt_1", &step("job-1", 2));
    {
        let (engine, verified, farm) = (rig.engine(), kept.verified(), ProviderName::new("farm"));
        let mut telling = std::pin::pin!(engine.ingest(Delivery { provider: &farm, verified: &verified, task: None }));
        assert!(futures_util::poll!(telling.as_mut()).is_pending());
    }
    rig.settle().await;
    assert_eq!(rig.get(&task.id).await.status(), Status::Completed);
    let mut last = None;
    while let Some(news) = futures_util::FutureExt::now_or_never(watch.next()).flatten() {
        last = Some(news.status());
    }
    assert_eq!(last, Some(Status::Completed));
}

/// C6 for deliveries: a payload that says nothing of the state has the provider asked; one whose state makes no sense, too.
#[tokio::test]
async fn a_payload_without_a_state_is_a_hint() {
    let rig = started(Trust::Payload).await;
    rig.fake.plan([running(), running(), running(), Observation::new(JobState::Cancelled)]);
    let task = rig.task(1).await;
    assert_eq!(told(&rig, &signed("evt_1", &json!({"jobs": ["job-1"]}))).await, Ingested::Hinted);
    assert_eq!(told(&rig, &signed("evt_2", &json!({"jobs": ["job-1"], "state": "nonsense"}))).await, Ingested::Hinted);
    rig.advance(12 * MINUTE).await;
    assert_eq!(rig.get(&task.id).await.status(), Status::Cancelled);
}
