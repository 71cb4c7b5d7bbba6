//! `hmac` and `ed25519`: every part of a table said by the operator, and unsafe combinations refused with the reason.

use crate::config::{Problem, SchemeConfig, short};
use crate::mac::Algorithm;
use crate::request::{Window, printable};
use crate::secret::KeyForm;
use crate::table::{Encoding, Field, FieldUse, Form, Piece, Table, Time, Version};

/// The words of these two schemes.
pub(crate) const WORDS: &[&str] = &[
    "tolerance",
    "allow_sha1",
    "algorithm",
    "encoding",
    "signature_header",
    "signature_prefix",
    "signature_pair",
    "timestamp_pair",
    "timestamp_header",
    "timestamp_unit",
    "id_header",
    "key_id_header",
    "signed",
    "secret_encoding",
    "secret_prefix",
];

/// What is signed where nothing is said.
const WHOLE_BODY: &str = "{body}";

/// The table that the words make; what is wrong with it goes to `problems`.
pub(crate) fn table(config: &SchemeConfig, problems: &mut Vec<Problem>) -> Table {
    let public = config.scheme == "ed25519";
    let tag = config.signature_pair.clone().unwrap_or_default();
    let signature = header_name("signature_header", config.signature_header.as_ref(), problems).unwrap_or_else(|| {
        if config.signature_header.is_none() {
            problems.push(Problem::new(
                "signature_header",
                "which header carries the signature",
                "signature_header: X-Signature",
            ));
        }
        String::new()
    });
    let form = match &config.signature_pair {
        Some(_) => Form::Pairs { timestamp: config.timestamp_pair.clone() },
        None => Form::Whole(config.signature_prefix.clone().unwrap_or_default()),
    };
    if config.signature_pair.is_some() && config.signature_prefix.is_some() {
        let why = "a list of pairs has no prefix";
        problems.push(Problem::new("signature_prefix", why, "leave `signature_prefix` out"));
    }
    carried(config, problems);
    let table = Table {
        signature,
        form,
        versions: vec![Version { tag, algorithm: algorithm(config, public, problems) }],
        encoding: encoding(config, problems),
        signed: template(config.signed.as_deref().unwrap_or(WHOLE_BODY), problems),
        time: time(config, problems),
        id: header_name("id_header", config.id_header.as_ref(), problems),
        field: header_name("key_id_header", config.key_id_header.as_ref(), problems)
            .map(|header| Field { header, use_of: FieldUse::KeyId }),
        key: if public { KeyForm::Public } else { key(config, problems) },
    };
    judge(&table, config, public, problems);
    table
}

/// What no request could carry: such a route would refuse every delivery, and nobody would know why.
fn carried(config: &SchemeConfig, problems: &mut Vec<Problem>) {
    if config.signature_prefix.as_ref().is_some_and(|prefix| !prefixes(prefix)) {
        problems.push(Problem::new("signature_prefix", UNPRINTABLE, "signature_prefix: 'sha256='"));
    }
    for (word, name) in [("signature_pair", &config.signature_pair), ("timestamp_pair", &config.timestamp_pair)] {
        let fine = |name: &str| {
            !name.is_empty() && name.len() <= 100 && name.bytes().all(|it| it.is_ascii_graphic() && !b"=,".contains(&it))
        };
        if name.as_ref().is_some_and(|name| !fine(name)) {
            let why = "the name in a list such as `t=1,v1=2` is not empty, and has no `=`, comma or space";
            problems.push(Problem::new(word, why, format!("{word}: v1")));
        }
    }
    if config.signature_pair.is_some() && config.signature_pair == config.timestamp_pair {
        let why = "signature and moment have the same name in the list";
        problems.push(Problem::new("timestamp_pair", why, "timestamp_pair: t"));
    }
    let headers = [
        ("signature_header", &config.signature_header),
        ("timestamp_header", &config.timestamp_header),
        ("id_header", &config.id_header),
        ("key_id_header", &config.key_id_header),
    ];
    for (at, (word, name)) in headers.iter().enumerate() {
        let same = |other: &String| name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(other));
        if headers.iter().take(at).any(|(_, other)| other.as_ref().is_some_and(same)) {
            let why = "another part is in the header of that name, and a header that decides something may be there once";
            problems.push(Problem::new(word, why, format!("{word}: X-Something-Else")));
        }
    }
}

