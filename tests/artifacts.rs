//! Kept artifacts of a real gateway: as resources in every version of the protocol, under signed addresses with ranges, after `kill -9`,
//! through a process that does not hold the store, and gone with their task (requirements A3, D6, G2, I1).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jobgate_test_support::pipe::Pipe;
use jobgate_test_support::process::{Process, free_ports};
use jobgate_test_support::schema::Checker;
use jobgate_test_support::session::SessionClient;
use jobgate_test_support::wait;
use jobgate_test_support::wire::{Wire, ask, get};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);
const BYTES: &[u8] = b"\x00\x01film";

/// A film of six bytes, a text, and a file that only its provider could give.
const CONFIG: &str = r#"
server: { public_url: "http://127.0.0.1:PORT" }
providers:
  studio: { adapter: mock }
tools:
  film:
    provider: studio
    description: Makes a film.
    input: { type: object }
    task: { poll: { initial: 100ms, max: 200ms } }
    job:
      machine:
        StartAt: Make
        States:
          Make:
            Type: Pass
            End: true
            Result:
              content: [{ type: text, text: made }]
              structuredContent: { frames: 24 }
              artifacts:
                - { uri: "data:video/mp4;base64,AAFmaWxt", name: "../film \"1\".mp4", description: The film. }
                - { uri: "data:text/plain;charset=utf-8,h%C3%A9llo", name: notes.txt }
                - { uri: "https://studio.example/raw", name: raw }
"#;

struct Folder {
    root: tempfile::TempDir,
    port: u16,
}

impl Folder {
    fn new() -> Self {
        let (root, port) = (tempfile::tempdir().unwrap(), free_ports(1));
        std::fs::write(root.path().join("jobgate.yaml"), CONFIG.replace("PORT", &port.to_string())).unwrap();
        Self { root, port }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobgate"));
        command.args(words).args(["--config", "jobgate.yaml", "--data", "data"]).current_dir(self.root.path());
        command
    }

    async fn serve(&self) -> (Process, Wire) {
        let address = format!("127.0.0.1:{}", self.port);
        let log = self.root.path().join("serve.log");
        let process = Process::start("the gateway", self.command(&["serve", "--listen", &address]), &log);
        let wire = Wire::new(&format!("http://{address}/mcp"));
        let ready = format!("http://{address}/readyz");
        wait::until_async("the gateway to be ready", LIMIT, async || wire.status(&ready).await.filter(|status| *status == 200))
            .await;
        (process, wire)
    }
}

