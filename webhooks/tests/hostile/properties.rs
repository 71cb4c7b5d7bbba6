//! For every scheme: what it signs it accepts, one flipped bit anywhere it refuses, and arbitrary requests neither break it nor pass.
//!
//! `JOBGATE_FUZZ_CASES` says how many requests each property makes for each scheme. A long run:
//! `JOBGATE_FUZZ_CASES=10000000 cargo test --release -p jobgate-webhooks --test hostile properties`.

use jobgate_webhooks::NAMES;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};

use crate::rig::{NOW, Rig, Sent, rig};

/// Requests a property and scheme where nothing is said.
const CASES: u32 = 64;

#[expect(clippy::disallowed_methods, reason = "how long the tests run is their own configuration")]
fn runner() -> TestRunner {
    let cases = std::env::var("JOBGATE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

/// A body that the scheme can carry.
fn body(name: &str) -> BoxedStrategy<Vec<u8>> {
    match name {
        "twilio" => {
            let field = "[A-Za-z]{1,8}=([A-Za-z0-9*_.-]|%[2-7][0-9A-F]|[+]){0,12}";
            prop::collection::vec(field, 0..6).prop_map(|fields| fields.join("&").into_bytes()).boxed()
        }
        "cloudinary" | "discord" => "\\{\"x\":\"[^\"\\\\]{0,40}\"\\}".prop_map(String::into_bytes).boxed(),
        "aws_sns" => "\\PC{0,80}".prop_map(String::into_bytes).boxed(),
        _ => prop::collection::vec(any::<u8>(), 0..200).boxed(),
    }
}

/// Where a bit may be flipped: in every header that decides something, and in what is bound.
fn places(rig: &Rig, sent: &Sent) -> Vec<Place> {
    let mut places = Vec::new();
    if rig.scheme.name() != "aws_sns" {
        for (at, (name, value)) in sent.headers.iter().enumerate() {
            // The name of the credentials' scheme has no case.
            let from = if name == "Authorization" { 8 } else { 0 };
            places.extend((from..value.len()).map(|byte| Place::Header(at, byte)));
        }
    }
    if rig.scheme.binds().body {
        places.extend((0..sent.body.len()).map(Place::Body));
    }
    places
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Header(usize, usize),
    Body(usize),
}

fn flip(mut sent: Sent, place: Place, bit: u8) -> Sent {
    let byte = match place {
        Place::Header(at, byte) => &mut sent.headers[at].1[byte],
        Place::Body(byte) => &mut sent.body[byte],
    };
    *byte ^= 1 << bit;
    sent
}

/// J1, J2: a single flipped bit in body, signature, moment or id is refused.
#[test]
fn signed_is_accepted_and_one_flipped_bit_is_refused() {
    for name in NAMES {
        let rig = rig(name);
        let input = (body(name), "[A-Za-z0-9_-]{1,30}", -200_i64..200, any::<Index>(), 0_u8..8);
        let look = |(body, id, ahead, place, bit): (Vec<u8>, String, i64, Index, u8)| {
            let sent = rig.signed(&body, &id, NOW + ahead.min(if name == "google_pubsub" { 60 } else { 200 }));
            prop_assert!(rig.verdict(&sent).is_ok(), "{name}: {:?}", rig.verdict(&sent));
            let places = places(&rig, &sent);
            let place = *place.get(&places);
            let flipped = flip(sent.clone(), place, bit);
            prop_assert!(rig.verdict(&flipped).is_err(), "{name}: {place:?} bit {bit} of {sent:?}");
            Ok(())
        };
        runner().run(&input, look).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// How a good request is bent.
#[derive(Clone, Debug)]
enum Bend {
    Value(Index, Vec<u8>),
    Splice(Index, Index, Vec<u8>),
    Double(Index),
    Drop(Index),
    Body(Vec<u8>),
    CutBody(Index),
    Url(String),
    Method(String),
}

fn bend() -> impl Strategy<Value = Bend> {
    // Pieces that parsers know, among arbitrary bytes.
    let words = select(vec![
        &b"v1,"[..],
        b"=",
        b",",
        b" ",
        b".",
        b":",
        b"t=",
        b"v1=",
        b"{",
        b"}",
        b"\"",
        b"[[[[",
        b"(",
        b")",
        b";",
        b"%",
        b"\xff",
        b"0",
        b"-1",
    ]);
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        prop::collection::vec(words, 0..20).prop_map(|words| words.concat()),
    ];
    prop_oneof![
        (any::<Index>(), bytes.clone()).prop_map(|(at, value)| Bend::Value(at, value)),
        (any::<Index>(), any::<Index>(), bytes.clone()).prop_map(|(at, byte, value)| Bend::Splice(at, byte, value)),
        any::<Index>().prop_map(Bend::Double),
        any::<Index>().prop_map(Bend::Drop),
        bytes.prop_map(Bend::Body),
        any::<Index>().prop_map(Bend::CutBody),
        "\\PC{0,40}|https://[a-z\\[\\]:@/?#%'&=]{0,40}".prop_map(Bend::Url),
        "GET|POST|OPTIONS|post|".prop_map(Bend::Method),
    ]
}

fn bent(mut sent: Sent, bends: &[Bend]) -> Sent {
    for bend in bends {
        let headers = sent.headers.len();
        match bend {
            Bend::Value(at, value) if headers > 0 => sent.headers[at.index(headers)].1.clone_from(value),
            Bend::Splice(at, byte, piece) if headers > 0 => {
                let value = &mut sent.headers[at.index(headers)].1;
                let byte = byte.index(value.len() + 1);
                value.splice(byte..byte, piece.iter().copied());
            }
            Bend::Double(at) if headers > 0 => {
                let header = sent.headers[at.index(headers)].clone();
                sent.headers.push(header);
            }
            Bend::Drop(at) if headers > 0 => drop(sent.headers.remove(at.index(headers))),
            Bend::Body(body) => sent.body.clone_from(body),
            Bend::CutBody(at) => sent.body.truncate(at.index(sent.body.len() + 1)),
            Bend::Url(url) => sent.url.clone_from(url),
            Bend::Method(method) => sent.method.clone_from(method),
            Bend::Value(..) | Bend::Splice(..) | Bend::Double(_) | Bend::Drop(_) => {}
        }
    }
    sent
}

/// J1, D3: nothing that a sender writes breaks a verifier, and what passes has the body that was signed.
#[test]
fn arbitrary_requests_neither_break_nor_pass() {
    for name in NAMES {
        let mut rig = rig(name);
        if name == "meta" {
            rig.secrets = rig.secrets.with_verify_token(&jobgate_webhooks::Secret::new("meatyhamhock")).unwrap();
        }
        let input = (prop::collection::vec(bend(), 1..5), any::<i64>(), any::<bool>());
        let good = rig.sent();
        let look = |(bends, clock, on_time): (Vec<Bend>, i64, bool)| {
            let sent = bent(good.clone(), &bends);
            let passed = rig.verdict_at(&sent, if on_time { NOW } else { clock });
            if passed.is_ok() && rig.scheme.binds().body {
                prop_assert_eq!(&sent.body, &good.body, "{}: {:?}", name, bends);
            }
            rig.receive(&sent).ok();
            Ok(())
        };
        runner().run(&input, look).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
