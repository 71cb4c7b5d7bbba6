//! The document says what the code does: its table is the catalogue.

use jobgate_test_support::source;
use jobgate_webhooks::{Binds, catalog};

use crate::rig::rig;

fn yes(it: bool) -> &'static str {
    if it { "yes" } else { "no" }
}

/// L5: one row for every scheme that providers use, with what it protects.
#[test]
fn the_table_of_schemes_is_the_catalogue() {
    let rows: Vec<String> = catalog()
        .iter()
        .map(|entry| match entry.name {
            Some(name) => {
                let Binds { body, time } = rig(name).scheme.binds();
                format!("| {} | `{name}` | {} | {} | {} |", entry.id, yes(body), yes(time), entry.note)
            }
            None => format!("| {} | none | no | no | {} |", entry.id, entry.note),
        })
        .collect();
    let document = source::text("docs/webhooks.md").unwrap();
    let after = document.split_once("| used by providers |").unwrap().1;
    let written: Vec<&str> = after.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert_eq!(written, rows, "the table should be:\n{}", rows.join("\n"));
}
