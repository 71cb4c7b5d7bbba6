//! The job of an earlier submit, found in lists.

use crate::support::{Bench, answer, issues, with};
use jobgate_adapter_api::{AdapterError, ErrorKind, JobRef};
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use serde_json::{Value, json};

/// What makes right words wrong.
type Change<'a> = &'a dyn Fn(&mut Value);

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn finding(find: Value) -> Value {
    with(|job| job["find"] = find)
}

/// A list of runs of a repository that the arguments name, newest first.
fn listed() -> Value {
    json!({
        "request": { "path": "/repos/{{ args.repo }}/runs" },
        "pages": { "page": "page", "size": { "per_page": 2 }, "most": 3, "until": "(items | last).created_at < started_at" },
        "items": "{{ body.runs }}",
        "match": "item.name == key",
        "job": { "id": "{{ item.id }}", "handles": { "repo": "{{ args.repo }}" } },
    })
}

async fn find(
    job: Value,
    answer: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
) -> (Result<Option<JobRef>, AdapterError>, Bench) {
    let mut bench = Bench::routed(job, answer).await;
    bench.cx.arguments = std::sync::Arc::new(json!({ "repo": "web" }).as_object().unwrap().clone());
    let found = bench.adapter().find(&bench.cx, &bench.cx.key).await;
    (found, bench)
}

fn run(id: u32, name: &str, day: u32) -> Value {
    json!({ "id": id, "name": name, "created_at": format!("19{day}-01-01T00:00:00Z") })
}

/// Two runs a page.
fn pages(runs: Vec<Value>) -> impl Fn(&Request) -> ResponseTemplate + Send + Sync {
    move |request| {
        let page: usize = request.url.query_pairs().find(|(name, _)| name == "page").map_or(1, |(_, page)| page.parse().unwrap());
        answer(200, json!({ "runs": runs.iter().skip((page - 1) * 2).take(2).collect::<Vec<&Value>>() }))
    }
}

/// D4, F6: a list is read page by page, as far back as the task goes, and the element that matches is the job, with what the arguments say.
#[tokio::test]
async fn a_job_is_found_in_a_list() {
    let runs = vec![run(5, "x", 75), run(4, "x", 74), run(3, KEY, 73), run(2, "x", 69), run(1, "x", 68)];
    let (found, bench) = find(finding(listed()), pages(runs)).await;
    assert_eq!(found.unwrap(), Some(JobRef::new("3").with("repo", "web")));
    assert_eq!(
        bench.paths().await,
        ["/v1/repos/web/runs?per_page=2&page=1", "/v1/repos/web/runs?per_page=2&page=2"],
        "1969 is before the task"
    );

    let (found, _) = find(finding(listed()), pages(vec![run(5, "x", 75)])).await;
    assert_eq!(found.unwrap(), None);
}

/// C4, D4: of a list that could not be read to its end nobody knows that the job is not in it.
#[tokio::test]
async fn a_list_that_goes_on_is_no_proof() {
    let runs = (1..9).map(|id| run(id, "x", 80)).collect();
    let (found, _) = find(finding(listed()), pages(runs)).await;
    let error = found.unwrap_err();
    assert!(error.message().contains("goes on after 3 answers"), "{error}");
}

/// C4: two jobs for one key are said and not guessed at; the same job twice, in a list that grows while it is read, is one.
#[tokio::test]
async fn two_jobs_that_match_are_an_error() {
    let (found, _) = find(finding(listed()), pages(vec![run(5, KEY, 75), run(4, KEY, 74)])).await;
    let error = found.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.message().contains("two jobs match"), "{error}");

    let (found, _) = find(finding(listed()), pages(vec![run(6, "x", 75), run(5, KEY, 75), run(5, KEY, 75)])).await;
    assert_eq!(found.unwrap().unwrap().id(), "5");
}

