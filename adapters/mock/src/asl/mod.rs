//! An interpreter for the Amazon States Language, JSONPath flavour, that runs in virtual time.
//!
//! The rules are those of the States Language specification (<https://states-language.net/spec.html>); a section's name in a
//! comment means that document. What differs is listed in this crate's README.

mod choice;
mod data;
mod fault;
mod fields;
mod intrinsic;
mod machine;
mod parse;
mod path;
mod run;
mod simulate;
mod snapshot;
mod state;
mod task;
mod template;
mod timing;
mod work;

pub use machine::Machine;
pub use simulate::simulate;
pub use snapshot::{Counts, Execution, Happening, Outside, Question, Snapshot, Status};
pub(crate) use task::TASK_TOKEN;

/// The known word that someone who wrote `word` most likely meant.
fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(word, known), known));
    scored.filter(|(score, _)| *score > 0.8).max_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, known)| known)
}
