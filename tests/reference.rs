//! `docs/configuration.md` and the table of limits in `docs/security.md` are made from the configuration's own schema and defaults, so
//! they cannot say what the code does not do.
//! `UPDATE_GOLDEN=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use jobgate::config;
use jobgate::domain::Quota;
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

/// G4: the limits are documented, and what the table says is what holds where nothing is configured.
#[test]
fn the_table_of_limits_is_what_holds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/security.md");
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let (before, rest) = kept.split_once(TABLE.0).expect("docs/security.md says where the table begins");
    let (_, after) = rest.split_once(TABLE.1).expect("docs/security.md says where the table ends");
    let table = limits(&config::schema(&Registry::built_in()));
    let made = format!("{before}{}\n\n{table}\n{}{after}", TABLE.0, TABLE.1);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &made).expect("docs/security.md can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, made, "docs/security.md is out of date: UPDATE_GOLDEN=1 cargo nextest run --test reference");
}

/// What stands around the table.
const TABLE: (&str, &str) = ("<!-- The table is made by tests/reference.rs. -->", "<!-- The end of the table. -->");

/// The default of each limit, as the code has it, for a principal and for an address.
fn default_of(word: &str) -> (String, String) {
    let all = config::Limits::default();
    let (callers, none) = (all.callers, || "-".to_owned());
    let share = callers.principals_per_address.expect("there is a default");
    let quota = |quota: Option<Quota>| {
        let said = |quota: Quota| format!("{} in {}m, {} at once", quota.count, quota.per.as_secs() / 60, quota.burst);
        let quota = quota.expect("there is a default");
        (said(quota), said(Quota { count: quota.count * share, burst: quota.burst * share, ..quota }))
    };
    match word {
        "live_tasks_per_principal" => (all.live_tasks_per_principal.to_string(), none()),
        "argument_bytes" => (all.argument_bytes.to_string(), none()),
        "result_bytes" => (all.result_bytes.to_string(), none()),
        "calls" => quota(callers.calls),
        "creations" => quota(callers.creations),
        "lists" => quota(callers.lists),
        "results" => quota(callers.results),
        "unknown_ids" => quota(callers.unknown_ids),
        "bad_tokens" => (none(), quota(callers.bad_tokens).0),
        "polls_per_interval" => (callers.polls_per_interval.expect("there is a default").to_string(), none()),
        "streams_per_principal" => (callers.streams.expect("there is a default").to_string(), none()),
        "waiters_per_principal" => (callers.waiters.expect("there is a default").to_string(), none()),
        "principals_per_address" => (none(), share.to_string()),
        other => panic!("nobody knows the default of `{other}`"),
    }
}

fn limits(schema: &Value) -> String {
    let mut text = "| `limits` | of a principal | of an address | what |\n|---|---|---|---|\n".to_owned();
    for (word, meaning) in schema["$defs"]["Limits"]["properties"].as_object().expect("the limits have words") {
        let (principal, address) = default_of(word);
        let (what, default) = meaning["description"].as_str().and_then(|says| says.split_once(" Default: ")).expect("a default");
        let said = if principal == "-" { &address } else { &principal };
        assert_eq!(default.trim_end_matches('.'), said, "what the schema says of `{word}`");
        writeln!(text, "| `{word}` | {principal} | {address} | {} |", what.replace('\n', " ")).expect("a string takes all");
    }
    text
}

fn reference(schema: &Value) -> String {
    let mut text = HEAD.to_owned();
    section(&mut text, "The file", schema);
    let definitions = schema["$defs"].as_object().expect("the schema has definitions");
    for (name, definition) in definitions {
        if is_entry(definition) {
            continue;
        }
        if definition["properties"].is_object() {
            section(&mut text, name, definition);
        } else if let Some(choices) = choices(definition) {
            writeln!(text, "\n## {name}\n\n{}{choices}", paragraph(definition)).expect("a string takes all");
        } else {
            let example = example(definition);
            writeln!(text, "\n## {name}\n\n{}{}.{example}", paragraph(definition), kind(definition)).expect("a string takes all");
        }
    }
    text + CATALOG + &definitions.values().filter(|it| is_entry(it)).map(entry).collect::<String>()
}

/// What stands before the table of the catalog.
const CATALOG: &str = "
## Catalog

Kinds that are described already; each brings ready tools along, which a tool section takes with `use`. Settings that have to be given are
bold. Every one of these provider sections may also say `timeout`, `max_body_bytes`, `auth`, `tls` and `headers`, as with `adapter: rest`.

| `adapter` | what | settings |
|---|---|---|
";

/// Whether a definition is the provider section of an entry of the catalog: these alone have a title.
fn is_entry(definition: &Value) -> bool {
    definition["title"].is_string() && definition["properties"]["adapter"].is_object()
}

fn entry(definition: &Value) -> String {
    let kind = definition["properties"]["adapter"]["const"].as_str().expect("an entry names its kind");
    // A secret is needless beside an `auth` of the section's own, so no list of what is required has it.
    let required = |says: &str| !says.contains(" Default: ") && !says.contains(" May be left out");
    let apart =
        ["adapter", "concurrency", "rate", "call_timeout", "webhook", "timeout", "max_body_bytes", "auth", "tls", "headers"];
    let words = definition["properties"].as_object().expect("an entry has words").iter();
    let settings = words.filter(|(word, _)| !apart.contains(&word.as_str())).map(|(word, meaning)| {
        let says = meaning["description"].as_str().unwrap_or("").trim_end_matches('.');
        let name = if required(says) { format!("**`{word}`**") } else { format!("`{word}`") };
        format!("{name}: {}", says.replace('|', "\\|"))
    });
    let settings = settings.collect::<Vec<_>>().join("; ");
    format!("| `{kind}` | {} | {settings} |\n", definition["description"].as_str().unwrap_or("").replace('|', "\\|"))
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
