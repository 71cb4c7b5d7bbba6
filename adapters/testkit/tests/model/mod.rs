//! An adapter and its provider in memory, right by default and wrong in one way on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, StatusCode};
use jobgate_adapter_api::{
    Adapter, AdapterError, AdapterFactory, Artifact, ArtifactBody, CallContext, CancelOutcome, Capabilities, CheckedAdapter,
    Deps, EnvAndFiles, ErrorKind, FixedRandom, IdempotencyKey, InputAnswers, InputKind, InputRequest, Issue, Issues, JobFailure,
    JobOutput, JobRef, JobState, ManualClock, Observation, Operation, Place, Retry, SubmitRequest, Submitted, Timestamp,
    ToolWords, Transport, TransportLimits, Verified,
};
use jobgate_adapter_testkit::{Absent, BadConfig, Case, Fault, Rig, RigTool, Scenario};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// One way to be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    AcceptsBadWords,
    AcceptsMisspeltWords,
    HidesThePlace,
    NeverEnds,
    LosesTheResult,
    FailsInSilence,
    ComesBackToLife,
    StartsTwoJobs,
    ClaimsTooLittle,
    CancelDoesNothing,
    SecondCancelFails,
    CancelKillsTheFinished,
    UnclaimedCancelWorks,
    UnclaimedCancelIsRejected,
    HarderWayDoesNothing,
    HarderWayKillsTheFinished,
    EscalatesWithoutCancel,
    InventsAStatus,
    RemembersJobs,
    RetriesTheRejected,
    ForgetsRetryAfter,
    CutSubmitIsUnavailable,
    NamesTheWrongCall,
    GuessesTheWord,
    ChokesOnTheWord,
    SecretInDebug,
    SecretInErrors,
    TrustsBadJson,
    UnreadableSubmitIsProtocol,
    WaitsForEver,
    FindsNothing,
    FindsTooMuch,
    UnclaimedFindIsNone,
    AnswersTwice,
    AsksAnew,
    UnclaimedAnswerIsTaken,
    ReadDisagreesWithPoll,
    ReadsTheUnreadableAsEmpty,
    ReadsOfOthers,
    GuessesWhatIsMissing,
    PanicsOnOddJson,
    NamesAJobTwice,
    ReadsItsOwnJobsAlone,
    RepeatsTheDelivery,
    SaysNothing,
    UnclaimedDeliveryIsEmpty,
    PollsWhatIsPushed,
    PushedWithoutWebhook,
    GivesAFileOfNobody,
}

const SECRET: &str = "model-secret-55aa";

#[derive(Debug, Default)]
struct World {
    jobs: BTreeMap<String, Job>,
    fault: Option<Fault>,
    answers: usize,
    saw_secret: bool,
}

#[derive(Debug)]
struct Job {
    kind: String,
    key: String,
    looks: usize,
    cancelled: bool,
    answered: bool,
}

/// What a model claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claims {
    /// Everything but `pushed_only`.
    Everything,
    Nothing,
    /// Deliveries, and nothing to look at.
    Pushed,
}

/// The rig of the model.
pub(crate) struct ModelRig {
    world: Arc<Mutex<World>>,
    flaw: Option<Flaw>,
    claims: Capabilities,
    deps: Deps,
    left_out: Option<(Scenario, &'static str)>,
}

impl ModelRig {
    /// Without one scenario, for this reason.
    pub(crate) fn without(mut self, scenario: Scenario, reason: &'static str) -> Self {
        self.left_out = Some((scenario, reason));
        self
    }

    /// A model that has one flaw, or none.
    pub(crate) fn new(claims: Claims, flaw: Option<Flaw>) -> Self {
        let all = claims == Claims::Everything;
        let pushed_only = claims == Claims::Pushed;
        let webhook = claims != Claims::Nothing && flaw != Some(Flaw::PushedWithoutWebhook);
        let harder = all || flaw == Some(Flaw::EscalatesWithoutCancel);
        let claims = Capabilities {
            escalates_after: harder.then_some(Duration::from_secs(60)),
            idempotent_submit: all,
            find: all,
            cancel: all,
            input: all,
            webhook,
            pushed_only,
            ..Capabilities::default()
        };
        let deps = Deps {
            provider: "kit".to_owned(),
            place: Place::root(),
            clock: Arc::new(ManualClock::new(Timestamp::from_millis(0))),
            random: Arc::new(FixedRandom::new(1)),
            secrets: Arc::new(EnvAndFiles),
            transport: Transport::new(TransportLimits::default()).unwrap(),
            data_dir: None,
        };
        Self { world: Arc::default(), flaw, claims, deps, left_out: None }
    }
}

#[async_trait]
impl Rig for ModelRig {
    fn factory(&self) -> Box<dyn AdapterFactory> {
        Box::new(Factory { world: Arc::clone(&self.world), flaw: self.flaw, claims: self.claims })
    }

