//! The short run: some hundred inputs for each target, the same in every run.

use jobgate_fuzz_webhooks::{Target, targets};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Inputs for each target.
const INPUTS: u32 = 300;

/// J1, J2: nothing that a sender writes breaks a verifier, makes it tell a secret, or passes unless it was signed.
#[test]
fn hundreds_of_inputs_for_every_verifier() {
    let mut fed = 0;
    let mut found = Vec::new();
    for name in targets() {
        let target = Target::named(name).unwrap_or_else(|| panic!("{name} is listed"));
        target.feed(b"");
        let config = Config { cases: INPUTS, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]));
        // A panic is a failure of the case, and is made smaller.
        let run = runner.run(&prop::collection::vec(any::<u8>(), 0..200), |input| {
            target.feed(&input);
            Ok(())
        });
        found.extend(run.err().map(|found| format!("{name}: {found}")));
        fed += 1;
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(fed > 40, "{fed} targets");
}
