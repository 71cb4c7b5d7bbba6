//! Bytes inside an answer: base64 or a `data:` address (RFC 2397), checked before they are handed on.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use data_url::DataUrl;
use data_url::forgiving_base64::decode_to_vec;
use mime::Mime;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Bytes of an image or a sound inside a result, decoded. A larger one is an artifact.
pub(crate) const MOST: usize = 4 * 1024 * 1024;

/// An image or sound: its bytes as canonical base64, and its media type, which is of `class`.
///
/// # Errors
/// A sentence, without the value, for what is no base64, has no media type or one of another class, or is too large.
pub(crate) fn embed(value: &str, mime_type: Option<&str>, class: &str) -> Result<(String, String), String> {
    let (bytes, own) = match decode(value)? {
        Some((bytes, mime_type)) => (bytes, Some(mime_type)),
        // Base64 is often broken into lines, and its padding is often left away.
        None => (decode_to_vec(value.as_bytes()).map_err(|_| format!("the {class} is no base64"))?, None),
    };
    let mime_type = mime_type.or(own.as_deref()).ok_or_else(|| format!("nothing says what the {class} is: no `mime_type`"))?;
    let known: Mime = mime_type.parse().map_err(|_| format!("the media type of the {class} is none"))?;
    if known.type_() != class {
        return Err(format!("its media type is no {class}"));
    }
    if bytes.is_empty() {
        return Err(format!("the {class} is empty"));
    }
    if bytes.len() > MOST {
        return Err(format!("the {class} has {} bytes, and a result holds at most {MOST}; keep it as an artifact", bytes.len()));
    }
    Ok((STANDARD.encode(bytes), known.to_string()))
}

/// The bytes and the media type of a `data:` address; `None` for what is none.
///
/// # Errors
/// A sentence for a broken one.
pub(crate) fn decode(value: &str) -> Result<Option<(Vec<u8>, String)>, String> {
    if !value.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return Ok(None);
    }
    let broken = "a `data:` address is broken";
    let parsed = DataUrl::process(value).map_err(|_| broken.to_owned())?;
    let (bytes, _) = parsed.decode_to_vec().map_err(|_| broken.to_owned())?;
    Ok(Some((bytes, parsed.mime_type().to_string())))
}

/// The address of a document that is at none: its name, as MCP wants an address. A name that is one already stays.
pub(crate) fn address(name: &str) -> String {
    if name.contains("://") { name.to_owned() } else { format!("job:///{}", utf8_percent_encode(name, SEGMENT)) }
}

/// Everything but the unreserved characters of RFC 3986 section 2.3.
const SEGMENT: &percent_encoding::AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_checked_before_they_are_handed_on() {
        let image = |value: &str, mime_type| embed(value, mime_type, "image");
        let wanted = Ok(("aGk=".to_owned(), "image/png".to_owned()));
        for (value, mime_type) in [
            ("aGk=", Some("image/png")),
            ("aG\r\nk", Some("image/png")),
            ("data:image/png;base64,aGk=", None),
            ("DATA:image/png,hi", None),
            ("data:text/plain;base64,aGk=", Some("image/png")),
        ] {
            assert_eq!(image(value, mime_type), wanted, "{value}");
        }
        for (value, mime_type, reason) in [
            ("a#k=", Some("image/png"), "no base64"),
            ("aGk=", None, "no `mime_type`"),
            ("aGk=", Some("picture"), "is none"),
            ("aGk=", Some("text/html"), "is no image"),
            ("data:text/html,hi", None, "is no image"),
            ("data:image/png;base64,a#k", None, "broken"),
            ("data:image/png;base64", None, "broken"),
            (" ", Some("image/png"), "is empty"),
        ] {
            let said = image(value, mime_type).unwrap_err();
            assert!(said.contains(reason), "{value}: {said}");
        }
        let large = STANDARD.encode(vec![0; MOST + 1]);
        assert!(image(&large, Some("image/png")).unwrap_err().contains("artifact"));
    }

    #[test]
    fn a_document_has_an_address() {
        assert_eq!(address("report 1.md"), "job:///report%201.md");
        assert_eq!(address("https://a.example.com/x"), "https://a.example.com/x");
    }
}
