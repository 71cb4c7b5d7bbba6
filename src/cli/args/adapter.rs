//! The command line of `jobgate adapter`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::AnswerArgs;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AdapterCommand {
    /// Lists the kinds of job API that this program knows.
    List(AdapterListArgs),
    /// Shows what a kind needs and brings: settings, ready tools, and the shortest configuration.
    Show(AdapterShowArgs),
    /// Says in plain words what will be called when. Needs no network, secrets or environment.
    Explain(AdapterExplainArgs),
    /// Runs one job through the adapter alone and shows each exchange, secrets masked. Ctrl-C asks the provider to stop the job.
    Try(TrialArgs),
    /// As `try`, and writes what the provider said as WireMock stub mappings, scrubbed of secrets and addresses.
    Record(RecordArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct AdapterListArgs {
    /// A configuration, whose adapter files are listed, too; or an adapter file.
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct AdapterShowArgs {
    /// The kind, as after `adapter:`: a name, or an adapter file.
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: String,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct AdapterExplainArgs {
    /// A configuration, an adapter file, or the name of an entry of the catalog.
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
    /// One of its tools. Default: all.
    #[arg(value_name = "TOOL")]
    pub(in crate::cli) tool: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct TrialArgs {
    /// A configuration, an adapter file, or the name of an entry of the catalog.
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
    /// The tool's name.
    #[arg(value_name = "TOOL")]
    pub(in crate::cli) tool: String,
    /// One argument, typed by the tool's schema: NAME=VALUE, or NAME:=JSON.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(in crate::cli) args: Vec<String>,
    /// All arguments as one JSON object.
    #[arg(long, value_name = "JSON", conflicts_with = "args")]
    pub(in crate::cli) json: Option<String>,
    /// A setting of the adapter file or entry, as a provider section would say it: NAME=VALUE, or NAME:=JSON. A secret that is not set is
    /// read where `jobgate adapter show` has its example.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(in crate::cli) settings: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) answer: AnswerArgs,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RecordArgs {
    #[command(flatten)]
    pub(in crate::cli) trial: TrialArgs,
    /// The folder for the stubs; the file is named after the tool.
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) into: PathBuf,
}
