//! Secrets: named in the configuration, read when needed, never printed.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// A secret's value. `Debug` is redacted; there is no `Display` and no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Where a secret is: `env:NAME` or `file:PATH`. A value itself is refused, so that none ends up in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SecretRef {
    /// An environment variable.
    Env(String),
    /// A file; one trailing line break is dropped.
    File(PathBuf),
}

impl std::str::FromStr for SecretRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            // The text may be the secret itself: it is not repeated.
            _ => Err("a secret is named, not written: `env:NAME` or `file:PATH`".to_owned()),
        }
    }
}

impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl<'de> Deserialize<'de> for SecretRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for SecretRef {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecretRef".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^(env|file):.+$",
            "description": "Where a secret is: `env:NAME` or `file:PATH`, never the secret itself.",
            "examples": ["env:API_TOKEN", "file:/run/secrets/api-token"]
        })
    }
}

/// Why a secret could not be read. Never contains the value.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The variable is not set, empty or not Unicode.
    #[error("the environment variable {0} is not set (or empty, or not Unicode)")]
    Env(String),
    /// The file could not be read or is empty.
    #[error("the secret file {path} could not be read: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// Reads secrets.
pub trait SecretSource: fmt::Debug + Send + Sync + 'static {
    /// The value that `reference` names.
    fn read(&self, reference: &SecretRef) -> Result<Secret, SecretError>;
}

/// The process's environment and the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnvAndFiles;

impl SecretSource for EnvAndFiles {
    #[expect(clippy::disallowed_methods, reason = "this is the source that everyone else is given")]
    fn read(&self, reference: &SecretRef) -> Result<Secret, SecretError> {
        match reference {
            SecretRef::Env(name) => match std::env::var(name) {
                Ok(value) if !value.is_empty() => Ok(Secret::new(value)),
                Ok(_) | Err(_) => Err(SecretError::Env(name.clone())),
            },
            SecretRef::File(path) => {
                let fail = |reason: String| SecretError::File { path: path.clone(), reason };
                let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
                let value = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
                if value.is_empty() { Err(fail("it is empty".to_owned())) } else { Ok(Secret::new(value.to_owned())) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_written_out_is_refused_and_not_repeated() {
        let error = "hunter2".parse::<SecretRef>().unwrap_err();
        assert!(!error.contains("hunter2") && error.contains("env:NAME"));
    }

    #[test]
    fn debug_is_redacted() {
        assert_eq!(format!("{:?}", Secret::new("hunter2".to_owned())), "Secret(***)");
    }
}
