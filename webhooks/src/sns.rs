//! `aws_sns`: RSA over fields of the body, with a certificate from an address that is checked before anybody fetches it.

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::keys::{CertificateUrl, certificate_key, verify_rsa};
use crate::refusal::{Part, Refusal};
use crate::request::{MAX_ID, Request, Window, object};
use crate::secret::Secrets;
use crate::verified::{Binds, Purpose, ReplayId, Verified};

/// The most bytes of a message: SNS itself sends at most 256 KiB.
const MAX_BODY: usize = 1024 * 1024;
/// The longest address in a message.
const MAX_URL: usize = 2048;

/// The one topic of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Topic {
    pub(crate) arn: String,
    pub(crate) sha1: bool,
    pub(crate) window: Window,
}

/// A message, as AWS writes it. A doubled field is an error of the parser; fields of other names are not looked at.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Message {
    pub(crate) r#type: String,
    pub(crate) message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    pub(crate) topic_arn: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<String>,
    pub(crate) message: String,
    pub(crate) timestamp: String,
    pub(crate) signature_version: String,
    pub(crate) signature: String,
    #[serde(rename = "SigningCertURL")]
    pub(crate) signing_cert_url: String,
    #[serde(rename = "SubscribeURL", skip_serializing_if = "Option::is_none")]
    pub(crate) subscribe_url: Option<String>,
    /// Lambda's spelling of `SigningCertURL`: two of them would leave open which counts.
    #[serde(rename = "SigningCertUrl", skip_serializing)]
    other_cert_url: Option<serde::de::IgnoredAny>,
}

impl Message {
    /// What is signed: names and values of the kind's fields, a line each, in the order of their names. No value but the message has
    /// lines of its own, or the end of one could be signed as the beginning of the next.
    pub(crate) fn signed(&self) -> Result<String, Refusal> {
        let missing = Refusal::Missing(Part::Body);
        if self.message_id.len() > MAX_ID {
            return Err(Refusal::TooLong(Part::Id));
        }
        let short = [Some(&self.message_id), self.subject.as_ref(), self.token.as_ref(), self.subscribe_url.as_ref()];
        if short.into_iter().flatten().any(|value| value.chars().any(char::is_control)) {
            return Err(Refusal::Malformed(Part::Body));
        }
        let mut lines = vec![("Message", self.message.as_str()), ("MessageId", self.message_id.as_str())];
        match self.r#type.as_str() {
            "Notification" => lines.extend(self.subject.as_deref().map(|subject| ("Subject", subject))),
            "SubscriptionConfirmation" | "UnsubscribeConfirmation" => {
                lines.push(("SubscribeURL", self.subscribe_url.as_deref().ok_or(missing)?));
            }
            _ => return Err(Refusal::Kind),
        }
        lines.push(("Timestamp", &self.timestamp));
        if self.r#type != "Notification" {
            lines.push(("Token", self.token.as_deref().ok_or(missing)?));
        }
        lines.extend([("TopicArn", self.topic_arn.as_str()), ("Type", self.r#type.as_str())]);
        Ok(lines.into_iter().flat_map(|(name, value)| [name, "\n", value, "\n"]).collect())
    }

    /// A message to sign.
    pub(crate) fn new(topic: &Topic, id: &str, message: String, timestamp: String) -> Self {
        let host = topic.arn.split(':').nth(3).unwrap_or("us-east-1");
        Self {
            r#type: "Notification".to_owned(),
            message_id: id.to_owned(),
            token: None,
            topic_arn: topic.arn.clone(),
            subject: None,
            message,
            timestamp,
            signature_version: "2".to_owned(),
            signature: String::new(),
            signing_cert_url: format!("https://sns.{host}.amazonaws.com/SimpleNotificationService-signed-by-hand.pem"),
            subscribe_url: None,
            other_cert_url: None,
        }
    }
}

impl Topic {
    /// An hour back and five minutes ahead, unless said otherwise: SNS repeats a delivery for that long with the same moment.
    pub(crate) fn new(arn: String, sha1: bool, window: Option<Window>) -> Self {
        Self { arn, sha1, window: window.unwrap_or(Window { past: 3600, future: 300 }) }
    }

    pub(crate) fn verify<'a>(&self, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
        if request.has("x-amz-sns-rawdelivery") {
            // Raw deliveries carry no signature at all.
            return Err(Refusal::Missing(Part::Signature));
        }
        if request.body.len() > MAX_BODY {
            return Err(Refusal::TooLong(Part::Body));
        }
        let message: Message = object(request.body).ok_or(Refusal::Malformed(Part::Body))?;
        if message.other_cert_url.is_some() {
            return Err(Refusal::Repeated(Part::Url));
        }
        let sha1 = match message.signature_version.as_str() {
            "2" => false,
            "1" if self.sha1 => true,
            _ => return Err(Refusal::Algorithm),
        };
        let signature = BASE64.decode(message.signature.as_bytes()).map_err(|_| Refusal::Malformed(Part::Signature))?;
        let url = certificate_url(&message.signing_cert_url)?;
        let sent_at = moment(&message.timestamp)?;
        self.window.admits(i128::from(sent_at), now)?;
        let signed = message.signed()?;
        // Before anything is fetched; once the signature fits, the topic is the signed one.
        if message.topic_arn != self.arn {
            return Err(Refusal::Recipient);
        }
        let pem = secrets.certificates.as_ref().and_then(|source| source.pem(&url)).ok_or(Refusal::KeysUnavailable)?;
        let key = certificate_key(&pem, now)?;
        if !verify_rsa(&key, sha1, signed.as_bytes(), &signature) {
            return Err(Refusal::Signature);
        }
        let replay = ReplayId::of_id(&message.message_id);
        let verified = Verified::new(request.body, replay, Some(sent_at / 1000), Binds { body: true, time: true });
        match (message.r#type.as_str(), message.subscribe_url) {
            ("SubscriptionConfirmation", Some(url)) => {
                provider_url(&url).ok_or(Refusal::CertificateUrl)?;
                Ok(verified.with_purpose(Purpose::Confirm { url }))
            }
            ("Notification", _) => Ok(verified),
            _ => Err(Refusal::Kind),
        }
    }
}