fn files(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let entries = entries.map(Result::unwrap);
    entries.map(|entry| if entry.metadata().unwrap().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

/// The signed addresses in a result, in their order.
fn urls(result: &Value) -> Vec<String> {
    let texts = result["content"].as_array().unwrap().iter().filter_map(|part| part["text"].as_str());
    let url = |text: &str| text.split_whitespace().find(|word| word.starts_with("http://127.")).map(str::to_owned);
    texts.filter_map(url).collect()
}

async fn made(wire: &Wire) -> (String, Value) {
    let id = wire.start_task("film", json!({})).await;
    let task = wire.ended(&id, LIMIT).await;
    assert_eq!(task["status"], "completed", "{task}");
    (id, task["result"].clone())
}

/// D6: a command saves a result's files under names that are no paths, beside what is there.
#[tokio::test(flavor = "multi_thread")]
async fn files_are_saved_and_nothing_is_written_over() {
    let folder = Folder::new();
    let (_process, wire) = folder.serve().await;
    let url = format!("http://127.0.0.1:{}/mcp", folder.port);
    let place = folder.root.path().join("out");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("notes.txt"), "mine").unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobgate"));
        let output = command.args(words).args(["--url", &url]).current_dir(folder.root.path()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = tokio::task::block_in_place(|| run(&["call", "film", "--save", "out"]));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("saved out/film 1.mp4 (6 bytes)") && said.contains("saved out/notes-2.txt"), "{said}");
    let read = |name: &str| std::fs::read(place.join(name)).unwrap();
    assert_eq!((&*read("film 1.mp4"), &*read("notes.txt"), &*read("notes-2.txt")), (BYTES, &b"mine"[..], "héllo".as_bytes()));

    // Of a task that has ended long ago, into a folder that is made.
    let (id, _) = made(&wire).await;
    let (code, said) = tokio::task::block_in_place(|| run(&["tasks", "get", &id, "--save", "later/deep"]));
    assert_eq!(code, 0, "{said}");
    assert_eq!(files(&folder.root.path().join("later/deep")), 2, "{said}");
    // Where nothing can be written, the result is still told, and the command says that it did not do its work.
    let (code, said) = tokio::task::block_in_place(|| run(&["tasks", "get", &id, "--save", "jobgate.yaml"]));
    assert!(code == 1 && said.contains("2 of 2 files could not be saved"), "{code}: {said}");
}

/// D6: links in the result, read back as resources and by address, in ranges; the same after `kill -9`; and nothing to be had without the
/// signature.
#[tokio::test(flavor = "multi_thread")]
async fn artifacts_are_kept_and_read_back() {
    let folder = Folder::new();
    let (mut process, wire) = folder.serve().await;
    let (id, result) = made(&wire).await;
    let content = result["content"].as_array().unwrap();
    let uri = format!("jobgate://tasks/{id}/artifacts/1");
    assert_eq!(content[0]["text"], "made");
    assert_eq!(content[1], json!({ "type": "resource_link", "uri": "https://studio.example/raw", "name": "raw" }));
    assert_eq!(content[2]["text"], "[The artifact \"raw\" is not kept: this provider offers no fetch.]");
    let link = json!({
        "type": "resource_link", "uri": uri, "name": "../film \"1\".mp4", "mimeType": "video/mp4", "description": "The film.", "size": 6
    });
    assert_eq!(content[3], link);
    assert_eq!(result["structuredContent"], json!({ "frames": 24 }));
    let urls = urls(&result);
    assert_eq!(urls.len(), 2, "{result}");

    let checker = Checker::new();
    let fits = |method: &str, result: &Value| {
        checker.response(method, &json!({ "jsonrpc": "2.0", "id": 1, "result": result })).unwrap();
    };
    let read = wire.rpc("resources/read", json!({ "uri": uri })).await.unwrap();
    fits("resources/read", &read);
    assert_eq!(read["contents"], json!([{ "uri": uri, "mimeType": "video/mp4", "blob": "AAFmaWxt" }]));
    let second = uri.replace("artifacts/1", "artifacts/2");
    let read = wire.rpc("resources/read", json!({ "uri": second })).await.unwrap();
    assert_eq!(read["contents"][0]["text"], "héllo");
    let listed = wire.rpc("resources/list", json!({})).await.unwrap();
    fits("resources/list", &listed);
    let names: Vec<&str> = listed["resources"].as_array().unwrap().iter().map(|it| it["uri"].as_str().unwrap()).collect();
    assert_eq!(names, [&*uri, &*second]);
    let templates = wire.rpc("resources/templates/list", json!({})).await.unwrap();
    fits("resources/templates/list", &templates);
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 1);
    for unknown in
        ["jobgate://tasks/task_00000000000000000000000000000000/artifacts/1", &uri.replace("/1", "/3"), "file:///etc/passwd"]
    {
        assert_eq!(wire.rpc("resources/read", json!({ "uri": unknown })).await.unwrap_err().code, -32602, "{unknown}");
    }
    for version in ["2025-11-25", "2025-06-18", "2025-03-26"] {
        let client = SessionClient::begin(&format!("http://127.0.0.1:{}/mcp", folder.port), version).await;
        let read = client.ask("resources/read", json!({ "uri": uri })).await.unwrap();
        assert_eq!(read, json!({ "contents": [{ "uri": uri, "mimeType": "video/mp4", "blob": "AAFmaWxt" }] }), "{version}");
        let listed = client.ask("resources/list", json!({})).await.unwrap();
        checker.november("ReadResourceResult", &read).unwrap();
        checker.november("ListResourcesResult", &listed).unwrap();
        assert_eq!(listed["resources"].as_array().unwrap().len(), 2);
    }

    process.kill();
    let (_process, wire) = folder.serve().await;
    let (status, headers, body) = get(&urls[0], &[]).await;
    assert_eq!((status, &*body), (200, BYTES), "an address outlives the process that made it");
    let header = |name: &str| headers.get(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "video/mp4");
    assert_eq!(header("content-disposition"), "attachment; filename=\"film 1.mp4\"; filename*=UTF-8''film%201.mp4");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert!(header("content-security-policy").contains("sandbox") && header("cache-control").starts_with("private"));
    let etag = header("etag");
    let part = async |headers: &[(&'static str, &str)]| {
        let (status, headers, body) = get(&urls[0], headers).await;
        let range = headers.get("content-range").map(|it| it.to_str().unwrap().to_owned()).unwrap_or_default();
        (status, range, body)
    };
    // A download that broke off after two bytes goes on where it was, if it is still the same file.
    assert_eq!(part(&[("range", "bytes=2-"), ("if-range", &etag)]).await, (206, "bytes 2-5/6".to_owned(), b"film".to_vec()));
    assert_eq!(part(&[("range", "bytes=2-"), ("if-range", "\"other\"")]).await, (200, String::new(), BYTES.to_vec()));
    assert_eq!(part(&[("range", "bytes=-1")]).await, (206, "bytes 5-5/6".to_owned(), b"m".to_vec()));
    assert_eq!(part(&[("range", "bytes=6-")]).await.0, 416);
    assert_eq!(part(&[("if-none-match", &etag)]).await, (304, String::new(), Vec::new()));
    let (status, headers, body) = ask(reqwest::Method::HEAD, &urls[0], &[]).await;
    assert_eq!((status, headers.get("content-length").unwrap().to_str().unwrap(), body.len()), (200, "6", 0));
    assert_eq!(ask(reqwest::Method::POST, &urls[0], &[]).await.0, 405);

    let other = urls[0].replace("/1?", "/2?");
    let (status, _, unknown) = get(&other, &[]).await;
    assert_eq!(status, 404, "the signature is of one artifact");
    let last = if urls[0].ends_with('0') { "1" } else { "0" };
    let forged = format!("{}{last}", urls[0].get(..urls[0].len() - 1).unwrap());
    let bare = urls[0].split('?').next().unwrap().to_owned();
    let root = format!("http://127.0.0.1:{}/artifacts/x/1?expires=1&signature=0", folder.port);
    for wrong in [forged, bare, root] {
        assert_eq!(
            get(&wrong, &[]).await,
            (404, get(&other, &[]).await.1, unknown.clone()),
            "{wrong}: one answer to all that is wrong"
        );
    }
    let again = wire.ended(&id, LIMIT).await;
    assert_eq!(again["result"]["content"].as_array().unwrap().len(), content.len(), "{again}");
}

/// The holder is a pipe: its client reads resources, and `serve` beside it gives out files of the same folder.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_does_not_hold_the_store_gives_out_files() {
    let folder = Folder::new();
    let mut pipe = Pipe::start(folder.command(&["stdio"]));
    assert!(pipe.ask("tools/list", json!({}))["tools"].is_array());
    let (_process, wire) = folder.serve().await;
    let (id, result) = made(&wire).await;
    let read = pipe.ask("resources/read", json!({ "uri": format!("jobgate://tasks/{id}/artifacts/1") }));
    assert_eq!(read["contents"][0]["blob"], "AAFmaWxt");
    let url = &urls(&result)[0];
    assert_eq!(get(url, &[("range", "bytes=2-3")]).await.2, b"fi");
    assert_eq!(get(&url.replace("/1?", "/9?"), &[]).await.0, 404);
    pipe.kill();
    let body = wait::until_async("the gateway to take over", LIMIT, async || {
        let (status, _, body) = get(url, &[]).await;
        (status == 200).then_some(body)
    });
    assert_eq!(body.await, BYTES);
}

