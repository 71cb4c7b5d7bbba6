//! What the tests of Cog share: its processes, what it has rendered, and what a kept film has to be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jobgate_test_support::engine::{Engine, skip};
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::relay::{Relay, Seen};
use jobgate_test_support::session::SessionClient;
use jobgate_test_support::source::text;
use jobgate_test_support::wait;
use jobgate_test_support::wire::{Wire, get};
use serde_json::{Value, json};

/// Longest wait for one render or one end.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// The catalog's entry, as its example has it.
pub(crate) const CATALOG: &str = "examples/catalog/cog.yaml";
/// A description of one model that also looks at the health of its server.
pub(crate) const WATCHED: &str = "examples/cog.yaml";

/// An example with Cog at one port and the gateway reached at another, and with other changes.
pub(crate) fn config(folder: &Path, example: &str, cog: u16, public: u16, changes: &[(&str, &str)]) -> PathBuf {
    let mut words = text(example).unwrap();
    let (cog, public) = (format!("base_url: http://127.0.0.1:{cog}"), format!("http://127.0.0.1:{public}"));
    let own = if example == CATALOG { "base_url: http://127.0.0.1:5000" } else { "base_url: http://127.0.0.1:5640" };
    let addresses = [(own, cog.as_str()), ("http://127.0.0.1:8080", public.as_str())];
    for (from, to) in addresses.iter().chain(changes) {
        assert!(words.contains(from), "{example} has `{from}`");
        words = words.replace(from, to);
    }
    let file = folder.join("cog.yaml");
    fs::write(&file, words).unwrap();
    file
}

/// Cog, which renders with a program that it does not install.
pub(crate) fn cog(port: u16) -> Option<Engine> {
    if Command::new("ffprobe").arg("-version").output().is_err() {
        skip("there is no ffmpeg");
        return None;
    }
    Engine::start_on("cog", port, &[])
}

/// The ids of what Cog began to render since it was started, each time.
fn renders(engine: &Engine) -> Vec<String> {
    let log = engine.file("server.log");
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let begun = lines.filter(|line| line["fields"]["message"] == "Starting prediction");
    begun.map(|line| line["fields"]["prediction_id"].as_str().unwrap().to_owned()).collect()
}

/// Waits until Cog has begun `count` renders; no id may be among them twice.
pub(crate) fn begun(engine: &Engine, count: usize) {
    let found = wait::until("Cog to render", LIMIT, || {
        let found = renders(engine);
        (found.len() >= count).then_some(found)
    });
    assert_eq!((found.len(), found.iter().collect::<BTreeSet<_>>().len()), (count, count), "{found:?}");
}

/// The arguments of the catalog's tool: a film of half a second.
pub(crate) fn input(seconds: f64) -> Value {
    json!({ "input": { "prompt": "a red fox", "seconds": seconds, "duration": 0.5 } })
}

/// What was delivered so far; what else comes to the gateway's public address is a reader of films.
pub(crate) fn deliveries(hooks: &Relay) -> Vec<Seen> {
    hooks.seen().into_iter().filter(|seen| seen.method == "POST").collect()
}

/// Whether a delivery tells of an end; Cog tries those again, and no others.
pub(crate) fn is_end(seen: &Seen) -> bool {
    seen.method == "POST" && !is_start(seen)
}

/// Whether a delivery tells that a job runs.
pub(crate) fn is_start(seen: &Seen) -> bool {
    seen.body["status"] == "processing" || seen.body["status"] == "starting"
}

/// The link to a task's kept film.
pub(crate) fn link(ended: &Value) -> &Value {
    assert_eq!(ended["status"], "completed", "{ended}");
    &ended["result"]["content"][0]
}

/// The signed address of a task's kept film.
pub(crate) fn address(ended: &Value) -> String {
    let said = ended["result"]["content"][1]["text"].as_str().unwrap_or_else(|| panic!("{ended}"));
    said.split_whitespace().find(|word| word.starts_with("http://127.")).unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// D6: the film of a task, kept by the gateway and in no record: a resource among the caller's own, and a file that is given out in
/// parts; real, and as long as was asked for.
pub(crate) async fn assert_film(setup: &Setup, folder: &Path, id: &str, ended: &Value, seconds: &str) {
    let link = link(ended);
    let uri = format!("jobgate://tasks/{id}/artifacts/1");
    assert_eq!(
        (&link["type"], &link["uri"], &link["mimeType"]),
        (&json!("resource_link"), &json!(uri), &json!("video/mp4")),
        "{ended}"
    );
    assert!(!ended.to_string().contains("base64"), "the film is in the task: {ended}");

    let wire = Wire::new(&setup.url());
    let listed = wire.rpc("resources/list", json!({})).await.unwrap();
    let known =
        |listed: &Value| listed["resources"].as_array().unwrap().iter().any(|it| it["uri"] == uri && it["size"] == link["size"]);
    assert!(known(&listed), "{listed}");
    let read = wire.rpc("resources/read", json!({ "uri": uri })).await.unwrap();
    let older = SessionClient::begin(&setup.url(), "2025-11-25").await;
    assert_eq!(older.ask("resources/read", json!({ "uri": uri })).await.unwrap()["contents"], read["contents"]);
    assert!(known(&older.ask("resources/list", json!({})).await.unwrap()));
    let bytes = STANDARD.decode(read["contents"][0]["blob"].as_str().unwrap()).unwrap();
    assert_eq!((json!(bytes.len()), &bytes[4..8]), (link["size"].clone(), &b"ftyp"[..]), "the first box of an MP4 file");

    let url = address(ended);
    let (status, headers, part) = get(&url, &[("range", "bytes=4-7")]).await;
    let range = headers.get("content-range").map(|range| range.to_str().unwrap().to_owned());
    assert_eq!((status, range, part), (206, Some(format!("bytes 4-7/{}", bytes.len())), b"ftyp".to_vec()));
    let (status, headers, whole) = get(&url, &[]).await;
    assert_eq!((status, headers.get("content-type").unwrap().to_str().unwrap()), (200, "video/mp4"));
    assert!(whole == bytes, "the address and the resource are the same file");

    let file = folder.join("film.mp4");
    fs::write(&file, bytes).unwrap();
    let words = ["-v", "error", "-show_entries", "stream=codec_name,duration", "-of", "json"];
    let probe = Command::new("ffprobe").args(words).arg(&file).output().unwrap();
    assert!(probe.status.success(), "{}", String::from_utf8_lossy(&probe.stderr));
    let streams: Value = serde_json::from_slice(&probe.stdout).unwrap();
    assert_eq!(streams["streams"], json!([{ "codec_name": "h264", "duration": seconds }]));
}

/// The files that the gateway keeps, and the marks of the tasks that hold them.
pub(crate) fn kept_files(folder: &Path) -> usize {
    fn count(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
    }
    count(&folder.join("jobgate-data/artifacts"))
}

/// Deletes an ended task.
pub(crate) async fn delete(setup: &Setup, id: &str) {
    let client = SessionClient::begin(&setup.url(), "2025-06-18").await;
    client.ask("tasks/delete", json!({ "taskId": id })).await.unwrap();
}
