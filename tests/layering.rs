//! The arrows between the parts of the workspace: what may name what. Cargo holds them between crates, this file inside `src/`.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the sources has failed")]

use std::collections::BTreeSet;

use jobgate_test_support::source::{Kind, Token, cargo_metadata, files, text, tokens};
use serde_json::Value;

/// A module of `src/`, and the modules that it may name. A module without a row fails.
const ALLOWED: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("store", &["domain"]),
    ("artifacts", &["domain"]),
    ("engine", &["domain", "store", "artifacts"]),
    ("config", &["domain", "registry"]),
    ("mcp", &["domain", "store", "engine"]),
    ("hooks", &["domain", "store", "engine", "metrics"]),
    ("http", &["domain", "store", "artifacts", "engine", "mcp", "hooks", "metrics"]),
    ("metrics", &["domain"]),
    ("registry", &[]),
    ("telemetry", &[]),
    ("serve", &["domain", "store", "artifacts", "engine", "config", "mcp", "hooks", "http", "metrics", "registry", "telemetry"]),
    ("cli", &["domain", "store", "config", "registry", "telemetry", "serve"]),
    ("main", &["cli"]),
];

/// The one file that may name adapters.
const REGISTRY: &str = "src/registry.rs";

#[test]
fn modules_name_only_what_lies_below_them() {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for file in files("src").into_iter().filter(|file| file.ends_with(".rs") && file != "src/lib.rs") {
        let path = module_path(&file);
        seen.insert(path[0].clone());
        let Some((_, allowed)) = ALLOWED.iter().find(|(module, _)| *module == path[0]) else {
            wrong.push(format!("{file}: the module `{}` has no row in ALLOWED", path[0]));
            continue;
        };
        for named in named_modules(&path, &tokens(&text(&file).unwrap())) {
            if named.module != path[0] && !allowed.contains(&named.module.as_str()) {
                wrong.push(format!("{file}:{}: `{}` must not name `{}`", named.line, path[0], named.module));
            }
        }
    }
    assert!(seen.contains("domain"), "the scanner found nothing to look at");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Adapters are known to the registry alone.
#[test]
fn only_the_registry_names_adapters() {
    let mut wrong = Vec::new();
    for file in files("src").into_iter().filter(|file| file.ends_with(".rs") && file != REGISTRY) {
        for token in tokens(&text(&file).unwrap()) {
            if token.text.starts_with("jobgate_adapter_") && token.text != "jobgate_adapter_api" {
                wrong.push(format!("{file}:{}: {} belongs to {REGISTRY}", token.line, token.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An adapter depends on the contract alone; the test kit is never part of the product; the contract depends on nothing of ours.
#[test]
fn crates_depend_only_on_what_lies_below_them() {
    let metadata = cargo_metadata();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() >= 5, "the workspace has its adapters");
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let shipped = ours(package, &Value::Null);
        let in_tests = ours(package, &Value::from("dev"));
        let expected: &[&str] = match name {
            "jobgate-test-support" | "jobgate-webhooks" => &[],
            // The evidence that a delivery was verified is part of the contract.
            "jobgate-adapter-api" => &["jobgate-webhooks"],
            "jobgate" => {
                let known = |it: &String| it.starts_with("jobgate-adapter-") || it == "jobgate-webhooks";
                assert!(shipped.iter().all(known), "{name}: {shipped:?}");
                assert!(!shipped.contains("jobgate-adapter-testkit"), "the test kit is never part of the product");
                assert!(shipped.contains("jobgate-adapter-api"), "{name}: {shipped:?}");
                continue;
            }
            // It makes the deliveries that adapters are tested with.
            "jobgate-adapter-testkit" => &["jobgate-adapter-api", "jobgate-webhooks"],
            // Its entries are words of `rest`.
            "jobgate-adapter-catalog" => &["jobgate-adapter-api", "jobgate-adapter-rest"],
            // It drives the whole front end, and nobody depends on it.
            "jobgate-fuzz" => &["jobgate", "jobgate-adapter-api"],
            "jobgate-fuzz-webhooks" => &["jobgate-webhooks"],
            _ => &["jobgate-adapter-api"],
        };
        assert_eq!(shipped, expected.iter().copied().map(String::from).collect(), "dependencies of {name} inside the workspace");
        let extra: Vec<&String> = in_tests
            .iter()
            .filter(|it| !["jobgate-adapter-api", "jobgate-adapter-testkit", "jobgate-test-support"].contains(&it.as_str()))
            .collect();
        assert!(extra.is_empty(), "{name} tests with {extra:?}");
    }
}

fn ours(package: &Value, kind: &Value) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    dependencies
        .filter(|it| &it["kind"] == kind && it["path"].is_string())
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

/// `src/engine/poller/mod.rs` is `engine::poller`.
fn module_path(file: &str) -> Vec<String> {
    let inner = file.strip_prefix("src/").unwrap().strip_suffix(".rs").unwrap();
    inner.strip_suffix("/mod").unwrap_or(inner).split('/').map(String::from).collect()
}

#[derive(Debug, PartialEq)]
struct Named {
    module: String,
    line: usize,
}

/// The top-level modules that a file names through `crate::`, `super::` or the crate's own name, single or in groups. `*` stands
/// for a glob of the crate's root.
fn named_modules(path: &[String], tokens: &[Token]) -> Vec<Named> {
    let mut named = Vec::new();
    let mut depth = path.len();
    let mut braces: Vec<usize> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => {
                braces.push(depth);
                depth += usize::from(index >= 2 && token.text == "{" && tokens[index - 2].is("mod"));
            }
            Kind::Close => depth = braces.pop().unwrap_or(depth),
            Kind::Ident if (token.text == "crate" || token.text == "jobgate") && !follows_path(tokens, index) => {
                rest(tokens, index + 1, 0, &mut named);
            }
            Kind::Ident if token.text == "super" && !follows_path(tokens, index) => {
                rest(tokens, index + 1, depth.saturating_sub(1), &mut named);
            }
            Kind::Ident | Kind::Punct | Kind::Literal => {}
        }
    }
    named
}

/// Whether the name at `index` is a later part of a path; `self::` does not count.
fn follows_path(tokens: &[Token], index: usize) -> bool {
    index >= 3 && tokens[index - 1].text == ":" && tokens[index - 2].text == ":" && {
        let before = &tokens[index - 3];
        before.kind == Kind::Ident && !before.is("self")
    }
}

/// Reads what follows a path prefix that stands `depth` modules below the crate's root; at the root, notes the name.
fn rest(tokens: &[Token], at: usize, depth: usize, named: &mut Vec<Named>) {
    let is_path = tokens.get(at).is_some_and(|it| it.text == ":") && tokens.get(at + 1).is_some_and(|it| it.text == ":");
    if is_path {
        segment(tokens, at + 2, depth, named);
    }
}

fn segment(tokens: &[Token], at: usize, depth: usize, named: &mut Vec<Named>) {
    let Some(first) = tokens.get(at) else { return };
    if first.is("super") {
        rest(tokens, at + 1, depth.saturating_sub(1), named);
    } else if first.text == "{" {
        let mut level = 0;
        for index in at..tokens.len() {
            match (tokens[index].kind, level) {
                (Kind::Open, _) => level += 1,
                (Kind::Close, 1) => return,
                (Kind::Close, _) => level -= 1,
                (Kind::Ident | Kind::Punct, 1) if matches!(tokens[index - 1].text.as_str(), "{" | ",") => {
                    segment(tokens, index, depth, named);
                }
                (Kind::Ident | Kind::Punct | Kind::Literal, _) => {}
            }
        }
    } else if depth == 0 && !first.is("self") && (first.kind == Kind::Ident || first.text == "*") {
        named.push(Named { module: first.text.clone(), line: first.line });
    }
}

#[test]
fn the_scanner_sees_every_way_to_name_a_module() {
    let in_engine: [(&str, &[&str]); 14] = [
        ("use crate::store::TaskStore;", &["store"]),
        ("use crate::{domain::{Task, TaskId}, http, mcp as m};", &["domain", "http", "mcp"]),
        ("use {crate::cli, std::fmt};", &["cli"]),
        ("fn f() -> crate::http::Limit { g(super::serve::X) }", &["http", "serve"]),
        ("use super::super::mcp;", &["mcp"]),
        ("use self::super::mcp;", &["mcp"]),
        ("use super::{mcp::Call, store};", &["mcp", "store"]),
        ("mod tests { use super::super::http; }", &["http"]),
        ("mod tests { use super::*; use super::poller; }", &[]),
        ("use crate::*;", &["*"]),
        ("fn f() { format!(\"{}\", crate::cli::NAME); }", &["cli"]),
        ("pub(crate) fn f() {} pub(in crate::engine) fn g() {}", &["engine"]),
        ("// crate::http\nconst X: &str = \"crate::http\";", &[]),
        ("use crate::{self, telemetry}; use other::jobgate::http;", &["telemetry"]),
    ];
    let path = ["engine".to_owned()];
    for (source, expected) in in_engine {
        let named: Vec<String> = named_modules(&path, &tokens(source)).into_iter().map(|it| it.module).collect();
        assert_eq!(named, expected, "{source}");
    }
    let deeper = ["engine".to_owned(), "poller".to_owned()];
    let named = |source: &str| named_modules(&deeper, &tokens(source)).into_iter().map(|it| it.module).collect::<Vec<_>>();
    assert_eq!(named("use super::cancel; use super::super::http;"), ["http"]);
    assert_eq!(named("use super::{submit, super::{http, cli}};"), ["http", "cli"]);
    let main = named_modules(&["main".to_owned()], &tokens("fn main() { jobgate::cli::run() }"));
    assert_eq!(main, [Named { module: "cli".to_owned(), line: 1 }]);
}
