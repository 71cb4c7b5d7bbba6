//! The command line. Errors go to stderr with what to do next; results go to stdout.

mod adapter;
mod args;
mod arguments;
mod call;
mod check;
mod follow;
mod forms;
mod gateway;
mod operator;
mod out;
mod remote;
mod save;
mod show;
mod status;
mod store;
mod tasks;
mod token;
mod webhook;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use jobgate_adapter_api::{Clock, OsRandom};

use crate::telemetry;
use args::{Cli, Command, LogArgs, LogFormat, TasksCommand, TokenCommand, WebhookCommand};
use out::{Ended, Failure, code};

/// Runs the command that `words` ask for and says how it ended.
pub fn run(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are printed this way, too; a closed pipe is no error of ours.
            error.print().ok();
            return ExitCode::from(if error.use_stderr() { code::USAGE } else { 0 });
        }
    };
    match dispatch(cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.tell();
            ExitCode::from(failure.code)
        }
    }
}

fn dispatch(cli: Cli) -> Ended {
    let command = cli.command.unwrap_or(Command::Serve(cli.serve));
    let clock: Arc<dyn Clock> = gateway::clock();
    log(&cli.log, &command)?;
    match command {
        Command::Check(args) => check::check(&args.file, &*clock),
        Command::Schema => check::schema(),
        Command::Call(args) => blocking(async { call::run(&args, clock, &OsRandom).await }),
        Command::Tasks(TasksCommand::Get(args)) => blocking(tasks::get(&args, clock)),
        Command::Tasks(TasksCommand::Cancel(args)) => blocking(tasks::cancel(&args, clock)),
        Command::Tasks(TasksCommand::Answer(args)) => blocking(tasks::answer(&args, clock)),
        Command::Tasks(TasksCommand::List(args)) => blocking(operator::list(&args)),
        Command::Tasks(TasksCommand::Audit(args)) => blocking(operator::audit(&args)),
        Command::Serve(args) => blocking(gateway::http(&args, cli.log.log_format)),
        Command::Stdio(args) => blocking(gateway::pipe(&args)),
        Command::Token(TokenCommand::New(args)) => token::new(&args, &*clock, &OsRandom),
        Command::Webhook(WebhookCommand::Sign(args)) => webhook::sign(&args, &*clock),
        Command::Webhook(WebhookCommand::Verify(args)) => webhook::verify(&args, &*clock),
        Command::Webhook(WebhookCommand::Send(args)) => blocking(webhook::send(&args)),
        Command::Webhook(WebhookCommand::Dead(command)) => blocking(operator::dead(&command)),
        Command::Adapter(command) => blocking(async { adapter::run(&command, clock).await }),
        Command::Store(command) => blocking(store::run(command)),
    }
}

/// Gateways say what they do; commands only what went wrong.
fn log(args: &LogArgs, command: &Command) -> Result<(), Failure> {
    let quiet = match command {
        Command::Serve(_) | Command::Stdio(_) => "info",
        Command::Check(_)
        | Command::Adapter(_)
        | Command::Schema
        | Command::Call(_)
        | Command::Tasks(_)
        | Command::Token(_)
        | Command::Webhook(_)
        | Command::Store(_) => "error,rmcp=off",
    };
    let format = match args.log_format {
        LogFormat::Text => telemetry::Format::Text,
        LogFormat::Json => telemetry::Format::Json,
    };
    let filter = args.log.as_deref().filter(|filter| !filter.is_empty()).unwrap_or(quiet);
    telemetry::init(filter, format).map_err(|error| {
        Failure::usage(error).hint("for example `--log info` or `--log info,jobgate::engine=debug` (or JOBGATE_LOG)")
    })
}

/// Runs `work` on a runtime of its own.
fn blocking(work: impl Future<Output = Ended>) -> Ended {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("no threads can be started: {error}")))?;
    let ended = runtime.block_on(work);
    // What still runs was shut down or does not matter any more; nobody waits for a thread that waits for a key.
    runtime.shutdown_background();
    ended
}
