//! Who calls, and what that lets them see and use.

use std::fmt;
use std::sync::{Arc, LazyLock};

use super::ToolName;

/// Who calls; a task's owner. Belongs to a tenant. Never derived from a session or a connection. Every request carries one about, so
/// that its copies share their text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal {
    tenant: Arc<str>,
    name: Arc<str>,
}

static LOCAL: LazyLock<Principal> = LazyLock::new(|| Principal::new("local", "local"));

impl Principal {
    /// A principal of a tenant.
    pub fn new(tenant: impl Into<String>, name: impl Into<String>) -> Self {
        Self { tenant: tenant.into().into(), name: name.into().into() }
    }

    /// Everyone who reaches a gateway without authentication: over stdio, the socket in the data folder, or loopback.
    #[must_use]
    pub fn local() -> Self {
        LOCAL.clone()
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

/// A principal with what it may do. Made by whoever let the caller in, and by nobody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who it is.
    pub principal: Principal,
    /// Which tools it sees and calls; the others are as unknown to it as tools that are not there.
    pub tools: ToolGrant,
    /// Sees and acts on every task of its tenant, not on its own alone.
    pub admin: bool,
}

impl Caller {
    /// A principal that may use every tool and has its own tasks.
    #[must_use]
    pub const fn new(principal: Principal) -> Self {
        Self { principal, tools: ToolGrant::All, admin: false }
    }

    /// See [`Principal::local`].
    #[must_use]
    pub fn local() -> Self {
        Self::new(Principal::local())
    }

    /// The tasks that it may see and act on (requirement I1).
    #[must_use]
    pub fn scope(&self) -> Scope {
        let principal = self.principal.clone();
        if self.admin { Scope::Tenant(principal) } else { Scope::Owner(principal) }
    }
}

/// Whether a configured name stands for this one: it is the same, or it ends in `*` and this one begins with what is before that.
#[must_use]
pub fn stands_for(configured: &str, name: &str) -> bool {
    match configured.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == configured,
    }
}

/// Which tools a caller may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolGrant {
    /// All there are.
    #[default]
    All,
    /// Those with these names; one that ends in `*` stands for all that begin with what is before it.
    Named(Arc<[String]>),
}

impl ToolGrant {
    /// Whether it covers a tool.
    #[must_use]
    pub fn covers(&self, tool: &ToolName) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|name| stands_for(name, tool.as_str())),
        }
    }
}

/// Whose tasks a question is about; every store looks at it before it gives a task out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One principal's own.
    Owner(Principal),
    /// Those of all principals of this admin's tenant.
    Tenant(Principal),
    /// Everybody's: for the operator of the machine.
    Everybody,
}

impl Scope {
    /// Whether a task of this owner is in it.
    #[must_use]
    pub fn covers(&self, owner: &Principal) -> bool {
        match self {
            Self::Owner(principal) => principal == owner,
            Self::Tenant(admin) => admin.tenant == owner.tenant,
            Self::Everybody => true,
        }
    }
}

impl From<&Principal> for Scope {
    fn from(principal: &Principal) -> Self {
        Self::Owner(principal.clone())
    }
}

/// What a caller may see and act on; see [`Caller::scope`].
impl From<&Caller> for Scope {
    fn from(caller: &Caller) -> Self {
        caller.scope()
    }
}

impl From<&Self> for Scope {
    fn from(scope: &Self) -> Self {
        scope.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_covers_the_tools_that_it_names() {
        let grant = ToolGrant::Named(["render".to_owned(), "deploy_*".to_owned()].into());
        for (tool, covered) in
            [("render", true), ("deploy_web", true), ("deploy_", true), ("rendering", false), ("deploy", false)]
        {
            assert_eq!(grant.covers(&ToolName::new(tool)), covered, "{tool}");
        }
        assert!(ToolGrant::All.covers(&ToolName::new("anything")));
        assert!(!ToolGrant::Named([].into()).covers(&ToolName::new("anything")));
    }

    /// I1: an admin's scope ends at its tenant.
    #[test]
    fn a_scope_covers_its_own_and_an_admins_its_tenant() {
        let ann = Principal::new("acme", "ann");
        let admin = Caller { admin: true, ..Caller::new(Principal::new("acme", "root")) };
        assert!(Caller::new(ann.clone()).scope().covers(&ann));
        assert!(!Caller::new(Principal::new("acme", "bob")).scope().covers(&ann));
        assert!(admin.scope().covers(&ann));
        assert!(!admin.scope().covers(&Principal::new("other", "ann")));
    }
}
