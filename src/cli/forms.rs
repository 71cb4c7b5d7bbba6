//! Questions of a task: answered from the command line, or on the terminal, field by field.

use std::collections::BTreeMap;
use std::io::BufRead as _;

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::arguments::{sentence, typed};
use super::out::{Failure, ask, code, note};

/// Answers by the key of their question, as the protocol writes them.
pub(super) type Responses = BTreeMap<String, Value>;

/// The terminal's lines, read by a thread of its own: a thread that waits for a key must not keep the program from ending.
#[derive(Debug)]
pub(super) struct Terminal {
    wanted: mpsc::Sender<oneshot::Sender<Option<String>>>,
}

impl Terminal {
    pub(super) fn new() -> Self {
        let (wanted, mut wishes) = mpsc::channel::<oneshot::Sender<Option<String>>>(1);
        std::thread::spawn(move || {
            while let Some(wish) = wishes.blocking_recv() {
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line);
                let line = matches!(read, Ok(1..)).then(|| line.trim_end_matches(['\r', '\n']).to_owned());
                // Nobody waits any more for a line that came after Ctrl-C.
                wish.send(line).ok();
            }
        });
        Self { wanted }
    }

    /// The next line; `None` at the end of the input.
    pub(super) async fn line(&self, question: &str) -> Option<String> {
        ask(question);
        let (give, take) = oneshot::channel();
        self.wanted.send(give).await.ok()?;
        take.await.ok().flatten()
    }
}

/// One question.
struct Question<'a> {
    key: &'a str,
    message: &'a str,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Form(&'a Value),
    Page(&'a str),
    /// Something that this client did not offer to answer.
    Other(&'a str),
}

fn questions(requests: &Value) -> Vec<Question<'_>> {
    fn read<'a>((key, request): (&'a String, &'a Value)) -> Question<'a> {
        let params = &request["params"];
        let kind = match (request["method"].as_str(), params["url"].as_str()) {
            (Some("elicitation/create"), Some(url)) => Kind::Page(url),
            (Some("elicitation/create"), None) => Kind::Form(&params["requestedSchema"]),
            (method, _) => Kind::Other(method.unwrap_or("nothing")),
        };
        Question { key, message: params["message"].as_str().unwrap_or("The task asks:"), kind }
    }
    requests.as_object().into_iter().flatten().map(read).collect()
}

fn response(action: &str, content: Option<Value>) -> Value {
    match content {
        Some(content) => json!({ "action": action, "content": content }),
        None => json!({ "action": action }),
    }
}

/// Answers from `--answer` and `--decline`, where they answer every question; `None` where they say nothing.
pub(super) fn from_words(requests: &Value, words: &[String], decline: bool) -> Result<Option<Responses>, Failure> {
    let questions = questions(requests);
    if decline {
        return Ok(Some(questions.iter().map(|question| (question.key.to_owned(), response("decline", None))).collect()));
    }
    if words.is_empty() {
        return Ok(None);
    }
    let mut left: Vec<(&str, &str)> = Vec::new();
    for word in words {
        left.push(word.split_once('=').ok_or_else(|| Failure::usage(format!("`{word}` is no answer: write FIELD=VALUE")))?);
    }
    let mut responses = Responses::new();
    for question in &questions {
        let schema = match question.kind {
            Kind::Form(schema) => schema,
            Kind::Page(_) | Kind::Other(_) => continue,
        };
        let mut content = Map::new();
        left.retain(|(name, text)| {
            let own = name.strip_prefix(question.key).and_then(|rest| rest.strip_prefix('.'));
            let field = own.unwrap_or(name);
            let known = own.is_some() || schema["properties"].get(field).is_some();
            if known {
                content.insert(field.to_owned(), typed(&schema["properties"][field], text));
            }
            !known
        });
        if content.is_empty() {
            continue;
        }
        let content = Value::Object(content);
        check(schema, &content)
            .map_err(|problem| Failure::usage(format!("the answer does not fit: {problem}")).hint(needed(&questions)))?;
        responses.insert(question.key.to_owned(), response("accept", Some(content)));
    }
    if let Some((name, _)) = left.first() {
        return Err(Failure::usage(format!("no open question has a field `{name}`")).hint(needed(&questions)));
    }
    Ok(Some(responses))
}

