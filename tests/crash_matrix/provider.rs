//! A provider that is a folder: its jobs outlive every process, and what it did can be counted afterwards.

use std::fs;
use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use jobgate_adapter_api::{
    Adapter, AdapterError, Artifact, ArtifactBody, CallContext, CancelOutcome, Capabilities, Clock, ErrorKind, IdempotencyKey,
    InputAnswers, InputKind, InputRequest, JobOutput, JobRef, JobState, Observation, Operation, SubmitRequest, Submitted,
};
use serde_json::json;

/// What the provider promises about keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    /// A repeated key gives the first job.
    Key,
    /// A job is found again by its key.
    Find,
    /// Neither.
    Nothing,
}

/// How long a job runs by itself, in milliseconds.
const RUN_MS: i64 = 60;

/// What a job with files makes.
pub(crate) const FILES: [&str; 2] = ["film", "sound"];

fn file(name: &str) -> Artifact {
    Artifact::new(format!("https://folder.example/{name}"), name)
}

/// The adapter of a folder.
#[derive(Debug)]
pub(crate) struct FolderProvider {
    folder: PathBuf,
    promise: Promise,
    clock: Arc<dyn Clock>,
}

impl FolderProvider {
    pub(crate) fn new(folder: &Path, promise: Promise, clock: Arc<dyn Clock>) -> Self {
        fs::create_dir_all(folder).expect("the provider's folder can be made");
        Self { folder: folder.to_owned(), promise, clock }
    }

    /// The job files: one a job, named `KEY.NUMBER.job`, with the moment of its start inside.
    fn job_of(&self, key: &str) -> Option<String> {
        jobs(&self.folder).into_iter().find(|job| job.starts_with(key))
    }

    fn path(&self, job: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{job}.{ending}"))
    }

    /// Makes a file in one step; says whether it was not there before.
    fn make(&self, job: &str, ending: &str, text: &str) -> bool {
        let fresh = self.folder.join(format!("{job}.{ending}.{}", std::process::id()));
        fs::write(&fresh, text).expect("the provider's folder can be written");
        let linked = fs::hard_link(&fresh, self.path(job, ending));
        fs::remove_file(&fresh).expect("a file just written can be removed");
        match linked {
            Ok(()) => true,
            Err(error) if error.kind() == Io::AlreadyExists => false,
            Err(error) => panic!("{error}"),
        }
    }

    fn known(&self, job: &JobRef, operation: Operation) -> Result<(), AdapterError> {
        if self.path(job.id(), "job").exists() {
            return Ok(());
        }
        Err(AdapterError::new(ErrorKind::NotFound, operation, "there is no such job"))
    }
}

/// How many files were fetched from a provider's folder.
pub(crate) fn fetches(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "fetched")).count()
}

/// The names of all jobs that were ever started in a provider's folder.
pub(crate) fn jobs(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(".job").map(String::from)).collect()
}

#[async_trait]
impl Adapter for FolderProvider {
    fn capabilities(&self, _tool: &str) -> Capabilities {
        Capabilities {
            idempotent_submit: self.promise == Promise::Key,
            find: self.promise == Promise::Find,
            cancel: true,
            input: true,
            ..Capabilities::default()
        }
    }

    async fn submit(&self, _cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        let key = request.key.as_str();
        if self.promise == Promise::Key
            && let Some(job) = self.job_of(key)
        {
            return Ok(JobRef::new(job).into());
        }
        let plan = request.arguments["plan"].as_str().unwrap_or_default().to_owned();
        let text = format!("{} {plan}", self.clock.now().as_millis());
        let job = (1..).map(|nth| format!("{key}.{nth}")).find(|job| self.make(job, "job", &text)).expect("numbers do not end");
        Ok(JobRef::new(job).into())
    }

    async fn find(&self, _cx: &CallContext, key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        match self.promise {
            Promise::Find => Ok(self.job_of(key.as_str()).map(JobRef::new)),
            Promise::Key | Promise::Nothing => Err(AdapterError::unsupported(Operation::Find)),
        }
    }

    async fn poll(&self, _cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        self.known(job, Operation::Poll)?;
        let text = fs::read_to_string(self.path(job.id(), "job")).expect("a job's file can be read");
        let (began, plan) = text.split_once(' ').expect("a moment and a plan");
        let age = self.clock.now().as_millis() - began.parse::<i64>().expect("a moment");
        let answered = fs::read_to_string(self.path(job.id(), "answer")).ok();
        let state = match plan {
            _ if self.path(job.id(), "cancelled").exists() => JobState::Cancelled,
            _ if age < RUN_MS / 3 => JobState::Queued,
            "cancel" => JobState::Running,
            _ if age < RUN_MS => JobState::Running,
            "input" if answered.is_none() => JobState::InputRequired(vec![InputRequest {
                key: "go".to_owned(),
                message: "Go on?".to_owned(),
                kind: InputKind::Form { schema: json!({ "type": "object", "properties": { "go": { "type": "boolean" } } }) },
            }]),
            "keep" => JobState::Succeeded(JobOutput { artifacts: FILES.map(file).into(), ..JobOutput::text("done") }),
            _ => JobState::Succeeded(JobOutput::text(answered.unwrap_or_else(|| "done".to_owned()))),
        };
        Ok(Observation::new(state))
    }

    async fn cancel(&self, _cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        self.known(job, Operation::Cancel)?;
        let first = self.make(job.id(), "cancelled", "");
        Ok(if first { CancelOutcome::Requested } else { CancelOutcome::AlreadyEnded })
    }

    /// No file is the same twice: a download that a crash made worthless is one to be got rid of.
    async fn fetch(&self, _cx: &CallContext, job: &JobRef, artifact: &Artifact) -> Result<ArtifactBody, AdapterError> {
        self.known(job, Operation::Fetch)?;
        let name = |nth: usize| format!("{}.{}.{nth}", job.id(), artifact.name);
        let nth = (1..).find(|nth| self.make(&name(*nth), "fetched", "")).expect("numbers do not end");
        let bytes = Bytes::from(format!("{}, fetched {nth}", artifact.name));
        Ok(ArtifactBody { mime_type: None, size: None, chunks: stream::iter([Ok(bytes)]).boxed() })
    }

    async fn provide(&self, _cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError> {
        self.known(job, Operation::Provide)?;
        let content = answers["go"].content.clone().unwrap_or_default();
        self.make(job.id(), "answer", &content.to_string());
        Ok(())
    }
}
