//! One GET for keys, certificates and confirmations: through the provider's client, capped, without redirects.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use jobgate_adapter_api::{Operation, Transport};

/// How long an answer may take.
const TIME: Duration = Duration::from_secs(5);
/// How long a delivery waits for a fetch that it asked for: less than its sender waits. The fetch goes on, for the next one.
pub(super) const WAIT: Duration = Duration::from_millis(1500);

/// The body at `url`, of at most `most` bytes.
///
/// # Errors
/// Why there is none; without the address, which may carry a token.
pub(super) async fn get(transport: &Transport, url: &str, most: usize) -> Result<Bytes, String> {
    let request = Request::get(url).body(Bytes::new()).map_err(|_| "it is no address".to_owned())?;
    let transport = transport.clone().with_max_body_bytes(most);
    let answer = transport.send(Operation::Read, request, TIME).await.map_err(|error| error.to_string())?;
    // A redirect is not followed: it could lead anywhere.
    if answer.status() == StatusCode::OK { Ok(answer.into_body()) } else { Err(format!("the answer was {}", answer.status())) }
}