/// Why a prefix is refused.
pub(crate) const UNPRINTABLE: &str = "a header's value is printable ASCII, does not begin with a space, and is short";

/// Whether the value of a header can begin so.
pub(crate) fn prefixes(text: &str) -> bool {
    text.len() <= 100 && !text.starts_with(' ') && printable(text.as_bytes()).is_some()
}

fn algorithm(config: &SchemeConfig, public: bool, problems: &mut Vec<Problem>) -> Algorithm {
    let example = "algorithm: sha256";
    match (public, config.algorithm.as_deref()) {
        (true, None) => Algorithm::Ed25519,
        (true, Some(_)) => {
            problems.push(Problem::new("algorithm", "`ed25519` is one", "leave `algorithm` out"));
            Algorithm::Ed25519
        }
        (false, None | Some("sha256")) => Algorithm::HmacSha256,
        (false, Some("sha512")) => Algorithm::HmacSha512,
        (false, Some("sha1")) => {
            if !config.allow_sha1 {
                let why = "SHA-1 is only for providers that offer nothing else; say `allow_sha1: true` if yours is one";
                problems.push(Problem::new("algorithm", why, example));
            }
            Algorithm::HmacSha1
        }
        (false, Some(other)) => {
            let why = format!("`{}` is none of sha256, sha512, sha1", short(other));
            problems.push(Problem::new("algorithm", why, example));
            Algorithm::HmacSha256
        }
    }
}

fn encoding(config: &SchemeConfig, problems: &mut Vec<Problem>) -> Encoding {
    match config.encoding.as_deref() {
        None | Some("hex") => Encoding::Hex,
        Some("base64") => Encoding::Base64,
        Some("base64url") => Encoding::Base64Url,
        Some(other) => {
            let why = format!("`{}` is none of hex, base64, base64url", short(other));
            problems.push(Problem::new("encoding", why, "encoding: hex"));
            Encoding::Hex
        }
    }
}

fn key(config: &SchemeConfig, problems: &mut Vec<Problem>) -> KeyForm {
    let prefix = config.secret_prefix.clone().unwrap_or_default();
    match config.secret_encoding.as_deref() {
        None | Some("text") if prefix.is_empty() => KeyForm::Text { prefix: None },
        None | Some("text") => {
            let why = "only an encoded secret has a prefix that is cut off; a text is used whole";
            problems.push(Problem::new("secret_prefix", why, "secret_encoding: base64"));
            KeyForm::Text { prefix: None }
        }
        Some("base64") => KeyForm::Encoded { prefix, hex: false },
        Some("hex") => KeyForm::Encoded { prefix, hex: true },
        Some(other) => {
            let why = format!("`{}` is none of text, base64, hex", short(other));
            problems.push(Problem::new("secret_encoding", why, "secret_encoding: text"));
            KeyForm::Text { prefix: None }
        }
    }
}

fn time(config: &SchemeConfig, problems: &mut Vec<Problem>) -> Option<Time> {
    let header = header_name("timestamp_header", config.timestamp_header.as_ref(), problems);
    let millis = match config.timestamp_unit.as_deref() {
        None | Some("s") => false,
        Some("ms") => true,
        Some(other) => {
            let why = format!("`{}` is neither s nor ms", short(other));
            problems.push(Problem::new("timestamp_unit", why, "timestamp_unit: s"));
            false
        }
    };
    if config.timestamp_pair.is_some() && (header.is_some() || config.signature_pair.is_none()) {
        let why = "the moment is in a header of its own, or in the signature's list of pairs, not in both";
        problems.push(Problem::new("timestamp_pair", why, "signature_pair: v1"));
    }
    let there = header.is_some() || config.timestamp_pair.is_some();
    if !there && (config.timestamp_unit.is_some() || config.tolerance.is_some()) {
        let why = "without a signed moment there is nothing to hold against the clock";
        problems.push(Problem::new("tolerance", why, "timestamp_header: X-Timestamp"));
    }
    there.then(|| Time { header, millis, window: Window::both(config.tolerance.unwrap_or(300)) })
}

