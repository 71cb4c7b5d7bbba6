//! `docs/configuration.md` is made from the configuration's own schema, so it cannot say what the code does not do.
//! `UPDATE_GOLDEN=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use jobgate::config;
use jobgate::registry::Registry;
use serde_json::{Map, Value};

const HEAD: &str = "\
# Configuration

Every word, made from `jobgate schema`. A span of time is a whole number and a unit: `250ms`, `2s`, `5m`, `24h`, `7d`. A secret is named, never
written: `env:NAME` or `file:PATH`. `jobgate check FILE` finds every problem at once and needs neither network nor secrets.
";

#[test]
fn the_reference_is_what_the_schema_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let made = reference(&config::schema(&Registry::built_in()));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &made).expect("docs/configuration.md can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, made, "docs/configuration.md is out of date: UPDATE_GOLDEN=1 cargo nextest run --test reference");
}

fn reference(schema: &Value) -> String {
    let mut text = HEAD.to_owned();
    section(&mut text, "The file", schema);
    let definitions = schema["$defs"].as_object().expect("the schema has definitions");
    for (name, definition) in definitions {
        if definition["properties"].is_object() {
            section(&mut text, name, definition);
        } else if let Some(choices) = choices(definition) {
            writeln!(text, "\n## {name}\n\n{}{choices}", paragraph(definition)).expect("a string takes all");
        } else {
            let example = example(definition);
            writeln!(text, "\n## {name}\n\n{}{}.{example}", paragraph(definition), kind(definition)).expect("a string takes all");
        }
    }
    text
}

fn section(text: &mut String, name: &str, definition: &Value) {
    let none = Map::new();
    let words = definition["properties"].as_object().unwrap_or(&none);
    writeln!(text, "\n## {name}\n\n{}| word | value | meaning |\n|---|---|---|", paragraph(definition))
        .expect("a string takes all");
    for (word, meaning) in words {
        let must = definition["required"].as_array().is_some_and(|all| all.iter().any(|one| one == word));
        let star = if must { " (required)" } else { "" };
        let example = example(meaning);
        let says = meaning["description"].as_str().unwrap_or("").replace('\n', " ").replace('|', "\\|");
        writeln!(text, "| `{word}`{star} | {} | {says}{} |", kind(meaning), example.replace('|', "\\|"))
            .expect("a string takes all");
    }
}

fn example(schema: &Value) -> String {
    schema["examples"].get(0).map(|example| format!(" Example: `{example}`.")).unwrap_or_default()
}

fn paragraph(definition: &Value) -> String {
    definition["description"].as_str().map(|says| format!("{says}\n\n")).unwrap_or_default()
}

/// What may stand there, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase().replace([':', '.'], ""));
    }
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        if let Some(kinds) = schema[choice].as_array() {
            let mut kinds: Vec<String> = kinds.iter().filter(|one| one["type"] != "null").map(kind).collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
    }
    match &schema["type"] {
        Value::String(one) if one == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(one) if one == "object" && schema["additionalProperties"].is_object() => {
            format!("mapping to {}", kind(&schema["additionalProperties"]))
        }
        Value::String(one) if one == "object" => "mapping".to_owned(),
        Value::String(one) => one.clone(),
        Value::Array(many) => many.iter().filter_map(Value::as_str).filter(|one| *one != "null").collect::<Vec<_>>().join(" or "),
        _ => "anything".to_owned(),
    }
}

/// The values of a definition that is a choice of words.
fn choices(definition: &Value) -> Option<String> {
    if let Some(options) = definition["oneOf"].as_array() {
        let lines: Vec<String> =
            options.iter().map(|one| format!("- {}: {}", kind(one), one["description"].as_str().unwrap_or(""))).collect();
        return Some(lines.join("\n"));
    }
    definition["enum"].as_array().map(|_| kind(definition))
}
