//! Deliveries of one scheme, and what must be true of every verdict on them.

use std::collections::HashMap;

use jobgate_webhooks::{Answer, Received, Refusal, ReplayId, Request, Verified, receive, verify};
use serde_json::{Value, json};
use url::Url;

use crate::bend::bend;
use crate::choices::Choices;
use crate::rig::{Good, NOW, ORIGIN, RATE, Rig, VERIFY_TOKEN};
use crate::same::{difference, in_time};
use crate::sent::Sent;

/// What ids are made of. A full stop is left out: between an id and a moment it stands for itself, and Standard Webhooks asks senders to
/// write none.
const ID: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:+=/@~-";
const FORM: &[u8] = b"ABCabc123=&&==+%20%2B%C3%A4*-._";

/// The schemes whose providers ask before they deliver.
const HANDSHAKES: [&str; 5] = ["meta", "zoom", "slack", "discord", "cloudevents"];

/// A scheme with deliveries that are known.
pub(crate) struct Deliveries {
    rigs: Vec<(Rig, HashMap<ReplayId, usize>)>,
}

impl Deliveries {
    pub(crate) fn of(name: &str) -> Self {
        Self::with(Rig::of(name))
    }

    pub(crate) fn with(rigs: Vec<Rig>) -> Self {
        let rigs = rigs.into_iter().map(|rig| {
            printed_nowhere(&rig, &format!("{:?} {:?}", rig.scheme, rig.secrets));
            let known = rig.pool.iter().enumerate().map(|(at, good)| (replay(&rig, good), at)).collect();
            (rig, known)
        });
        Self { rigs: rigs.collect() }
    }

    pub(crate) fn name(&self) -> &str {
        self.rigs[0].0.scheme.name()
    }

    pub(crate) fn feed(&self, choices: &mut Choices<'_>) {
        let (rig, known) = choices.of(&self.rigs);
        let fresh = if rig.cheap && choices.rarely(3) { fresh(rig, choices) } else { None };
        let good = fresh.as_ref().unwrap_or_else(|| choices.of(&rig.pool));
        let asked = if choices.rarely(5) { handshake(rig, choices) } else { None };
        // Some ask with a delivery that they signed.
        let asking = asked.as_ref().map(|sent| Good { sent: sent.clone(), moment: NOW, until: i64::MAX, window: rig.window });
        let mut sent = asked.clone().unwrap_or_else(|| good.sent.clone());
        let untouched = bend(&mut sent, rig.scheme.name(), good, &rig.pool, choices) && asked.is_none();
        let now = match choices.below(8) {
            0..=4 => NOW,
            5 => choices.number(),
            _ => good.moment.saturating_add(i64::try_from(choices.below(8000)).unwrap_or_default() - 4000),
        };
        sent.with(|request| {
            let verdict = verify(&rig.scheme, &rig.secrets, request, now);
            if let Ok(verified) = &verdict {
                let signed = known.get(&verified.replay_id()).map(|at| &rig.pool[*at]);
                explained(rig, signed.into_iter().chain(&fresh).chain(&asking), &sent, verified, now);
            }
            if untouched && in_time(&rig.scheme, good, now) {
                let passed = verdict.as_ref().map(Verified::replay_id);
                assert_eq!(passed, Ok(replay_of(rig, good, &sent)), "a good delivery is accepted as itself: {sent:?} at {now}");
            }
            // Where nothing is answered the other way in is the same one.
            let received = if HANDSHAKES.contains(&rig.scheme.name()) || choices.rarely(8) {
                receive(&rig.scheme, &rig.secrets, request, now)
            } else {
                verdict.clone().map(Received::Delivery)
            };
            agrees(rig, request, &verdict, &received);
            let answered = matches!(received, Ok(Received::Answer(_)));
            let mut printed = format!("{request:?} {verdict:?}");
            if let Err(refusal) = &verdict {
                printed.push_str(&refusal.to_string());
            }
            // An answer repeats a word of whoever asks, and who knows the token of the route may ask with that.
            if !answered || !sent.url.contains(VERIFY_TOKEN) {
                printed.push_str(&format!("{received:?}"));
            }
            printed_nowhere(rig, &printed);
        });
    }
}

