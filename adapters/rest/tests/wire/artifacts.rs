//! Files that a job made: handed on as links, or fetched, from where the words allow and as whom they say.

use crate::support::{Bench, answer, with};
use futures_util::StreamExt as _;
use jobgate_adapter_api::{AdapterError, Artifact, ErrorKind, JobOutput, JobRef, JobState, Part};
use jobgate_adapter_testkit::{ResponseTemplate, SECRET};
use serde_json::{Value, json};

const VIDEO: &[u8] = b"\x00\x00\x00\x18ftypmp42 not much of a film";

/// A job that is done, with these words about its one file.
fn making(artifact: Value) -> Value {
    with(|job| job["result"] = json!({ "artifacts": [artifact] }))
}

async fn output(bench: &Bench) -> JobOutput {
    match bench.poll(&JobRef::new("7")).await.unwrap().state {
        JobState::Succeeded(output) => output,
        other => panic!("{other:?}"),
    }
}

/// A provider whose job 7 made `files`, and which serves its own ones.
async fn made(artifact: Value, files: Value, serve: impl Fn(&str) -> ResponseTemplate + Send + Sync + 'static) -> Bench {
    Bench::routed(making(artifact), move |request| match request.url.path() {
        "/v1/jobs/7" => answer(200, json!({ "status": "done", "files": files })),
        path => serve(path),
    })
    .await
}

fn video() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(VIDEO, "video/mp4")
}

async fn fetch(bench: &Bench, artifact: &Artifact) -> Result<(Option<String>, Vec<u8>), AdapterError> {
    let mut body = bench.adapter().fetch(&bench.cx, &JobRef::new("7"), artifact).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = body.chunks.next().await {
        bytes.extend_from_slice(&chunk?);
    }
    Ok((body.mime_type, bytes))
}

/// The one file of a job, fetched.
async fn fetched(bench: &Bench) -> Result<(Option<String>, Vec<u8>), (ErrorKind, String)> {
    let artifact = output(bench).await.artifacts.remove(0);
    fetch(bench, &artifact).await.map_err(|error| (error.kind(), error.message().to_owned()))
}

/// Providers F4, F7: without `keep` callers get the address; with it the gateway is told what to fetch, and how.
#[tokio::test]
async fn files_are_links_or_to_be_kept() {
    let files = json!([{ "url": "https://files.example.com/a.mp4?sig=1" }, { "url": "/v1/files/b.mp4" }, { "url": null }, { "url": "s3://bucket/c" }]);
    let words = json!({ "each": "{{ body.files }}", "uri": "{{ item.url }}", "name": "{{ item.url | last_segment }}", "mime_type": "video/mp4", "most": 9 });
    let bench = made(words.clone(), files.clone(), |_| video()).await;
    let uris = |output: &JobOutput| -> Vec<String> {
        output.parts.iter().filter_map(|part| if let Part::Link { uri, .. } = part { Some(uri.clone()) } else { None }).collect()
    };
    let own = format!("{}/v1/files/b.mp4", bench.url());
    assert_eq!(uris(&output(&bench).await), ["https://files.example.com/a.mp4?sig=1", &own, "s3://bucket/c"]);

    let mut words = words;
    words["keep"] = json!(true);
    words["max_bytes"] = json!("1MiB");
    words["types"] = json!(["video/*"]);
    let bench = made(words, files, |_| video()).await;
    let output = output(&bench).await;
    assert_eq!(uris(&output), ["s3://bucket/c"], "what nobody here can fetch stays a link");
    let names: Vec<(&str, &str)> = output.artifacts.iter().map(|kept| (kept.name.as_str(), kept.uri.as_str())).collect();
    let own = format!("{}/v1/files/b.mp4", bench.url());
    assert_eq!(names, [("a.mp4", "https://files.example.com/a.mp4?sig=1"), ("b.mp4", own.as_str())]);
    let first = &output.artifacts[0];
    assert_eq!((first.max_bytes, first.types.as_slice()), (Some(1 << 20), &["video/*".to_owned()][..]));
    assert!(!format!("{output:?}").contains(SECRET));
}

