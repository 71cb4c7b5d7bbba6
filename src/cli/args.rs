//! The command line, as it is written.

mod adapter;
mod webhook;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(super) use self::adapter::{AdapterCommand, TrialArgs};
pub(super) use self::webhook::{
    DeadArgs, DeadCommand, WebhookCommand, WebhookRouteArgs, WebhookSendArgs, WebhookSignArgs, WebhookVerifyArgs,
};

/// Turns any asynchronous job API into durable MCP tasks.
#[derive(Debug, Parser)]
#[command(name = "jobgate", version, args_conflicts_with_subcommands = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) serve: ServeArgs,
    #[command(flatten)]
    pub(super) log: LogArgs,
}

#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// What to log to stderr: a level (error, warn, info, debug, trace) or a filter such as `info,jobgate::engine=debug`.
    #[arg(long, global = true, value_name = "FILTER", env = "JOBGATE_LOG")]
    pub(super) log: Option<String>,
    /// How to log.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(super) log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serves MCP over HTTP (the default command).
    Serve(ServeArgs),
    /// Serves MCP over stdin and stdout, for a client that starts this program itself.
    Stdio(SourceArgs),
    /// Checks a configuration: every problem at once. Needs no network, secrets or environment.
    Check(CheckArgs),
    /// Prints the JSON Schema (draft 2020-12) of the configuration, for editors.
    Schema,
    /// Calls a tool of a running gateway and follows its task to the end.
    Call(CallArgs),
    /// Looks at, answers and cancels tasks.
    #[command(subcommand)]
    Tasks(TasksCommand),
    /// Makes tokens for callers.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Signs, checks and sends webhook deliveries, and looks after those that could not be used.
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Tries a tool's words against its provider, and records what the provider says.
    #[command(subcommand)]
    Adapter(AdapterCommand),
    /// Looks after the embedded store; no gateway may be running on it.
    #[command(subcommand)]
    Store(StoreCommand),
}

#[derive(Clone, Debug, Default, Args)]
pub(super) struct SourceArgs {
    /// The configuration. Default: ./jobgate.yaml where it exists, else built-in mock tools.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// The data folder, instead of the configuration's `store.path`.
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// The address to listen on, instead of the configuration's `server.listen`; port 0 takes any free port.
    #[arg(long, value_name = "ADDR")]
    pub(super) listen: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// The configuration.
    #[arg(value_name = "FILE", default_value = "jobgate.yaml")]
    pub(super) file: PathBuf,
}

/// Where a running gateway is, and how to print what it says.
#[derive(Clone, Debug, Args)]
pub(super) struct RemoteArgs {
    /// The gateway's MCP endpoint.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080/mcp")]
    pub(super) url: String,
    /// A file with the token to show to the gateway. Default: the environment variable JOBGATE_TOKEN, if it is set.
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// How to print results to stdout.
    #[arg(long, value_enum, default_value_t = Output::Text, value_name = "FORMAT")]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// For people.
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object a line: each change as it is seen, the end last.
    Lines,
}

#[derive(Debug, Args)]
pub(super) struct AnswerArgs {
    /// Answers a question without asking on the terminal: FIELD=VALUE, or QUESTION.FIELD=VALUE where several questions have the field.
    #[arg(long = "answer", value_name = "FIELD=VALUE")]
    pub(super) answers: Vec<String>,
    /// Declines every question.
    #[arg(long, conflicts_with = "answers")]
    pub(super) decline: bool,
}

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// The tool's name.
    #[arg(value_name = "TOOL")]
    pub(super) tool: String,
    /// One argument, typed by the tool's schema: NAME=VALUE, or NAME:=JSON.
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(super) args: Vec<String>,
    /// All arguments as one JSON object.
    #[arg(long, value_name = "JSON", conflicts_with = "args")]
    pub(super) json: Option<String>,
    /// Prints the task id and leaves the task running.
    #[arg(long)]
    pub(super) detach: bool,
    /// A key of your own for this wish: the same key gives the same task and starts no second job.
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// Writes the files of the result into this folder, beside what is there.
    #[arg(long, value_name = "DIR", conflicts_with = "detach")]
    pub(super) save: Option<PathBuf>,
    #[command(flatten)]
    pub(super) answer: AnswerArgs,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

#[derive(Debug, Subcommand)]
pub(super) enum TasksCommand {
    /// Shows a task, or follows it to its end.
    Get(GetArgs),
    /// Cancels a task; its job is told until it answers.
    Cancel(TaskArgs),
    /// Answers a task's open questions.
    Answer(TaskAnswerArgs),
    /// Lists the tasks in a data folder, newest first.
    List(ListArgs),
    /// Prints what happened to a task, oldest first.
    Audit(AuditArgs),
}

#[derive(Debug, Args)]
pub(super) struct TaskArgs {
    /// The task's id.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

#[derive(Debug, Args)]
pub(super) struct GetArgs {
    #[command(flatten)]
    pub(super) task: TaskArgs,
    /// Waits for the end and asks the task's questions on the terminal.
    #[arg(long)]
    pub(super) follow: bool,
    /// Writes the files of the result into this folder, beside what is there; of a task that goes on, at its end with `--follow`.
    #[arg(long, value_name = "DIR")]
    pub(super) save: Option<PathBuf>,
    #[command(flatten)]
    pub(super) answer: AnswerArgs,
}

#[derive(Debug, Args)]
pub(super) struct TaskAnswerArgs {
    #[command(flatten)]
    pub(super) task: TaskArgs,
    #[command(flatten)]
    pub(super) answer: AnswerArgs,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// How many at most.
    #[arg(long, default_value_t = 50, value_name = "COUNT")]
    pub(super) limit: usize,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Output::Text, value_name = "FORMAT")]
    pub(super) output: Output,
}

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// The task's id.
    #[arg(value_name = "ID")]
    pub(super) id: String,
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Output::Text, value_name = "FORMAT")]
    pub(super) output: Output,
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Prints a new token to stdout, once, and the entry that lets it in to stderr. Stores nothing.
    New(TokenNewArgs),
}

#[derive(Debug, Args)]
pub(super) struct TokenNewArgs {
    /// Who will call with it; owns the tasks.
    #[arg(long, value_name = "NAME", default_value = "me")]
    pub(super) principal: String,
    /// What the principal belongs to. Default: default.
    #[arg(long, value_name = "NAME")]
    pub(super) tenant: Option<String>,
    /// The tools that it may use, with commas between them; a name that ends in `*` stands for all that begin so. Default: all.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(super) tools: Vec<String>,
    /// Lets it see and act on the tasks of its whole tenant.
    #[arg(long)]
    pub(super) admin: bool,
    /// How long it is valid, for example 90d. Default: until its entry goes.
    #[arg(long, value_name = "SPAN")]
    pub(super) expires: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// Writes everything to FILE, as JSON lines with a hash at the end.
    Export(StoreFileArgs),
    /// Fills an empty store from an export.
    Import(StoreFileArgs),
    /// Copies what is alive to a fresh file; the old one never shrinks by itself.
    Compact(SourceArgs),
    /// Reads every record and says what is wrong.
    Verify(SourceArgs),
}

#[derive(Debug, Args)]
pub(super) struct StoreFileArgs {
    /// The export.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    #[command(flatten)]
    pub(super) source: SourceArgs,
}