/// Asks on the terminal; `None` where the person wants to answer later.
pub(super) async fn on_terminal(requests: &Value, terminal: &Terminal) -> Option<Responses> {
    let mut responses = Responses::new();
    for question in questions(requests) {
        note(format!("\n? {}", question.message));
        let answered = match question.kind {
            Kind::Form(schema) => form(schema, terminal).await?,
            Kind::Page(url) => page(url, terminal).await?,
            Kind::Other(method) => {
                note(format!("  this question ({method}) cannot be answered on a terminal"));
                return None;
            }
        };
        responses.insert(question.key.to_owned(), answered);
    }
    Some(responses)
}

async fn page(url: &str, terminal: &Terminal) -> Option<Value> {
    note(format!("  open {url}"));
    loop {
        match terminal.line("  done there? [y]es, [d]ecline, [l]ater: ").await?.trim() {
            "y" | "yes" => return Some(response("accept", None)),
            "d" | "decline" | "n" | "no" => return Some(response("decline", None)),
            "l" | "later" => return None,
            _ => {}
        }
    }
}

async fn form(schema: &Value, terminal: &Terminal) -> Option<Value> {
    loop {
        match terminal.line("  [a]nswer, [d]ecline, [l]ater: ").await?.trim() {
            "" | "a" | "answer" | "y" | "yes" => {}
            "d" | "decline" | "n" | "no" => return Some(response("decline", None)),
            "l" | "later" => return None,
            _ => continue,
        }
        let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut content = Map::new();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let required = required.contains(&name.as_str());
            loop {
                let text = terminal.line(&prompt(name, field, required)).await?;
                let value = match (text.trim(), &field["default"]) {
                    ("", Value::Null) if required && field["type"] != "string" => continue,
                    ("", Value::Null) if !required => break,
                    ("", default) if !default.is_null() => default.clone(),
                    (text, _) => typed(field, &chosen(field, text)),
                };
                match check(field, &value) {
                    Ok(()) => {
                        content.insert(name.clone(), value);
                        break;
                    }
                    Err(problem) => note(format!("    {problem}")),
                }
            }
        }
        let content = Value::Object(content);
        match check(schema, &content) {
            Ok(()) => return Some(response("accept", Some(content))),
            Err(problem) => note(format!("  that does not fit: {problem}")),
        }
    }
}

/// A field's question: its title, its choices, its default.
fn prompt(name: &str, field: &Value, required: bool) -> String {
    let title = field["title"].as_str().or(field["description"].as_str()).unwrap_or(name);
    let mut text = format!("    {title}");
    let choices = choices(field);
    if !choices.is_empty() {
        let listed = choices.iter().enumerate().map(|(nth, (_, label))| format!("{}) {label}", nth + 1));
        text = format!("{text} [{}]", listed.collect::<Vec<_>>().join(", "));
    } else if field["type"] == "boolean" {
        text.push_str(" [y/n]");
    }
    match &field["default"] {
        Value::Null if !required => text.push_str(" (may be empty)"),
        Value::Null => {}
        Value::String(default) => text.push_str(&format!(" ({default})")),
        default => text.push_str(&format!(" ({default})")),
    }
    text + ": "
}

/// A field's choices: what is sent, and what a person reads.
fn choices(field: &Value) -> Vec<(String, String)> {
    let owned = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(words) = field["enum"].as_array() {
        let labels = field["enumNames"].as_array();
        let label =
            |nth: usize, word: &String| labels.and_then(|all| all.get(nth)).and_then(owned).unwrap_or_else(|| word.clone());
        return words.iter().filter_map(owned).enumerate().map(|(nth, word)| (word.clone(), label(nth, &word))).collect();
    }
    let titled = field["oneOf"].as_array().into_iter().flatten();
    titled.filter_map(|one| Some((owned(&one["const"])?, owned(&one["title"]).or_else(|| owned(&one["const"]))?))).collect()
}

