//! Tokens as an operator and a caller meet them: made, pasted, shown, and nowhere to be found afterwards.

use std::process::Output;
use std::time::Duration;

use jobgate_test_support::process::{Process, free_ports};
use jobgate_test_support::wait;
use jobgate_test_support::wire::Wire;

const JOBGATE: &str = env!("CARGO_BIN_EXE_jobgate");
const TOOLS: &str = "
providers: { farm: { adapter: mock } }
tools:
  greet:
    provider: farm
    description: Greets.
    task: { mode: never }
    job: { machine: { StartAt: Greet, States: { Greet: { Type: Pass, Parameters: { content: [{ type: text, text: hello }] }, End: true } } } }
  purge: { provider: farm, description: Purges., job: { machine: { StartAt: Go, States: { Go: { Type: Succeed } } } } }
";

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The whole way: `token new`, its entry pasted into a configuration, the gateway started, a call with the token from the
/// environment and from a file, and none without. At the most talkative level neither side's log holds a token, good or bad.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_made_pasted_used_and_never_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let jobgate = |words: &[&str], token: Option<&str>| -> Output {
        let mut command = std::process::Command::new(JOBGATE);
        command.args(words).current_dir(folder.path()).env_clear();
        command.envs(token.map(|token| ("JOBGATE_TOKEN", token)));
        command.output().unwrap()
    };
    let words = ["token", "new", "--principal", "ci-bot", "--tenant", "acme", "--tools", "greet,gre*", "--expires", "90d"];
    let made = jobgate(&words, None);
    let (token, entry) = (text(&made.stdout), text(&made.stderr));
    let token = token.strip_suffix('\n').unwrap();
    assert!(token.len() == 46 && token.starts_with("jg_") && !token.contains('\n'), "the token alone can be piped");
    assert!(!entry.contains(token) && entry.contains("sha256:"), "{entry}");

    let (_, entry) = entry.split_once("auth:").unwrap();
    std::fs::write(folder.path().join("jobgate.yaml"), format!("auth:{entry}{TOOLS}")).unwrap();
    std::fs::write(folder.path().join("token"), format!("{token}\n")).unwrap();
    let checked = jobgate(&["check", "jobgate.yaml"], None);
    assert_eq!(text(&checked.stdout), "jobgate.yaml: fine: 1 provider and 2 tools\n", "{}", text(&checked.stderr));

    let address = format!("127.0.0.1:{}", free_ports(1));
    let mut command = std::process::Command::new(JOBGATE);
    command.args(["serve", "--listen", &address, "--log", "trace"]).current_dir(folder.path());
    let gateway = Process::start("the gateway", command, &folder.path().join("serve.log"));
    let (url, health) = (format!("http://{address}/mcp"), format!("http://{address}/readyz"));
    let wire = Wire::new(&url);
    wait::until_async("the gateway to be ready", Duration::from_secs(60), async || {
        wire.status(&health).await.filter(|status| *status == 200)
    })
    .await;

    let call = ["call", "greet", "--url", &url, "--log", "trace"];
    let with_file = [&call[..], &["--token-file", "token"]].concat();
    let mut logs = Vec::new();
    for called in [jobgate(&call, Some(token)), jobgate(&with_file, None)] {
        assert_eq!(text(&called.stdout), "hello\n", "{}", text(&called.stderr));
        logs.push(text(&called.stderr));
    }
    let wrong = "jg_wrongwrongwrongwrongwrongwrongwrong";
    for (sent, why) in [(None, "it wants a token"), (Some(wrong), "this token is not known here")] {
        let refused = jobgate(&call, sent);
        let told = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1));
        assert!(told.contains(why) && told.contains("hint: set JOBGATE_TOKEN"), "{told}");
        logs.push(told);
    }
    let other = jobgate(&["call", "purge", "--url", &url], Some(token));
    assert!(text(&other.stderr).contains("the gateway has no tool `purge`"), "{}", text(&other.stderr));

    let log = gateway.output();
    assert!(log.contains("TRACE"), "the log is as talkative as it can be");
    logs.push(log);
    for log in logs {
        assert!(!log.contains(token) && !log.contains(wrong), "{log}");
    }
}

/// An entry that has ended stops nobody from starting: it is told, and its token is refused.
#[test]
fn an_entry_that_has_ended_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let hash = format!("sha256:{}", "ab".repeat(32));
    let auth = format!("auth: {{ tokens: [{{ hash: {hash}, principal: ann, expires: 2020-01-01T00:00:00Z }}] }}");
    std::fs::write(folder.path().join("old.yaml"), format!("{auth}{TOOLS}")).unwrap();
    let checked = std::process::Command::new(JOBGATE).args(["check", "old.yaml"]).current_dir(folder.path()).output().unwrap();
    assert_eq!(checked.status.code(), Some(0));
    let told = text(&checked.stderr);
    assert!(told.contains("auth.tokens[0]: the token of default/ann has expired on 2020-01-01T00:00:00.000Z"), "{told}");
}
