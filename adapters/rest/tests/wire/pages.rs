//! Lists that come in several answers, and lists of which every element is asked for.

use crate::support::{Bench, answer, issues, with};
use jobgate_adapter_api::{ErrorKind, JobRef, JobState};
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use serde_json::{Value, json};

/// A look that shows the list as its message.
fn listing(pages: Value) -> Value {
    with(|job| {
        job["status"]["steps"] = json!([{ "name": "list", "request": { "path": "/events" }, "pages": pages }]);
        job["status"]["message"] = json!("{{ steps.list | join(' ') }}");
    })
}

fn query(request: &Request, name: &str) -> Option<String> {
    request.url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

/// Five events, in pages of two, by every kind of paging.
fn events(request: &Request) -> ResponseTemplate {
    if request.url.path() != "/v1/events" {
        return answer(200, json!({ "status": "running" }));
    }
    let events = ["a", "b", "c", "d", "e"];
    let number = |text: Option<String>| text.and_then(|text| text.parse::<usize>().ok());
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let token = request.headers.get("x-token").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let token = token.or_else(|| query(request, "token")).or_else(|| body["token"].as_str().map(str::to_owned));
    let token = token.map(|token| token.strip_prefix("after ").unwrap().to_owned());
    let from = number(query(request, "page")).map(|page| (page - 1) * 2);
    let from = from.or_else(|| number(query(request, "offset"))).or_else(|| number(token)).unwrap_or(0);
    let page: Vec<&str> = events.iter().skip(from).take(2).copied().collect();
    let next = (from + 2 < events.len()).then(|| from + 2);
    let given = answer(200, json!({ "items": page, "next": next.map(|next| format!("after {next}")) }));
    match next {
        Some(next) => given.insert_header("link", format!("</v1/events?page=9>; rel=\"last\", <?offset={next}>; rel=\"next\"")),
        None => given,
    }
}

/// F6: every kind of paging reads the whole list, and asks no more often than it has to.
#[tokio::test]
async fn every_kind_of_pages_reads_the_whole_list() {
    let get = |pages: Value| (json!({ "path": "/events" }), pages);
    for ((request, pages), requests) in [
        (get(json!({ "next": "link" })), 3),
        (get(json!({ "page": "page", "size": { "per_page": 2 } })), 3),
        (get(json!({ "page": "page" })), 4),
        (get(json!({ "offset": "offset", "limit": { "limit": 2 } })), 3),
        (get(json!({ "offset": "offset" })), 4),
        (get(json!({ "token": "token", "from": "{{ body.next }}" })), 3),
        (get(json!({ "token": "X-Token", "from": "{{ body.next }}", "in": "header" })), 3),
        (
            (
                json!({ "path": "/events", "body": { "kind": "all" } }),
                json!({ "token": "token", "from": "{{ body.next }}", "in": "body" }),
            ),
            3,
        ),
    ] {
        let mut pages = pages;
        pages["items"] = json!("{{ body.items }}");
        let mut job = listing(pages.clone());
        job["status"]["steps"][0]["request"] = request;
        let bench = Bench::routed(job, events).await;
        let seen = bench.poll(&JobRef::new("7")).await.unwrap_or_else(|error| panic!("{pages}: {error}"));
        assert_eq!(seen.message.as_deref(), Some("a b c d e"), "{pages}");
        assert_eq!(bench.count().await, requests + 1, "{pages}: {:?}", bench.paths().await);
    }
}

/// F6: a list that is longer than may be asked for is no list; one that is ended by `until` is.
#[tokio::test]
async fn a_list_that_goes_on_is_said_and_until_ends_it() {
    let pages = json!({ "page": "page", "size": { "per_page": 2 }, "items": "{{ body.items }}", "most": 2 });
    let error = Bench::routed(listing(pages.clone()), events).await.poll(&JobRef::new("7")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.message().contains("goes on after 2 answers"), "{error}");

    let mut pages = pages;
    pages["until"] = json!("'c' in items");
    let bench = Bench::routed(listing(pages), events).await;
    assert_eq!(bench.poll(&JobRef::new("7")).await.unwrap().message.as_deref(), Some("a b c d"));
    assert_eq!(bench.paths().await[1..], ["/v1/events?per_page=2&page=1", "/v1/events?per_page=2&page=2"]);
}

/// B6, F6: the next page is at the provider's own addresses, or it is not asked for.
#[tokio::test]
async fn a_link_to_another_origin_is_not_followed() {
    let job = listing(json!({ "next": "link", "items": "{{ body }}" }));
    let away = answer(200, json!(["a"])).insert_header("link", "<https://elsewhere.example.com/2>; rel=next");
    let bench = Bench::new(job, vec![answer(200, json!({ "status": "running" })), away]).await;
    let error = bench.poll(&JobRef::new("7")).await.unwrap_err();
    assert!(error.message().contains("another origin") && !error.message().contains("elsewhere"), "{error}");
}

/// One job that is made of several: its children's states decide.
fn family(most: usize) -> Value {
    with(|job| {
        job["status"]["word"] = Value::Null;
        job["status"]["steps"] = json!([{
            "name": "children",
            "each": "{{ body.children }}",
            "when": "not item.hidden | default(false)",
            "most": most,
            "request": { "path": "/children/{{ item.id }}" },
            "missing": [404],
            "value": "{{ { 'id': item.id, 'state': body.state } }}",
        }]);
        job["status"]["rules"] = json!([
            { "when": "steps.children | selectattr('state', 'eq', 'broken') | list | length > 0", "state": "cancelled" },
            { "when": "steps.children | rejectattr('state', 'eq', 'done') | list | length == 0", "state": "succeeded" },
            { "when": "true", "state": "running", "message": "{{ steps.children | map(attribute='id') | join(' ') }}" },
        ]);
    })
}

fn children(request: &Request) -> ResponseTemplate {
    match request.url.path() {
        "/v1/jobs/7" => answer(200, json!({ "children": [{ "id": 1 }, { "id": 2, "hidden": true }, { "id": 3 }, { "id": 4 }] })),
        "/v1/children/1" => answer(200, json!({ "state": "done" })),
        "/v1/children/3" => answer(404, json!({})),
        _ => answer(200, json!({ "state": "busy" })),
    }
}

/// C7: each child is asked for, those that are missing or not meant are left out, and what they say is put together.
#[tokio::test]
async fn a_job_of_several_is_put_together_from_each() {
    let bench = Bench::routed(family(20), children).await;
    let seen = bench.poll(&JobRef::new("7")).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("1 4")));
    assert_eq!(bench.paths().await, ["/v1/jobs/7", "/v1/children/1", "/v1/children/3", "/v1/children/4"]);

    let none = Bench::new(family(20), vec![answer(200, json!({}))]).await;
    assert!(none.poll(&JobRef::new("7")).await.unwrap().state.is_terminal(), "no list is a list of none");
}