    fn provider(&self) -> Value {
        json!({ "size": 3 })
    }

    fn tools(&self) -> Vec<RigTool> {
        vec![RigTool::new("any", json!({}))]
    }

    fn deps(&self) -> Deps {
        self.deps.clone()
    }

    fn case(&self, scenario: Scenario) -> Result<Case, Absent> {
        if let Some((_, reason)) = self.left_out.filter(|(left_out, _)| *left_out == scenario) {
            return Err(Absent(reason));
        }
        let case = |kind: &str| Case::new("any", json!({ "kind": kind }));
        Ok(match scenario {
            Scenario::RunsToEnd => case("ok").expecting("all well"),
            Scenario::Fails => case("fail").expecting("broken"),
            Scenario::RunsLong => case("long"),
            Scenario::UnknownWord => case("odd").expecting("hibernating"),
            Scenario::WaitsForPerson if self.claims.input => case("ask").answering(json!({ "ok": true })),
            Scenario::WaitsForPerson => return Err(Absent("nobody is asked")),
        })
    }

    fn bad_configs(&self) -> Vec<BadConfig> {
        vec![BadConfig { provider: json!({ "size": -1 }), tools: self.tools(), place: "providers.kit.size".to_owned() }]
    }

    async fn pass_time(&self, _span: Duration) {}

    async fn jobs(&self) -> Result<usize, Absent> {
        Ok(self.world.lock().unwrap().jobs.len())
    }

    async fn answers(&self) -> Result<usize, Absent> {
        Ok(self.world.lock().unwrap().answers)
    }

    async fn delivery(&self, job: &JobRef) -> Result<Vec<u8>, Absent> {
        let mut world = self.world.lock().unwrap();
        let found = world.jobs.get_mut(job.id()).ok_or(Absent("there is no such job"))?;
        let word = word(found, found.looks, self.flaw);
        let body = json!({ "id": job.id(), "word": word, "looks": found.looks });
        found.looks += usize::from(self.claims.pushed_only);
        Ok(body.to_string().into_bytes())
    }

    async fn inject(&self, fault: Option<Fault>) -> Result<(), Absent> {
        self.world.lock().unwrap().fault = fault;
        Ok(())
    }

    fn secret(&self) -> Result<Vec<String>, Absent> {
        Ok(vec![SECRET.to_owned()])
    }

    async fn saw_secret(&self) -> bool {
        self.world.lock().unwrap().saw_secret
    }
}

#[derive(Clone, Debug)]
struct Factory {
    world: Arc<Mutex<World>>,
    flaw: Option<Flaw>,
    claims: Capabilities,
}

impl AdapterFactory for Factory {
    fn kind(&self) -> &'static str {
        "model"
    }

    fn provider_schema(&self, _generator: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }

    fn tool_schema(&self, _generator: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }

    fn check(
        &self,
        place: &Place,
        config: Value,
        tools: Vec<ToolWords<Value>>,
        issues: &mut Issues,
    ) -> Option<Box<dyn CheckedAdapter>> {
        let is = |flaw| self.flaw == Some(flaw);
        let mut fine = true;
        let mut refuse = |place: Place| {
            fine = false;
            issues.add(if is(Flaw::HidesThePlace) { Place::root() } else { place }, "this is wrong");
        };
        if config["size"].as_u64().is_none() && !is(Flaw::AcceptsBadWords) {
            refuse(place.key("size"));
        }
        for (place, words) in [(place, &config)].into_iter().chain(tools.iter().map(|tool| (&tool.place, &tool.words))) {
            for name in words.as_object().unwrap().keys().filter(|name| *name != "size") {
                if !is(Flaw::AcceptsMisspeltWords) {
                    refuse(place.key(name));
                }
            }
        }
        fine.then(|| Box::new(self.clone()) as Box<dyn CheckedAdapter>)
    }
}

