//! One verifier under libFuzzer: `--target=NAME` says which. CONTRIBUTING.md says how it is run.
#![no_main]

use jobgate_fuzz_webhooks::Target;

/// The target that the command line names. Words that begin with two dashes are no options of libFuzzer.
fn chosen() -> Target {
    let name = std::env::args().find_map(|word| word.strip_prefix("--target=").map(str::to_owned)).unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| {
        let known: Vec<&str> = jobgate_fuzz_webhooks::targets().collect();
        panic!("there is no target {name:?}; there are {}", known.join(", "))
    })
}

thread_local! {
    static TARGET: Target = chosen();
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    TARGET.with(|target| target.feed(input));
});