/// What the copies of a good delivery have in common.
fn replay(rig: &Rig, good: &Good) -> ReplayId {
    replay_of(rig, good, &good.sent)
}

/// As [`replay`]; where the body is not bound it is the body that was sent.
fn replay_of(rig: &Rig, good: &Good, sent: &Sent) -> ReplayId {
    let copy = if rig.scheme.binds().body { good.sent.clone() } else { Sent { body: sent.body.clone(), ..good.sent.clone() } };
    copy.with(|request| match verify(&rig.scheme, &rig.secrets, request, good.moment.min(good.until)) {
        Ok(verified) => verified.replay_id(),
        Err(refusal) => panic!("a good delivery is refused ({refusal}): {copy:?} at {}", good.moment),
    })
}

/// Asks that what was accepted is something that was signed.
fn explained<'g>(rig: &'g Rig, signed: impl Iterator<Item = &'g Good>, sent: &Sent, verified: &Verified<'_>, now: i64) {
    let binds = rig.scheme.binds();
    assert_eq!(verified.binds(), binds, "what is bound is the scheme's");
    let candidates: Vec<&Good> = if binds.body { signed.collect() } else { rig.pool.iter().collect() };
    let mut why = Vec::new();
    for good in candidates {
        match difference(&rig.scheme, good, sent, verified, now) {
            None => {
                assert_eq!(verified.replay_id(), replay_of(rig, good, sent), "a copy has another identity: {sent:?}");
                return;
            }
            Some(difference) => why.push(difference),
        }
    }
    panic!("nobody signed this: {sent:?} at {now}; it differs in {why:?}");
}

/// A route takes a delivery as one, and answers a handshake only as the provider's documents say.
fn agrees(rig: &Rig, request: &Request<'_>, verdict: &Result<Verified<'_>, Refusal>, received: &Result<Received<'_>, Refusal>) {
    match (received, verdict) {
        (Ok(Received::Delivery(delivery)), Ok(verified)) => assert_eq!(delivery.replay_id(), verified.replay_id()),
        (Ok(Received::Delivery(_)), Err(refusal)) => panic!("a delivery is taken that {refusal}: {request:?}"),
        (Ok(Received::Answer(answer)), _) => answered(rig, request, verdict.is_ok(), answer),
        (Err(Refusal::Handshake | Refusal::Origin), _) => {}
        (Err(left), Err(right)) => assert!(left == right || request.method != "POST", "{left:?} and {right:?}"),
        (Err(refusal), Ok(_)) => panic!("refused with {refusal} though it verifies: {request:?}"),
    }
}