/// A file at the provider's own address is fetched, with credentials where the words say so and never otherwise.
#[tokio::test]
async fn a_file_of_the_providers_is_fetched() {
    for (credentials, sent) in [(true, Some(format!("Bearer {SECRET}"))), (false, None)] {
        let words = json!({ "uri": "{{ body.files }}", "name": "a.mp4", "keep": true, "credentials": credentials });
        let bench = made(words, json!("/v1/files/a.mp4"), |_| video()).await;
        assert_eq!(fetched(&bench).await, Ok((Some("video/mp4".to_owned()), VIDEO.to_vec())));
        assert_eq!((bench.last().await.1.as_str(), bench.last_header("authorization").await), ("/v1/files/a.mp4", sent));
    }
}

/// Providers F4: a file elsewhere is fetched where `origins` names the place, without credentials.
#[tokio::test]
async fn a_file_elsewhere_is_fetched_where_the_words_allow_it() {
    let store = Bench::routed(with(|_| ()), |_| video()).await;
    let address = format!("{}/bucket/a.mp4?sig=1", store.url());
    let words = |origins: Value| json!({ "uri": "{{ body.files }}", "name": "a.mp4", "keep": true, "credentials": true, "origins": origins });
    let allowed = made(words(json!([store.url()])), json!(address), |_| video()).await;
    assert_eq!(fetched(&allowed).await, Ok((Some("video/mp4".to_owned()), VIDEO.to_vec())));
    assert_eq!((store.last().await.1.as_str(), store.last_header("authorization").await), ("/bucket/a.mp4?sig=1", None));

    for origins in [json!([]), json!(["https://files.example.com"]), json!(["http://*.0.0.1"])] {
        let asked = store.count().await;
        let shut = made(words(origins), json!(address), |_| video()).await;
        assert_eq!(fetched(&shut).await.unwrap_err().0, ErrorKind::Rejected);
        assert_eq!(store.count().await, asked, "nothing is sent to where the words do not allow");
    }
}

/// An answer must not make the gateway read the networks that it is in: neither by number nor by name.
#[tokio::test]
async fn nothing_inside_is_read_for_an_answer() {
    for inside in [
        "https://127.0.0.1:1/",
        "https://localhost:1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]:1/",
        "https://2130706433:1/",
        "https://[::ffff:10.0.0.1]/",
        "http://files.example.com/plain",
        "https://user:pw@files.example.com/",
    ] {
        let words = json!({ "uri": "{{ body.files }}", "name": "a", "keep": true });
        let bench = made(words, json!(inside), |_| video()).await;
        let (kind, message) = fetched(&bench).await.unwrap_err();
        assert_eq!(kind, ErrorKind::Rejected, "{inside}: {message}");
        assert!(!message.contains("127.0.0.1") && !message.contains("example.com"), "{message}");
    }
}

/// Redirects are followed at most three times, each held against the same rules, and no credential goes to another origin or comes back from one.
#[tokio::test]
async fn redirects_are_followed_within_the_rules() {
    let to = |location: String| ResponseTemplate::new(302).insert_header("Location", location);
    let words =
        |origins: Value| json!({ "uri": "{{ body.files }}", "name": "a", "keep": true, "credentials": true, "origins": origins });
    // Three redirects end well, a fourth does not.
    for (start, ends) in [("/v1/r/3", true), ("/v1/r/4", false)] {
        let serve = move |path: &str| match path.strip_prefix("/v1/r/").map(|left| left.parse::<u32>().unwrap()) {
            Some(left) if left > 0 => to(format!("/v1/r/{}", left - 1)),
            _ => video(),
        };
        let bench = made(words(json!([])), json!(start), serve).await;
        assert_eq!(fetched(&bench).await.is_ok(), ends, "{start}");
        assert_eq!(bench.last_header("authorization").await, Some(format!("Bearer {SECRET}")));
    }
    // To the store, which leads back.
    let back = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let home = back.clone();
    let store = Bench::routed(with(|_| ()), move |_| to(home.lock().unwrap().clone())).await;
    let away = format!("{}/signed", store.url());
    let serve = move |path: &str| if path == "/v1/a" { to(away.clone()) } else { video() };
    let bench = made(words(json!([store.url()])), json!("/v1/a"), serve).await;
    *back.lock().unwrap() = format!("{}/v1/private", bench.url());
    fetched(&bench).await.unwrap();
    assert_eq!((bench.last().await.1.as_str(), bench.last_header("authorization").await), ("/v1/private", None));
    assert_eq!(store.last_header("authorization").await, None);
    // To where nothing may be fetched from.
    let bench = made(words(json!([])), json!("/v1/a"), move |_| to("https://127.0.0.1:1/x".to_owned())).await;
    assert_eq!(fetched(&bench).await.unwrap_err().0, ErrorKind::Rejected);
}