/// C4, D4: of a provider that may have forgotten the job nobody knows that it was never started; one that is found is found.
#[tokio::test]
async fn a_provider_that_forgets_is_no_proof() {
    let old = "(now | epoch_seconds) - (started_at | epoch_seconds) >= 300";
    for (unsure, listed_there, wanted) in [
        ("true", false, Err(ErrorKind::OutcomeUnknown)),
        ("true", true, Ok(true)),
        ("false", false, Ok(false)),
        (old, false, Err(ErrorKind::OutcomeUnknown)),
        ("body.runs | length == 0", false, Err(ErrorKind::OutcomeUnknown)),
    ] {
        let mut find_words = listed();
        find_words["unsure"] = json!(unsure);
        let runs = if listed_there { vec![run(5, KEY, 75)] } else { Vec::new() };
        let (found, _) = find(finding(find_words), pages(runs)).await;
        assert_eq!(found.map(|job| job.is_some()).map_err(|error| error.kind()), wanted, "{unsure}");
    }
    // Where the answer itself says it, a page of somebody else's says nothing.
    let words = json!({
        "request": { "path": "/runs/{{ key }}" },
        "job": { "id": "{{ headers.x_run | default('') }}" },
        "unsure": "body.pruned",
    });
    let (found, _) = find(finding(words), |_| ResponseTemplate::new(200).set_body_raw("<html>", "text/html")).await;
    assert_eq!(found.unwrap_err().kind(), ErrorKind::Protocol);
}

/// Jobs of which the list does not say enough.
fn detailed() -> Value {
    json!({
        "request": { "path": "/builds" },
        "items": "{{ body }}",
        "detail": { "when": "item.created_at >= started_at", "request": { "path": "/builds/{{ item.id }}/parameters" }, "most": 2 },
        "match": "detail.body.key == key",
        "job": { "id": "{{ item.id }}" },
    })
}

fn builds(runs: Vec<Value>) -> impl Fn(&Request) -> ResponseTemplate + Send + Sync {
    move |request| match request.url.path() {
        "/v1/builds" => answer(200, json!(runs)),
        "/v1/builds/4/parameters" => answer(200, json!({ "key": KEY })),
        "/v1/builds/5/parameters" => answer(404, json!({})),
        _ => answer(200, json!({ "key": "other" })),
    }
}

/// D4: elements that may be the job are asked about one by one, no others, and no more than is allowed.
#[tokio::test]
async fn elements_are_asked_about_one_by_one() {
    let (found, bench) = find(finding(detailed()), builds(vec![run(5, "", 75), run(4, "", 74), run(3, "", 69)])).await;
    assert_eq!(found.unwrap(), Some(JobRef::new("4")));
    assert_eq!(bench.paths().await, ["/v1/builds", "/v1/builds/5/parameters", "/v1/builds/4/parameters"]);

    let (found, _) = find(finding(detailed()), builds(vec![run(7, "", 75), run(6, "", 75), run(4, "", 74)])).await;
    let error = found.unwrap_err();
    assert!(error.message().contains("more than 2 elements"), "{error}");
}

/// C8, D3: a search by tag knows what lookups gave.
#[tokio::test]
async fn a_search_knows_what_was_looked_up() {
    let mut job = finding(json!({
        "request": { "path": "/flows/{{ steps.flow }}/runs", "query": { "tag": "{{ key }}" } },
        "job": { "id": "{{ body[0].id }}" },
    }));
    job["lookups"] = json!([{ "name": "flow", "request": { "path": "/flows/{{ args.repo }}" }, "value": "{{ body.id }}" }]);
    let given = |request: &Request| match request.url.path() {
        "/v1/flows/web" => answer(200, json!({ "id": 17 })),
        _ => answer(200, json!([{ "id": 3 }])),
    };
    let (found, bench) = find(job, given).await;
    assert_eq!(found.unwrap(), Some(JobRef::new("3")));
    assert_eq!(bench.last().await.1, format!("/v1/flows/17/runs?tag={KEY}"));
}

#[test]
fn a_wrong_search_is_named() {
    let found = |change: &dyn Fn(&mut Value)| {
        let mut find = listed();
        change(&mut find);
        issues(finding(find)).join("\n")
    };
    let cases: [(Change<'_>, &str); 6] = [
        (
            &|find| find["items"] = Value::Null,
            "find.pages: `pages` is for a list, and nothing says where the answer has one [items:",
        ),
        (&|find| find["match"] = Value::Null, "find: `items` needs `match`: which of them is our job [match: item.name == key]"),
        (
            &|find| find["match"] = json!("item.name == 'x'"),
            "find: a job is found by the `key` of its submit; nothing here uses `key` [match:",
        ),
        (&|find| find["match"] = json!("detail.name == key"), "find.match: `detail` does not exist here"),
        (
            &|find| find["pages"]["items"] = json!("{{ body }}"),
            "find.pages.items: where the list is, is said beside `pages` here",
        ),
        (
            &|find| find["detail"] = json!({ "request": { "path": "/x" }, "most": 0 }),
            "find.detail.most: `most` is 0, and has to be 1 to 100",
        ),
    ];
    for (change, wanted) in cases {
        assert!(found(change).contains(wanted), "{wanted}: {}", found(change));
    }
}