/// C7: of more children than may be asked for nothing is said.
#[tokio::test]
async fn more_elements_than_most_are_an_error_and_no_guess() {
    let bench = Bench::routed(family(2), children).await;
    let error = bench.poll(&JobRef::new("7")).await.unwrap_err();
    assert!(error.message().contains("3 elements, and `most` is 2"), "{error}");
    assert_eq!(bench.count().await, 1, "nothing was asked");
}

/// What is wrong with pages is said with its place and a right example.
#[test]
fn wrong_pages_are_named() {
    let found = |pages: &Value| issues(listing(pages.clone())).join("\n");
    for (pages, wanted) in [
        (json!({ "items": "{{ body }}" }), "pages: a list goes on by exactly one of `next`, `page`, `offset` and `token`"),
        (json!({ "next": "link", "page": "p", "items": "{{ body }}" }), "exactly one of"),
        (json!({ "next": "link" }), "nothing says where an answer has its part of the list [pages: { token: pageToken"),
        (json!({ "next": "link", "first": 0, "items": "{{ body }}" }), "pages.first: `first` goes with `page`"),
        (json!({ "page": "p", "limit": { "l": 2 }, "items": "{{ body }}" }), "pages.limit: `limit` goes with `offset`"),
        (json!({ "token": "t", "items": "{{ body }}" }), "a `token` needs `from`"),
        (
            json!({ "token": "t", "from": "{{ body.t }}", "in": "body", "items": "{{ body }}" }),
            "no body of named fields [in: query]",
        ),
        (json!({ "page": "p", "size": { "a": 0 }, "items": "{{ body }}" }), "pages.size: it is one parameter and a length"),
        (json!({ "page": "p", "most": 51, "items": "{{ body }}" }), "`most` is 51, and has to be 1 to 50 [most: 5]"),
        (json!({ "page": "p", "items": "{{ item.x }}" }), "pages.items: `item` does not exist here"),
        (json!({ "page": "p", "items": "{{ body }}", "until": "itms" }), "pages.until: `itms` does not exist here"),
    ] {
        assert!(found(&pages).contains(wanted), "{pages}: {}", found(&pages));
    }
    let mut job = family(50);
    job["status"]["steps"][0]["pages"] = json!({ "next": "link", "items": "{{ body }}" });
    assert!(issues(job).join("\n").contains("may make 250 requests, and 100 are the most [most: 10]"));
    let mut job = family(20);
    job["status"]["steps"][0]["cache"] = json!("10m");
    assert!(issues(job).join("\n").contains("steps[0].cache: `children` is asked for anew each time"));
}
