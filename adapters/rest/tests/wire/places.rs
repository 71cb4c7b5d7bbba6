//! Words for what a job hands over that must be refused, each at its place and with a sentence that helps.

use crate::support::{issues, with};
use serde_json::json;

/// Adds a section to a right job; the first issue must read as wanted.
#[test]
fn a_wrong_section_is_told_its_place_and_what_would_be_right() {
    let t = "tools.t.job";
    for (section, words, wanted) in [
        (
            "result",
            json!({ "content": [{ "image": "{{ body.a }}", "text": "b" }] }),
            format!(
                "{t}.result.content[0]: a piece of content is exactly one of `text`, `image`, `audio`, `link` and `document` ["
            ),
        ),
        (
            "result",
            json!({ "content": [{ "link": "{{ body.a }}" }] }),
            format!("{t}.result.content[0]: a link needs a `name` [{{ link: "),
        ),
        (
            "result",
            json!({ "content": [{ "text": "{{ body.a }}", "size": "3" }] }),
            format!("{t}.result.content[0].size: `size` says nothing of a piece that is a `text`"),
        ),
        (
            "result",
            json!({ "content": [{ "text": "{{ item }}" }] }),
            format!("{t}.result.content[0].text: `item` does not exist here"),
        ),
        (
            "result",
            json!({ "content": [{ "text": "{{ item }}", "each": "{{ body.a }}", "most": 101 }] }),
            format!("{t}.result.content[0].most: `most` is 101, and has to be 1 to 100 ["),
        ),
        ("result", json!({ "required": true }), format!("{t}.result.required: `required: true` needs a word that says where")),
        ("result", json!({ "text": "{{ log }}" }), format!("{t}.result.text: `log` does not exist here")),
        ("failure", json!({ "log": true }), format!("{t}.failure.log: there is no `log` section that says where the log is [")),
        (
            "log",
            json!({ "request": { "path": "/l" }, "lines": 0 }),
            format!("{t}.log.lines: `lines` is 0, and has to be 1 to 500 ["),
        ),
        (
            "log",
            json!({ "request": { "path": "/l" }, "kind": { "range": "1GiB" } }),
            format!("{t}.log.kind.range: the range is 1GiB, and has to be 1B to 1MiB ["),
        ),
        (
            "log",
            json!({ "request": { "path": "/l" }, "kind": { "range": "big" } }),
            format!("{t}.log.kind.range: `big` is no number of bytes"),
        ),
        (
            "log",
            json!({ "request": { "path": "/l" }, "kind": { "offset": { "next": "{{ body.n }}" } } }),
            format!("{t}.log.kind.offset: nothing says where the log is read on"),
        ),
        (
            "log",
            json!({ "request": { "path": "/l", "query": { "n": 3 } }, "kind": { "tail": { "parameter": "n" } } }),
            format!("{t}.log.kind.tail.parameter: the request's `query` names `n`, too"),
        ),
        (
            "result",
            json!({ "artifacts": [{ "uri": "{{ body.a }}", "name": "a", "types": ["video/*"] }] }),
            format!("{t}.result.artifacts[0].types: `types` is about a file that is kept, and this one is handed on as a link ["),
        ),
        (
            "result",
            json!({ "artifacts": [{ "uri": "{{ body.a }}", "name": "a", "keep": true, "types": ["video"] }] }),
            format!("{t}.result.artifacts[0].types: `video` is no media type ["),
        ),
        (
            "result",
            json!({ "artifacts": [{ "uri": "{{ body.a }}", "name": "a", "keep": true, "origins": ["files.example.com"] }] }),
            format!("{t}.result.artifacts[0].origins: `files.example.com` is no origin"),
        ),
        (
            "result",
            json!({ "artifacts": [{ "uri": "{{ body.a }}", "name": "a", "keep": true, "origins": ["https://files.example.com/x"] }] }),
            format!("{t}.result.artifacts[0].origins: `https://files.example.com/x` is no origin"),
        ),
        (
            "input",
            json!({ "key": "k", "message": "?", "form": { "type": "object", "properties": { "a": { "type": "object" } }, "required": ["a"] }, "accept": { "request": { "method": "POST", "path": "/x" } } }),
            format!("{t}.input.form: the form cannot be shown: the field `a` has to be filled in and is an object"),
        ),
        (
            "input",
            json!({ "key": "k", "message": "?", "form": {}, "page": "https://x.example.com" }),
            format!("{t}.input: a question has either a `form` or a `page`, and both only with `decline: link` ["),
        ),
        (
            "input",
            json!({ "key": "k", "message": "?", "page": "https://x.example.com", "decline": "cancel" }),
            format!("{t}.input.decline: `decline: cancel` cancels the job, and there is no `cancel` section that says how ["),
        ),
        (
            "input",
            json!({ "key": "k", "message": "?", "form": {}, "accept": { "request": { "path": "/x" } }, "decline": "link" }),
            format!("{t}.input.decline: `decline: link` needs a `page`, where a person says no ["),
        ),
        (
            "input",
            json!({ "key": "k", "message": "?", "page": "https://x.example.com", "decline": "no" }),
            format!("{t}.input.decline: a `decline` is `cancel`, `link`, or a request: `{{ request: "),
        ),
        (
            "input",
            json!({ "key": "{{ item.id }}", "message": "?", "page": "https://x.example.com" }),
            format!("{t}.input.key: `item` does not exist here"),
        ),
    ] {
        let found = issues(with(|job| job[section] = words.clone()));
        assert!(
            found.first().is_some_and(|first| first.starts_with(&wanted)),
            "{words}\n  wanted: {wanted}\n  found:  {found:?}"
        );
    }
}
