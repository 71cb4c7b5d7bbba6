//! What the gateway costs, as ratios within one run: `cargo bench` prints the tables of `docs/performance.md`.
//!
//! Names on the command line choose parts: `cargo bench -- get create sizes restart journey waiters streams webhooks polls`; without any, all run.
#![expect(clippy::print_stdout, reason = "the tables are the program's output")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

mod deliveries;
mod gateway;
mod load;
mod parts;
mod polls;
mod waiting;
mod webhooks;

type Part = (&'static str, fn() -> String);

const PARTS: [Part; 9] = [
    ("get", parts::get),
    ("create", parts::create),
    ("sizes", parts::sizes),
    ("restart", parts::restart),
    ("journey", parts::journey),
    ("waiters", waiting::waiters),
    ("streams", waiting::streams),
    ("webhooks", webhooks::webhooks),
    ("polls", polls::polls),
];

fn main() {
    let all: Vec<String> = std::env::args().collect();
    if let [_, word, folder] = &all[..]
        && word == parts::FILL
    {
        println!("{}", parts::fill_folder(std::path::Path::new(folder)));
        return;
    }
    match &all.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, waiting::MEASURE, kind, place, tasks] => return print!("{}", waiting::measure(kind, place, tasks)),
        [_, waiting::CROWD, kind, address, count, list] => {
            return waiting::crowd(kind, address, count, list, |word| println!("{word}"));
        }
        [_, deliveries::FORGE, address, rate] => return print!("{}", deliveries::forge(address, rate)),
        _ => {}
    }
    // Cargo itself adds `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    for (name, run) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            println!("{}", run());
        }
    }
}
