//! Feeds a target inputs that nobody guides: many more a second than libFuzzer gives. `blind` names the targets; `blind TARGET RUNS [SEED]`
//! feeds one, and ends with the first input that finds something, written to `fuzz/found/`.

use std::io::{Error, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use jobgate_fuzz_webhooks::{Target, targets};

/// The longest input.
const LONGEST: u64 = 192;

/// SplitMix64: the same inputs everywhere, without a dependency.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::stdout().lock();
    let Some(name) = words.first() else {
        return targets().try_for_each(|name| writeln!(out, "{name}"));
    };
    let number = |at: usize| words.get(at).map(|word| word.parse::<u64>().map_err(Error::other)).transpose();
    let target = Target::named(name).ok_or_else(|| Error::other(format!("there is no target {name}; `blind` names them")))?;
    let runs = number(1)?.ok_or_else(|| Error::other("blind TARGET RUNS [SEED]"))?;
    let mut dice = Dice(number(2)?.unwrap_or_default());
    let mut input = Vec::new();
    for run in 0..runs {
        input.clear();
        let length = dice.next() % LONGEST;
        while u64::try_from(input.len()).unwrap_or(u64::MAX) < length {
            input.extend(dice.next().to_le_bytes());
        }
        if catch_unwind(AssertUnwindSafe(|| target.feed(&input))).is_err() {
            let file = format!("fuzz/found/{name}-blind-{run}");
            std::fs::create_dir_all("fuzz/found")?;
            std::fs::write(&file, &input)?;
            return Err(Error::other(format!("{name}: run {run} found something; {file}")));
        }
    }
    writeln!(out, "{name}: {runs} runs, nothing found")
}
