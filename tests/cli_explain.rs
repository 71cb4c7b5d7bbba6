//! `jobgate adapter list`, `show` and `explain`: which kinds there are, what one needs, and what will be called when.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::{Command, Stdio};

use jobgate_test_support::source::root;

/// What a command printed to stdout and to stderr, and its exit code.
fn said(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobgate"));
    let output = command.args(words).current_dir(folder).env_clear().stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn kinds_are_listed_and_shown() {
    let (code, out, _) = said(&root(), &["adapter", "list"]);
    assert_eq!(code, 0);
    for kind in ["mock", "replicate", "rest"] {
        assert!(out.lines().any(|line| line.split_whitespace().next() == Some(kind)), "{kind} in:\n{out}");
    }
    let (code, out, _) = said(&root(), &["adapter", "show", "replicate"]);
    assert_eq!(code, 0);
    assert!(out.contains("token: An API token") && out.contains("version (required)"), "{out}");
    // What it prints at the end is a configuration.
    let example = out.split_once("\nproviders:").map(|(_, rest)| format!("providers:{rest}")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jobgate.yaml"), example).unwrap();
    assert_eq!(said(folder.path(), &["check"]).0, 0, "{out}");
    let (code, _, err) = said(&root(), &["adapter", "show", "replicat"]);
    assert!(code == 2 && err.contains("replicate"), "{err}");
}

#[test]
fn what_is_called_when_is_said_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let job = "
    job:
      submit:
        request: { path: /jobs, headers: { Idempotency-Key: \"{{ key }}\" }, body: { name: \"{{ args.name }}\" } }
        job: { id: \"{{ body.id }}\", handles: { log: \"{{ body.log }}\" } }
      idempotent: true
      status:
        request: { path: \"/jobs/{{ job.id }}\" }
        steps: [{ name: pages, when: \"word == 'busy'\", request: { path: \"/jobs/{{ job.id }}/pages\" } }]
        word: \"{{ body.state }}\"
        rules: [{ is: [busy], state: running }, { is: [done], state: succeeded }]
      result: { data: \"{{ body.result }}\" }
      cancel: { request: { method: DELETE, path: \"/jobs/{{ job.id }}\" }, already_ended: [409] }
";
    let input = "input: { type: object, properties: { name: { type: string } } }";
    let tool = format!("  print:\n    provider: press\n    description: Prints.\n    {input}{job}");
    let provider =
        "providers:\n  press: { adapter: rest, base_url: \"https://press.example.com/v2\", auth: { bearer: env:PRESS } }\n";
    write("jobgate.yaml", &format!("{provider}tools:\n{tool}"));
    let expected = "\
print:
  Every request carries a bearer token from env:PRESS.
  To start a job: POST https://press.example.com/v2/jobs with the headers Idempotency-Key and a JSON body of name.
    The job's id is `{{ body.id }}`; kept with it: log = `{{ body.log }}`.
  When the answer to the start is lost, the same request is made again: the API then gives the first job.
  Every look: GET https://press.example.com/v2/jobs/{{ job.id }}.
    and also: `pages`, when `word == 'busy'`: GET https://press.example.com/v2/jobs/{{ job.id }}/pages.
    The status word is `{{ body.state }}`. The first of these that holds decides:
      busy: running
      done: succeeded
      any other word: shown as it is, and the job counts as running
  When it has ended well, it hands over data `{{ body.result }}`.
  To cancel it: DELETE https://press.example.com/v2/jobs/{{ job.id }}; it has ended already with 409.
";
    let (code, out, err) = said(folder.path(), &["adapter", "explain", "jobgate.yaml"]);
    assert_eq!((code, out.as_str()), (0, expected), "{err}");
    let (code, _, err) = said(folder.path(), &["adapter", "explain", "jobgate.yaml", "prunt"]);
    assert!(code == 2 && err.contains("tools: print"), "{err}");

    // The same as an entry that somebody writes for the catalog.
    let entry = "
title: Press
about: Prints.
facts: https://press.example.com/docs
as_of: API v2
settings:
  token: { secret: true, description: A token., example: \"env:PRESS\" }
  base_url: { description: Where it is., example: \"https://press.example.com/v2\" }
provider: { base_url: \"{{ settings.base_url }}\", auth: { bearer: \"setting:token\" } }
tools:
";
    write("adapter.yaml", &format!("{entry}  print:\n    description: Prints.\n    {input}{job}"));
    let (code, out, err) = said(folder.path(), &["adapter", "explain", "adapter.yaml", "print"]);
    assert_eq!((code, out.as_str()), (0, expected), "{err}");
    write(
        "adapter.yaml",
        &format!("{entry}  print:\n    description: Prints.\n    {input}{job}").replace("setting:token", "setting:tokn"),
    );
    let (code, _, err) = said(folder.path(), &["adapter", "explain", "adapter.yaml"]);
    assert!(code == 2 && err.contains("adapter.yaml:9:") && err.contains("`setting:tokn` names no secret setting"), "{err}");

    // And one of the catalog by its name.
    let (code, out, _) = said(folder.path(), &["adapter", "explain", "replicate"]);
    assert_eq!(code, 0);
    assert!(out.contains("To start a job: POST https://api.replicate.com/v1/predictions with"), "{out}");
}