impl CheckedAdapter for Factory {
    fn build(&self, _deps: &Deps) -> Result<Arc<dyn Adapter>, Issue> {
        let debug = if self.flaw == Some(Flaw::SecretInDebug) { SECRET } else { "***" };
        Ok(Arc::new(Model { parts: self.clone(), own: Mutex::default(), _debug: debug.to_owned() }))
    }

    fn uses_callback(&self) -> bool {
        false
    }

    fn reads_deliveries(&self) -> bool {
        self.claims.webhook
    }

    fn pushed_only(&self, _: &str) -> bool {
        self.claims.pushed_only
    }
}

#[derive(Debug)]
struct Model {
    parts: Factory,
    own: Mutex<Vec<String>>,
    _debug: String,
}

impl Model {
    fn is(&self, flaw: Flaw) -> bool {
        self.parts.flaw == Some(flaw)
    }

    /// What an HTTP adapter would make of the fault of the moment.
    async fn trouble(&self, cx: &CallContext, operation: Operation) -> Result<(), AdapterError> {
        let fault = {
            let mut world = self.parts.world.lock().unwrap();
            world.saw_secret = true;
            world.fault
        };
        let status = |code: u16, wait: Option<Duration>| {
            let mut headers = HeaderMap::new();
            if let Some(wait) = wait.filter(|_| !self.is(Flaw::ForgetsRetryAfter)) {
                headers.insert("retry-after", wait.as_secs().into());
            }
            AdapterError::from_status(operation, StatusCode::from_u16(code).unwrap(), &headers, Timestamp::default(), "trouble")
        };
        let on_submit = |unless: Flaw, other: ErrorKind| {
            let unknown = operation == Operation::Submit && !self.is(unless);
            AdapterError::new(if unknown { ErrorKind::OutcomeUnknown } else { other }, operation, "trouble")
        };
        let error = match fault {
            None => return Ok(()),
            Some(Fault::BadJson) if self.is(Flaw::TrustsBadJson) => return Ok(()),
            Some(Fault::RateLimited(wait)) => status(429, wait),
            Some(Fault::Unavailable) => status(503, None),
            Some(Fault::Rejected) if self.is(Flaw::RetriesTheRejected) => status(422, None).with_retry(Retry::Backoff),
            Some(Fault::Echo) if self.is(Flaw::SecretInErrors) => AdapterError::new(ErrorKind::Rejected, operation, SECRET),
            Some(Fault::Rejected | Fault::Echo) => status(422, None),
            Some(Fault::Unauthorized) => status(401, None),
            Some(Fault::Cut) => on_submit(Flaw::CutSubmitIsUnavailable, ErrorKind::Unavailable),
            Some(Fault::Slow) => {
                let wait = if self.is(Flaw::WaitsForEver) { Duration::from_secs(3600) } else { cx.timeout };
                tokio::time::timeout(wait, std::future::pending::<()>()).await.ok();
                on_submit(Flaw::CutSubmitIsUnavailable, ErrorKind::Unavailable)
            }
            Some(Fault::BadJson | Fault::Html | Fault::Oversize) => {
                on_submit(Flaw::UnreadableSubmitIsProtocol, ErrorKind::Protocol)
            }
        };
        if self.is(Flaw::NamesTheWrongCall) {
            return Err(AdapterError::new(error.kind(), Operation::Find, "trouble").with_retry(error.retry()));
        }
        Err(error)
    }

    fn state(&self, job: &Job) -> JobState {
        self.named(word(job, job.looks, self.parts.flaw), job.looks)
    }

    /// What a word means.
    fn named(&self, word: &str, looks: usize) -> JobState {
        match word {
            "queued" => JobState::Queued,
            "running" => JobState::Running,
            "cancelled" => JobState::Cancelled,
            "failed" => JobState::Failed(JobFailure::new(if self.is(Flaw::FailsInSilence) { " " } else { "it is broken" })),
            "waiting" => {
                let key = if self.is(Flaw::AsksAnew) { format!("q{looks}") } else { "q".to_owned() };
                let kind = InputKind::Form { schema: json!({ "type": "object" }) };
                JobState::InputRequired(vec![InputRequest { key, message: "Well?".to_owned(), kind }])
            }
            "succeeded" if self.is(Flaw::LosesTheResult) => JobState::Succeeded(JobOutput::default()),
            "succeeded" => JobState::Succeeded(JobOutput::text("all well")),
            _ if self.is(Flaw::GuessesTheWord) => JobState::Succeeded(JobOutput::default()),
            other => JobState::Unrecognized(other.to_owned()),
        }
    }

