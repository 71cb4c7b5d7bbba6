//! `jobgate serve` and `jobgate stdio` as an operator meets them: what they say, how they stop, what they need.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jobgate_test_support::gateway::Setup;
use jobgate_test_support::pipe::Pipe;
use jobgate_test_support::process::{Process, free_ports};
use jobgate_test_support::wait::{self, Watch};
use jobgate_test_support::wire::Wire;
use serde_json::{Value, json};

const JOBGATE: &str = env!("CARGO_BIN_EXE_jobgate");
const LIMIT: Duration = Duration::from_secs(60);

fn jobgate(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(JOBGATE);
    command.args(words).current_dir(folder);
    command
}

async fn serve(folder: &Path, words: &[&str]) -> (Process, Wire) {
    let port = free_ports(1);
    let address = format!("127.0.0.1:{port}");
    let command = jobgate(folder, &[&["serve", "--listen", &address], words].concat());
    let mut process = Process::start("the gateway", command, &folder.join("serve.log"));
    let wire = Wire::new(&format!("http://{address}/mcp"));
    let ready = format!("http://{address}/readyz");
    wait::until_async("the gateway to be ready", LIMIT, async || {
        assert!(process.ended().is_none(), "{}", process.output());
        wire.status(&ready).await.filter(|status| *status == 200)
    })
    .await;
    (process, wire)
}

/// Nothing has to be configured: what to try next is on the screen, and it works.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_configuration_it_says_what_to_try() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(JOBGATE, folder.path());
    let gateway = setup.start().await;
    let said = gateway.output();
    for part in ["claude mcp add --transport http jobgate http://127.0.0.1:", ".vscode/mcp.json", "jobgate schema"] {
        assert!(said.contains(part), "`{part}` is missing in:\n{said}");
    }
    let tried: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  jobgate call ")).collect();
    assert_eq!(tried.len(), 3, "{said}");
    for line in tried {
        let words: Vec<&str> = ["call"].into_iter().chain(line.split_whitespace()).chain(["--detach"]).collect();
        let output = setup.command(&words).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "jobgate {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    }
}

/// L4: a signal ends it within the grace, with exit code 0; streams end properly and nothing is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, wire) = serve(folder.path(), &[]).await;
    let id = wire.start_task("render_video", json!({ "prompt": "sunrise" })).await;
    let listening = wire.rpc("subscriptions/listen", json!({ "notifications": { "taskIds": [id] } }));
    let stopping = async {
        wait::pause(Duration::from_millis(300)).await;
        let watch = Watch::start();
        let status = tokio::task::spawn_blocking(move || gateway.stop()).await.unwrap();
        (status, watch.elapsed())
    };
    let (listened, (status, took)) = tokio::join!(listening, stopping);
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(8), "a stream held it up for {took:?}");
    assert!(listened.is_ok(), "the stream ends with its answer: {listened:?}");
    let (_gateway, wire) = serve(folder.path(), &[]).await;
    assert_eq!(wire.task(&id).await.unwrap()["status"], "working");
}

/// L4: the first signal waits for what is under way, the second one for nothing; and what was durable is there afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, wire) = serve(folder.path(), &[]).await;
    let id = wire.start_task("render_video", json!({ "prompt": "sunrise" })).await;
    // A request whose body never comes holds an orderly end up for the whole grace.
    let said = gateway.output();
    let address = said.lines().find_map(|line| Some(line.split_once("http://")?.1.split_once("/mcp")?.0)).unwrap();
    let mut held = std::net::TcpStream::connect(address).unwrap();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    std::io::Write::write_all(&mut held, head.as_bytes()).unwrap();
    wait::pause(Duration::from_millis(300)).await;
    gateway.terminate().unwrap();
    wait::until("the word that it stops", LIMIT, || gateway.output().contains("a second signal ends at once").then_some(()));
    wait::pause(Duration::from_millis(500)).await;
    assert!(gateway.ended().is_none(), "it waits for the request: {}", gateway.output());
    let watch = Watch::start();
    gateway.terminate().unwrap();
    let status = wait::until("it to end", LIMIT, || gateway.ended());
    assert!(watch.elapsed() < Duration::from_secs(3), "at once, not after {:?}", watch.elapsed());
    assert_eq!(status.code(), Some(1), "whoever looks sees that it was no orderly end");
    let (_gateway, wire) = serve(folder.path(), &[]).await;
    assert!(wire.task(&id).await.is_ok());
}

/// Logs for collectors: JSON alone, each line.
#[tokio::test(flavor = "multi_thread")]
async fn json_logs_are_json_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, _) = serve(folder.path(), &["--log-format", "json"]).await;
    wait::until("the word that it is ready", LIMIT, || gateway.output().contains("\"ready\"").then_some(()));
    gateway.stop();
    let said = gateway.output();
    let lines: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    assert!(lines.iter().any(|line| line["message"] == "ready" && line["address"].is_string()), "{said}");
}

/// `./jobgate.yaml` is used where it is, and a data folder is beside the configuration that names it.
#[tokio::test(flavor = "multi_thread")]
async fn the_usual_file_is_found_and_its_folder_is_the_base() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let config = "
store: { path: kept }
providers: { jobs: { adapter: mock } }
tools:
  only:
    provider: jobs
    description: The only tool.
    job: { machine: { StartAt: D, States: { D: { Type: Succeed } } } }
";
    std::fs::write(inner.join("jobgate.yaml"), config).unwrap();
    let mut pipe = Pipe::start(jobgate(&inner, &["stdio"]));
    let tools = pipe.ask("tools/list", json!({}));
    assert_eq!((tools["tools"].as_array().unwrap().len(), &tools["tools"][0]["name"]), (1, &"only".into()));
    assert!(inner.join("kept/jobgate.sock").exists());
    assert!(pipe.leave().success());
    assert!(!inner.join("kept/jobgate.sock").exists(), "the socket goes with its holder");

    // Another working directory, as clients have that start the program themselves.
    let mut pipe = Pipe::start(jobgate(folder.path(), &["stdio", "--config", "inner/jobgate.yaml"]));
    assert_eq!(pipe.ask("tools/list", json!({}))["tools"][0]["name"], "only");
    assert!(inner.join("kept/jobgate.sock").exists());
}

/// A data folder with a path too long for a socket works like any other, for several processes, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_deep_data_folder_works() {
    let folder = tempfile::tempdir().unwrap();
    let deep = format!("{}/data", "deep".repeat(40));
    std::fs::create_dir(folder.path().join("deep".repeat(40))).unwrap();
    let (_gateway, wire) = serve(folder.path(), &["--data", &deep]).await;
    let id = wire.start_task("render_video", json!({ "prompt": "sunrise" })).await;
    let mut pipe = Pipe::start(jobgate(folder.path(), &["stdio", "--data", &deep]));
    assert_eq!(pipe.ask("tasks/get", json!({ "taskId": id }))["taskId"], id.as_str());
    let listed = jobgate(folder.path(), &["tasks", "list", "--data", &deep]).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains(&id));
}

/// What cannot be used as a data folder is told, with the way out.
#[test]
fn an_unusable_data_folder_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let output = jobgate(folder.path(), &["serve", "--listen", "127.0.0.1:0", "--data", "file/data"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("file/data") && said.contains("--data DIR"), "{said}");
}
