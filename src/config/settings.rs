//! What the words of `server` and `store` mean.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use jobgate_adapter_api::{HumanBytes, HumanDuration, Issues, Place};
use url::Url;

use super::auth::Auth;
use super::store::StoreWords;
use super::words::ServerWords;

/// Where and how callers reach the gateway over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Where providers reach the gateway, without a slash at the end.
    pub public_url: Option<String>,
    /// Names beside the loopback ones under which the gateway is reached.
    pub allowed_hosts: Vec<String>,
    /// Web pages beside those of this machine that may call.
    pub allowed_origins: Vec<String>,
    /// Largest request body, in bytes.
    pub max_body_bytes: usize,
    /// Connections at the same time.
    pub max_connections: usize,
    /// How long a request may take to arrive.
    pub request_timeout: Duration,
    /// How long work in progress may take to finish after the signal to stop.
    pub shutdown_grace: Duration,
    /// Whether an address that other machines reach is meant, without authentication.
    pub allow_public: bool,
    /// Proxies whose word on where a request comes from is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Clients to whom a job that ran and failed is a completed task.
    pub failed_as_completed: Vec<String>,
}

/// Where tasks are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// The data folder.
    pub path: PathBuf,
    /// Bytes of memory for the page cache.
    pub cache_bytes: u64,
    /// How often the store is exported.
    pub export_every: Duration,
    /// How many exports are kept.
    pub keep_exports: usize,
    /// Bytes of one file of a job that is kept.
    pub artifact_max_bytes: u64,
    /// Bytes of all such files.
    pub artifact_total_bytes: u64,
    /// How long the address of such a file works.
    pub artifact_url_ttl: Duration,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            public_url: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: 4 * 1024 * 1024,
            max_connections: 16_000,
            request_timeout: Duration::from_secs(60),
            shutdown_grace: Duration::from_secs(10),
            allow_public: false,
            trusted_proxies: Vec::new(),
            failed_as_completed: Vec::new(),
        }
    }
}

impl ServerSettings {
    /// Listens on `address` instead, under the same rule as the configuration: without authentication nothing that other machines
    /// reach, unless that is said to be meant (requirement I2).
    ///
    /// # Errors
    /// A sentence that says what is wrong and what to do.
    pub fn listen_on(&mut self, address: &str, auth: &Auth) -> Result<(), String> {
        self.listen = parse_listen(address).map_err(|(message, hint)| format!("{message}; {hint}"))?;
        match public_refusal(self, auth.is_on()) {
            Some((message, hint)) => Err(format!("{message}; {hint}")),
            None => Ok(()),
        }
    }

    /// `auth` is whether callers have to be known.
    pub(super) fn from_words(words: ServerWords, auth: bool, place: &Place, issues: &mut Issues) -> Self {
        let default = Self::default();
        let mut settings = Self {
            listen: default.listen,
            public_url: words.public_url.and_then(|text| public_url(&text, &place.key("public_url"), issues)),
            allowed_hosts: words.allowed_hosts.unwrap_or_default(),
            allowed_origins: words.allowed_origins.unwrap_or_default(),
            max_body_bytes: words.max_body_bytes.unwrap_or(default.max_body_bytes),
            max_connections: words.max_connections.unwrap_or(default.max_connections),
            request_timeout: words.request_timeout.map_or(default.request_timeout, HumanDuration::get),
            shutdown_grace: words.shutdown_grace.map_or(default.shutdown_grace, HumanDuration::get),
            allow_public: words.allow_public.unwrap_or(default.allow_public),
            trusted_proxies: proxies(words.trusted_proxies, &place.key("trusted_proxies"), issues),
            failed_as_completed: words.failed_as_completed.unwrap_or_default(),
        };
        if settings.request_timeout < Duration::from_secs(1) {
            issues.add_with_hint(place.key("request_timeout"), "has to be at least 1s", "for example `60s`");
        }
        for (nth, host) in settings.allowed_hosts.iter().enumerate() {
            if host.is_empty() || (host != "*" && host.contains(['/', ' ', '*'])) {
                let place = place.key("allowed_hosts").index(nth);
                issues.add_with_hint(place, format!("`{host}` is no host name"), "for example `gateway.example.com`");
            }
        }
        for (nth, origin) in settings.allowed_origins.iter().enumerate() {
            let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            if rest.is_none_or(|rest| rest.is_empty() || rest.contains(['/', ' ', '*'])) {
                let place = place.key("allowed_origins").index(nth);
                let hint = "scheme and host, no path, for example `https://app.example.com`";
                issues.add_with_hint(place, format!("`{origin}` is no origin"), hint);
            }
        }
        let address = words.listen.map(|text| parse_listen(&text));
        match address {
            Some(Err((message, hint))) => issues.add_with_hint(place.key("listen"), message, hint),
            Some(Ok(address)) => {
                settings.listen = address;
                if let Some((message, hint)) = public_refusal(&settings, auth) {
                    issues.add_with_hint(place.key("listen"), message, hint);
                }
            }
            None => {}
        }
        settings
    }
}

