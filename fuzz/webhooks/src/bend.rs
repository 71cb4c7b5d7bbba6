//! How a good request is bent. Most ways spoil it, some must not matter.

use crate::choices::Choices;
use crate::rig::Good;
use crate::same::{Role, roles};
use crate::sent::Sent;
use crate::words::{ADDRESSES, HEADERS, JSON, METHODS, PIECES, STRANGE};

/// Bends a request. Whether it has to be accepted still, since all that was done to it does not matter.
pub(crate) fn bend(sent: &mut Sent, scheme: &str, good: &Good, pool: &[Good], choices: &mut Choices<'_>) -> bool {
    let mut harmless = true;
    for _ in 0..choices.below(6) {
        harmless &= if choices.rarely(4) { leave(sent, scheme, good, choices) } else { spoil(sent, pool, choices) };
    }
    harmless
}

/// Does what must not matter; says so.
fn leave(sent: &mut Sent, scheme: &str, good: &Good, choices: &mut Choices<'_>) -> bool {
    match choices.below(3) {
        0 => {
            let name = choices.word(&STRANGE).to_owned();
            sent.headers.push((name, choices.bytes(20).to_vec()));
        }
        1 if !sent.headers.is_empty() => {
            let at = choices.below(sent.headers.len());
            let mask = choices.number();
            let odd = |(place, letter): (usize, char)| {
                if mask >> (place % 63) & 1 == 0 { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() }
            };
            sent.headers[at].0 = sent.headers[at].0.chars().enumerate().map(odd).collect();
        }
        _ => {
            // A list of signatures may have more of them, and pairs that nobody knows.
            for (role, (name, _)) in roles(scheme, good).into_iter().zip(&good.sent.headers) {
                let Some((_, value)) = sent.headers.iter_mut().find(|(it, _)| it.eq_ignore_ascii_case(name)) else { continue };
                let before = choices.rarely(2);
                let (piece, separator): (&[u8], u8) = match role {
                    Role::Versions => (choices.word(&[&b"v1,AAAA"[..], b"v1,", b"v2,x", b"v1,!!!!"]), b' '),
                    Role::Pairs => (choices.word(&[&b"x=y"[..], b"v9=1", b"a=="]), b','),
                    _ => continue,
                };
                if value.iter().filter(|byte| **byte == separator).count() > 12 {
                    continue;
                }
                let added = if before { [piece, &[separator]].concat() } else { [&[separator], piece].concat() };
                let place = if before { 0 } else { value.len() };
                value.splice(place..place, added);
            }
        }
    }
    true
}

/// Does what may matter; says so.
fn spoil(sent: &mut Sent, pool: &[Good], choices: &mut Choices<'_>) -> bool {
    let other = &choices.of(pool).sent;
    match choices.below(18) {
        0 => flip(&mut sent.body, choices),
        1 => cut(&mut sent.body, choices),
        2 => splice(&mut sent.body, choices.word(&JSON), choices),
        3 => choices.bytes(120).clone_into(&mut sent.body),
        4 => sent.body.clone_from(&other.body),
        5 => {
            let at = sent.body.iter().position(|byte| *byte == b'{').map_or(0, |at| at + 1);
            sent.body.splice(at..at, choices.word(&JSON).iter().copied());
        }
        6 => choices.word(&METHODS).clone_into(&mut sent.method),
        7 => address(&mut sent.url, other, choices),
        8 => {
            let name = choices.word(&HEADERS).to_owned();
            let value = if choices.rarely(2) { choices.word(&PIECES).to_vec() } else { choices.bytes(80).to_vec() };
            sent.headers.push((name, value));
        }
        9 => sent.headers.clone_from(&other.headers),
        _ if sent.headers.is_empty() => {}
        10 => drop(sent.headers.remove(choices.below(sent.headers.len()))),
        11 => {
            let again = choices.of(&sent.headers).clone();
            sent.headers.push(again);
        }
        12 => {
            // What another delivery has there.
            let at = choices.below(sent.headers.len());
            if let Some(value) = other.one(&sent.headers[at].0) {
                value.clone_into(&mut sent.headers[at].1);
            }
        }
        13 => shift(sent, choices),
        more => {
            let at = choices.below(sent.headers.len());
            let value = &mut sent.headers[at].1;
            match more {
                14 => flip(value, choices),
                15 => cut(value, choices),
                16 => splice(value, choices.word(&PIECES), choices),
                _ => respell(value, choices),
            }
        }
    }
    false
}