    /// The job that a delivery names, its word, and how often it was looked at.
    fn parse(&self, delivery: &Verified<'_>) -> Result<(String, String, usize), AdapterError> {
        let said = if self.is(Flaw::RepeatsTheDelivery) { String::from_utf8_lossy(delivery.body()) } else { "unreadable".into() };
        let unreadable = || AdapterError::new(ErrorKind::Protocol, Operation::Read, said.clone());
        let value: Value = serde_json::from_slice(delivery.body()).map_err(|_| unreadable())?;
        let word = match value["word"].as_str() {
            Some(word) => word.to_owned(),
            None if self.is(Flaw::GuessesWhatIsMissing) => "succeeded".to_owned(),
            None if self.is(Flaw::PanicsOnOddJson) => panic!("there is no word"),
            None => return Err(unreadable()),
        };
        let looks = value["looks"].as_u64().and_then(|looks| usize::try_from(looks).ok()).ok_or_else(unreadable)?;
        Ok((value["id"].as_str().ok_or_else(unreadable)?.to_owned(), word, looks))
    }
}

/// The provider's own word for where a job stands.
fn word(job: &Job, looks: usize, flaw: Option<Flaw>) -> &'static str {
    let looks = if flaw == Some(Flaw::NeverEnds) { looks.min(1) } else { looks };
    match (job.cancelled, looks, job.kind.as_str()) {
        (true, ..) => "cancelled",
        (_, 0, _) => "queued",
        (_, 1, _) | (.., "long") => "running",
        (_, 3, _) if flaw == Some(Flaw::ComesBackToLife) => "running",
        (.., "fail") => "failed",
        (.., "odd") => "hibernating",
        (.., "ask") if !job.answered => "waiting",
        _ => "succeeded",
    }
}

#[async_trait]
impl Adapter for Model {
    fn capabilities(&self, _tool: &str) -> Capabilities {
        self.parts.claims
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        self.trouble(cx, Operation::Submit).await?;
        let mut world = self.parts.world.lock().unwrap();
        let idempotent = self.parts.claims.idempotent_submit && !self.is(Flaw::StartsTwoJobs) || self.is(Flaw::ClaimsTooLittle);
        let known = world.jobs.iter().find(|(_, job)| idempotent && job.key == request.key.as_str()).map(|(id, _)| id.clone());
        if let Some(id) = known {
            return Ok(JobRef::new(id).into());
        }
        let id = format!("j{}", world.jobs.len());
        let kind = request.arguments["kind"].as_str().unwrap().to_owned();
        let key = request.key.as_str().to_owned();
        world.jobs.insert(id.clone(), Job { kind, key, looks: 0, cancelled: false, answered: false });
        self.own.lock().unwrap().push(id.clone());
        Ok(JobRef::new(id).into())
    }

    async fn find(&self, cx: &CallContext, key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        if !self.parts.claims.find {
            return if self.is(Flaw::UnclaimedFindIsNone) { Ok(None) } else { Err(AdapterError::unsupported(Operation::Find)) };
        }
        self.trouble(cx, Operation::Find).await?;
        let world = self.parts.world.lock().unwrap();
        let found = world.jobs.iter().find(|(_, job)| job.key == key.as_str() || self.is(Flaw::FindsTooMuch));
        Ok(found.map(|(id, _)| JobRef::new(id)).filter(|_| !self.is(Flaw::FindsNothing)))
    }

    async fn poll(&self, cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        if self.parts.claims.pushed_only && !self.is(Flaw::PollsWhatIsPushed) {
            return Err(AdapterError::unsupported(Operation::Poll));
        }
        self.trouble(cx, Operation::Poll).await?;
        let mut world = self.parts.world.lock().unwrap();
        let mine = !self.is(Flaw::RemembersJobs) || self.own.lock().unwrap().iter().any(|id| id == job.id());
        let Some(found) = world.jobs.get_mut(job.id()).filter(|_| mine) else {
            if self.is(Flaw::InventsAStatus) {
                return Ok(Observation::new(JobState::Running));
            }
            return Err(AdapterError::new(ErrorKind::NotFound, Operation::Poll, "there is no such job"));
        };
        let state = self.state(found);
        found.looks += 1;
        match state {
            JobState::Unrecognized(word) if self.is(Flaw::ChokesOnTheWord) => {
                Err(AdapterError::new(ErrorKind::Protocol, Operation::Poll, word))
            }
            state => Ok(Observation::new(state)),
        }
    }

