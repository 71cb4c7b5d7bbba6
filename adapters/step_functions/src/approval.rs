//! The names of questions: the state that asks, and the event that scheduled its task, as a state may ask more than once.

/// A question's name: the state and the event that asked.
pub(crate) fn key_of(state: &str, scheduled: i64) -> String {
    format!("{state}#{scheduled}")
}

/// The state and the event of a question; `None` for what is no name of one.
pub(crate) fn parse_key(key: &str) -> Option<(&str, i64)> {
    let (state, scheduled) = key.rsplit_once('#')?;
    Some((state, scheduled.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_state_and_event() {
        assert_eq!(parse_key(&key_of("Ask #1", 12)), Some(("Ask #1", 12)));
        assert_eq!(parse_key("Ask"), None);
    }
}
