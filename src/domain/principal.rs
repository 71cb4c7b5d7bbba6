//! Who calls.

use std::fmt;

/// Who calls; a task's owner. Belongs to a tenant. Never derived from a session or a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal {
    tenant: String,
    name: String,
}

impl Principal {
    /// A principal of a tenant.
    pub fn new(tenant: impl Into<String>, name: impl Into<String>) -> Self {
        Self { tenant: tenant.into(), name: name.into() }
    }

    /// Everyone who reaches a gateway without authentication: over stdio, the socket in the data folder, or loopback.
    #[must_use]
    pub fn local() -> Self {
        Self::new("local", "local")
    }

    /// The tenant.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The name within the tenant.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.name)
    }
}