fn flip(bytes: &mut [u8], choices: &mut Choices<'_>) {
    let at = choices.below(bytes.len());
    let bit = choices.below(8);
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << bit;
    }
}

fn cut(bytes: &mut Vec<u8>, choices: &mut Choices<'_>) {
    if choices.rarely(2) {
        bytes.truncate(choices.below(bytes.len() + 1));
    } else {
        drop(bytes.drain(choices.range(bytes.len())));
    }
}

fn splice(bytes: &mut Vec<u8>, piece: &[u8], choices: &mut Choices<'_>) {
    let range = choices.range(bytes.len());
    let range = if choices.rarely(2) { range } else { range.start..range.start };
    bytes.splice(range, piece.iter().copied());
}

/// Moves the end of one part to the beginning of another, or back.
fn shift(sent: &mut Sent, choices: &mut Choices<'_>) {
    let (from, to) = (choices.below(sent.headers.len()), choices.below(sent.headers.len() + 1));
    let count = choices.below(14);
    if to < sent.headers.len() {
        let value = &mut sent.headers[from].1;
        let moved = value.split_off(value.len().saturating_sub(count));
        sent.headers[to].1.splice(0..0, moved);
    } else if choices.rarely(2) {
        let count = count.min(sent.body.len());
        let moved: Vec<u8> = sent.body.drain(..count).collect();
        sent.headers[from].1.extend(moved);
    } else {
        let value = &mut sent.headers[from].1;
        let moved = value.split_off(value.len().saturating_sub(count));
        sent.body.splice(0..0, moved);
    }
}

/// The same bytes in another spelling.
fn respell(value: &mut Vec<u8>, choices: &mut Choices<'_>) {
    match choices.below(9) {
        0 => value.make_ascii_uppercase(),
        1 => value.make_ascii_lowercase(),
        2 => value.iter_mut().for_each(|byte| match *byte {
            b'+' => *byte = b'-',
            b'/' => *byte = b'_',
            _ => {}
        }),
        3 => {
            while value.last() == Some(&b'=') {
                value.pop();
            }
        }
        4 => value.push(b'='),
        5 => value.insert(0, b' '),
        6 => value.push(b' '),
        7 => {
            // An entry of a list stands in it twice.
            let separator = choices.word(b", ");
            let entries: Vec<&[u8]> = value.split(|byte| *byte == separator).collect();
            let (from, to) = (choices.below(entries.len()), choices.below(entries.len() + 1));
            let mut doubled = entries.clone();
            doubled.insert(to, entries[from]);
            *value = doubled.join(&separator);
        }
        _ => {
            // Bits that the last letter of base64 has to spare.
            let last = value.iter().rposition(|byte| *byte != b'=');
            if let Some(byte) = last.and_then(|at| value.get_mut(at)) {
                *byte = byte.wrapping_add(1);
            }
        }
    }
}

fn address(url: &mut String, other: &Sent, choices: &mut Choices<'_>) {
    match choices.below(6) {
        0 => url.clone_from(&other.url),
        1 => *url = url.replace('\'', "%27"),
        2 => *url = url.replace("%27", "'"),
        3 => *url = String::from_utf8_lossy(choices.bytes(60)).into_owned(),
        4 => url.push_str(choices.word(&ADDRESSES)),
        _ => {
            let mut at = choices.below(url.len() + 1);
            while !url.is_char_boundary(at) {
                at -= 1;
            }
            url.insert_str(at, choices.word(&ADDRESSES));
        }
    }
}
