//! Deliveries: notifications of SNS, and events of EventBridge by themselves or within one. They name an execution, so they are a reason to
//! look at it.

use jobgate_adapter_api::{AdapterError, ErrorKind, JobRef, Operation};
use serde_json::Value;

/// The executions that a delivery names.
pub(crate) fn jobs_in(body: &[u8]) -> Result<Vec<JobRef>, AdapterError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| AdapterError::new(ErrorKind::Protocol, Operation::Read, "the delivery is no JSON").with_source(error))?;
    let told = match body.get("Message").and_then(Value::as_str) {
        // What a state machine publishes may be any text.
        Some(message) => serde_json::from_str(message).unwrap_or(Value::Null),
        None => body,
    };
    let places = ["/detail/executionArn", "/executionArn", "/execution"];
    let named = places.iter().find_map(|place| told.pointer(place)?.as_str());
    Ok(named.filter(|arn| arn.contains(":execution:")).map(JobRef::new).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ARN: &str = "arn:aws:states:eu-west-1:123456789012:execution:deploy:jobgate-1";

    fn names(body: &Value) -> Vec<String> {
        jobs_in(body.to_string().as_bytes()).unwrap().iter().map(|job| job.id().to_owned()).collect()
    }

    #[test]
    fn an_execution_is_named_by_events_and_by_what_a_machine_publishes() {
        let event = json!({ "detail-type": "Step Functions Execution Status Change", "detail": { "executionArn": ARN, "status": "RUNNING" } });
        assert_eq!(names(&event), [ARN]);
        assert_eq!(names(&json!({ "Type": "Notification", "Message": event.to_string() })), [ARN]);
        let question = json!({ "question": "deploy?", "taskToken": "t", "execution": ARN });
        assert_eq!(names(&json!({ "Type": "Notification", "Message": question.to_string() })), [ARN]);
    }

    #[test]
    fn what_names_none_tells_of_none() {
        for body in [json!({ "Type": "Notification", "Message": "hello" }), json!({}), json!({ "execution": 7 }), json!([])] {
            assert_eq!(names(&body), [""; 0], "{body}");
        }
        assert_eq!(jobs_in(b"<html>").unwrap_err().kind(), ErrorKind::Protocol);
    }
}
