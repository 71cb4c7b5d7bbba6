//! The gateway's binary as a process of its own: started on a free port, killed, and started again on the same data.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::process::{Process, free_ports};
use crate::wait;
use crate::wire::Wire;

/// How long a gateway may take until it answers.
const READY_LIMIT: Duration = Duration::from_secs(30);

/// How to start a gateway. The working directory is also where its data is.
#[derive(Clone, Debug)]
pub struct Setup {
    binary: PathBuf,
    folder: PathBuf,
    config: Option<PathBuf>,
    environment: Vec<(String, String)>,
    port: u16,
    outputs: Arc<AtomicUsize>,
}

impl Setup {
    /// `binary` is `env!("CARGO_BIN_EXE_jobgate")`, which cargo gives to tests of that package alone; `folder` an empty folder.
    #[must_use]
    pub fn new(binary: &str, folder: &Path) -> Self {
        Self {
            binary: binary.into(),
            folder: folder.to_owned(),
            config: None,
            environment: Vec::new(),
            port: free_ports(1),
            outputs: Arc::default(),
        }
    }

    /// With this configuration instead of the built-in one.
    #[must_use]
    pub fn config(mut self, file: &Path) -> Self {
        self.config = Some(file.to_owned());
        self
    }

    /// With this variable in its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The command `jobgate WORDS...` in the same folder and environment.
    #[must_use]
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).current_dir(&self.folder);
        command.envs(self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        command
    }

    /// A file for the output of one more command.
    pub(crate) fn next_output(&self) -> PathBuf {
        self.folder.join(format!("command{}.out", self.outputs.fetch_add(1, Ordering::Relaxed)))
    }

    /// The port that it listens on.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The address of its MCP endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Starts it, and waits for nothing.
    #[must_use]
    pub fn launch(&self) -> Gateway {
        let mut command = self.command(&["serve", "--listen", &format!("127.0.0.1:{}", self.port), "--data", "jobgate-data"]);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        let process = Process::start("the gateway", command, &self.folder.join("gateway.log"));
        Gateway { process, wire: Wire::new(&self.url()) }
    }

    /// Starts it, and waits until it is ready.
    ///
    /// # Panics
    /// When it ends instead, or is not ready within 30 s.
    pub async fn start(&self) -> Gateway {
        let mut gateway = self.launch();
        let ready = format!("http://127.0.0.1:{}/readyz", self.port);
        wait::until_async("the gateway to be ready", READY_LIMIT, async || {
            if let Some(status) = gateway.process.ended() {
                panic!("the gateway ended with {status}:\n{}", gateway.process.output());
            }
            gateway.wire.status(&ready).await.filter(|status| *status == 200)
        })
        .await;
        gateway
    }
}

/// A gateway that runs. Dropping it ends it.
#[derive(Debug)]
pub struct Gateway {
    process: Process,
    /// A client of it.
    pub wire: Wire,
}

impl Gateway {
    /// `kill -9`.
    pub fn kill(mut self) {
        self.process.kill();
    }

    /// Asks it to end, as an operator does, and waits for it.
    pub fn stop(mut self) -> ExitStatus {
        self.process.stop()
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// What it has printed, over all starts in this folder.
    #[must_use]
    pub fn output(&self) -> String {
        self.process.output()
    }
}
