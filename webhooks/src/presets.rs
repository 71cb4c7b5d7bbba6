//! The schemes that are data, by name.

use crate::mac::Algorithm;
use crate::request::Window;
use crate::secret::KeyForm;
use crate::table::{Encoding, Field, FieldUse, Form, Piece, Table, Time, Version};

/// Five minutes both ways: what Standard Webhooks, Stripe and Slack recommend.
const USUAL: u32 = 300;

/// The table of a scheme that is data and needs no other word; `fal` and `cloudinary` get theirs from the two functions below.
pub(crate) fn table(name: &str) -> Option<Table> {
    Some(match name {
        "standard_webhooks" | "openai" | "replicate" | "anthropic" | "gemini" => standard("webhook", None),
        "svix" => standard("svix", None),
        // A signing token of GitLab is made from exactly 32 bytes.
        "gitlab" => standard("webhook", Some(32)),
        "github" | "meta" => whole("X-Hub-Signature-256", "sha256="),
        "bitbucket" => whole("X-Hub-Signature", "sha256="),
        "bfl" => whole("X-BFL-Signature", "sha256="),
        "heygen_legacy" => whole("Signature", ""),
        // HeyGen's timestamp is not signed, so it is not looked at.
        "heygen" => Table { key: KeyForm::Text { prefix: Some("whsec_") }, ..whole("Heygen-Signature", "") },
        "shopify" => Table { encoding: Encoding::Base64, ..whole("X-Shopify-Hmac-Sha256", "") },
        "stripe" => Table { key: KeyForm::Text { prefix: Some("whsec_") }, ..pairs("Stripe-Signature", Some("t"), "v1", USUAL) },
        "mux" => pairs("Mux-Signature", Some("t"), "v1", USUAL),
        // The provider's own verifier takes half an hour.
        "elevenlabs" => pairs("ElevenLabs-Signature", Some("t"), "v0", 1800),
        "buildkite" => pairs("X-Buildkite-Signature", Some("timestamp"), "signature", USUAL),
        "circleci" => pairs("circleci-signature", None, "v1", USUAL),
        "slack" => colons("X-Slack-Signature", "X-Slack-Request-Timestamp"),
        "zoom" => colons("x-zm-signature", "x-zm-request-timestamp"),
        "synthesia" => {
            let signed = vec![Piece::Timestamp, Piece::Text(".".to_owned()), Piece::Body];
            Table { time: header_time("Synthesia-Timestamp", USUAL), signed, ..whole("Synthesia-Signature", "") }
        }
        "discord" => Table {
            time: header_time("X-Signature-Timestamp", USUAL),
            signed: vec![Piece::Timestamp, Piece::Body],
            versions: vec![version("", Algorithm::Ed25519)],
            key: KeyForm::Public,
            ..whole("X-Signature-Ed25519", "")
        },
        _ => return None,
    })
}

/// fal: id, user, moment and the body's hash, a line each; the keys are the same for all users, so the user is pinned.
pub(crate) fn fal(user_id: &str) -> Table {
    let line = || Piece::Text("\n".to_owned());
    Table {
        signature: "X-Fal-Webhook-Signature".to_owned(),
        form: Form::Whole(String::new()),
        versions: vec![version("", Algorithm::Ed25519)],
        encoding: Encoding::Hex,
        signed: vec![Piece::Id, line(), Piece::Field, line(), Piece::Timestamp, line(), Piece::BodySha256],
        time: header_time("X-Fal-Webhook-Timestamp", USUAL),
        id: Some("X-Fal-Webhook-Request-Id".to_owned()),
        field: Some(Field { header: "X-Fal-Webhook-User-Id".to_owned(), use_of: FieldUse::MustBe(user_id.to_owned()) }),
        key: KeyForm::Public,
    }
}

/// Cloudinary: a plain hash of body, moment and secret without separators.
pub(crate) fn cloudinary(sha1: bool) -> Table {
    let algorithm = if sha1 { Algorithm::Sha1Suffix } else { Algorithm::Sha256Suffix };
    let time = Time {
        header: Some("X-Cld-Timestamp".to_owned()),
        millis: false,
        // Two hours in the provider's own verifier.
        window: Window { past: 7200, future: USUAL },
    };
    Table {
        versions: vec![version("", algorithm)],
        signed: vec![Piece::Body, Piece::Timestamp],
        time: Some(time),
        ..whole("X-Cld-Signature", "")
    }
}

/// Standard Webhooks under the headers of a family.
fn standard(family: &str, exact: Option<usize>) -> Table {
    let dot = || Piece::Text(".".to_owned());
    Table {
        signature: format!("{family}-signature"),
        form: Form::Versions,
        versions: vec![version("v1", Algorithm::HmacSha256), version("v1a", Algorithm::Ed25519)],
        encoding: Encoding::Base64,
        signed: vec![Piece::Id, dot(), Piece::Timestamp, dot(), Piece::Body],
        time: header_time(&format!("{family}-timestamp"), USUAL),
        id: Some(format!("{family}-id")),
        field: None,
        key: KeyForm::Standard { exact },
    }
}

/// HMAC-SHA256 of the body in hexadecimal, after a prefix.
pub(crate) fn whole(header: &str, prefix: &str) -> Table {
    Table {
        signature: header.to_owned(),
        form: Form::Whole(prefix.to_owned()),
        versions: vec![version("", Algorithm::HmacSha256)],
        encoding: Encoding::Hex,
        signed: vec![Piece::Body],
        time: None,
        id: None,
        field: None,
        key: KeyForm::Text { prefix: None },
    }
}

/// A list such as `t=1,v1=2`; with a moment, HMAC-SHA256 of moment, full stop and body.
fn pairs(header: &str, timestamp: Option<&str>, signature: &str, tolerance: u32) -> Table {
    let time = timestamp.map(|_| Time { header: None, millis: false, window: Window::both(tolerance) });
    let dotted = || vec![Piece::Timestamp, Piece::Text(".".to_owned()), Piece::Body];
    Table {
        form: Form::Pairs { timestamp: timestamp.map(str::to_owned) },
        versions: vec![version(signature, Algorithm::HmacSha256)],
        signed: timestamp.map_or_else(|| vec![Piece::Body], |_| dotted()),
        time,
        ..whole(header, "")
    }
}

/// `v0:`, moment, colon, body (Slack).
fn colons(header: &str, timestamp: &str) -> Table {
    let text = |it: &str| Piece::Text(it.to_owned());
    Table {
        signed: vec![text("v0:"), Piece::Timestamp, text(":"), Piece::Body],
        time: header_time(timestamp, USUAL),
        ..whole(header, "v0=")
    }
}

fn version(tag: &str, algorithm: Algorithm) -> Version {
    Version { tag: tag.to_owned(), algorithm }
}

fn header_time(name: &str, tolerance: u32) -> Option<Time> {
    Some(Time { header: Some(name.to_owned()), millis: false, window: Window::both(tolerance) })
}
