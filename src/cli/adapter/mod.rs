//! `jobgate adapter`: the kinds that there are, what will be called when, and with `try` and `record` a tool's words at work, against the
//! provider itself.

mod describe;
mod mask;
mod record;
mod run;
mod stub;
mod subject;
mod watch;

use std::io::IsTerminal as _;
use std::sync::Arc;

use jobgate_adapter_api::{
    CallContext, Clock, Deps, EnvAndFiles, IdempotencyKey, Issues, JobState, OsRandom, Part, Random as _, Transport,
    TransportLimits,
};
use tokio::signal::unix::{SignalKind, signal};

use self::mask::{Learning, Mask};
use self::run::Trial;
use self::subject::{Subject, alone, subject};
use self::watch::Watch;
use super::args::{AdapterCommand, TrialArgs};
use super::arguments::arguments;
use super::check::warn;
use super::forms::Terminal;
use super::out::{Ended, Failure, code, note, result};
use crate::config::{self, Checked};

pub(super) async fn run(command: &AdapterCommand, clock: Arc<dyn Clock>) -> Ended {
    match command {
        AdapterCommand::List(args) => describe::list(args.file.as_deref()),
        AdapterCommand::Show(args) => describe::show(&args.name),
        AdapterCommand::Explain(args) => describe::explain(&args.file, args.tool.as_deref()),
        AdapterCommand::Try(args) => {
            let mask = Arc::new(Mask::new());
            let (state, _) = try_out(args, clock, &mask).await?;
            Ok(end(&state, &mask))
        }
        AdapterCommand::Record(args) => {
            record::may_write(&args.into, &args.trial.tool)?;
            let mask = Arc::new(Mask::new());
            let (state, run) = try_out(&args.trial, clock, &mask).await?;
            let code = end(&state, &mask);
            record::write(&args.into, &args.trial.tool, &run, &mask)?;
            Ok(code)
        }
    }
}

/// What a recorder needs of a run.
struct Recorded {
    watch: Arc<Watch>,
    key: IdempotencyKey,
}

/// One run of a tool, its exchanges shown.
async fn try_out(args: &TrialArgs, clock: Arc<dyn Clock>, mask: &Arc<Mask>) -> Result<(JobState, Recorded), Failure> {
    let name = args.file.display().to_string();
    let (checked, text) = match subject(&args.file)? {
        Subject::Kind(kind) => alone(&kind, &args.tool, &args.settings)?,
        Subject::Configuration(checked, text) if args.settings.is_empty() => (*checked, text),
        Subject::Configuration(..) => {
            let hint = "write it into the provider's section; `--set` is for a kind without a configuration";
            return Err(Failure::usage(format!("{name} says its settings itself, so `--set` has no meaning")).hint(hint));
        }
    };
    let Checked { providers, tools, warnings, .. } = checked;
    warn(&warnings);
    let Some(tool) = tools.iter().find(|tool| tool.name.as_str() == args.tool) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        return Err(Failure::usage(format!("{name} has no tool `{}`", args.tool)).hint(format!("tools: {}", names.join(", "))));
    };
    let arguments = arguments(&tool.input_schema, &args.args, args.json.as_deref())?;
    let provider = providers.into_iter().find(|provider| provider.name == tool.provider);
    let provider = provider.ok_or_else(|| Failure::new(format!("there is no provider {}", tool.provider)))?;
    let watch = Arc::new(Watch::new(Arc::clone(mask)));
    let transport = Transport::new(TransportLimits::default()).map_err(Failure::new)?.with_tap(Arc::<Watch>::clone(&watch));
    let deps = Deps {
        provider: provider.name.as_str().to_owned(),
        place: provider.place.clone(),
        clock: Arc::clone(&clock),
        random: Arc::new(OsRandom),
        secrets: Arc::new(Learning { inner: Arc::new(EnvAndFiles), mask: Arc::clone(mask) }),
        transport,
        data_dir: None,
    };
    let adapter = provider.adapter.build(&deps).map_err(|issue| {
        let mut issues = Issues::new();
        issues.add(issue.place, issue.message);
        Failure::usage(config::locate(&text, &name, issues).to_string())
    })?;
    if adapter.capabilities(&args.tool).pushed_only {
        let hint = "run a gateway with a public address, and call the tool there";
        return Err(Failure::usage("this tool's jobs cannot be looked at, and nothing is delivered to this command").hint(hint));
    }
    let key = IdempotencyKey::new(fresh_key());
    let trial = Trial {
        adapter,
        policy: &tool.policy,
        cx: CallContext {
            tool: args.tool.clone(),
            key: key.clone(),
            timeout: provider.call_timeout,
            arguments: Arc::new(arguments.clone()),
            started_at: clock.now(),
            callback_url: None,
            cancel: None,
        },
        clock,
        mask,
        answer: &args.answer,
        terminal: (std::io::stdin().is_terminal() && std::io::stderr().is_terminal()).then(Terminal::new),
        interrupts: signal(SignalKind::interrupt()).map_err(|error| Failure::new(format!("signals cannot be heard: {error}")))?,
    };
    let state = Box::pin(trial.run(tool.complete(arguments))).await?;
    Ok((state, Recorded { watch, key }))
}

/// Of the same form as a gateway's keys.
fn fresh_key() -> String {
    let mut bytes = [0; 16];
    OsRandom.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Tells how a job ended: what it made on stdout, all else on stderr.
fn end(state: &JobState, mask: &Mask) -> u8 {
    let output = match state {
        JobState::Succeeded(output) => {
            note("\nsucceeded");
            output
        }
        JobState::Failed(failure) => {
            let code = failure.code.as_ref().map(|code| format!(" ({})", mask.clean(code)));
            note(format!("\nfailed: {}{}", mask.clean(&failure.message), code.unwrap_or_default()));
            &failure.output
        }
        JobState::Cancelled => {
            note("\ncancelled");
            return code::CANCELLED;
        }
        _ => {
            note("\ngone: the provider does not know the job any more");
            return code::TASK_FAILED;
        }
    };
    for part in &output.parts {
        result(match part {
            Part::Text(text) | Part::Embedded { text, .. } => mask.clean(text),
            Part::Image { data, mime_type } | Part::Audio { data, mime_type } => {
                format!("[{mime_type}, {} characters of base64]", data.len())
            }
            Part::Link { uri, name, .. } => format!("{name}: {}", mask.clean(uri)),
        });
    }
    if let Some(data) = &output.data {
        result(mask.clean(&format!("{data:#}")));
    }
    for artifact in &output.artifacts {
        note(format!("a gateway would keep {}: {}", artifact.name, mask.clean(&artifact.uri)));
    }
    if matches!(state, JobState::Failed(_)) { code::JOB_FAILED } else { 0 }
}
