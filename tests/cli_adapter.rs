//! `jobgate adapter try` and `record` against a real server: what a person sees, how it ends, and that what was recorded plays again with no
//! secret in it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::SystemClock;
use jobgate_adapter_testkit::{ApiServer, JobApi, Stubs};
use jobgate_test_support::process::Process;
use jobgate_test_support::wait;
use rustix::process::{Pid, Signal, kill_process};

const LIMIT: Duration = Duration::from_secs(60);
const SECRET: &str = "token-that-nobody-sees-1";

const CONFIG: &str = r#"
providers:
  farm:
    adapter: rest
    base_url: URL
    auth: { bearer: env:FARM_TOKEN }
    error_message: "{{ body.error.message }}"
tools:
  work:
    provider: farm
    description: Works.
    input: { type: object, properties: { kind: { type: string } }, required: [kind] }
    task: { poll: { initial: 50ms, max: 50ms }, gone_grace: 1s }
    job:
      submit:
        request: { path: /jobs, headers: { Idempotency-Key: "{{ key }}" }, body: { kind: "{{ args.kind }}" } }
        accept: [200, 201]
        job: { id: "{{ body.id }}" }
      idempotent: true
      status:
        request: { path: "/jobs/{{ job.id }}" }
        word: "{{ body.status }}"
        rules:
          - { is: [queued], state: queued }
          - { is: [running], state: running }
          - { is: [waiting], state: input_required }
          - { is: [succeeded], state: succeeded }
          - { is: [failed], state: failed }
          - { is: [cancelled], state: cancelled }
        progress: { done: "{{ body.progress.done }}", total: "{{ body.progress.total }}" }
      result: { text: "{{ body.result.report }}" }
      failure: { message: "{{ body.error.message }}", code: "{{ body.error.code }}" }
      cancel: { request: { method: DELETE, path: "/jobs/{{ job.id }}" }, already_ended: [409] }
      input:
        key: "{{ body.question.key }}"
        message: "{{ body.question.text }}"
        form: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
        accept:
          request: { path: "/jobs/{{ job.id }}/answers", body: { key: "{{ answer.key }}", content: "{{ answer.content }}" } }
          already_answered: [409]
"#;

/// The same as an adapter file: the settings left open.
fn entry() -> String {
    let (provider, tools) = CONFIG.split_once("tools:\n").unwrap();
    let provider = provider.replace("providers:\n  farm:\n    adapter: rest\n", "provider:\n").replace("    ", "  ");
    let provider = provider.replace("URL", "\"{{ settings.base_url }}\"").replace("env:FARM_TOKEN", "\"setting:token\"");
    let settings = "\
settings:
  token: { secret: true, description: A token., example: \"env:FARM_TOKEN\" }
  base_url: { description: Where it is., example: \"https://farm.example.com\" }
";
    let head = "title: Farm\nabout: Works.\nfacts: https://farm.example.com/docs\nas_of: API v1\n";
    format!("{head}{settings}{provider}tools:\n{}", tools.replace("    provider: farm\n", ""))
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("farm.yaml"), CONFIG.replace("URL", url)).unwrap();
        Self { folder }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobgate"));
        command.arg("adapter").args(words).current_dir(self.folder.path()).env("FARM_TOKEN", SECRET).stdin(Stdio::null());
        command
    }

    /// The command, run to its end beside the server.
    async fn run(&self, words: &[&str]) -> Told {
        let mut command = self.command(words);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        Told::from(output)
    }
}

#[derive(Debug)]
struct Told {
    code: i32,
    result: String,
    told: String,
}

impl From<Output> for Told {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap(), result: text(output.stdout), told: text(output.stderr) }
    }
}

