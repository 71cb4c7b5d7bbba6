//! Job APIs that are described already.
#![doc = include_str!("../README.md")]

mod entries;
mod entry;
mod factory;
mod settings;
mod words;

use jobgate_adapter_api::AdapterFactory;

pub use entry::{BadEntry, Entry};
pub use words::{EntryWords, PresetWords, Setting, SettingType, schema};

/// One factory an entry, in the order of their names.
pub fn factories() -> impl Iterator<Item = Box<dyn AdapterFactory>> {
    entries::ENTRIES.iter().map(|source| Box::new(factory::Kind::Built(source)) as Box<dyn AdapterFactory>)
}

/// The factory of an entry that is not part of this build.
#[must_use]
pub fn factory(entry: Entry) -> Box<dyn AdapterFactory> {
    Box::new(factory::Kind::Own(Box::new(entry)))
}

/// Every entry of this build, in the order of their names.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    entries::ENTRIES.iter().map(entries::Source::entry)
}
