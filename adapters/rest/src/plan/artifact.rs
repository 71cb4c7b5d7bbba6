//! A compiled artifact.

use serde::{Deserialize, Serialize};
use url::Url;

use super::RepeatPlan;
use crate::language::Text;

#[derive(Clone, Debug)]
pub(crate) struct ArtifactPlan {
    pub(crate) repeat: RepeatPlan,
    pub(crate) uri: Text,
    pub(crate) name: Text,
    pub(crate) mime_type: Option<Text>,
    pub(crate) description: Option<Text>,
    /// How it is fetched, where it is kept.
    pub(crate) keep: Option<KeepPlan>,
}

#[derive(Clone, Debug)]
pub(crate) struct KeepPlan {
    pub(crate) max_bytes: Option<u64>,
    pub(crate) types: Vec<String>,
    pub(crate) fetching: Fetching,
}

/// From where a file may be fetched, and as whom. Stored with the task until it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Fetching {
    #[serde(default)]
    pub(crate) credentials: bool,
    /// None is any public one, by https.
    #[serde(default)]
    pub(crate) origins: Vec<String>,
}

impl ArtifactPlan {
    pub(crate) fn uses(&self, name: &str) -> bool {
        let others = self.mime_type.iter().chain(&self.description);
        self.repeat.uses(name) || [&self.uri, &self.name].into_iter().chain(others).any(|text| text.uses(name))
    }
}

/// How an address outside of the provider's own is admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// By name, wherever it lies.
    ByName,
    /// As one of many, so only in the public internet.
    Public,
}

impl Fetching {
    pub(crate) fn admits(&self, url: &Url) -> Option<Admitted> {
        if self.origins.is_empty() {
            return (url.scheme() == "https").then_some(Admitted::Public);
        }
        self.origins.iter().find_map(|origin| admitted(origin, url))
    }
}

fn admitted(origin: &str, url: &Url) -> Option<Admitted> {
    if let Some((scheme, domain)) = origin.split_once("://*.") {
        // With any other prefix than its own name the pattern is the same address.
        let pattern = Url::parse(&format!("{scheme}://{domain}")).ok()?;
        let (host, domain) = (url.host_str()?, pattern.host_str()?);
        let beneath = host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'));
        let same = url.scheme() == pattern.scheme() && url.port_or_known_default() == pattern.port_or_known_default();
        return (beneath && same).then_some(Admitted::Public);
    }
    let known = Url::parse(origin).ok()?;
    (known.origin() == url.origin()).then_some(Admitted::ByName)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_admit_what_they_name() {
        let by = |origins: &[&str], url: &str| {
            let origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
            Fetching { credentials: false, origins }.admits(&Url::parse(url).unwrap())
        };
        for (origins, url, wanted) in [
            (&[][..], "https://a.example.com/x", Some(Admitted::Public)),
            (&[][..], "http://a.example.com/x", None),
            (&["https://a.example.com"][..], "https://a.example.com:443/x", Some(Admitted::ByName)),
            (&["https://a.example.com"][..], "https://a.example.com:444/x", None),
            (&["https://a.example.com"][..], "http://a.example.com/x", None),
            (&["https://a.example.com"][..], "https://b.a.example.com/x", None),
            (&["http://minio:9000", "https://*.example.com"][..], "http://minio:9000/b/k", Some(Admitted::ByName)),
            (&["http://minio:9000", "https://*.example.com"][..], "https://a.b.example.com/k", Some(Admitted::Public)),
            (&["https://*.example.com"][..], "https://example.com/k", None),
            (&["https://*.example.com"][..], "https://notexample.com/k", None),
            (&["https://*.example.com"][..], "https://example.com.evil.org/k", None),
            (&["https://*.example.com"][..], "http://a.example.com/k", None),
        ] {
            assert_eq!(by(origins, url), wanted, "{origins:?} {url}");
        }
    }
}
