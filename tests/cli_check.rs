//! `jobgate check`, `jobgate schema` and the ways to start wrong, with the real program.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Command, Output};

use serde_json::Value;

fn jobgate(folder: &std::path::Path, words: &[&str]) -> Output {
    // Without any environment: nothing of it is needed.
    Command::new(env!("CARGO_BIN_EXE_jobgate")).args(words).current_dir(folder).env_clear().output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const FINE: &str = "
providers:
  render: { adapter: rest, base_url: https://render.example.com, auth: { bearer: env:RENDER_TOKEN } }
tools:
  render_clip:
    provider: render
    description: Renders a clip.
    job:
      submit: { request: { method: POST, path: /jobs }, job: { id: '{{ body.id }}' } }
      status:
        request: { path: '/jobs/{{ job.id }}' }
        rules:
          - { when: \"body.state == 'done'\", state: succeeded }
          - { when: \"body.state == 'failed'\", state: failed }
";

/// L4: checking needs no network, no secrets and no environment.
#[test]
fn a_fine_configuration_is_fine_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fine.yaml"), FINE).unwrap();
    let output = jobgate(folder.path(), &["check", "fine.yaml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "fine.yaml: fine: 1 provider and 1 tool\n");
    assert!(!folder.path().join("jobgate-data").exists(), "checking makes nothing");
}

/// L4: what users start from is right.
#[test]
fn every_example_is_fine() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut found = 0;
    for folder in [examples.clone(), examples.join("catalog")] {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
            let file = entry.file_name();
            let output = jobgate(&folder, &["check", file.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(0), "{file:?}: {}{}", text(&output.stdout), text(&output.stderr));
            found += 1;
        }
    }
    assert!(found >= 20, "{found} examples");
}

/// Without a file, what `jobgate serve` would take here is checked.
#[test]
fn the_usual_file_is_checked_where_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(jobgate(folder.path(), &["check"]).status.code(), Some(2));
    std::fs::write(folder.path().join("jobgate.yaml"), FINE).unwrap();
    assert_eq!(text(&jobgate(folder.path(), &["check"]).stdout), "jobgate.yaml: fine: 1 provider and 1 tool\n");
}

/// A5: a call that blocks for longer than common clients wait is allowed, and doubted, with the place and a right example.
#[test]
fn a_wait_that_outlasts_common_clients_is_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let patient = FINE.replace("    job:\n", "    task: { wait: 2m }\n    job:\n");
    for (text_of, doubted) in [(patient.clone(), true), (patient.replace("wait: 2m", "wait: 2m, fallback: ticket"), false)] {
        std::fs::write(folder.path().join("patient.yaml"), text_of).unwrap();
        let output = jobgate(folder.path(), &["check", "patient.yaml"]);
        assert_eq!(output.status.code(), Some(0), "a doubt is no problem");
        let told = text(&output.stderr);
        let place = "patient.yaml:8:19: warning: tools.render_clip.task.wait: a call may block for 2m";
        assert_eq!(told.contains(place) && told.contains("hint: write `45s`"), doubted, "{told}");
    }
}

/// L4: all problems at once, on stderr, with places, and exit code 2.
#[test]
fn all_problems_are_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = FINE
        .replace("bearer:", "baerer:")
        .replace("provider: render", "provider: rendr")
        .replace("/jobs }", "/jobs, tiemout: 3 }");
    std::fs::write(folder.path().join("wrong.yaml"), wrong).unwrap();
    let output = jobgate(folder.path(), &["check", "wrong.yaml"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(output.stdout.is_empty());
    for part in ["wrong.yaml:3:", "baerer", "did you mean `render`?"] {
        assert!(told.contains(part), "`{part}` is missing in:\n{told}");
    }
}

/// What `serve` needs and cannot have is told with its place, before anything is opened.
#[test]
fn a_missing_secret_names_the_place_that_wants_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jobgate.yaml"), FINE).unwrap();
    let output = jobgate(folder.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("jobgate.yaml:3:") && told.contains("RENDER_TOKEN"), "{told}");
    assert!(!folder.path().join("jobgate-data").exists(), "nothing was started");
}

/// I2: an address that others reach is refused unless that is said to be meant.
#[test]
fn a_public_address_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = jobgate(folder.path(), &["serve", "--listen", "0.0.0.0:0"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("allow_public: true"), "{told}");
}

#[test]
fn the_schema_is_json_with_every_adapter() {
    let folder = tempfile::tempdir().unwrap();
    let output = jobgate(folder.path(), &["schema"]);
    assert_eq!(output.status.code(), Some(0));
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    for definition in ["Provider_mock", "Provider_rest", "Job_mock", "Job_rest"] {
        assert!(schema["$defs"][definition].is_object(), "{definition}");
    }
}

/// No mistake on the command line panics or hangs; each says what to do next.
#[test]
fn mistakes_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["chek"], 2, "check"),
        (&["check", "nowhere.yaml"], 2, "nowhere.yaml cannot be read"),
        (&["serve", "--config", "nowhere.yaml"], 2, "--config FILE"),
        (&["call", "x", "--url", "nonsense"], 2, "--url"),
        (&["call", "x", "--url", "http://127.0.0.1:1/mcp"], 1, "jobgate serve"),
        (&["tasks", "list", "--data", "nowhere"], 1, "--data DIR"),
        (&["store", "verify", "--data", "nowhere"], 1, "--data DIR"),
        (&["serve", "--log", "=!="], 2, "log filter"),
    ];
    for (words, status, part) in cases {
        let output = jobgate(folder.path(), words);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*status), "{words:?}: {told}");
        assert!(told.contains(part), "{words:?}: `{part}` is missing in:\n{told}");
        assert!(!told.contains("panicked"), "{words:?}: {told}");
    }
}

/// Each adapter's own words are part of the schema, and each is explained to people.
#[test]
fn every_word_of_every_adapter_is_described() {
    fn walk(schema: &Value, path: &str, bare: &mut Vec<String>) {
        match schema {
            Value::Object(map) => {
                for (name, word) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    let described = ["description", "$ref", "const"].iter().any(|key| word.get(key).is_some());
                    if !described {
                        bare.push(format!("{path}.{name}"));
                    }
                }
                map.iter()
                    .filter(|(key, _)| *key != "examples")
                    .for_each(|(key, inner)| walk(inner, &format!("{path}.{key}"), bare));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, path, bare)),
            _ => {}
        }
    }
    let schema = jobgate::config::schema(&jobgate::registry::Registry::built_in());
    let mut bare = Vec::new();
    walk(&schema, "", &mut bare);
    assert!(bare.is_empty(), "without a description: {bare:?}");
}

/// What is served when nothing is configured is itself a configuration without problems, and editors accept it.
#[test]
fn the_built_in_configuration_is_fine() {
    let registry = jobgate::registry::Registry::built_in();
    let demo = jobgate::registry::demo().unwrap();
    let checked = jobgate::config::load(demo, "demo.yaml", &registry).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(checked.tools.len() >= 4);
    let value: Value = serde_saphyr::from_str(demo).unwrap();
    let validator = jsonschema::draft202012::new(&jobgate::config::schema(&registry)).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}
