//! Kinds of bodies, of answers, of addresses.

use crate::support::{Bench, answer, least, with};
use jobgate_adapter_api::{ErrorKind, JobRef, JobState, Part};
use jobgate_adapter_testkit::{ResponseTemplate, SECRET_REF};
use serde_json::{Value, json};

/// Body and content type of a submit.
async fn sent(request: Value, arguments: Value) -> (String, String) {
    let words = with(|job| {
        job["submit"]["request"] = request;
        job["submit"]["request"]["path"] = json!("/jobs");
    });
    let bench = Bench::new(words, vec![answer(201, json!({ "id": 1 }))]).await;
    bench.submit(arguments).await.unwrap();
    let (method, _, body) = bench.last().await;
    assert_eq!(method, "POST");
    (body, bench.last_header("content-type").await.unwrap())
}

/// A1, A4: maps and lists of a form, as GitLab's `variables[K]=V` wants them.
#[tokio::test]
async fn a_form_holds_maps_and_lists() {
    let form = json!({ "form": { "ref": "main", "variables": "{{ args.vars }}", "tag": ["a", "b"], "note": "{{ args.note | optional }}" } });
    let (body, kind) = sent(form, json!({ "vars": { "ENV": "prod & more", "n": 7, "none": null } })).await;
    assert_eq!(body, "ref=main&tag=a&tag=b&variables%5BENV%5D=prod+%26+more&variables%5Bn%5D=7");
    assert_eq!(kind, "application/x-www-form-urlencoded");
}

/// A1: Kestra takes nothing else, also without any input; Jenkins takes files.
#[tokio::test]
async fn a_multipart_body_holds_fields_and_files() {
    let parts = json!({ "multipart": {
        "a \"name\"": "{{ args.n }}",
        "file": { "text": "{{ args.map | to_json }}", "filename": "in.json", "content_type": "application/json" },
        "gone": "{{ args.gone | optional }}",
    } });
    let (body, kind) = sent(parts, json!({ "n": 7, "map": { "a": 1 } })).await;
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let wanted = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"a %22name%22\"\r\n\r\n7\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.json\"\r\nContent-Type: application/json\r\n\r\n{{\"a\":1}}\r\n\
         --{boundary}--\r\n"
    );
    assert_eq!(body, wanted);
    let (body, _) = sent(
        json!({ "multipart": { "image": { "base64": "{{ args.image }}", "filename": "a.png" } } }),
        json!({ "image": "UE5H" }),
    )
    .await;
    assert!(body.contains("name=\"image\"; filename=\"a.png\"\r\n\r\nPNG\r\n"), "{body}");
    let (body, _) =
        sent(json!({ "multipart": "{{ args }}" }), json!({ "day": "monday", "n": 7, "list": [1], "none": null })).await;
    let parts: Vec<&str> = body.split("name=").skip(1).map(|part| part.split("\r\n--").next().unwrap()).collect();
    assert_eq!(parts, ["\"day\"\r\n\r\nmonday", "\"n\"\r\n\r\n7", "\"list\"\r\n\r\n[1]"]);
    let (body, kind) = sent(json!({ "multipart": {} }), json!({})).await;
    assert_eq!(body, format!("--{}--\r\n", kind.strip_prefix("multipart/form-data; boundary=").unwrap()));
}

/// A1, A7: a text as it is, and types that an API insists on.
#[tokio::test]
async fn a_body_has_the_type_that_the_api_wants() {
    let (body, kind) = sent(json!({ "raw": "#!/bin/sh\n{{ args.script }}" }), json!({ "script": "date" })).await;
    assert_eq!((body.as_str(), kind.as_str()), ("#!/bin/sh\ndate", "text/plain; charset=utf-8"));
    let request = json!({ "body": { "a": 1 }, "content_type": "application/x-amz-json-1.0" });
    assert_eq!(sent(request, json!({})).await, ("{\"a\":1}".to_owned(), "application/x-amz-json-1.0".to_owned()));
}

/// A8: what differs from one account to the next is said once.
#[tokio::test]
async fn settings_are_known_in_addresses_and_texts() {
    let words =
        with(|job| job["submit"]["request"]["headers"] = json!({ "X-Region": "{{ settings.region }}-{{ settings.zone }}" }));
    let provider = json!({ "settings": { "region": "eu", "zone": 3, "version": "v1" }, "auth": { "bearer": SECRET_REF } });
    let bench =
        Bench::with_base(provider, "/{{ settings.version }}/{{ settings.region }}", words, vec![answer(201, json!({ "id": 1 }))])
            .await;
    bench.submit(json!({})).await.unwrap();
    assert_eq!(bench.last().await.1, "/v1/eu/jobs");
    assert_eq!(bench.last_header("x-region").await.as_deref(), Some("eu-3"));
}

