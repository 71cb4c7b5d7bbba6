//! Which adapters this build knows. A value, not a global: a test or an embedding program makes its own.

use std::sync::Arc;

use jobgate_adapter_api::{AdapterFactory, Issues};

/// Adapter kinds by name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    factories: Vec<Arc<dyn AdapterFactory>>,
}

impl Registry {
    /// No adapter.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The adapters that the features of this build bring.
    #[must_use]
    pub fn built_in() -> Self {
        let registry = Self::empty();
        #[cfg(feature = "adapter-catalog")]
        let registry = jobgate_adapter_catalog::factories().fold(registry, Self::with);
        #[cfg(feature = "adapter-mock")]
        let registry = registry.with(jobgate_adapter_api::factory::<jobgate_adapter_mock::Mock>());
        #[cfg(feature = "adapter-rest")]
        let registry = registry.with(jobgate_adapter_api::factory::<jobgate_adapter_rest::Rest>());
        #[cfg(feature = "adapter-step-functions")]
        let registry = registry.with(jobgate_adapter_api::factory::<jobgate_adapter_step_functions::StepFunctions>());
        registry
    }

    /// With one more adapter; of two with the same kind, the later one counts.
    #[must_use]
    pub fn with(mut self, factory: impl Into<Arc<dyn AdapterFactory>>) -> Self {
        let factory = factory.into();
        self.factories.retain(|known| known.kind() != factory.kind());
        self.factories.push(factory);
        self.factories.sort_by(|one, other| one.kind().cmp(other.kind()));
        self
    }

    /// Without the adapters that `keep` does not hold for.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&dyn AdapterFactory) -> bool) -> Self {
        self.factories.retain(|factory| keep(factory.as_ref()));
        self
    }

    /// The adapter of this kind.
    #[must_use]
    pub fn get(&self, kind: &str) -> Option<&dyn AdapterFactory> {
        self.iter().find(|factory| factory.kind() == kind)
    }

    /// The same, for those who keep it.
    #[must_use]
    pub fn shared(&self, kind: &str) -> Option<Arc<dyn AdapterFactory>> {
        self.factories.iter().find(|factory| factory.kind() == kind).cloned()
    }

    /// All of them, in the order of their kinds.
    pub fn iter(&self) -> impl Iterator<Item = &dyn AdapterFactory> {
        self.factories.iter().map(AsRef::as_ref)
    }
}

/// An entry of the catalog that somebody writes, as it lies in a file: a kind under this name.
///
/// # Errors
/// When its parts do not fit together, or when this build has no catalog.
pub fn entry(name: &str, words: serde_json::Value) -> Result<Box<dyn AdapterFactory>, Issues> {
    #[cfg(feature = "adapter-catalog")]
    return jobgate_adapter_catalog::Entry::from_value(name, words).map(jobgate_adapter_catalog::factory).map_err(|bad| bad.0);
    #[cfg(not(feature = "adapter-catalog"))]
    {
        let _ = (name, words);
        let mut issues = Issues::new();
        issues.add(jobgate_adapter_api::Place::root(), "this program was built without the catalog, so it reads no entries");
        Err(issues)
    }
}

/// The JSON Schema of such a file; `None` where this build has no catalog.
#[must_use]
pub fn entry_schema() -> Option<serde_json::Value> {
    #[cfg(feature = "adapter-catalog")]
    return Some(jobgate_adapter_catalog::schema());
    #[cfg(not(feature = "adapter-catalog"))]
    None
}

/// A whole configuration that needs nothing installed: what the gateway serves when it is given none.
#[must_use]
pub const fn demo() -> Option<&'static str> {
    #[cfg(feature = "adapter-mock")]
    return Some(jobgate_adapter_mock::DEMO_YAML);
    #[cfg(not(feature = "adapter-mock"))]
    return None;
}
