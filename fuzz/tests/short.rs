//! The fuzzer's short run: every seed as it is, then thousands of inputs made from them, the same in every run.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its seeds has failed")]

use std::path::Path;

use jobgate_fuzz::Subject;

/// Inputs made from the seeds.
const MADE: usize = 3000;

/// Pieces that mean something to the protocol.
const PIECES: [&str; 34] = [
    "null",
    "true",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "[]",
    "{}",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\\",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "$TASK",
    "\"$ASKED\"",
    "$EVENT",
    "\"_meta\":",
    "\"task\":{\"ttl\":1}",
    "\"taskId\":",
    "\"cursor\":",
    "\"id\":1,",
    "\"progressToken\":1,",
    "tasks/result",
    "tasks/list",
    "notifications/cancelled",
    "\nT\nG",
    "\nC",
    "\nE",
    "\u{fffd}",
];

/// SplitMix64: the same numbers everywhere, without a dependency.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap() % bound.max(1)
    }

    /// A range of at most `longest` places.
    fn range(&mut self, length: usize, longest: usize) -> std::ops::Range<usize> {
        let start = self.below(length);
        start..(start + 1 + self.below(longest)).min(length)
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/dispatcher");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn spoil(input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
    let at = dice.below(input.len());
    match dice.below(8) {
        0 if !input.is_empty() => input[at] ^= 1 << dice.below(8),
        1 if !input.is_empty() => drop(input.drain(dice.range(input.len(), 12))),
        2 if !input.is_empty() => {
            let range = dice.range(input.len(), 60);
            let again = input[range].to_vec();
            input.splice(at..at, again);
        }
        3 => {
            // What another seed has between two places.
            let other = &seeds[dice.below(seeds.len())];
            let part = other[dice.range(other.len(), 200)].to_vec();
            input.splice(at..at, part);
        }
        4 => {
            // A whole line of another seed.
            let other = &seeds[dice.below(seeds.len())];
            let lines: Vec<&[u8]> = other.split(|byte| *byte == b'\n').collect();
            input.push(b'\n');
            input.extend_from_slice(lines[dice.below(lines.len())]);
        }
        _ => {
            let piece = PIECES[dice.below(PIECES.len())].bytes();
            let end = (at + dice.below(4)).min(input.len());
            input.splice(at..end, piece);
        }
    }
}

#[test]
fn thousands_of_spoilt_inputs_do_no_harm() {
    let seeds = seeds();
    assert!(seeds.len() > 30, "{} seeds", seeds.len());
    let mut subject = Subject::new();
    for seed in &seeds {
        subject.feed(seed);
    }
    let mut dice = Dice(20_251_125);
    for _ in 0..MADE {
        let mut input = seeds[dice.below(seeds.len())].clone();
        for _ in 0..=dice.below(6) {
            spoil(&mut input, &seeds, &mut dice);
        }
        let shown = input.clone();
        let fed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| subject.feed(&input)));
        assert!(fed.is_ok(), "the input: {}", String::from_utf8_lossy(&shown));
    }
}