/// A choice by its number, its word or its label.
fn chosen<'a>(field: &Value, text: &'a str) -> std::borrow::Cow<'a, str> {
    let choices = choices(field);
    let by_number = text.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    let found = choices.iter().find(|(word, label)| word == text || label == text).or(by_number);
    found.map_or_else(|| text.into(), |(word, _)| word.clone().into())
}

fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let Ok(validator) = jsonschema::validator_for(schema) else { return Ok(()) };
    let problems: Vec<String> = validator.iter_errors(value).map(|error| sentence(&error)).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}

/// The words that would answer the questions.
fn needed(questions: &[Question<'_>]) -> String {
    let words = questions.iter().flat_map(|question| match question.kind {
        Kind::Form(schema) => {
            let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields
                .map(|(name, field)| {
                    let word = format!("--answer {name}={}", field["type"].as_str().unwrap_or("value"));
                    if required.contains(&name.as_str()) { word } else { format!("[{word}]") }
                })
                .collect()
        }
        Kind::Page(url) => vec![format!("open {url}")],
        Kind::Other(method) => vec![format!("({method} needs another client)")],
    });
    let words: Vec<String> = words.collect();
    format!("{}, or --decline", words.join(" "))
}

/// The end of a command that has nobody to ask.
pub(super) fn nobody_answers(requests: &Value, go_on: Option<&str>) -> Failure {
    let questions = questions(requests);
    let asked: Vec<String> = questions.iter().map(|question| format!("\"{}\"", question.message)).collect();
    let words = needed(&questions);
    let hint = match go_on {
        Some(id) => format!("answer with `jobgate tasks answer {id} {words}`"),
        None => format!("answer with {words}"),
    };
    Failure { code: code::ANSWER_NEEDED, ..Failure::new(format!("an answer is needed: {}", asked.join(", "))) }.hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Value {
        json!({
            "approve": { "method": "elicitation/create", "params": { "mode": "form", "message": "Deploy?", "requestedSchema": {
                "type": "object",
                "properties": { "approved": { "type": "boolean" }, "size": { "type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"] } },
                "required": ["approved"],
            } } },
        })
    }

    fn words(list: &[&str]) -> Result<Option<Responses>, Failure> {
        from_words(&requests(), &list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), false)
    }

    #[test]
    fn answers_on_the_command_line_are_typed_and_checked() {
        let answers = words(&["approved=yes", "approve.size=s"]).unwrap().unwrap();
        assert_eq!(answers["approve"], json!({"action": "accept", "content": {"approved": true, "size": "s"}}));
        assert!(words(&["size=s"]).unwrap_err().hint.unwrap().contains("--answer approved=boolean"));
        assert!(words(&["other=1"]).unwrap_err().message.contains("other"));
        assert_eq!(words(&[]).unwrap(), None);
        assert_eq!(from_words(&requests(), &[], true).unwrap().unwrap()["approve"], json!({"action": "decline"}));
    }

    /// A script is told what is missing and how to go on.
    #[test]
    fn without_a_terminal_the_way_on_is_told() {
        let failure = nobody_answers(&requests(), Some("task_1"));
        assert_eq!(failure.code, code::ANSWER_NEEDED);
        assert!(failure.message.contains("Deploy?"));
        assert!(failure.hint.unwrap().starts_with("answer with `jobgate tasks answer task_1 --answer approved=boolean"));
    }

    #[test]
    fn a_choice_is_made_by_number_word_or_label() {
        let field = &requests()["approve"]["params"]["requestedSchema"]["properties"]["size"];
        for text in ["2", "l", "Large"] {
            assert_eq!(chosen(field, text), "l");
        }
        assert_eq!(prompt("size", field, false), "    size [1) Small, 2) Large] (may be empty): ");
    }
}