/// G2, G3: two tasks with the same files hold them once; with the second of them the files are gone, and so is what was answered.
#[tokio::test(flavor = "multi_thread")]
async fn files_are_gone_with_their_last_task() {
    let folder = Folder::new();
    let (mut process, wire) = folder.serve().await;
    let (first, result) = made(&wire).await;
    let (second, _) = made(&wire).await;
    let kept = folder.root.path().join("data/artifacts");
    assert_eq!((files(&kept.join("content")), files(&kept.join("held"))), (2, 4));
    let client = SessionClient::begin(&format!("http://127.0.0.1:{}/mcp", folder.port), "2025-06-18").await;
    client.ask("tasks/delete", json!({ "taskId": first })).await.unwrap();
    let url = &urls(&result)[0];
    assert_eq!(get(url, &[]).await.0, 404, "its address is dead at once");
    wait::until("the first task's hold to end", LIMIT, || (files(&kept.join("held")) == 2).then_some(()));
    assert_eq!(files(&kept.join("content")), 2);
    // What a crash leaves behind goes at the next start.
    process.kill();
    std::fs::write(kept.join("unfinished/7.part"), b"half").unwrap();
    let stranger = "task_00000000000000000000000000000000";
    let name = std::fs::read_dir(kept.join("held")).unwrap().next().unwrap().unwrap().file_name();
    let hash = name.to_str().unwrap().split_once('.').unwrap().1;
    std::fs::write(kept.join(format!("held/{stranger}.{hash}")), b"").unwrap();
    let (_process, wire) = folder.serve().await;
    wait::until("strays to be removed", LIMIT, || (files(&kept) == 4).then_some(()));
    let client = SessionClient::begin(&format!("http://127.0.0.1:{}/mcp", folder.port), "2025-06-18").await;
    client.ask("tasks/delete", json!({ "taskId": second })).await.unwrap();
    wait::until("all files to be gone", LIMIT, || (files(&kept) == 0).then_some(()));
    assert_eq!(wire.rpc("resources/list", json!({})).await.unwrap()["resources"], json!([]));
}