/// An address on SNS's own host: https, no user, no port.
fn provider_url(text: &str) -> Option<Url> {
    if text.len() > MAX_URL {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?;
    let host = host.strip_suffix(".cn").unwrap_or(host);
    let region = host.strip_prefix("sns.")?.strip_suffix(".amazonaws.com")?;
    // The text itself, so that no user, no port (not even the usual one, which parsing drops) and no other spelling of the host passes.
    let fine = text.starts_with(&format!("https://{}/", url.host_str()?))
        && region.len() >= 3
        && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    fine.then_some(url)
}

fn certificate_url(text: &str) -> Result<CertificateUrl, Refusal> {
    let url = provider_url(text).ok_or(Refusal::CertificateUrl)?;
    let fine = url.path().ends_with(".pem") && url.query().is_none() && url.fragment().is_none();
    if fine { Ok(CertificateUrl(url.into())) } else { Err(Refusal::CertificateUrl) }
}

/// `2023-11-14T22:13:20.000Z`, in milliseconds since 1970.
fn moment(text: &str) -> Result<i64, Refusal> {
    let malformed = Refusal::Malformed(Part::Timestamp);
    let shape = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        19 => byte == b'.',
        23 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    };
    if text.len() != 24 || !text.bytes().enumerate().all(shape) {
        return Err(malformed);
    }
    text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_millisecond).map_err(|_| malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J1: nothing but the provider's own host is ever fetched from.
    #[test]
    fn only_the_providers_own_addresses_pass() {
        for fine in [
            "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-test.pem",
            "https://sns.cn-north-1.amazonaws.com.cn/x.pem",
        ] {
            assert!(certificate_url(fine).is_ok(), "{fine}");
        }
        for wrong in [
            "http://sns.us-west-2.amazonaws.com/x.pem",
            "https://sns.us-west-2.amazonaws.com@evil.example/x.pem",
            "https://user:pass@sns.us-west-2.amazonaws.com/x.pem",
            "https://sns.us-west-2.amazonaws.com:443/x.pem",
            "https://sns.us-west-2.amazonaws.com:8443/x.pem",
            "https://sns-us-west-2.s3.amazonaws.com/evil.pem",
            "https://sns.us-west-2.amazonaws.com.evil.example/x.pem",
            "https://sns.a.b.amazonaws.com/x.pem",
            "https://sns.us-west-2.amazonaws.com/x.pem?y=1",
            "https://sns.us-west-2.amazonaws.com/x.pem#y",
            "https://sns.us-west-2.amazonaws.com/x.txt",
            "https://SNS.us-west-2.amazonaws.com/x.pem",
            "https:\\\\sns.us-west-2.amazonaws.com/x.pem",
            "//sns.us-west-2.amazonaws.com/x.pem",
            "",
        ] {
            assert_eq!(certificate_url(wrong), Err(Refusal::CertificateUrl), "{wrong}");
        }
    }

    #[test]
    fn moments_have_one_spelling() {
        assert_eq!(moment("2023-11-14T22:13:20.000Z"), Ok(1_700_000_000_000));
        for wrong in
            ["2023-11-14T22:13:20Z", "2023-11-14 22:13:20.000Z", "2023-11-14T22:13:20.000+", "2023-13-14T22:13:20.000Z", ""]
        {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
