//! The stock WireMock server: installed below the cache at the version that the lock file pins, started on a free port.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jobgate_test_support::engine::{cache, skip};
use jobgate_test_support::process::{Process, free_ports};
use jobgate_test_support::wait;
use serde_json::Value;
use tempfile::TempDir;

use crate::ask::{Answer, get, post};

const INSTALL_LIMIT: Duration = Duration::from_secs(120);
const START_LIMIT: Duration = Duration::from_secs(60);

/// A server. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Stock {
    _process: Process,
    folder: TempDir,
    pub(crate) url: String,
}

impl Stock {
    /// `None` where there is no Java or npm and tests may be skipped.
    pub(crate) async fn start() -> Option<Self> {
        for command in ["java", "npm"] {
            if Command::new(command).arg("--version").output().is_err() {
                skip(&format!("there is no {command} on this machine, which the stock WireMock needs"));
                return None;
            }
        }
        let jar = install();
        let folder = tempfile::tempdir().unwrap();
        for below in ["mappings", "__files"] {
            fs::create_dir_all(folder.path().join(below)).unwrap();
        }
        let port = free_ports(1);
        let mut command = Command::new("java");
        command.args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-jar"]).arg(jar);
        command.args(["--port", &port.to_string(), "--disable-banner", "--root-dir"]).arg(folder.path());
        let mut process = Process::start("wiremock", command, &folder.path().join("wiremock.log"));
        let url = format!("http://127.0.0.1:{port}");
        wait::until("the stock WireMock", START_LIMIT, || {
            assert!(process.ended().is_none(), "the stock WireMock ended: {}", process.output());
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        wait::until_async("WireMock's own interface", START_LIMIT, async || {
            (get("/__admin/mappings").send(&url).await.status == 200).then_some(())
        })
        .await;
        Some(Self { _process: process, folder, url })
    }

    async fn tell(&self, method: &'static str, path: &str, body: &str) -> Answer {
        post(body).by(method).at(path).with("Content-Type", "application/json").send(&self.url).await
    }

    /// It has this mapping alone.
    pub(crate) async fn play(&self, mapping: &Value) {
        self.tell("DELETE", "/__admin/mappings", "").await;
        let answer = self.tell("POST", "/__admin/mappings", &mapping.to_string()).await;
        assert_eq!(answer.status, 201, "{mapping}: {}", answer.body);
    }

    /// It has the files of this folder, and all scenarios are where they begin.
    pub(crate) async fn load(&self, fixtures: &Path) {
        for below in ["mappings", "__files"] {
            fs::remove_dir_all(self.folder.path().join(below)).unwrap();
            fs::create_dir_all(self.folder.path().join(below)).unwrap();
            if fixtures.join(below).is_dir() {
                copy(&fixtures.join(below), &self.folder.path().join(below));
            }
        }
        copy(fixtures, &self.folder.path().join("mappings"));
        let answer = self.tell("POST", "/__admin/mappings/reset", "").await;
        assert_eq!(answer.status, 200, "{}: {}", fixtures.display(), answer.body);
        self.tell("POST", "/__admin/scenarios/reset", "").await;
    }
}

/// The files of a folder, and no folder of it.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.extension().is_none_or(|ending| ending != "md") {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// The server's jar.
fn install() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines_wiremock/npm");
    let lock = fs::read_to_string(own.join("package-lock.json")).unwrap();
    let folder = cache().join("wiremock");
    let jar = folder.join("node_modules/wiremock/build/wiremock-standalone-3.13.2.jar");
    if jar.is_file() && fs::read_to_string(folder.join("installed")).is_ok_and(|installed| installed == lock) {
        return jar;
    }
    fs::create_dir_all(&folder).unwrap();
    for file in ["package.json", "package-lock.json"] {
        fs::copy(own.join(file), folder.join(file)).unwrap();
    }
    let mut command = Command::new("npm");
    command.args(["install", "--no-audit", "--no-fund", "--silent"]).current_dir(&folder);
    let mut process = Process::start_apart("npm install", command, &folder.join("install.log"));
    let status = wait::until("npm install", INSTALL_LIMIT, || process.ended());
    assert!(status.success(), "npm install: {}", fs::read_to_string(folder.join("install.err")).unwrap_or_default());
    fs::write(folder.join("installed"), lock).unwrap();
    jar
}