/// A6: names of resources keep their slashes, folders repeat a word; both are escaped.
#[tokio::test]
async fn paths_of_several_segments() {
    for (path, wanted) in [
        ("/{{ job.id | segments }}/run", "/v1/team%20a/app/run"),
        ("/{{ job.id | folders('job') }}/build", "/v1/job/team%20a/job/app/build"),
        ("/{{ job.id }}", "/v1/team%20a%2Fapp"),
    ] {
        let words = with(|job| job["status"]["request"]["path"] = json!(path));
        let bench = Bench::new(words, vec![answer(200, json!({ "status": "done" }))]).await;
        bench.poll(&JobRef::new("team a/app")).await.unwrap();
        assert_eq!(bench.last().await.1, wanted);
    }
}

/// E10: lines of JSON, server-sent events, and plain text.
#[tokio::test]
async fn answers_are_read_as_what_they_are() {
    let look = async |parse: &str, word: &str, given: ResponseTemplate| {
        let words = with(|job| {
            job["status"]["request"]["parse"] = json!(parse);
            job["status"]["word"] = json!(word);
        });
        Bench::new(words, vec![given])
            .await
            .poll(&JobRef::new("1"))
            .await
            .map(|seen| seen.state.is_terminal())
            .map_err(|error| error.kind())
    };
    let of = |body: &str, kind: &str| ResponseTemplate::new(200).set_body_raw(body.to_owned(), kind);
    let lines = "{\"state\": \"running\"}\n\n{\"state\": \"done\"}\n";
    assert_eq!(look("lines", "{{ (body | last).state }}", of(lines, "application/x-ndjson")).await, Ok(true));
    assert_eq!(
        look("lines", "{{ (body | last).state }}", of("{\"state\"", "application/x-ndjson")).await,
        Err(ErrorKind::Protocol)
    );
    let events = ": hello\n\nevent: update\ndata: {\"state\": \"running\"}\n\nid: 7\ndata: {\"state\":\ndata:  \"done\"}\n\n";
    assert_eq!(look("events", "{{ (body | last).data.state }}", of(events, "text/event-stream")).await, Ok(true));
    assert_eq!(look("text", "{{ body | trim }}", of(" done\n", "text/plain")).await, Ok(true));
}

/// B6, F4: a result that lies elsewhere is fetched there, and the credential stays here.
#[tokio::test]
async fn redirects_are_followed_where_the_words_say_so_and_never_with_the_credential() {
    let words = |follow: bool| {
        with(|job| {
            job["result"] = json!({ "request": { "path": "/jobs/{{ job.id }}/output", "parse": "text", "follow": follow }, "text": "{{ body }}" });
        })
    };
    let done = || answer(200, json!({ "status": "done" }));
    let found = |to: &str| ResponseTemplate::new(302).insert_header("Location", to);
    let bench = Bench::new(
        words(true),
        vec![done(), found("/files/7?signature=x"), ResponseTemplate::new(200).set_body_string("a report")],
    )
    .await;
    let JobState::Succeeded(output) = bench.poll(&JobRef::new("7")).await.unwrap().state else { panic!("it ended well") };
    assert_eq!(output.parts, [Part::Text("a report".to_owned())]);
    assert_eq!(bench.last().await.1, "/files/7?signature=x");
    assert!(bench.last_header("authorization").await.is_some(), "its own address may see it");

    let other = Bench::new(least(), vec![ResponseTemplate::new(200)]).await;
    for (given, wanted) in [
        (vec![done(), found(&format!("{}/elsewhere", other.url()))], "not https"),
        (vec![done(), found("/again")], "again and again"),
    ] {
        let bench = Bench::new(words(true), given).await;
        let error = bench.poll(&JobRef::new("7")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.message().contains(wanted), "{error}");
    }
    assert_eq!(other.count().await, 0, "nothing was sent to another origin");
    let bench = Bench::new(words(false), vec![done(), found("/files/7")]).await;
    assert!(bench.poll(&JobRef::new("7")).await.is_err(), "unless told otherwise nothing is followed");
    assert_eq!(bench.count().await, 2);
}
