//! Words of `auth` and `tls` that must be refused, each with its place and a sentence that helps.

use serde_json::{Value, json};

use crate::support::{issues_of, least};

fn issues(provider: &Value) -> Vec<String> {
    let mut words = json!({ "settings": { "who": "me" } });
    words.as_object_mut().unwrap().extend(provider.as_object().unwrap().clone());
    issues_of(words, least())
}

fn oauth2(name: &str, value: Value) -> Value {
    let mut words = json!({ "token_url": "https://a.example.com/token", "client_id": "me", "client_secret": "env:S" });
    words[name] = value;
    json!({ "oauth2": words })
}

fn jwt(name: &str, value: Value) -> Value {
    let mut words = json!({ "issuer": "me", "key": "env:K" });
    words[name] = value;
    json!({ "jwt": words })
}

fn login(name: &str, value: Value) -> Value {
    let mut words = json!({ "request": { "path": "/login" }, "token": "{{ body.token }}", "lifetime": "1h" });
    words[name] = value;
    json!({ "login": words })
}

#[test]
fn wrong_words_are_told_their_place() {
    for (auth, wanted) in [
        (json!({ "bearer": "hunter2" }), "bearer: a secret is named, not written"),
        (json!({ "bearer": "env:A", "query": { "name": "a", "value": "env:B" } }), ": "),
        (json!({ "headers": {} }), "headers: no header is named"),
        (json!({ "headers": { "a b": "env:A" } }), "headers.a b: `a b` is no header name"),
        (json!({ "headers": { "X-A": "env:A", "x-a": "env:B" } }), "headers.x-a: the header `x-a` is named twice"),
        (json!({ "query": { "name": "", "value": "env:A" } }), "query.name: the parameter's name is empty"),
        (json!({ "field": { "name": "", "value": "env:A" } }), "field.name: the field's name is empty"),
        (
            json!({ "basic": { "username": "a:b", "password": "env:A" } }),
            "basic.username: a user name of HTTP Basic holds no colon",
        ),
        (json!({ "basic": { "username": "{{ settings.whom }}", "password": "env:A" } }), "basic.username: "),
        (oauth2("token_url", json!("/token")), "oauth2.token_url: this is no http(s) address"),
        (oauth2("token_url", json!("https://me:hunter2@a.example.com")), "oauth2.token_url: this is no http(s) address"),
        (oauth2("client_id", json!("")), "oauth2.client_id: this is empty"),
        (oauth2("client_id", json!("{{ args.x }}")), "oauth2.client_id: `args` does not exist here"),
        (oauth2("params", json!({ "scope": "x" })), "oauth2.params.scope: `scope` is set by the other words"),
        (oauth2("send", json!("header")), "oauth2.send: unknown variant `header`"),
        (jwt("issuer", json!("")), "jwt.issuer: this is empty"),
        (jwt("lifetime", json!("1s")), "jwt.lifetime: a JWT is good for ten seconds to a day"),
        (jwt("algorithm", json!("none")), "jwt.algorithm: unknown variant `none`"),
        (jwt("params", json!({ "a": "b" })), "jwt.params: parameters go to a `token_url`, and there is none"),
        (login("token", json!("abc")), "login.token: this does not say where in the answer the token is"),
        (login("expires_in", json!("{{ body.x }}")), "login.expires_in: `lifetime` says already when the token ends"),
        (login("expired", json!([401, 500])), "login.expired: only a refusal (4xx) can mean that a session has ended"),
        (login("header", json!("a b")), "login.header: `a b` is no header name"),
        (login("secrets", json!({ "a b": "env:A" })), "login.secrets.a b: `a b` is no name for a secret"),
        (
            login("request", json!({ "path": "/login", "body": { "p": "{{ secret.pass }}" } })),
            "login.request.body.p: `secret.pass` does not exist here; the sign-in's secrets are none",
        ),
        (login("request", json!({ "path": "/login/{{ job.id }}" })), "login.request.path: `job` does not exist here"),
        (login("request", json!({ "path": "/login", "follow": true })), "login.request.follow: a sign-in follows no redirect"),
        (
            login("auth", json!({ "jwt": { "issuer": "me", "key": "env:K", "token_url": "https://a.example.com" } })),
            "login.auth.jwt.token_url: the sign-in request is what the JWT is exchanged by",
        ),
        (json!({ "cookie": { "request": { "path": "/login" }, "token": "x" } }), "cookie.token: unknown field `token`"),
        (
            json!({ "aws_sigv4": { "service": "", "region": "r", "access_key_id": "env:A", "secret_access_key": "env:B" } }),
            "aws_sigv4.service: this is empty",
        ),
    ] {
        let found = issues(&json!({ "auth": auth }));
        let place = if wanted.starts_with(':') { "providers.p.auth" } else { "providers.p.auth." };
        assert!(found.iter().any(|issue| issue.starts_with(&format!("{place}{wanted}"))), "wanted: {wanted}\nfound: {found:?}");
        assert!(!found.iter().any(|issue| issue.contains("hunter2")), "{found:?}");
    }
}

#[test]
fn a_client_shows_a_certificate_with_its_key() {
    for (tls, wanted) in [
        (json!({ "client_certificate": "env:A" }), "a client's certificate needs its private key"),
        (json!({ "client_key": "env:A" }), "a client's private key needs its certificate"),
        (json!({}), "nothing is named here"),
    ] {
        assert_eq!(issues(&json!({ "tls": tls })), [format!("providers.p.tls: {wanted}")]);
    }
    assert_eq!(issues(&json!({ "tls": { "ca": "env:A" } })), Vec::<String>::new());
}
