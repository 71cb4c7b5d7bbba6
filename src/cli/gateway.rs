//! `jobgate serve` and `jobgate stdio`: which configuration, what to say, and how to stop.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jobgate_adapter_api::{EnvAndFiles, OsRandom};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::args::{LogFormat, ServeArgs, SourceArgs};
use super::check::{read, warn};
use super::out::{Ended, Failure, code, note};
use crate::config;
use crate::domain::{Clock, SystemClock};
use crate::registry::{Registry, demo};
use crate::serve::{self, HolderError, Plan, PlanError, Ready, ServeError, Source, SwitchError, World};
use crate::store::StoreError;

/// The configuration that is used when none is named.
const USUAL: &str = "jobgate.yaml";

/// The machine's own clock, randomness and secrets.
pub(super) fn world() -> World {
    World { clock: Arc::new(SystemClock), random: Arc::new(OsRandom), secrets: Arc::new(EnvAndFiles) }
}

/// A configuration, and whether it is the built-in one.
pub(super) struct Chosen {
    pub(super) source: Source,
    pub(super) built_in: bool,
}

/// The configuration that `args` ask for: a file, `./jobgate.yaml`, or the built-in one.
pub(super) fn choose(args: &SourceArgs) -> Result<Chosen, Failure> {
    let usual = Path::new(USUAL);
    let file: Option<PathBuf> = args.config.clone().or_else(|| usual.exists().then(|| usual.to_owned()));
    let (text, name, built_in) = match (&file, demo()) {
        (Some(file), _) => (read(file)?, file.display().to_string(), false),
        (None, Some(demo)) => (demo.to_owned(), "built-in configuration".to_owned(), true),
        (None, None) => {
            let hint = "name one with `--config FILE`; `jobgate schema` shows what can be in it";
            return Err(Failure::usage(format!("there is no ./{USUAL}, and this build has no built-in tools")).hint(hint));
        }
    };
    let mut checked = config::load(&text, &name, &Registry::built_in())
        .map_err(|problems| Failure::usage(format!("the configuration is wrong:\n{problems}")))?;
    warn(&checked.warnings);
    if let Some(data) = &args.data {
        checked.store.path.clone_from(data);
    }
    Ok(Chosen { source: Source { checked, text, file: name }, built_in })
}

pub(super) async fn http(args: &ServeArgs, format: LogFormat) -> Ended {
    let Chosen { mut source, built_in } = choose(&args.source)?;
    if let Some(address) = &args.listen {
        let config::Checked { server, auth, .. } = &mut source.checked;
        server.listen_on(address, auth).map_err(|problem| Failure::usage(format!("--listen: {problem}")))?;
    }
    let plan = Arc::new(Plan::build(source, world()).map_err(plan_failure)?);
    let stop = stop_signal()?;
    let told = |ready: Ready| match format {
        // Whoever reads JSON reads nothing else.
        LogFormat::Json => tracing::info!(address = %ready.address, holder = ready.holder, "ready"),
        LogFormat::Text => welcome(ready, built_in),
    };
    serve::http(plan, stop, told).await.map_err(serve_failure)?;
    Ok(0)
}

pub(super) async fn pipe(args: &SourceArgs) -> Ended {
    let Chosen { source, .. } = choose(args)?;
    let plan = Arc::new(Plan::build(source, world()).map_err(plan_failure)?);
    serve::pipe(plan, stop_signal()?).await.map_err(serve_failure)?;
    Ok(0)
}

/// The first signal asks everything to end, the second one does not ask.
fn stop_signal() -> Result<CancellationToken, Failure> {
    let told = |error: std::io::Error| Failure::new(format!("signals cannot be heard: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(told)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(told)?;
    let stop = CancellationToken::new();
    let told = stop.clone();
    // A thread of its own: it has to hear the second signal even when everything else is stuck.
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        runtime.block_on(async move {
            for first in [true, false] {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                if first {
                    tracing::info!("stopping; a second signal ends at once");
                    told.cancel();
                }
            }
            std::process::exit(i32::from(code::ERROR));
        });
    });
    Ok(stop)
}

/// What to do next, for whoever just started a gateway.
fn welcome(ready: Ready, built_in: bool) {
    let url = format!("http://{}/mcp", ready.address);
    note(format!("jobgate listens on {url}"));
    if let Some(holder) = ready.holder {
        note(format!("process {holder} holds the store; this one answers through it, and takes over when it goes"));
    }
    if !built_in {
        return;
    }
    let at =
        if ready.address.port() == 8080 && ready.address.ip().is_loopback() { String::new() } else { format!(" --url {url}") };
    // After `cargo run` the program is on nobody's PATH.
    let program = std::env::current_exe().map_or_else(|_| "jobgate".to_owned(), |path| path.display().to_string());
    note(format!(
        "
No configuration was named, so it serves built-in mock tools. Try, in a second terminal:
  jobgate call quick_sum --arg a=2 --arg b=3{at}
  jobgate call render_video --arg prompt=sunrise{at}
  jobgate call deploy --arg service=web --arg version=1.4.2{at}
where `jobgate` is {program}

Add it to an MCP client:
  claude mcp add --transport http jobgate {url}
  VS Code, .vscode/mcp.json: {{ \"servers\": {{ \"jobgate\": {{ \"type\": \"http\", \"url\": \"{url}\" }} }} }}

Your own job API: write ./{USUAL}; `jobgate schema` gives editors its words, `jobgate check {USUAL}` checks it.
"
    ));
}

fn plan_failure(error: PlanError) -> Failure {
    match error {
        PlanError::Configuration(problems) => Failure::usage(format!("the configuration cannot be used:\n{problems}")),
        PlanError::Transport(reason) => Failure::new(reason),
    }
}

fn serve_failure(error: ServeError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ServeError::Listen { address, reason } if reason.kind() == std::io::ErrorKind::AddrInUse => failure.hint(format!(
            "something listens there already: use it, or take another port with `--listen {}:0` (any free one)",
            address.ip()
        )),
        ServeError::Listen { .. } => failure.hint("name another address with `--listen ADDR`, for example 127.0.0.1:8081"),
        ServeError::Switch(SwitchError::Silent { .. }) => {
            failure.hint("stop that process, or use another data folder with `--data DIR`")
        }
        ServeError::Switch(SwitchError::Holder(HolderError::Store(StoreError::Unavailable(_)))) => {
            failure.hint("is the data folder writable, and is there room on the disk? `--data DIR` names another")
        }
        ServeError::Switch(_) | ServeError::Pipe(_) | ServeError::Lost => failure,
    }
}

/// The clock of commands that need nothing else of the world.
pub(super) fn clock() -> Arc<dyn Clock> {
    world().clock
}
