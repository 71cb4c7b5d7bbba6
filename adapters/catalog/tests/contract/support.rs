//! Rigs and jobs from the name of an entry.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt as _;
use jobgate_adapter_api::{
    Adapter, AdapterError, AdapterFactory, Artifact, CallContext, CancelOutcome, CancelWish, IdempotencyKey, InputAnswers,
    Issues, JobOutput, JobRef, Observation, Part, Place, SubmitRequest, Submitted, ToolWords,
};
use jobgate_adapter_catalog::{Entry, Setting};
use jobgate_adapter_testkit::{HttpRig, Rig, RigTool, SECRET_REF, Stubs, verified};
use serde_json::{Value, json};

/// More looks than any recorded job needs.
const MOST_LOOKS: usize = 50;

/// An address of one job, as a submit hands it out.
pub(crate) const CALLBACK: &str = "https://gateway.example.com/hooks/kit/a-token-that-nobody-can-guess";

/// The entry of this name.
pub(crate) fn entry(name: &str) -> &'static Entry {
    jobgate_adapter_catalog::entries().find(|entry| entry.name() == name).expect("the entry has a line in src/entries.rs")
}

/// A rig over the entry's recorded answers, with all its tools: every address points at them, every secret is the kit's.
pub(crate) async fn rig(name: &'static str) -> HttpRig {
    let folder = format!("{}/../../wiremock-fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let stubs = Stubs::load(&folder).unwrap_or_else(|error| panic!("{error}"));
    let entry = entry(name);
    let settings = &entry.words().settings;
    let mut rig = HttpRig::start(move || factory(name), stubs).await.provider(|url| {
        // The kit's secret is no certificate.
        let certificates = entry.words().provider.get("tls").map(ToString::to_string).unwrap_or_default();
        let given = settings.iter().filter(|(name, _)| !certificates.contains(&format!("setting:{name}\"")));
        let given = given.filter_map(|(name, setting)| Some((name.clone(), value(url, name, setting)?)));
        Value::Object(given.collect())
    });
    for (name, tool) in &entry.words().tools {
        rig = rig.tool(RigTool::new(name, tool.job.clone()).with_schema(tool.input.clone()));
    }
    if let Some(required) = settings.iter().find(|(name, _)| name.ends_with("base_url")) {
        let place = format!("providers.kit.{}", required.0);
        rig = rig.bad_provider(&place, |words| words[required.0] = json!("no address"));
    }
    if !settings.values().any(|setting| setting.secret) {
        rig = rig.without_secret("this API needs no credential");
    }
    rig
}

/// What the rig says for a setting; nothing where the default will do.
fn value(url: &str, name: &str, setting: &Setting) -> Option<Value> {
    if setting.secret {
        return Some(json!(SECRET_REF));
    }
    let usual = setting.default.as_ref().or(setting.example.as_ref());
    if name.ends_with("_url") {
        // The path stays, so that recorded answers have the paths of the API.
        let path = usual.and_then(Value::as_str).and_then(|usual| usual.split_once("://")?.1.split_once('/'));
        return Some(json!(path.map_or_else(|| url.to_owned(), |(_, path)| format!("{url}/{path}"))));
    }
    if setting.default.is_some() { None } else { setting.example.clone() }
}

fn factory(name: &str) -> Box<dyn AdapterFactory> {
    jobgate_adapter_catalog::factories().find(|factory| factory.kind() == name).expect("the entry has a factory")
}

/// An entry at work, call by call: for what the contract does not ask.
pub(crate) struct Played {
    rig: HttpRig,
    adapter: Arc<dyn Adapter>,
    callback: Option<String>,
    cancel: OnceLock<CancelWish>,
}

impl Played {
    /// Over the recorded answers of the entry.
    pub(crate) async fn of(name: &'static str) -> Self {
        Self::over(rig(name).await)
    }

    /// Over a rig that was changed.
    pub(crate) fn over(rig: HttpRig) -> Self {
        let mut issues = Issues::new();
        let tools = rig.tools().into_iter().map(|tool| ToolWords {
            place: Place::root().key("tools").key(&tool.name).key("job"),
            name: tool.name,
            input_schema: tool.input_schema,
            words: tool.words,
        });
        let place = Place::root().key("providers").key("kit");
        let checked = rig.factory().check(&place, Rig::provider(&rig), tools.collect(), &mut issues);
        let checked = checked.unwrap_or_else(|| panic!("{issues:?}"));
        let adapter = checked.build(&rig.deps()).unwrap_or_else(|issue| panic!("{issue:?}"));
        Self { rig, adapter, callback: None, cancel: OnceLock::new() }
    }

    /// The adapter, for what has no call of its own here.
    pub(crate) fn adapter(&self) -> &dyn Adapter {
        self.adapter.as_ref()
    }

    /// From now on a submit has this address to hand out.
    pub(crate) fn deliver_to(&mut self, address: &str) {
        self.callback = Some(address.to_owned());
    }

    /// The rig, for what the provider received.
    pub(crate) const fn rig(&self) -> &HttpRig {
        &self.rig
    }

    /// What a call of this tool is told.
    pub(crate) fn context(&self, tool: &str) -> CallContext {
        CallContext {
            tool: tool.to_owned(),
            key: IdempotencyKey::new("6a6f6267617465000000000000000001".to_owned()),
            timeout: Duration::from_secs(10),
            arguments: Arc::default(),
            started_at: self.rig.deps().clock.now(),
            callback_url: self.callback.clone(),
            cancel: self.cancel.get().copied(),
        }
    }

    /// Submits a job with these arguments.
    pub(crate) async fn submit(&self, tool: &str, arguments: Value) -> Result<Submitted, AdapterError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let cx = self.context(tool);
        let request = SubmitRequest { key: cx.key.clone(), arguments };
        self.adapter.submit(&cx, request).await
    }

    /// Submits a job that the provider may deliver of, to this address.
    pub(crate) async fn submit_with_callback(&self, tool: &str, arguments: Value, url: &str) -> Result<Submitted, AdapterError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let cx = CallContext { callback_url: Some(url.to_owned()), ..self.context(tool) };
        let request = SubmitRequest { key: cx.key.clone(), arguments };
        self.adapter.submit(&cx, request).await
    }

    /// Submits a job that must be taken.
    pub(crate) async fn start(&self, tool: &str, arguments: Value) -> JobRef {
        self.submit(tool, arguments).await.unwrap_or_else(|error| panic!("{error}")).job
    }

    /// One look.
    pub(crate) async fn look(&self, tool: &str, job: &JobRef) -> Result<Observation, AdapterError> {
        self.adapter.poll(&self.context(tool), job).await
    }

    /// Looks until the job has ended; what a look teaches is remembered, and a second lies between two looks.
    pub(crate) async fn end(&self, tool: &str, job: &JobRef) -> Observation {
        let mut job = job.clone();
        for _ in 0..MOST_LOOKS {
            let seen = self.look(tool, &job).await.unwrap_or_else(|error| panic!("{error}"));
            if seen.state.is_terminal() {
                return seen;
            }
            job = seen.learned.iter().fold(job, |job, (name, value)| job.with(name, value));
            self.rig.pass_time(seen.next_poll.unwrap_or(Duration::from_secs(1))).await;
        }
        panic!("the job did not end within {MOST_LOOKS} looks");
    }

    /// Asks for the job to be stopped; all calls after this one are told so.
    pub(crate) async fn cancel(&self, tool: &str, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        self.cancel.get_or_init(|| CancelWish { requested_at: self.rig.deps().clock.now(), escalated: false });
        self.adapter.cancel(&self.context(tool), job).await
    }

    /// Hands over answers to a job's questions.
    pub(crate) async fn answer(&self, tool: &str, job: &JobRef, answers: InputAnswers) -> Result<(), AdapterError> {
        self.adapter.provide(&self.context(tool), job, &answers).await
    }

    /// What the provider's next delivery says of a job.
    pub(crate) async fn told(&self, tool: &str, job: &JobRef) -> Observation {
        let body = self.rig.delivery(job).await.unwrap_or_else(|absent| panic!("{absent}"));
        let said = self.adapter.read(&self.context(tool), job, &verified(&body)).unwrap_or_else(|error| panic!("{error}"));
        said.expect("the delivery says something of the job")
    }

    /// Fetches a file of a job that has ended: its type, and all of it.
    pub(crate) async fn fetch(&self, tool: &str, job: &JobRef, file: &Artifact) -> (Option<String>, Vec<u8>) {
        let mut body = self.adapter.fetch(&self.context(tool), job, file).await.unwrap_or_else(|error| panic!("{error}"));
        let mut bytes = Vec::new();
        while let Some(chunk) = body.chunks.next().await {
            bytes.extend_from_slice(&chunk.unwrap_or_else(|error| panic!("{error}")));
        }
        (body.mime_type, bytes)
    }

    /// Looks for the job that was submitted with these arguments.
    pub(crate) async fn find_with(&self, tool: &str, arguments: Value) -> Result<Option<JobRef>, AdapterError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let cx = CallContext { arguments: Arc::new(arguments), ..self.context(tool) };
        self.adapter.find(&cx, &cx.key).await
    }

    /// Looks for the job of the key that every submit here has.
    pub(crate) async fn find(&self, tool: &str) -> Result<Option<JobRef>, AdapterError> {
        self.find_as(&self.context(tool)).await
    }

    /// Looks for the job of another key, or at another time.
    pub(crate) async fn find_as(&self, cx: &CallContext) -> Result<Option<JobRef>, AdapterError> {
        self.adapter.find(cx, &cx.key).await
    }
}

/// What a job made: files to be kept, and links.
pub(crate) fn files(output: &JobOutput) -> Vec<Artifact> {
    let links = output.parts.iter().filter_map(|part| match part {
        Part::Link { uri, name, mime_type, .. } => Some(Artifact { mime_type: mime_type.clone(), ..Artifact::new(uri, name) }),
        _ => None,
    });
    output.artifacts.iter().cloned().chain(links).collect()
}

/// Base64 of a text.
pub(crate) fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

/// The bytes of a text in base64.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap_or_else(|error| panic!("{error}"))
}
