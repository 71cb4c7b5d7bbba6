//! Numbers in other digits: one id that an API spells in two ways.

use minijinja::Error;
use minijinja::value::Value;

use super::wrong;

/// Digits of the longest number; an id has far fewer.
const MOST_DIGITS: usize = 256;
/// The digits of bases up to 36, and of 62.
const PLAIN: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Those of base 64 in addresses (RFC 4648 section 5).
const OF_64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A whole number of any size from one base in another, with zeros before it up to `width`: `'255' | digits(10, 16, 4)` gives `00ff`.
pub(super) fn digits(number: &Value, from: u32, to: u32, width: usize) -> Result<String, Error> {
    let (read, written) = (alphabet(from)?, alphabet(to)?);
    let text = number.to_string();
    if text.is_empty() || text.len() > MOST_DIGITS || width > MOST_DIGITS {
        return Err(wrong("`digits` was given no digits, or more than 256"));
    }
    let digit = |byte: u8| read.iter().position(|known| *known == byte).and_then(|at| u32::try_from(at).ok());
    let mut left: Vec<u32> =
        text.bytes().map(digit).collect::<Option<_>>().ok_or_else(|| wrong("`digits` was given what is no digit"))?;
    let mut said = Vec::new();
    // Division by hand: what is left over is the next digit from behind.
    while !left.is_empty() {
        let (mut quotient, mut rest) = (Vec::new(), 0);
        for digit in left {
            let part = rest * from + digit;
            if part >= to || !quotient.is_empty() {
                quotient.push(part / to);
            }
            rest = part % to;
        }
        said.push(rest);
        left = quotient;
    }
    if said.len() > width {
        return Err(wrong("`digits` was given a number that is larger than its width"));
    }
    said.resize(width, 0);
    let digit = |at: &u32| usize::try_from(*at).ok().and_then(|at| written.get(at)).map(|byte| char::from(*byte));
    said.iter().rev().map(digit).collect::<Option<String>>().ok_or_else(|| wrong("`digits` has no such digit"))
}

/// Bytes in hexadecimal, the last one first: `0a0b` gives `0b0a`.
pub(super) fn swap_bytes(text: &str) -> Result<String, Error> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong("`swap_bytes` was given what are no bytes in hexadecimal"));
    }
    Ok(text.as_bytes().chunks(2).rev().flatten().map(|byte| char::from(*byte)).collect())
}

fn alphabet(base: u32) -> Result<&'static [u8], Error> {
    match base {
        64 => Some(OF_64),
        2..=36 | 62 => usize::try_from(base).ok().and_then(|base| PLAIN.get(..base)),
        _ => None,
    }
    .ok_or_else(|| wrong("`digits` knows the bases 2 to 36, 62 and 64"))
}
