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

    // What `check` would refuse is refused here, too, in the same words.
    let wrong = format!("{entry}  print:\n    description: Prints.\n    {input}{job}");
    let wrong = wrong.replace("headers: {", "haeders: {").replace("    input:", "    taks: { gone_grace: 1m }\n    input:");
    write("adapter.yaml", &wrong);
    write("jobgate.yaml", "providers: { press: { adapter: ./adapter.yaml, token: \"env:PRESS\" } }\n");
    let problems = [
        "adapter.yaml:13:5: tools.print.taks: unknown key `taks`\n  hint: did you mean `task`?",
        "adapter.yaml:17:33: tools.print.job.submit.request.haeders: unknown key `haeders`\n  hint: did you mean `headers`?",
    ];
    for words in
        [&["adapter", "explain", "adapter.yaml"][..], &["adapter", "explain", "jobgate.yaml"], &["check", "jobgate.yaml"]]
    {
        let (code, _, err) = said(folder.path(), words);
        assert!(code == 2 && problems.iter().all(|problem| err.contains(problem)), "{words:?}: {err}");
    }

    // And one of the catalog by its name.
    let (code, out, _) = said(folder.path(), &["adapter", "explain", "replicate"]);
    assert_eq!(code, 0);
    assert!(out.contains("To start a job: POST https://api.replicate.com/v1/predictions with"), "{out}");
}

/// The adapter file of the catalog's README is one.
#[test]
fn the_adapter_file_that_the_documents_show_is_right() {
    let readme = std::fs::read_to_string(root().join("adapters/catalog/README.md")).unwrap();
    let block = readme.split("```yaml\n").find(|block| block.starts_with("# press.yaml\n")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("press.yaml"), block.split("```").next().unwrap()).unwrap();
    let config = "providers: { press: { adapter: ./press.yaml, token: \"env:PRESS_TOKEN\" } }\n";
    std::fs::write(folder.path().join("jobgate.yaml"), config).unwrap();
    let (code, out, err) = said(folder.path(), &["check"]);
    assert!(code == 0 && out.contains("1 provider and 1 tool"), "{out}{err}");
}

/// An adapter file is named where a kind is: it is listed with a configuration's kinds, and shown.
#[test]
fn adapter_files_are_kinds() {
    let folder = root().join("tests/config");
    let (code, out, err) = said(&root(), &["adapter", "list", "tests/config/adapters/press.yaml"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.lines().any(|line| line.starts_with("tests/config/adapters/press.yaml ") && line.ends_with(" Prints.")), "{out}");
    let file = tempfile::tempdir().unwrap();
    let config = file.path().join("jobgate.yaml");
    std::fs::copy(folder.join("adapters/press.yaml"), file.path().join("press.yaml")).unwrap();
    std::fs::write(&config, "providers: { press: { adapter: ./press.yaml, token: \"env:PRESS_TOKEN\" } }\n").unwrap();
    let (code, out, err) = said(file.path(), &["adapter", "list", "jobgate.yaml"]);
    assert!(code == 0 && out.lines().any(|line| line.starts_with("./press.yaml ")), "{out}{err}");
    let (code, out, err) = said(file.path(), &["adapter", "show", "./press.yaml"]);
    assert!(code == 0 && out.contains("token: A token.") && out.contains("text (required)"), "{out}{err}");
    // What it prints at the end is a configuration.
    std::fs::write(&config, out.split_once("\nproviders:").map(|(_, rest)| format!("providers:{rest}")).unwrap()).unwrap();
    let (code, _, err) = said(file.path(), &["check"]);
    assert_eq!(code, 0, "{err}");
    let (code, out, err) = said(file.path(), &["adapter", "explain", "jobgate.yaml", "my_tool"]);
    assert!(code == 0 && out.contains("POST https://press.example.com/v2/jobs"), "{out}{err}");
    let (code, _, err) = said(file.path(), &["adapter", "show", "jobgate.yaml"]);
    assert!(code == 2 && err.contains("is a configuration and no adapter file"), "{err}");
    let (code, _, err) = said(file.path(), &["adapter", "explain", "replicat"]);
    assert!(code == 2 && err.contains("replicate"), "{err}");
}
