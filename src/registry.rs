//! Which adapters this build knows. A value, not a global: a test or an embedding program makes its own.

use jobgate_adapter_api::AdapterFactory;

/// Adapter kinds by name.
#[derive(Debug, Default)]
pub struct Registry {
    factories: Vec<Box<dyn AdapterFactory>>,
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
        #[cfg(feature = "adapter-mock")]
        let registry = registry.with(jobgate_adapter_api::factory::<jobgate_adapter_mock::Mock>());
        #[cfg(feature = "adapter-rest")]
        let registry = registry.with(jobgate_adapter_api::factory::<jobgate_adapter_rest::Rest>());
        registry
    }

    /// With one more adapter; of two with the same kind, the later one counts.
    #[must_use]
    pub fn with(mut self, factory: Box<dyn AdapterFactory>) -> Self {
        self.factories.retain(|known| known.kind() != factory.kind());
        self.factories.push(factory);
        self.factories.sort_by_key(|factory| factory.kind());
        self
    }

    /// The adapter of this kind.
    #[must_use]
    pub fn get(&self, kind: &str) -> Option<&dyn AdapterFactory> {
        self.iter().find(|factory| factory.kind() == kind)
    }

    /// All of them, in the order of their kinds.
    pub fn iter(&self) -> impl Iterator<Item = &dyn AdapterFactory> {
        self.factories.iter().map(AsRef::as_ref)
    }
}

/// A whole configuration that needs nothing installed: what the gateway serves when it is given none.
#[must_use]
pub const fn demo() -> Option<&'static str> {
    #[cfg(feature = "adapter-mock")]
    return Some(jobgate_adapter_mock::DEMO_YAML);
    #[cfg(not(feature = "adapter-mock"))]
    return None;
}
