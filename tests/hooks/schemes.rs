//! Every scheme over HTTP, and addresses that nobody can guess.

use jobgate::domain::TaskId;
use jobgate_webhooks::{Binds, NAMES, Scheme, catalog};

use crate::rig::{BODY, Gate, NOW, TOKEN, config, signed, signed_as};

/// J1: what a provider signs is taken on its own route, with what its scheme binds, for every scheme there is.
#[tokio::test]
async fn every_schemes_delivery_is_taken() {
    let gate = Gate::new();
    for name in NAMES {
        let sent = signed(name);
        let answer = gate.send(sent.request()).await;
        assert_eq!((answer.status, answer.text()), (200, ""), "{name}: {sent:?}");
        let taken = gate.taken();
        let [taken] = taken.as_slice() else { panic!("{name}: {taken:?}") };
        let Binds { body, time } = Scheme::from_config(&config(name)).unwrap().binds();
        assert_eq!((taken.provider.as_str(), &taken.body, taken.binds), (&*name.replace('_', "-"), &sent.body, (body, time)));
        assert_eq!(gate.counted(&taken.provider, "applied"), 1, "{name}");
    }
    let named = catalog().iter().filter_map(|entry| entry.name);
    assert!(named.clone().count() > 30 && named.into_iter().all(|name| NAMES.contains(&name)), "the catalogue is covered");
}

/// J1, hostile 20: the route alone selects scheme and secrets, so nobody's delivery is good on a route of another scheme.
#[tokio::test]
async fn a_delivery_is_good_on_its_own_route_alone() {
    let gate = Gate::new();
    for name in NAMES {
        for other in NAMES {
            let same = signed(name).headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect::<Vec<_>>()
                == signed(other).headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect::<Vec<_>>();
            if same {
                // Schemes of one family, whose secret is the same in this test.
                continue;
            }
            let mut stray = signed(name);
            stray.path = format!("/hooks/{}", other.replace('_', "-"));
            let answer = gate.send(stray.request()).await;
            assert!(answer.status == 401, "{name} on {other}: {answer:?}");
        }
    }
    assert_eq!(gate.taken(), []);
}

/// J2, hostile 54: a copy is acknowledged and does nothing; it is counted as what it is.
#[tokio::test]
async fn a_repeat_is_acknowledged_without_effect() {
    let gate = Gate::new();
    for _ in 0..3 {
        let answer = gate.send(signed("stripe").request()).await;
        assert_eq!((answer.status, answer.text()), (200, ""));
    }
    assert_eq!(gate.taken().len(), 1);
    assert_eq!((gate.counted("stripe", "applied"), gate.counted("stripe", "repeat")), (1, 2));
}

/// Hostile 12: names of headers have no case.
#[tokio::test]
async fn the_case_of_a_headers_name_does_not_matter() {
    let gate = Gate::new();
    let mut sent = signed("standard_webhooks");
    for (name, _) in &mut sent.headers {
        *name = name.chars().enumerate().map(|(at, it)| if at % 2 == 0 { it.to_ascii_uppercase() } else { it }).collect();
    }
    assert_eq!(gate.send(sent.request()).await.status, 200);
}

/// Hostile 22: the signed address is the configured one, whatever a request says of itself; its query is the one that came.
#[tokio::test]
async fn the_address_comes_from_the_configuration() {
    let gate = Gate::new();
    for scheme in ["twilio", "rfc9421"] {
        let mut sent = signed(scheme);
        for (name, value) in [
            ("Host", "evil.example"),
            ("X-Forwarded-Host", "evil.example"),
            ("X-Forwarded-Proto", "http"),
            ("Forwarded", "host=evil.example;proto=http"),
            ("X-Original-URL", "https://evil.example/"),
        ] {
            sent.headers.push((name.to_owned(), value.to_owned()));
        }
        assert_eq!(gate.send(sent.request()).await.status, 200, "{scheme}");
        sent.path.push_str(if sent.path.contains('?') { "&more=1" } else { "?more=1" });
        assert_eq!(gate.send(sent.request()).await.status, 401, "{scheme}: the query is signed");
    }
}

/// J2: a provider that signs nothing delivers to an address that nobody can guess: the operator's, or one of a single task.
#[tokio::test]
async fn an_unguessable_address_is_enough_where_nothing_is_signed() {
    let gate = Gate::new();
    let task = TaskId::from_bytes([3; 16]);
    let (whole, single) = (format!("/hooks/tokened/{TOKEN}"), format!("/hooks/called-back/{}", gate.callback(task)));
    for path in [&whole, &single] {
        assert_eq!(gate.post(path, &[], BODY).await.status, 200, "{path}");
    }
    let tasks: Vec<_> = gate.taken().into_iter().map(|taken| (taken.task, taken.binds)).collect();
    assert_eq!(tasks, [(None, (false, false)), (Some(task), (false, false))]);

    let mut changed = single.clone().into_bytes();
    *changed.last_mut().unwrap() ^= 1;
    for wrong in [
        "/hooks/tokened",
        "/hooks/called-back",
        "/hooks/tokened/0123456789abcdef",
        &format!("/hooks/tokened/{}", gate.callback(task)),
        &format!("/hooks/called-back/{TOKEN}"),
        std::str::from_utf8(&changed).unwrap(),
        &format!("{whole}x"),
        // One spelling of each step.
        &whole.replace("chosen", "%63hosen"),
        &whole.replace("tokened", "t%6fkened"),
        // A token helps nobody where the scheme is asked.
        &format!("/hooks/github/{TOKEN}"),
    ] {
        assert_eq!(gate.post(wrong, &[], BODY).await.status, 401, "{wrong}");
    }
    for nothing in ["/hooks", "/hooks/", "/hooks/tokened/", &format!("{whole}/x")] {
        assert_eq!(gate.post(nothing, &[], BODY).await.status, 404, "{nothing}");
    }
    assert_eq!(gate.taken(), []);
}

/// Hostile 46: the clock is the gateway's, and the tolerance holds both ways, inclusive.
#[tokio::test]
async fn the_tolerance_holds_both_ways() {
    let gate = Gate::new();
    for (sent, status) in [(NOW - 300, 200), (NOW - 301, 401), (NOW + 300, 200), (NOW + 301, 401)] {
        let signed = signed_as("slack", "slack", "1", format!("{{\"at\":{sent}}}").as_bytes(), sent);
        assert_eq!(gate.send(signed.request()).await.status, status, "{}", sent - NOW);
    }
}