/// What a file may be is held against what the sender says, and against what comes.
#[tokio::test]
async fn size_and_type_are_held_against_what_comes() {
    let words = |mime_type: Value| json!({ "uri": "{{ body.files }}", "name": "a", "keep": true, "types": ["video/*", "image/png"], "max_bytes": "64B", "mime_type": mime_type });
    let sent = |kind: &str, bytes: usize| ResponseTemplate::new(200).set_body_raw(vec![0; bytes], kind);
    for (mime_type, given, wanted) in [
        (Value::Null, sent("video/mp4; codecs=x", 64), Ok(64)),
        (Value::Null, sent("IMAGE/PNG", 1), Ok(1)),
        (Value::Null, sent("text/html", 1), Err(ErrorKind::Rejected)),
        (Value::Null, sent("binary/octet-stream", 1), Err(ErrorKind::Rejected)),
        (json!("video/mp4"), sent("binary/octet-stream", 1), Ok(1)),
        (json!("video/mp4"), sent("text/html", 1), Err(ErrorKind::Rejected)),
        (Value::Null, sent("video/mp4", 65), Err(ErrorKind::Rejected)),
        (Value::Null, sent("video/mp4", 65).insert_header("Transfer-Encoding", "chunked"), Err(ErrorKind::Rejected)),
    ] {
        let label = format!("{mime_type} {given:?}");
        let bench = made(words(mime_type), json!("/v1/f"), move |_| given.clone()).await;
        let found = fetched(&bench).await.map(|(_, bytes)| bytes.len()).map_err(|(kind, _)| kind);
        assert_eq!(found, wanted, "{label}");
    }
}

/// A file that is not there any more, and a signed address that has ended, are told apart from what may pass.
#[tokio::test]
async fn what_is_gone_is_told_apart_from_what_may_pass() {
    for (credentials, code, wanted) in [
        (false, 404, ErrorKind::NotFound),
        (false, 410, ErrorKind::NotFound),
        (false, 403, ErrorKind::NotFound),
        (true, 403, ErrorKind::Unauthorized),
        (false, 503, ErrorKind::Unavailable),
        (false, 429, ErrorKind::RateLimited),
        (false, 400, ErrorKind::Rejected),
        (false, 204, ErrorKind::Protocol),
    ] {
        let words = json!({ "uri": "{{ body.files }}", "name": "a", "keep": true, "credentials": credentials });
        let bench = made(words, json!("/v1/f"), move |_| ResponseTemplate::new(code)).await;
        assert_eq!(fetched(&bench).await.unwrap_err().0, wanted, "{code}");
    }
}

/// A tool that keeps no files fetches none, whatever it is asked for.
#[tokio::test]
async fn a_tool_that_keeps_nothing_fetches_nothing() {
    let bench = made(json!({ "uri": "{{ body.files }}", "name": "a" }), json!("/v1/f"), |_| video()).await;
    let error = fetch(&bench, &Artifact::new(format!("{}/v1/f", bench.url()), "a")).await.unwrap_err();
    assert_eq!((error.kind(), bench.count().await), (ErrorKind::Unsupported, 0));
}
