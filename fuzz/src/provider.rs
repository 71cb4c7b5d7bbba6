//! A provider whose jobs go as their tool's name says.

use async_trait::async_trait;
use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelOutcome, Capabilities, IdempotencyKey, InputAnswers, InputKind, InputRequest,
    JobOutput, JobRef, JobState, Observation, SubmitRequest, Submitted,
};

/// Jobs without memory: everything is in the job's id.
#[derive(Debug)]
pub(crate) struct Farm;

#[async_trait]
impl Adapter for Farm {
    fn capabilities(&self, _tool: &str) -> Capabilities {
        Capabilities { idempotent_submit: true, find: false, cancel: true, input: true, ..Capabilities::default() }
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        Ok(JobRef::new(format!("{}-{}", cx.tool, request.key)).into())
    }

    async fn find(&self, _cx: &CallContext, _key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        Ok(None)
    }

    async fn poll(&self, _cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        let state = match job.id().split('-').next() {
            Some("ask") => JobState::InputRequired(vec![InputRequest {
                key: "go".to_owned(),
                message: "Go on?".to_owned(),
                kind: InputKind::Form {
                    schema: serde_json::json!({
                        "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"],
                    }),
                },
            }]),
            Some("work") => JobState::Running,
            _ => JobState::Succeeded(JobOutput::text("done")),
        };
        Ok(Observation::new(state))
    }

    async fn cancel(&self, _cx: &CallContext, _job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        Ok(CancelOutcome::Requested)
    }

    async fn provide(&self, _cx: &CallContext, _job: &JobRef, _answers: &InputAnswers) -> Result<(), AdapterError> {
        Ok(())
    }
}
