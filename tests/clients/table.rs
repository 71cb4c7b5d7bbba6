//! The table of `docs/clients.md`: what the run of the stories has shown.

use std::fmt::Write as _;
use std::fs;

use jobgate_test_support::source::{root, text};
use serde_json::Value;

use super::known::{CLIENTS, Client, Pinned};
use super::steps::STEPS;

const DOCUMENT: &str = "docs/clients.md";
const BEGIN: &str = "<!-- The table, written by `UPDATE_GOLDEN=1 cargo nextest run --test clients`: -->\n";
const END: &str = "<!-- End of the table. -->\n";

/// Holds the document against what the clients can do. Every step that is not listed as impossible has been seen to work.
#[expect(clippy::disallowed_methods, reason = "the environment of the tests is their own configuration")]
pub(crate) fn check() {
    let document = text(DOCUMENT).unwrap();
    let (before, rest) = document.split_once(BEGIN).expect("the document has a place for the table");
    let (table, after) = rest.split_once(END).expect("the table has an end");
    let made = made();
    if std::env::var("UPDATE_GOLDEN").is_ok() {
        fs::write(root().join(DOCUMENT), format!("{before}{BEGIN}{made}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(table, made, "{DOCUMENT} is out of date: UPDATE_GOLDEN=1 cargo nextest run --test clients");
}

fn made() -> String {
    let mut table = String::from("\n| client | version | protocol |");
    for (_, head) in STEPS {
        write!(table, " {head} |").unwrap();
    }
    table.push_str("\n|---|---|---|");
    table.push_str(&"---|".repeat(STEPS.len()));
    table.push('\n');
    let mut notes: Vec<&str> = Vec::new();
    for client in CLIENTS {
        write!(table, "| {} | {} | {} |", client.name, version(client), client.protocol).unwrap();
        for (step, _) in STEPS {
            let own = client.tells.iter().find(|(name, _, _)| *name == step).map(|(_, _, note)| ("yes", *note));
            let cannot = client.cannot.iter().find(|(name, _)| *name == step).map(|(_, why)| ("no API", *why));
            let Some((word, why)) = own.or(cannot) else {
                table.push_str(" yes |");
                continue;
            };
            let note = notes.iter().position(|note| *note == why).unwrap_or_else(|| {
                notes.push(why);
                notes.len() - 1
            });
            write!(table, " {word} ({}) |", note + 1).unwrap();
        }
        table.push('\n');
    }
    table.push('\n');
    for (nth, note) in notes.iter().enumerate() {
        writeln!(table, "{}. {note}.", nth + 1).unwrap();
    }
    table.push('\n');
    table
}

/// The version that the lock files pin.
fn version(client: &Client) -> String {
    let found = match client.pinned {
        Pinned::Npm(package) => {
            let lock: Value = serde_json::from_str(&text("tests/clients/node/package-lock.json").unwrap()).unwrap();
            lock["packages"][format!("node_modules/{package}")]["version"].as_str().map(String::from)
        }
        Pinned::Pip(list, package) => {
            let list = text(&format!("tests/clients/python/{list}.txt")).unwrap();
            list.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("==")).map(String::from)
        }
        Pinned::Cargo(package) => {
            let lock = text("Cargo.lock").unwrap();
            let named = format!("name = \"{package}\"\nversion = \"");
            lock.split_once(&named).and_then(|(_, rest)| rest.split_once('"')).map(|(version, _)| version.to_owned())
        }
    };
    found.unwrap_or_else(|| panic!("{client:?}: no version is pinned"))
}
