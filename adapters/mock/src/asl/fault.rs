//! An error inside a running machine, by the names of the States Language.

use super::path::Path;

/// What a state failed with (section "Errors" and appendix A).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    /// The error's name.
    pub(crate) error: String,
    /// A sentence for people.
    pub(crate) cause: String,
}

impl Fault {
    pub(crate) fn new(error: impl Into<String>, cause: impl Into<String>) -> Self {
        Self { error: error.into(), cause: cause.into() }
    }

    /// The machine itself cannot go on; no `Retry` or `Catch` takes it.
    pub(crate) fn runtime(cause: impl Into<String>) -> Self {
        Self::new(RUNTIME, cause)
    }

    pub(crate) fn parameter_path(path: &Path) -> Self {
        Self::new("States.ParameterPathFailure", format!("the path `{path}` names nothing in the data"))
    }

    /// Whether a `Retry` or `Catch` that lists `names` takes this error.
    ///
    /// `States.TaskFailed` is any error but a timeout; `States.Timeout` also takes a missed heartbeat; a fault of the machine
    /// itself is taken by none, and one of its data's size by no wildcard.
    pub(crate) fn is_one_of(&self, names: &[String]) -> bool {
        let own_fault = self.error == RUNTIME || self.error == DATA_LIMIT;
        let timeout = self.error == TIMEOUT || self.error == HEARTBEAT;
        names.iter().any(|name| match name.as_str() {
            "States.ALL" => !own_fault,
            "States.TaskFailed" => !own_fault && !timeout,
            TIMEOUT => timeout,
            name => name == self.error && self.error != RUNTIME,
        })
    }
}

/// A fault of the machine itself.
pub(crate) const RUNTIME: &str = "States.Runtime";
/// The data grew past what is carried here.
pub(crate) const DATA_LIMIT: &str = "States.DataLimitExceeded";
/// Ran longer than allowed.
pub(crate) const TIMEOUT: &str = "States.Timeout";
/// Sent no sign of life for longer than allowed.
pub(crate) const HEARTBEAT: &str = "States.HeartbeatTimeout";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wildcard_takes_what_the_states_language_says() {
        for (error, name, taken) in [
            ("Custom", "States.ALL", true),
            ("Custom", "States.TaskFailed", true),
            ("Custom", "Custom", true),
            ("Custom", "Other", false),
            (TIMEOUT, "States.ALL", true),
            (TIMEOUT, "States.TaskFailed", false),
            (TIMEOUT, TIMEOUT, true),
            (HEARTBEAT, TIMEOUT, true),
            (HEARTBEAT, HEARTBEAT, true),
            (TIMEOUT, HEARTBEAT, false),
            (RUNTIME, "States.ALL", false),
            (RUNTIME, RUNTIME, false),
            (DATA_LIMIT, "States.ALL", false),
        ] {
            assert_eq!(Fault::new(error, "").is_one_of(&[name.to_owned()]), taken, "{error} by {name}");
        }
    }
}
