//! AWS Signature Version 4 over a whole request.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningParams, SigningSettings,
    UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use bytes::Bytes;
use http::{HeaderValue, Request};
use jobgate_adapter_api::{Secret, Timestamp};

/// Signs requests for one service in one region.
#[derive(Debug)]
pub(crate) struct Signer {
    pub(super) service: String,
    pub(super) region: String,
    pub(super) access_key_id: Secret,
    pub(super) secret_access_key: Secret,
    pub(super) session_token: Option<Secret>,
}

impl Signer {
    /// Signs the method, the address, every header and the body as they stand. Gives the signature: within minutes it is as good as a
    /// credential for this one request.
    pub(super) fn sign(&self, request: &mut Request<Bytes>, now: Timestamp) -> Result<Secret, String> {
        let unfit = |_| "the request cannot be signed".to_owned();
        let token = self.session_token.as_ref().map(|token| token.expose().to_owned());
        let (id, key) = (self.access_key_id.expose(), self.secret_access_key.expose());
        let identity = Credentials::new(id, key, token, None, "jobgate").into();
        let since = Duration::from_millis(u64::try_from(now.as_millis()).unwrap_or_default());
        let params: SigningParams<'_> = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(&self.service)
            .time(SystemTime::UNIX_EPOCH + since)
            .settings(self.settings())
            .build()
            .map_err(|_| "the request cannot be signed".to_owned())?
            .into();
        let headers: Vec<(&str, &str)> = request
            .headers()
            .iter()
            .map(|(name, value)| {
                Ok((name.as_str(), value.to_str().map_err(|_| format!("the header `{name}` cannot be signed"))?))
            })
            .collect::<Result<_, String>>()?;
        let body = SignableBody::Bytes(request.body());
        let signable = SignableRequest::new(request.method().as_str(), request.uri().to_string(), headers.into_iter(), body);
        let (instructions, signature) = sign(signable.map_err(unfit)?, &params).map_err(unfit)?.into_parts();
        for header in instructions.into_parts().0 {
            let mut value = HeaderValue::try_from(header.value()).map_err(|_| "the credential cannot be sent in a header")?;
            value.set_sensitive(true);
            request.headers_mut().insert(header.name(), value);
        }
        Ok(Secret::new(signature))
    }

    /// S3 alone reads paths as they are, and wants the body's hash in a header.
    fn settings(&self) -> SigningSettings {
        let mut settings = SigningSettings::default();
        if self.service == "s3" {
            settings.percent_encoding_mode = PercentEncodingMode::Single;
            settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
            settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        }
        settings
    }
}
