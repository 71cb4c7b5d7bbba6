//! Each connection is an open file, and so is each call to a provider and each file of the store: callers must not take them all.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are kept for everything but callers' connections.
const RESERVED: usize = 256;

/// How many of `wanted` connections the system has files for; raises the process's own limit as far as it may.
pub(super) fn room_for(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // A system that says no leaves the limit that it had.
    let files = if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    let room = share(files);
    if room < wanted {
        tracing::warn!(
            wanted,
            room,
            "fewer connections than wanted: the system gives this process too few open files (`ulimit -n`)"
        );
    }
    room.min(wanted)
}

/// The connections among this many open files; `None` is no limit.
fn share(files: Option<u64>) -> usize {
    let files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    files.saturating_sub(RESERVED).max(files / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_never_take_all_files() {
        for (files, room) in [(64, 32), (256, 128), (512, 256), (1024, 768), (20_000, 19_744)] {
            assert_eq!(share(Some(files)), room, "{files}");
        }
        assert!(share(None) > 1_000_000);
    }

    #[test]
    fn no_more_are_given_than_wanted() {
        assert_eq!(room_for(1), 1);
    }
}