fn answered(rig: &Rig, request: &Request<'_>, verifies: bool, answer: &Answer) {
    assert_eq!(answer.status, 200);
    for (name, value) in &answer.headers {
        assert!(value.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "{name}: {value:?}");
    }
    assert!(answer.body.len() <= 400, "{}", answer.body.len());
    let word = |text: &str| {
        let fine = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        fine && (1..=128).contains(&text.len())
    };
    // What a handshake does not look at may be no JSON; then its words cannot be held against the answer here.
    let asked: Option<Value> = serde_json::from_slice(request.body).ok();
    let asks = |pointer: &str, word: &str| {
        asked.as_ref().is_none_or(|asked| asked.is_object() && asked.pointer(pointer).and_then(Value::as_str) == Some(word))
    };
    match rig.scheme.name() {
        "meta" => {
            let url = Url::parse(request.url).expect("an answered address is one");
            let one = |wanted: &str| {
                let found: Vec<_> = url.query_pairs().filter(|(name, _)| name == wanted).map(|(_, value)| value).collect();
                assert_eq!(found.len(), 1, "{wanted} in {}", request.url);
                found[0].clone().into_owned()
            };
            assert_eq!((request.method, one("hub.verify_token").as_str()), ("GET", VERIFY_TOKEN));
            assert_eq!((one("hub.challenge"), word(&answer.body)), (answer.body.clone(), true));
        }
        "slack" => assert!(verifies && word(&answer.body) && asks("/challenge", &answer.body), "{}", answer.body),
        "discord" => assert!(verifies && answer.body == r#"{"type":1}"#, "{}", answer.body),
        "zoom" => {
            // What a delivery signs has a colon, so this is no signature of any.
            let said: Value = serde_json::from_str(&answer.body).expect("JSON");
            let token = said["plainToken"].as_str().unwrap_or_default();
            assert!(word(token) && asks("/payload/plainToken", token), "{said} for {}", request.body.escape_ascii());
        }
        "cloudevents" => {
            let of = |wanted: &str| answer.headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str());
            assert_eq!((request.method, of("WebHook-Allowed-Origin")), ("OPTIONS", Some(ORIGIN)));
            let rate: u32 = of("WebHook-Allowed-Rate").and_then(|rate| rate.parse().ok()).expect("a rate");
            assert!((1..=RATE).contains(&rate), "{rate}");
            assert!(answer.body.is_empty());
        }
        other => panic!("{other} has no handshake: {answer:?}"),
    }
}

fn printed_nowhere(rig: &Rig, printed: &str) {
    for secret in &rig.hidden {
        assert!(secret.find(printed.as_bytes()).is_none(), "a secret is printed: {printed}");
    }
}

/// A delivery with content of the fuzzer's choice.
fn fresh(rig: &Rig, choices: &mut Choices<'_>) -> Option<Good> {
    let id = [b"m".as_slice(), &choices.letters(ID, 40)].concat();
    let id = String::from_utf8(id).ok()?;
    let moment = NOW + i64::try_from(choices.below(100)).ok()? - 50;
    let secret = choices.below(2);
    let url = choices.below(3);
    let inner = choices.bytes(60);
    let body = match rig.scheme.name() {
        "twilio" if choices.rarely(2) => choices.letters(FORM, 40),
        // Beside an id the body has to begin as no id does.
        _ => [b"{", inner, b"}"].concat(),
    };
    rig.sign(&body, &id, moment, secret, url)
}

/// What the provider asks before it delivers; nothing where it does not.
fn handshake(rig: &Rig, choices: &mut Choices<'_>) -> Option<Sent> {
    let word = String::from_utf8_lossy(choices.bytes(12)).into_owned();
    let word = if word.is_empty() { "abc".to_owned() } else { word };
    let mut asked = Sent {
        method: "POST".to_owned(),
        url: "https://gateway.example/hooks/route".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    match rig.scheme.name() {
        "meta" => {
            "GET".clone_into(&mut asked.method);
            let mut url = Url::parse(&asked.url).ok()?;
            url.query_pairs_mut()
                .append_pair("hub.mode", "subscribe")
                .append_pair("hub.challenge", &word)
                .append_pair("hub.verify_token", VERIFY_TOKEN);
            asked.url = url.into();
        }
        "zoom" => {
            let body = json!({ "event": "endpoint.url_validation", "payload": { "plainToken": word } });
            asked.body = body.to_string().into_bytes();
        }
        "slack" => {
            let body = json!({ "type": "url_verification", "challenge": word }).to_string();
            return rig.sign(body.as_bytes(), "m", NOW, 0, 0).map(|good| good.sent);
        }
        "cloudevents" => {
            "OPTIONS".clone_into(&mut asked.method);
            let rate = if choices.rarely(2) { b"1000".as_slice() } else { choices.bytes(6) };
            asked.headers = vec![
                ("WebHook-Request-Origin".to_owned(), ORIGIN.as_bytes().to_vec()),
                ("WebHook-Request-Rate".to_owned(), rate.to_vec()),
                ("WebHook-Request-Callback".to_owned(), b"http://169.254.169.254/".to_vec()),
            ];
        }
        _ => return None,
    }
    Some(asked)
}
