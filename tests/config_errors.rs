//! What people read when a configuration is wrong: each `config/NAME.yaml` against `config/NAME.stderr`, line by line.
//!
//! `UPDATE_GOLDEN=1` writes the answers anew; read the difference before committing it. Files that begin with `ok_` have to load.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its data has failed")]

use std::path::PathBuf;

use jobgate::config;
use jobgate::registry::Registry;
use jobgate_adapter_api::{AdapterSpec, Deps, Issue, Issues, Place, ToolWords};
use jobgate_adapter_template::Template;

/// The template's provider, if it were given addresses to deliver to, and could not be asked for some jobs.
#[derive(Debug)]
struct CallsBack;

impl AdapterSpec for CallsBack {
    const KIND: &'static str = "calls_back";
    type Config = <Template as AdapterSpec>::Config;
    type Tool = <Template as AdapterSpec>::Tool;
    type Checked = <Template as AdapterSpec>::Checked;
    type Adapter = <Template as AdapterSpec>::Adapter;

    fn check(
        place: &Place,
        config: Self::Config,
        tools: Vec<ToolWords<Self::Tool>>,
        issues: &mut Issues,
    ) -> Option<Self::Checked> {
        Template::check(place, config, tools, issues)
    }

    fn uses_callback(_: &Self::Checked) -> bool {
        true
    }

    fn reads_deliveries(_: &Self::Checked) -> bool {
        true
    }

    fn pushed_only(_: &Self::Checked, tool: &str) -> bool {
        tool.starts_with("pushed")
    }

    fn build(checked: &Self::Checked, deps: &Deps) -> Result<Self::Adapter, Issue> {
        Template::build(checked, deps)
    }
}

/// Of the catalog one entry is enough; answers that list the kinds shall not change with every further one.
fn registry() -> Registry {
    let registry = Registry::built_in().only(|adapter| adapter.presets().is_empty() || adapter.kind() == "replicate");
    registry.with(jobgate_adapter_api::factory::<Template>()).with(jobgate_adapter_api::factory::<CallsBack>())
}

fn cases() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/config");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

/// L4: every problem at once, with file, line, column, path and a hint, and nothing else.
#[test]
#[expect(clippy::disallowed_methods, reason = "the switch that writes the answers anew")]
fn every_wrong_configuration_is_answered_as_written_down() {
    let update = std::env::var("UPDATE_GOLDEN").is_ok();
    let mut differing = Vec::new();
    for path in cases() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let loaded = config::load(&text, &name, &registry());
        if name.starts_with("ok_") {
            assert!(loaded.is_ok(), "{name}:\n{}", loaded.unwrap_err());
            continue;
        }
        let answer = format!("{}\n", loaded.err().unwrap_or_else(|| panic!("{name} loads, and should not")));
        let golden = path.with_extension("stderr");
        if update {
            std::fs::write(&golden, &answer).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != answer {
            differing.push(format!("--- {name}\n{answer}"));
        }
    }
    assert!(differing.is_empty(), "answers have changed (UPDATE_GOLDEN=1 accepts them):\n{}", differing.join("\n"));
}

/// No test here passes by finding no files.
#[test]
fn there_are_cases_of_both_kinds() {
    let (right, wrong): (Vec<_>, Vec<_>) =
        cases().into_iter().partition(|path| path.file_name().unwrap().to_str().unwrap().starts_with("ok_"));
    assert!(right.len() >= 2 && wrong.len() >= 15, "{} right, {} wrong", right.len(), wrong.len());
}

/// A secret that was written where a reference or a hash belongs is not repeated.
#[test]
fn no_answer_repeats_a_secret() {
    for (file, secrets) in [
        ("secrets.yaml", &["hunter2", "123456789"][..]),
        ("auth.yaml", &["5up3r", "123456789"]),
        ("webhook_secrets.yaml", &["5up3r", "123456789", "my-old-password"]),
        ("auth_tokens.yaml", &["5up3r", "my-old-password"]),
    ] {
        let text = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/config").join(file)).unwrap();
        let answer = config::load(&text, file, &registry()).unwrap_err().to_string();
        for secret in secrets {
            assert!(text.contains(secret) && !answer.contains(secret), "{file}: {answer}");
        }
    }
}

/// Every word that users write is explained in the schema that editors show, and the schema itself is valid.
#[test]
fn the_schema_describes_every_word() {
    fn walk(schema: &serde_json::Value, path: &str, bare: &mut Vec<String>) {
        let Some(map) = schema.as_object() else { return };
        for (name, word) in map.get("properties").and_then(|words| words.as_object()).into_iter().flatten() {
            let path = format!("{path}.{name}");
            let described = word.get("description").is_some() || word.get("$ref").is_some();
            if !described {
                bare.push(path.clone());
            }
            walk(word, &path, bare);
        }
        for (name, definition) in map.get("$defs").and_then(|all| all.as_object()).into_iter().flatten() {
            walk(definition, name, bare);
        }
    }
    let schema = config::schema(&registry());
    assert!(jsonschema::draft202012::meta::validate(&schema).is_ok());
    let mut bare = Vec::new();
    walk(&schema, "", &mut bare);
    assert!(bare.is_empty(), "without a description: {bare:?}");
    assert!(schema["$defs"]["Provider_template"]["properties"]["concurrency"].is_object());
    assert_eq!(schema["$defs"]["Provider_template"]["additionalProperties"], false);
}

/// The schema that editors use accepts what `check` accepts and refuses what it refuses for its structure.
#[test]
fn editors_and_check_agree() {
    let validator = jsonschema::draft202012::new(&config::schema(&registry())).unwrap();
    for path in cases() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let value: Result<serde_json::Value, _> = serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap());
        match value {
            Ok(value) if name.starts_with("ok_") => {
                let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{name}: {errors:?}");
            }
            Ok(value) if name.starts_with("unknown_keys") || name.starts_with("wrong_types") => {
                assert!(!validator.is_valid(&value), "{name}");
            }
            _ => {}
        }
    }
}