/// `{timestamp}.{body}` in pieces.
fn template(text: &str, problems: &mut Vec<Problem>) -> Vec<Piece> {
    let example = "signed: '{timestamp}.{body}'";
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (before, after) = rest.split_once('{').unwrap_or((rest, ""));
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        if before.len() == rest.len() {
            break;
        }
        let Some((word, after)) = after.split_once('}') else {
            problems.push(Problem::new("signed", "a brace is not closed", example));
            break;
        };
        match word {
            "body" => pieces.push(Piece::Body),
            "body_sha256" => pieces.push(Piece::BodySha256),
            "timestamp" => pieces.push(Piece::Timestamp),
            "id" => pieces.push(Piece::Id),
            "key_id" => pieces.push(Piece::Field),
            other => {
                let why = format!("`{}` is none of body, body_sha256, timestamp, id, key_id", short(other));
                problems.push(Problem::new("signed", why, example));
            }
        }
        rest = after;
    }
    pieces
}

/// Combinations that look protected and are not.
fn judge(table: &Table, config: &SchemeConfig, public: bool, problems: &mut Vec<Problem>) {
    let signs = |piece: &Piece| table.signed.contains(piece);
    let mut wrong = |word, why: &str, example: &str| problems.push(Problem::new(word, why, example));
    if !signs(&Piece::Body) && !signs(&Piece::BodySha256) {
        wrong("signed", "the body is not in it, so anybody who saw one delivery could send another body", "signed: '{body}'");
    }
    if table.time.is_some() && !signs(&Piece::Timestamp) {
        let why = "the moment is not in it, so whoever sends a captured delivery again writes a fresh one";
        wrong("signed", why, "signed: '{timestamp}.{body}'");
    }
    if signs(&Piece::Timestamp) && table.time.is_none() {
        wrong("timestamp_header", "the signed content has a moment; say where it is", "timestamp_header: X-Timestamp");
    }
    if signs(&Piece::Id) != table.id.is_some() {
        let why = "an id counts only if it is signed: both `id_header` and `{id}` in `signed`, or neither";
        wrong("id_header", why, "signed: '{id}.{timestamp}.{body}'");
    }
    if signs(&Piece::Field) != table.field.is_some() {
        let why = "the key's name has to be signed: both `key_id_header` and `{key_id}` in `signed`, or neither";
        wrong("key_id_header", why, "signed: '{key_id}.{timestamp}.{body}'");
    }
    if table.field.is_some() && !public {
        wrong("key_id_header", "only `ed25519` has a key set", "leave `key_id_header` out");
    }
    let free = |piece: &Piece| !matches!(piece, Piece::Text(_) | Piece::BodySha256);
    let moves = |pair: &[Piece]| {
        free(&pair[0]) && free(&pair[1]) && !matches!(pair, [Piece::Timestamp, Piece::Body] | [Piece::Body, Piece::Timestamp])
    };
    if table.signed.windows(2).any(moves) {
        let why = "two parts stand side by side, so characters could move from one to the other";
        wrong("signed", why, "signed: '{id}.{timestamp}.{body}'");
    }
    let repeated = table.signed.iter().filter(|piece| **piece == Piece::Body).count() > 1;
    if repeated || table.signed.len() > 16 {
        wrong("signed", "the body is in it more than once, or it has too many parts", "signed: '{timestamp}.{body}'");
    }
    if public && (config.secret_encoding.is_some() || config.secret_prefix.is_some() || config.allow_sha1) {
        wrong("secret_encoding", "`ed25519` verifies with a public key", "leave `secret_encoding` out");
    }
}

/// A header's name: a token of RFC 9110, section 5.6.2.
pub(crate) fn header_name(word: &'static str, name: Option<&String>, problems: &mut Vec<Problem>) -> Option<String> {
    let name = name?;
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 100 || !name.bytes().all(token) {
        problems.push(Problem::new(word, "it is no name of a header", format!("{word}: X-Signature")));
        return None;
    }
    Some(name.clone())
}
