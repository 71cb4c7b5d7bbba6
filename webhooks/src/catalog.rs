//! The signature schemes that providers use, each with the name that verifies it, or why none does.

/// A signature scheme in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the scheme is called among those who collect them.
    pub id: &'static str,
    /// The name here; nothing when it is not verified.
    pub name: Option<&'static str>,
    /// What to know about it.
    pub note: &'static str,
}

const fn entry(id: &'static str, name: &'static str, note: &'static str) -> Entry {
    Entry { id, name: Some(name), note }
}

const fn none(id: &'static str, note: &'static str) -> Entry {
    Entry { id, name: None, note }
}

/// All of them.
#[must_use]
pub const fn catalog() -> &'static [Entry] {
    &CATALOG
}

const CATALOG: [Entry; 37] = [
    entry("standard-webhooks-v1", "standard_webhooks", "a `whsec_` secret"),
    entry("standard-webhooks-v1a", "standard_webhooks", "a `whpk_` public key; both kinds may be held at once"),
    entry("svix", "svix", "the `svix-*` headers; white-labelled ones are `standard_webhooks`"),
    entry("openai", "openai", "a secret without `whsec_` is refused"),
    entry("replicate", "replicate", ""),
    entry("anthropic", "anthropic", ""),
    entry("gemini-static", "gemini", ""),
    none("gemini-dynamic", "what its token signs is not published, so the body may be unsigned: poll"),
    entry("gitlab-signing-token", "gitlab", "a secret of exactly 32 bytes"),
    entry("static-token-header", "static_token", "`gitlab_token` is GitLab's; hints only"),
    entry("github", "github", ""),
    entry("bitbucket", "bitbucket", ""),
    entry("stripe", "stripe", "the whole text with `whsec_` is the key"),
    entry("mux", "mux", ""),
    entry("elevenlabs", "elevenlabs", "half an hour of tolerance, as the provider's"),
    entry("slack", "slack", "its `url_verification` is answered"),
    entry("zoom", "zoom", "its `endpoint.url_validation` is answered"),
    entry("meta", "meta", "its subscription by GET is answered"),
    entry("shopify", "shopify", "the classic header"),
    entry("twilio", "twilio", "the address comes from the configuration"),
    entry("circleci", "circleci", "only v1 counts"),
    entry("buildkite", "buildkite", "signature mode; token mode is `static_token`"),
    entry("basic-auth", "basic", "hints only"),
    entry("fal", "fal", "needs `user_id` and a key set"),
    entry("heygen-legacy", "heygen_legacy", ""),
    entry("heygen-v3", "heygen", "its timestamp is not signed, so it is not looked at"),
    entry("synthesia", "synthesia", ""),
    entry("bfl", "bfl", ""),
    entry("cloudinary", "cloudinary", "SHA-256; `allow_sha1` for accounts on SHA-1"),
    entry(
        "aws-sns",
        "aws_sns",
        "needs `topic_arn`; `allow_sha1` also takes signature version 1; `MessageAttributes` are not signed",
    ),
    entry("google-pubsub-oidc", "google_pubsub", "needs `audience`, `email` and a key set; the body is not bound: hints only"),
    entry("cloudevents-abuse-protection", "cloudevents", "a bearer token, and the handshake; hints only"),
    entry("rfc9421", "rfc9421", "`components` has to be covered"),
    entry("turnkey-like", "ed25519", "said in parts, see below"),
    entry("discord-ed25519", "discord", "its ping is answered"),
    none("unsigned-callback", "nothing to verify: the route needs an unguessable token, and the delivery is a hint"),
    none("declarative-families", "no scheme of its own: the parts of `hmac` and `ed25519`"),
];