/// An address that `/hooks/...` can be put behind.
fn public_url(text: &str, place: &Place, issues: &mut Issues) -> Option<String> {
    let mut tell = |message: &str| {
        issues.add_with_hint(
            place.clone(),
            message,
            "for example `https://gateway.example.com` or `https://example.com/jobgate`",
        );
    };
    let url = match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
        Ok(_) | Err(_) => {
            tell("is no address: it begins with `https://` or `http://` and has a host");
            return None;
        }
    };
    if !url.username().is_empty() || url.password().is_some() {
        // It may be a password: it is not repeated.
        tell("has a user name or a password, which every provider would see");
    } else if url.query().is_some() || url.fragment().is_some() {
        tell("has a `?` or a `#`, and more is put behind it");
    } else {
        return Some(url.as_str().trim_end_matches('/').to_owned());
    }
    None
}

fn parse_listen(text: &str) -> Result<SocketAddr, (String, &'static str)> {
    let numeric = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    numeric.parse().map_err(|_| {
        (format!("`{text}` is no address to listen on"), "write an IP address and a port, for example `127.0.0.1:8080`")
    })
}

/// An address alone is a network of one.
fn proxies(words: Option<Vec<String>>, place: &Place, issues: &mut Issues) -> Vec<IpNet> {
    let mut networks = Vec::new();
    for (nth, text) in words.into_iter().flatten().enumerate() {
        match text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)) {
            Ok(network) => networks.push(network),
            Err(_) => {
                let hint = "for example `127.0.0.1` or `10.0.0.0/8`";
                issues.add_with_hint(place.index(nth), format!("`{}` is no address or network", text.escape_debug()), hint);
            }
        }
    }
    networks
}

fn public_refusal(settings: &ServerSettings, auth: bool) -> Option<(String, &'static str)> {
    if auth || settings.allow_public || settings.listen.ip().is_loopback() {
        return None;
    }
    Some((
        format!("{} can be reached from other machines, and there is no authentication", settings.listen),
        "listen on 127.0.0.1; or let in who has a token, with `auth: { tokens: [...] }` (`jobgate token new` prints an entry); or, \
         behind a proxy that authenticates, say so with `allow_public: true` under `server`",
    ))
}

impl StoreSettings {
    /// The defaults, with the data folder in `base`.
    #[must_use]
    pub fn in_folder(base: &Path) -> Self {
        Self {
            path: base.join("jobgate-data"),
            cache_bytes: 64 * 1024 * 1024,
            export_every: Duration::from_secs(6 * 60 * 60),
            keep_exports: 2,
            artifact_max_bytes: 1 << 30,
            artifact_total_bytes: 10 << 30,
            artifact_url_ttl: Duration::from_secs(60 * 60),
        }
    }

    pub(super) fn from_words(words: StoreWords, base: &Path, place: &Place, issues: &mut Issues) -> Self {
        let default = Self::in_folder(base);
        let files = words.artifacts.unwrap_or_default();
        let settings = Self {
            path: words.path.map_or(default.path, |path| base.join(path)),
            cache_bytes: words.cache_bytes.unwrap_or(default.cache_bytes),
            export_every: words.export_every.map_or(default.export_every, HumanDuration::get),
            keep_exports: words.keep_exports.unwrap_or(default.keep_exports),
            artifact_max_bytes: files.max_bytes.map_or(default.artifact_max_bytes, HumanBytes::get),
            artifact_total_bytes: files.total_bytes.map_or(default.artifact_total_bytes, HumanBytes::get),
            artifact_url_ttl: files.url_ttl.map_or(default.artifact_url_ttl, HumanDuration::get),
        };
        let place_of = |word: &str| place.key("artifacts").key(word);
        if settings.artifact_max_bytes == 0 {
            issues.add_with_hint(place_of("max_bytes"), "has to be more than nothing", "for example `1GiB`");
        }
        if settings.artifact_total_bytes < settings.artifact_max_bytes {
            let sum = "is less than one file may have (`max_bytes`)";
            issues.add_with_hint(place_of("total_bytes"), sum, "for example `10GiB`");
        }
        if settings.artifact_url_ttl < Duration::from_secs(1) {
            issues.add_with_hint(place_of("url_ttl"), "has to be at least 1s", "for example `1h`");
        }
        if settings.export_every < Duration::from_secs(60) {
            issues.add_with_hint(place.key("export_every"), "has to be at least 1m", "for example `6h`");
        }
        if settings.path.as_os_str().is_empty() {
            issues.add_with_hint(place.key("path"), "must not be empty", "for example `./jobgate-data`");
        }
        settings
    }
}