    async fn cancel(&self, cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        if !self.parts.claims.cancel && !self.is(Flaw::UnclaimedCancelWorks) {
            return Err(if self.is(Flaw::UnclaimedCancelIsRejected) {
                AdapterError::new(ErrorKind::Rejected, Operation::Cancel, "no")
            } else {
                AdapterError::unsupported(Operation::Cancel)
            });
        }
        self.trouble(cx, Operation::Cancel).await?;
        let mut world = self.parts.world.lock().unwrap();
        let Some(found) = world.jobs.get_mut(job.id()) else {
            return Err(AdapterError::new(ErrorKind::NotFound, Operation::Cancel, "there is no such job"));
        };
        if found.cancelled && self.is(Flaw::SecondCancelFails) {
            return Err(AdapterError::new(ErrorKind::Rejected, Operation::Cancel, "it is stopping already"));
        }
        let harder = cx.cancel.is_some_and(|wish| wish.escalated);
        let kills = self.is(Flaw::CancelKillsTheFinished) || harder && self.is(Flaw::HarderWayKillsTheFinished);
        if self.state(found).is_terminal() && !kills {
            return Ok(CancelOutcome::AlreadyEnded);
        }
        found.cancelled = !(self.is(Flaw::CancelDoesNothing) || harder && self.is(Flaw::HarderWayDoesNothing));
        Ok(CancelOutcome::Requested)
    }

    async fn provide(&self, cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError> {
        if !self.parts.claims.input {
            return if self.is(Flaw::UnclaimedAnswerIsTaken) {
                Ok(())
            } else {
                Err(AdapterError::unsupported(Operation::Provide))
            };
        }
        self.trouble(cx, Operation::Provide).await?;
        let mut world = self.parts.world.lock().unwrap();
        let found = world.jobs.get_mut(job.id()).unwrap();
        let fresh = !found.answered || self.is(Flaw::AnswersTwice);
        found.answered = true;
        world.answers += if fresh { answers.len() } else { 0 };
        Ok(())
    }

    async fn fetch(&self, _: &CallContext, _: &JobRef, _: &Artifact) -> Result<ArtifactBody, AdapterError> {
        if !self.is(Flaw::GivesAFileOfNobody) {
            return Err(AdapterError::unsupported(Operation::Fetch));
        }
        Ok(ArtifactBody { mime_type: None, size: None, chunks: Box::pin(futures_util::stream::empty()) })
    }

    fn jobs_in(&self, delivery: &Verified<'_>) -> Result<Vec<JobRef>, AdapterError> {
        if !self.parts.claims.webhook {
            let empty = self.is(Flaw::UnclaimedDeliveryIsEmpty);
            return if empty { Ok(Vec::new()) } else { Err(AdapterError::unsupported(Operation::Read)) };
        }
        match self.parse(delivery) {
            Ok((id, ..)) if self.is(Flaw::NamesAJobTwice) => Ok(vec![JobRef::new(id.clone()), JobRef::new(id)]),
            Ok((id, ..)) => Ok(vec![JobRef::new(id)]),
            Err(_) if self.is(Flaw::ReadsTheUnreadableAsEmpty) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn read(&self, _: &CallContext, job: &JobRef, delivery: &Verified<'_>) -> Result<Option<Observation>, AdapterError> {
        if !self.parts.claims.webhook {
            let empty = self.is(Flaw::UnclaimedDeliveryIsEmpty);
            return if empty { Ok(None) } else { Err(AdapterError::unsupported(Operation::Read)) };
        }
        let (id, word, looks) = match self.parse(delivery) {
            Ok(said) => said,
            Err(_) if self.is(Flaw::ReadsTheUnreadableAsEmpty) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mine = !self.is(Flaw::ReadsItsOwnJobsAlone) || self.own.lock().unwrap().contains(&id);
        if id != job.id() && !self.is(Flaw::ReadsOfOthers) || !mine || self.is(Flaw::SaysNothing) {
            return Ok(None);
        }
        let word = if self.is(Flaw::ReadDisagreesWithPoll) && word == "queued" { "running" } else { &word };
        Ok(Some(Observation::new(self.named(word, looks))))
    }
}
