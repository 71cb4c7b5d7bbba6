//! Randomness as a value.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A source of random bytes.
pub trait Random: fmt::Debug + Send + Sync + 'static {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);

    /// A number in `0.0..1.0`, for jitter.
    fn unit(&self) -> f64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exactly what an f64 holds")]
        let number = (u64::from_le_bytes(bytes) >> 11) as f64;
        number / (1_u64 << 53) as f64
    }
}

/// The operating system's generator: fit for secrets and task ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRandom;

impl Random for OsRandom {
    fn fill(&self, bytes: &mut [u8]) {
        // Without a working generator no id would be unguessable, so there is nothing sensible to go on with.
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}

/// A repeatable sequence for tests: the same seed gives the same bytes.
#[derive(Debug)]
pub struct FixedRandom(AtomicU64);

impl FixedRandom {
    /// A sequence that starts at `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Random for FixedRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64 (Steele, Lea, Flood 2014): one addition and a mix, so neighbouring seeds give unlike bytes.
            let mut mixed = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            let word = (mixed ^ (mixed >> 31)).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}
