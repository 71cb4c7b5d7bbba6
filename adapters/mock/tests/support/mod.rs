//! The world for tests of the adapter: a folder, and a clock that jumps.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use jobgate_adapter_api::{Clock, Deps, EnvAndFiles, FixedRandom, ManualClock, Place, Timestamp, Transport, TransportLimits};

/// A clock that jumps to whatever moment someone waits for, so that a slow call is over at once.
#[derive(Debug)]
pub(crate) struct JumpingClock(ManualClock);

impl JumpingClock {
    /// 2026-07-28T12:00:00Z.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(ManualClock::new(Timestamp::from_millis(1_785_240_000_000))))
    }

    /// Moves it forward.
    pub(crate) fn advance(&self, span: std::time::Duration) {
        self.0.advance(span);
    }
}

#[async_trait]
impl Clock for JumpingClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    async fn sleep_until(&self, at: Timestamp) {
        self.0.set(at.max(self.0.now()));
    }
}

/// What instances of the provider `kit` are built with.
pub(crate) fn deps(clock: Arc<JumpingClock>, data_dir: Option<&Path>) -> Deps {
    Deps {
        provider: "kit".to_owned(),
        place: Place::root().key("providers").key("kit"),
        clock,
        random: Arc::new(FixedRandom::new(1)),
        secrets: Arc::new(EnvAndFiles),
        transport: Transport::new(TransportLimits::default()).expect("a transport can be made"),
        data_dir: data_dir.map(Path::to_owned),
    }
}
