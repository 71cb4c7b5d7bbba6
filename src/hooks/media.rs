//! How a body is written, as far as that can spoil its reading: its charset and its coding.

use bytes::Bytes;

use super::verdict::Verdict;

/// Looks at `Content-Type` and `Content-Encoding` of a verified delivery. A signature is over the bytes as they came, so these are read
/// as they are or not at all: nothing is converted, nothing is unpacked.
pub(super) fn check(headers: &[(String, Bytes)]) -> Result<(), Verdict> {
    let values = |wanted: &'static str| headers.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
    for (_, kind) in values("content-type") {
        let kind = std::str::from_utf8(kind).map_err(|_| Verdict::Charset)?;
        let charsets = kind.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
        for (_, charset) in charsets.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset")) {
            let charset = charset.trim().trim_matches('"');
            if !["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known)) {
                return Err(Verdict::Charset);
            }
        }
    }
    let coded = values("content-encoding").any(|(_, coding)| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
    if coded { Err(Verdict::Coding) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hostile 78, 82: what is not plain UTF-8 is not read, however it is said.
    #[test]
    fn only_utf8_as_it_came_is_read() {
        let check = |name: &str, value: &'static str| check(&[(name.to_owned(), Bytes::from_static(value.as_bytes()))]);
        for fine in [
            "application/json",
            "application/json; charset=utf-8",
            "application/x-www-form-urlencoded;charset=\"UTF-8\"",
            "text/plain ; Charset = us-ascii ; x=y",
            "",
        ] {
            assert_eq!(check("Content-Type", fine), Ok(()), "{fine}");
        }
        for wrong in
            ["application/json; charset=utf-16", "a/b;x=y;CHARSET=\"iso-8859-1\"", "a/b; charset=", "; charset=utf-8;charset=x"]
        {
            assert_eq!(check("content-type", wrong), Err(Verdict::Charset), "{wrong}");
        }
        for (coding, read) in [("identity", true), ("", true), ("gzip", false), ("identity, br", false), ("ZSTD", false)] {
            assert_eq!(check("content-encoding", coding).is_ok(), read, "{coding}");
        }
    }
}
