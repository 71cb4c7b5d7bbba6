//! Who may call at all: the name under which the gateway was reached, and the web page that calls (Streamable HTTP, "Security").
//!
//! Without these checks a page in a browser on this machine could reach a gateway on it, by a name that its owner points here.

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stranger {
    /// Reached under a name that is not ours.
    Host,
    /// Sent by a page that may not.
    Origin,
}

impl Stranger {
    /// The sentence for it; the header's own text is not repeated.
    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::Host => "this gateway is not known under the name in `Host`; add it to `server.allowed_hosts`",
            Self::Origin => "pages of this `Origin` may not call this gateway; add it to `server.allowed_origins`",
        }
    }
}

/// Checks `Host` and `Origin`.
pub(super) fn check(parts: &Parts, allowed_hosts: &[String], allowed_origins: &[String]) -> Result<(), Stranger> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let (host, more) = (hosts.next(), hosts.next());
    let named = match (parts.uri.authority(), host, more) {
        (Some(authority), _, None) => Some(authority.clone()),
        (None, Some(host), None) => Authority::try_from(host.as_bytes()).ok(),
        _ => None,
    };
    let named = named.ok_or(Stranger::Host)?;
    if !is_loopback(named.host()) && !allowed_hosts.iter().any(|allowed| names(allowed, &named)) {
        return Err(Stranger::Host);
    }
    for origin in parts.headers.get_all(ORIGIN) {
        let known = origin.to_str().is_ok_and(|origin| is_allowed_origin(origin, allowed_origins));
        if !known {
            return Err(Stranger::Origin);
        }
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| host.eq_ignore_ascii_case(name))
}

/// Whether a configured name, with a port or without, is this one.
fn names(allowed: &str, named: &Authority) -> bool {
    allowed == "*" || allowed.eq_ignore_ascii_case(named.host()) || allowed.eq_ignore_ascii_case(named.as_str())
}

fn is_allowed_origin(origin: &str, allowed: &[String]) -> bool {
    if allowed.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let known_scheme = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    known_scheme && authority.parse::<Authority>().is_ok_and(|authority| is_loopback(authority.host()))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn verdict(headers: &[(&str, &str)], hosts: &[&str], origins: &[&str]) -> Result<(), Stranger> {
        let mut request = Request::post("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        check(&parts, &owned(hosts), &owned(origins))
    }

    #[test]
    fn loopback_names_are_known_and_others_only_if_configured() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:9", "[::1]:8080", "gate.example.com", "gate.example.com:443"] {
            assert_eq!(verdict(&[("host", host)], &["gate.example.com"], &[]), Ok(()), "{host}");
        }
        for host in ["evil.example.com", "localhost.evil.com", "127.0.0.1.evil.com", "localhost@evil.com", "", "a b"] {
            assert_eq!(verdict(&[("host", host)], &["gate.example.com"], &[]), Err(Stranger::Host), "{host}");
        }
        assert_eq!(verdict(&[], &[], &[]), Err(Stranger::Host));
        assert_eq!(verdict(&[("host", "localhost"), ("host", "evil.com")], &[], &[]), Err(Stranger::Host));
        assert_eq!(verdict(&[("host", "gate:1")], &["gate:2"], &[]), Err(Stranger::Host));
        assert_eq!(verdict(&[("host", "anything")], &["*"], &[]), Ok(()));
    }

    #[test]
    fn pages_of_this_machine_may_call_and_others_only_if_configured() {
        let allowed = ["https://app.example.com"];
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5", "https://app.example.com"] {
            assert_eq!(verdict(&[("host", "localhost"), ("origin", origin)], &[], &allowed), Ok(()), "{origin}");
        }
        for origin in ["null", "https://evil.example", "https://app.example.com.evil", "file://localhost", "localhost", ""] {
            let stranger = verdict(&[("host", "localhost"), ("origin", origin)], &[], &allowed);
            assert_eq!(stranger, Err(Stranger::Origin), "{origin}");
        }
    }
}
