//! What the process says about itself: structured logs on stderr, never on stdout, which belongs to results and to MCP.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object a line, for collectors.
    Json,
}

/// Starts logging. Called once, by the program, never by the library.
///
/// # Errors
/// A sentence that says what is wrong with `filter`.
pub fn init(filter: &str, format: Format) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("`{filter}` is no log filter: {error}"))?;
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    let started = match format {
        Format::Text => lines.try_init(),
        Format::Json => lines.json().flatten_event(true).try_init(),
    };
    // A second start is refused because the first one stands.
    started.map_err(|error| error.to_string())
}
