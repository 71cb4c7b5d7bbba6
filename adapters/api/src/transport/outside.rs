//! A client for addresses that a provider named: it reaches the public internet, and nothing of the networks that the gateway is in.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::Uri;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Transport, builder};

impl Transport {
    /// The same limits, without anything that proves who the gateway is, straight (no proxy) and to public addresses alone: whoever can put an
    /// address into an answer must not make the gateway read what stands beside it.
    ///
    /// # Errors
    /// When the machine's certificate store cannot be used.
    pub fn outside(&self) -> Result<Self, String> {
        let built = builder(self.limits).no_proxy().dns_resolver(std::sync::Arc::new(PublicNames)).build();
        let client = built.map_err(|error| format!("the HTTP client could not be built: {error}"))?;
        Ok(Self { client, public_only: true, ..self.clone() })
    }

    /// Whether an address names a machine by its number, and that number is not public. Names are looked at when they are resolved.
    pub(super) fn is_shut(&self, uri: &Uri) -> bool {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        self.public_only && host.parse::<IpAddr>().is_ok_and(|address| !is_public(address))
    }
}

/// Resolves names to their public addresses, at the moment of the connection, so that no name can mean something else by then.
#[derive(Debug)]
struct PublicNames;

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                let shut = io::Error::new(io::ErrorKind::PermissionDenied, "the name has no public address");
                return Err(shut.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// Whether a request failed because its name leads nowhere but inside.
pub(super) fn refused(error: &reqwest::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if cause
            .downcast_ref::<io::Error>()
            .is_some_and(|cause| cause.kind() == io::ErrorKind::PermissionDenied && cause.raw_os_error().is_none())
        {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Whether an address is one of the public internet: not in the special-purpose registries of IANA (RFC 6890), not multicast.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            !matches!(
                (a, b, c),
                (0 | 10 | 127 | 224..=255, _, _)
                    | (100, 64..=127, _)
                    | (169, 254, _)
                    | (172, 16..=31, _)
                    | (192, 0, 0 | 2)
                    | (192, 88, 99)
                    | (192, 168, _)
                    | (198, 18..=19, _)
                    | (198, 51, 100)
                    | (203, 0, 113)
            )
        }
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => is_public(IpAddr::V4(mapped)),
            None => is_public_v6(address),
        },
    }
}

/// 2000::/3 is what is given out; within it are protocols, documentation, and addresses that carry an IPv4 address.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    a & 0xE000 == 0x2000
        && !(a == 0x2001 && b < 0x0200)
        && !(a == 0x2001 && b == 0x0DB8)
        && a != 0x2002
        && !(a == 0x3FFF && b < 0x1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, TransportLimits};
    use bytes::Bytes;
    use std::time::Duration;

    #[test]
    fn the_networks_of_the_gateway_are_not_public() {
        for shut in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "198.18.0.1",
            "192.0.0.1",
            "203.0.113.9",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "::7f00:1",
        ] {
            assert!(!is_public(shut.parse().unwrap()), "{shut}");
        }
        for open in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "2001:4860::8888",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public(open.parse().unwrap()), "{open}");
        }
    }

    /// Numbers in any spelling, and names that lead inside.
    #[tokio::test]
    async fn nothing_is_sent_inside() {
        let outside = Transport::new(TransportLimits::default()).unwrap().outside().unwrap();
        for address in [
            "http://127.0.0.1:9/",
            "http://[::1]:9/",
            "http://localhost:9/",
            "http://2130706433:9/",
            "http://0x7f.1:9/",
            "http://127.1:9/",
        ] {
            // As an adapter has it: read as a web address, which brings numbers to their one form (WHATWG URL, host parsing).
            let address = url::Url::parse(address).unwrap();
            let request = http::Request::builder().uri(address.as_str()).body(Bytes::new()).unwrap();
            let error = outside.send(Operation::Fetch, request, Duration::from_secs(5)).await.unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Rejected, "{address}: {error}");
        }
    }
}