async fn farm() -> ApiServer {
    ApiServer::start(JobApi::new(), Arc::new(SystemClock)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_tried_and_each_exchange_is_shown_without_its_secret() {
    let server = farm().await;
    let place = Place::new(&server.url());
    let good = place.run(&["try", "farm.yaml", "work", "--arg", "kind=ok"]).await;
    assert_eq!((good.code, good.result.starts_with("report of 9007199254740993")), (0, true), "{good:?}");
    for shown in [
        "> submit: POST http://127.0.0.1:",
        "authorization: Bearer scrubbed",
        "\"kind\":\"ok\"",
        "< 201 Created",
        "> poll: GET",
        "= running, 1 of 2",
        "succeeded",
    ] {
        assert!(good.told.contains(shown), "{shown}: {}", good.told);
    }
    assert!(!good.told.contains(SECRET), "{}", good.told);
    assert!(server.requests().await.iter().all(|request| request.headers["authorization"] == format!("Bearer {SECRET}")));

    let bad = place.run(&["try", "farm.yaml", "work", "--arg", "kind=fail"]).await;
    assert_eq!(bad.code, 3, "{bad:?}");
    assert!(bad.told.contains("failed: the disk is full (E_DISK)"), "{}", bad.told);

    let asked = place.run(&["try", "farm.yaml", "work", "--arg", "kind=ask"]).await;
    assert_eq!(asked.code, 6, "{asked:?}");
    let answered = place.run(&["try", "farm.yaml", "work", "--arg", "kind=ask", "--answer", "approved=yes"]).await;
    assert_eq!((answered.code, server.api().answers()), (0, Ok(1)), "{answered:?}");

    for (words, said) in [
        (["try", "farm.yaml", "wrok", "--arg", "kind=ok"], "farm.yaml has no tool `wrok`"),
        (["try", "farm.yaml", "work", "--arg", "size=1"], "it takes --arg kind=string"),
        (["try", "gone.yaml", "work", "--arg", "kind=ok"], "gone.yaml cannot be read"),
    ] {
        let told = place.run(&words).await;
        assert!(told.code == 2 && told.told.contains(said), "{told:?}");
    }
}

/// Ctrl-C asks the provider to stop the job, and the command sees it stop.
#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_stops_the_job() {
    let server = farm().await;
    let place = Place::new(&server.url());
    let output = place.folder.path().join("output");
    let mut process = Process::start("try", place.command(&["try", "farm.yaml", "work", "--arg", "kind=long"]), &output);
    wait::until_async("a look at the job", LIMIT, async || process.output().contains("= running").then_some(())).await;
    kill_process(Pid::from_raw(i32::try_from(process.pid()).unwrap()).unwrap(), Signal::INT).unwrap();
    let status = wait::until_async("the end of the command", LIMIT, async || process.ended()).await;
    assert_eq!(status.code(), Some(5), "{}", process.output());
    assert!(process.output().contains("asked to stop"), "{}", process.output());
    assert!(server.requests().await.iter().any(|request| request.method.as_str() == "DELETE"));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A recording plays again: the same tool, the same arguments, the same end, from the files alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_plays_again_and_holds_no_secret() {
    for (kind, code) in [("ok", 0), ("fail", 3), ("ask", 0)] {
        let server = farm().await;
        let place = Place::new(&server.url());
        let kind = format!("kind={kind}");
        let answer = ["--answer", "approved=yes"];
        let words = ["record", "farm.yaml", "work", "--arg", &kind, "--into", "stubs"];
        let words: Vec<&str> = words.into_iter().chain(answer).collect();
        let first = place.run(&words).await;
        assert_eq!(first.code, code, "{first:?}");
        assert!(first.result.contains("stubs/work.json: ") && first.told.contains("look over"), "{first:?}");
        let stubs = place.folder.path().join("stubs");
        for file in files(&stubs) {
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(!text.contains(SECRET) && !text.contains(&server.url()), "{text}");
        }

        let played = ApiServer::start(Stubs::load(&stubs).unwrap(), Arc::new(SystemClock)).await;
        let again = Place::new(&played.url());
        let words = ["try", "farm.yaml", "work", "--arg", &kind];
        let second = again.run(&words.into_iter().chain(answer).collect::<Vec<_>>()).await;
        assert_eq!(second.code, code, "{second:?}");
        assert!(first.result.starts_with(&second.result), "{first:?} {second:?}");
        assert_eq!(played.api().jobs(), Ok(1));

        let over = place.run(&["record", "farm.yaml", "work", "--arg", &kind, "--into", "stubs"]).await;
        assert!(over.code == 2 && over.told.contains("is there already"), "{over:?}");
    }
}

/// A kind needs no configuration: its settings are said on the command line, and its secrets are read where its example says.
#[tokio::test(flavor = "multi_thread")]
async fn a_kind_is_tried_without_a_configuration() {
    let server = farm().await;
    let place = Place::new(&server.url());
    std::fs::write(place.folder.path().join("farm-adapter.yaml"), entry()).unwrap();
    let base_url = format!("base_url={}", server.url());
    let good = place.run(&["try", "farm-adapter.yaml", "work", "--arg", "kind=ok", "--set", &base_url]).await;
    assert!(good.code == 0 && good.result.starts_with("report of"), "{good:?}");
    assert!(server.requests().await.iter().all(|request| request.headers["authorization"] == format!("Bearer {SECRET}")));
    let words = ["record", "farm-adapter.yaml", "work", "--arg", "kind=ok", "--set", &base_url, "--into", "stubs"];
    let recorded = place.run(&words).await;
    assert!(recorded.code == 0 && recorded.result.contains("stubs/work.json: "), "{recorded:?}");

    // One of the catalog by its name, against what its own test is played.
    let stubs = Stubs::load(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("wiremock-fixtures/replicate")).unwrap();
    let played = ApiServer::start(stubs, Arc::new(SystemClock)).await;
    let base_url = format!("base_url={}/v1", played.url());
    let run = ["try", "replicate", "prediction", "--json", r#"{"version": "acme/painter", "input": {"prompt": "a lighthouse"}}"#];
    let run = [&run[..], &["--set", &base_url]].concat();
    let told = place.run(&run).await;
    assert!(told.code == 2 && told.told.contains("REPLICATE_API_TOKEN"), "{told:?}");
    let told = place.run(&[&run[..], &["--set", "token=env:FARM_TOKEN"]].concat()).await;
    assert!(told.code == 0 && told.result.contains("https://replicate.delivery/xezq/lighthouse.webp"), "{told:?}");

    for (words, said) in [
        (&["try", "farm-adapter.yaml", "work", "--arg", "kind=ok"][..], "`base_url` is missing"),
        (&["try", "farm-adapter.yaml", "work", "--set", "bas_url=x"], "has no setting `bas_url`"),
        (&["try", "farm-adapter.yaml", "work", "--set", "token=hunter2"], "token: this is not what is expected here"),
        (&["try", "farm.yaml", "work", "--set", "base_url=x"], "`--set` has no meaning"),
        (&["try", "farm-adapter.yaml", "wrok"], "farm-adapter.yaml has no tool `wrok`"),
    ] {
        let told = place.run(words).await;
        assert!(told.code == 2 && told.told.contains(said) && !told.told.contains("hunter2"), "{said}: {told:?}");
    }
}
