//! What a job that ended hands over: from several requests, as texts, images, sounds, links and documents; or why there is nothing.

use crate::support::{Bench, answer, with};
use jobgate_adapter_api::{ErrorKind, JobOutput, JobRef, JobState, Part};
use jobgate_adapter_testkit::SECRET;
use serde_json::{Value, json};

/// A job that ended with `body`, read by the words of `result`.
async fn result(words: Value, body: Value) -> Result<JobState, String> {
    let mut body = body;
    body["status"] = json!("done");
    let bench = Bench::new(with(|job| job["result"] = words), vec![answer(200, body)]).await;
    bench.poll(&JobRef::new("1")).await.map(|seen| seen.state).map_err(|error| error.to_string())
}

async fn output(words: Value, body: Value) -> JobOutput {
    match result(words, body).await {
        Ok(JobState::Succeeded(output)) => output,
        other => panic!("{other:?}"),
    }
}

/// Providers F3: the result lies in several places, and one of them may have nothing.
#[tokio::test]
async fn a_result_is_put_together_from_several_requests() {
    let job = with(|job| {
        job["result"] = json!({
            "steps": [
                { "name": "tasks", "request": { "path": "/jobs/{{ job.id }}/tasks" }, "value": "{{ body.tasks }}" },
                { "name": "notes", "request": { "path": "/jobs/{{ job.id }}/notes" }, "missing": [404] },
            ],
            "request": { "path": "/tasks/{{ steps.tasks[0].id }}/output" },
            "text": "{{ steps.tasks | length }} tasks, {{ 'no notes' if steps.notes is undefined else steps.notes.text }}, {{ status.body.took }} s",
            "data": "{{ body.output | from_json }}",
        });
        job["failure"] = json!({
            "steps": [{ "name": "error", "request": { "path": "/jobs/{{ job.id }}/error" } }],
            "message": "{{ steps.error.body.why }}",
        });
    });
    let bench = Bench::routed(job, |request| match request.url.path() {
        "/v1/jobs/7" => answer(200, json!({ "status": "done", "took": 4 })),
        "/v1/jobs/8" => answer(200, json!({ "status": "broken" })),
        "/v1/jobs/7/tasks" => answer(200, json!({ "tasks": [{ "id": "t-1" }, { "id": "t-2" }] })),
        "/v1/tasks/t-1/output" => answer(200, json!({ "output": "{\"rows\": 3}" })),
        "/v1/jobs/8/error" => answer(200, json!({ "why": "out of memory" })),
        _ => answer(404, json!({})),
    })
    .await;
    let seen = bench.poll(&JobRef::new("7")).await.unwrap();
    let wanted = JobOutput::text("2 tasks, no notes, 4 s").with_data(json!({ "rows": 3 }));
    assert_eq!(seen.state, JobState::Succeeded(wanted));
    assert_eq!(bench.paths().await, ["/v1/jobs/7", "/v1/jobs/7/tasks", "/v1/jobs/7/notes", "/v1/tasks/t-1/output"]);

    let JobState::Failed(failure) = bench.poll(&JobRef::new("8")).await.unwrap().state else { panic!("it has failed") };
    assert_eq!(failure.message, "out of memory");
}

/// Providers F3: a job that is there and whose result is not (yet) is no unknown job.
#[tokio::test]
async fn a_step_of_a_result_that_is_not_there_does_not_end_the_task() {
    let job = with(|job| {
        job["result"] = json!({ "steps": [{ "name": "x", "request": { "path": "/nowhere" } }], "data": "{{ steps.x.body }}" })
    });
    let bench = Bench::routed(job, |request| match request.url.path() {
        "/v1/jobs/7" => answer(200, json!({ "status": "done" })),
        _ => answer(404, json!({})),
    })
    .await;
    assert_eq!(bench.poll(&JobRef::new("7")).await.unwrap_err().kind(), ErrorKind::Protocol);
}

