//! Where a request comes from: the peer, or what a proxy that is believed says of it.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address that a request came from. Each proxy adds the address of its own peer at the right, so what is read ends at the first
/// address that is no trusted proxy: everything left of it may be made up.
pub(super) fn of(peer: Option<IpAddr>, headers: &HeaderMap, trusted: &[IpNet]) -> Option<IpAddr> {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address.to_canonical()));
    let mut nearest = peer?.to_canonical();
    let lines: Vec<&str> = headers.get_all(X_FORWARDED_FOR).iter().filter_map(|line| line.to_str().ok()).collect();
    let mut said = lines.iter().rev().flat_map(|line| line.rsplit(',')).map(parse);
    while is_trusted(nearest) {
        // What cannot be read was not written by a proxy: the last one that could is the nearest we know of.
        let Some(Some(next)) = said.next() else { break };
        nearest = next;
    }
    Some(nearest)
}

/// Proxies write an address alone, or with a port.
fn parse(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, forwarded: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(X_FORWARDED_FOR, line.parse().unwrap());
        }
        let trusted = ["127.0.0.1/32", "10.0.0.0/8"].map(|network| network.parse().unwrap());
        of(Some(peer.parse().unwrap()), &headers, &trusted).unwrap().to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_about_its_own_peer() {
        for (peer, forwarded, expected) in [
            ("192.0.2.1", &["198.51.100.7"][..], "192.0.2.1"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            ("::ffff:127.0.0.1", &["198.51.100.7"], "198.51.100.7"),
            ("127.0.0.1", &["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
            ("127.0.0.1", &["203.0.113.9, 198.51.100.7, 10.1.2.3"], "198.51.100.7"),
            ("127.0.0.1", &["203.0.113.9", "198.51.100.7", "10.1.2.3 , 10.0.0.1"], "198.51.100.7"),
            ("127.0.0.1", &["198.51.100.7:4711"], "198.51.100.7"),
            ("127.0.0.1", &["[2001:db8::1]:4711"], "2001:db8::1"),
            ("127.0.0.1", &["[2001:db8::1]"], "2001:db8::1"),
            ("127.0.0.1", &["198.51.100.7, nonsense"], "127.0.0.1"),
            ("127.0.0.1", &["198.51.100.7, nonsense, 10.0.0.1"], "10.0.0.1"),
            ("127.0.0.1", &["10.0.0.2, 10.0.0.1"], "10.0.0.2"),
        ] {
            assert_eq!(seen(peer, forwarded), expected, "{peer} {forwarded:?}");
        }
    }
}
