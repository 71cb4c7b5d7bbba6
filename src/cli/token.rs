//! `jobgate token new`: a token for whoever will call, and the entry that lets it in.

use jobgate_adapter_api::{Clock, HumanDuration, Random};

use super::args::TokenNewArgs;
use super::out::{Ended, Failure, note, result};
use crate::config::check_name;
use crate::domain::{TokenHash, mint_token};

/// Prints the token alone to stdout, so that it can be piped to where secrets are kept, and its entry to stderr. It is kept nowhere.
pub(super) fn new(args: &TokenNewArgs, clock: &dyn Clock, random: &dyn Random) -> Ended {
    for (word, name) in [("--principal", Some(&args.principal)), ("--tenant", args.tenant.as_ref())] {
        if let Some(Err(hint)) = name.map(|name| check_name(name)) {
            return Err(Failure::usage(format!("{word}: is no name")).hint(hint));
        }
    }
    let mut entry = vec![("principal", quoted(&args.principal))];
    entry.extend(args.tenant.as_ref().map(|tenant| ("tenant", quoted(tenant))));
    if !args.tools.is_empty() {
        let tools: Vec<String> = args.tools.iter().map(|tool| quoted(tool)).collect();
        entry.push(("tools", format!("[{}]", tools.join(", "))));
    }
    if args.admin {
        entry.push(("admin", "true".to_owned()));
    }
    if let Some(span) = &args.expires {
        let span: HumanDuration = span.parse().map_err(|error| Failure::usage(format!("--expires: {error}")))?;
        entry.push(("expires", clock.now().plus(span.get()).to_string()));
    }
    let token = mint_token(random);
    note("The token is shown this once and kept nowhere. Its entry in the configuration:\n");
    note(format!("auth:\n  tokens:\n    - hash: {}", TokenHash::of(token.expose())));
    for (word, value) in entry {
        note(format!("      {word}: {value}"));
    }
    note("");
    result(token.expose());
    Ok(0)
}

/// A text that YAML reads as text, whatever it looks like: every JSON string is one.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