/// The content of a result: each kind, in its order, and nothing for what is not there.
#[tokio::test]
async fn content_is_text_image_sound_link_and_document() {
    let words = json!({ "text": "Two images.", "content": [
        { "image": "{{ item.b64 }}", "mime_type": "image/png", "each": "{{ body.images }}", "when": "item.nsfw is undefined" },
        { "audio": "{{ body.sound }}" },
        { "link": "{{ body.file }}", "name": "{{ body.file | last_segment }}", "mime_type": "video/mp4", "size": "{{ body.bytes }}", "description": "The film." },
        { "document": "{{ body.report }}", "name": "report.md", "mime_type": "text/markdown" },
        { "text": "{{ body.note }}", "when": "body.note" },
        { "text": "{{ body.nowhere }}" },
        { "image": "{{ body.nothing }}", "mime_type": "image/png" },
    ] });
    let body = json!({
        "images": [{ "b64": "aGk=" }, { "b64": "bm8=", "nsfw": true }, { "b64": "aG8\n" }],
        "sound": "data:audio/wav;base64,aGk=", "file": "https://files.example.com/a/film.mp4?sig=1", "bytes": 1234,
        "report": format!("# Done with {SECRET}"), "note": "", "nothing": null,
    });
    let image = |data: &str| Part::Image { data: data.to_owned(), mime_type: "image/png".to_owned() };
    let wanted = vec![
        Part::Text("Two images.".to_owned()),
        image("aGk="),
        image("aG8="),
        Part::Audio { data: "aGk=".to_owned(), mime_type: "audio/wav".to_owned() },
        Part::Link {
            uri: "https://files.example.com/a/film.mp4?sig=1".to_owned(),
            name: "film.mp4".to_owned(),
            mime_type: Some("video/mp4".to_owned()),
            description: Some("The film.".to_owned()),
            size: Some(1234),
        },
        Part::Embedded {
            uri: "job:///report.md".to_owned(),
            mime_type: Some("text/markdown".to_owned()),
            text: "# Done with ***".to_owned(),
        },
    ];
    assert_eq!(output(words, body).await.parts, wanted);
}

/// A list makes at most so many pieces, and says what it left out; what is no list is a fault, what is not there is nothing.
#[tokio::test]
async fn a_list_makes_at_most_so_many_pieces() {
    let words = json!({ "content": [{ "text": "{{ item }}", "each": "{{ body.lines }}", "most": 2 }] });
    let texts = |texts: &[&str]| texts.iter().map(|text| Part::Text((*text).to_owned())).collect::<Vec<Part>>();
    assert_eq!(
        output(words.clone(), json!({ "lines": ["a", "b", "c", "d"] })).await.parts,
        texts(&["a", "b", "[2 more were left out.]"])
    );
    for none in [json!({ "lines": [] }), json!({ "lines": null }), json!({})] {
        assert_eq!(output(words.clone(), none).await.parts, texts(&["The job ended well."]));
    }
    for wrong in [json!({ "lines": "abc" }), json!({ "lines": { "a": 1 } }), json!({ "lines": 3 })] {
        assert!(result(words.clone(), wrong).await.unwrap_err().contains("no list"));
    }
}

/// An image that is none is a fault of the answer, and the fault does not repeat it.
#[tokio::test]
async fn what_is_no_image_is_a_fault() {
    let words = json!({ "content": [{ "image": "{{ body.image }}", "mime_type": "image/png" }] });
    for (image, reason) in [("<html>", "no base64"), ("data:image/png;base64,%%", "broken")] {
        let said = result(words.clone(), json!({ "image": image })).await.unwrap_err();
        assert!(said.contains(reason) && !said.contains(image), "{said}");
    }
    let wrong = json!({ "content": [{ "image": "{{ body.image }}", "mime_type": "{{ body.type }}" }] });
    assert!(result(wrong, json!({ "image": "aGk=", "type": "text/html" })).await.unwrap_err().contains("no image"));
}

/// A success without the output that a tool needs is a failure that says so; any output will do.
#[tokio::test]
async fn success_without_a_required_output_is_a_failure() {
    let words = json!({
        "required": true,
        "text": "{{ body.text }}",
        "data": { "images": "{{ body.images }}" },
        "content": [{ "link": "{{ body.url }}", "name": "film" }],
    });
    for none in [json!({}), json!({ "images": [] }), json!({ "text": " ", "images": [null, ""], "url": null })] {
        let JobState::Failed(failure) = result(words.clone(), none).await.unwrap() else { panic!("it has no output") };
        assert_eq!(failure.message, "The provider says that the job ended well, and it gave no output.");
    }
    for some in
        [json!({ "text": "x" }), json!({ "images": ["a"] }), json!({ "images": [0] }), json!({ "url": "https://a.example.com" })]
    {
        assert!(matches!(result(words.clone(), some).await, Ok(JobState::Succeeded(_))));
    }
    // Without `required` an answer that lacks what a text asks for is a fault of the answer, as before.
    assert!(result(json!({ "text": "{{ body.text }}" }), json!({})).await.is_err());
}
