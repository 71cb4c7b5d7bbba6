//! Kept artifacts as resources: the caller's own listed, any of a task that the caller may see read. The same in all versions but for
//! what is around the results.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::catalog::LIST_TTL_MS;
use super::dispatch::Shared;
use super::error::RpcError;
use super::frontend::{Reply, RequestContext};
use super::jsonrpc::{self, Request};
use super::params::Params;
use super::seal::Purpose;
use super::versions::Era;
use crate::domain::{KeptArtifact, TaskId, Timestamp};
use crate::engine::{ReadError, artifact_of, artifact_uri};
use crate::store::{ListQuery, StoreError};

/// Resources on one page; a task's are never torn apart.
const PAGE: usize = 50;
/// Tasks looked through for one page: most have no artifacts.
const SCANNED: usize = 500;
/// Tasks read at a time.
const BATCH: usize = 100;
/// The largest file that is read through the protocol: it is in memory as a whole, and base64 makes it a third larger.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The last task of a page.
#[derive(Serialize, Deserialize)]
struct Place {
    #[serde(rename = "c")]
    created_at: i64,
    #[serde(rename = "t")]
    task: String,
}

/// Whether this is for here.
pub(super) fn is_method(method: &str) -> bool {
    matches!(method, "resources/list" | "resources/read" | "resources/templates/list")
}

/// Answers one of the methods.
///
/// # Errors
/// Whatever has to be said no to.
pub(super) async fn answer(
    shared: &Shared,
    context: &RequestContext,
    request: &Request<'_>,
    params: &Params<'_>,
    era: Era,
) -> Result<Reply, RpcError> {
    let asked = Asked { shared, context, params, era };
    let result = match &*request.method {
        "resources/list" => asked.list().await?,
        "resources/read" => asked.read().await?,
        _ => asked.templates()?,
    };
    Ok(Reply::ok(jsonrpc::result(request.id, &result)))
}

struct Asked<'a> {
    shared: &'a Shared,
    context: &'a RequestContext,
    params: &'a Params<'a>,
    era: Era,
}

impl Asked<'_> {
    async fn list(&self) -> Result<Value, RpcError> {
        let owner = &self.context.caller.principal;
        let mut after = self.params.text("cursor")?.map(|cursor| self.place(&cursor)).transpose()?;
        let mut resources = Vec::new();
        let (mut scanned, mut more) = (0, true);
        while more && resources.len() < PAGE && scanned < SCANNED {
            let query = ListQuery { scope: owner.into(), after, limit: BATCH };
            let tasks = self.shared.engine.list(query).await.map_err(|error| failed(&error))?;
            more = tasks.len() == BATCH;
            for task in &tasks {
                if resources.len() >= PAGE {
                    more = true;
                    break;
                }
                scanned += 1;
                after = Some((task.created_at, task.id));
                let kept = (1..).zip(task.kept_artifacts());
                resources.extend(kept.map(|(number, kept)| resource(task.id, number, kept)));
            }
        }
        let mut page = json!({ "resources": resources });
        if let Some((created_at, task)) = after.filter(|_| more) {
            let place = Place { created_at: created_at.as_millis(), task: task.to_string() };
            page["nextCursor"] = self.shared.sealer.seal_for(Purpose::Resources, owner, &place).into();
        }
        Ok(self.around(page, 0, "private"))
    }

    fn place(&self, cursor: &str) -> Result<(Timestamp, TaskId), RpcError> {
        let unknown = || RpcError::invalid_params("`params.cursor` is not one that this server gave out; list without it");
        let owner = &self.context.caller.principal;
        let place: Place = self.shared.sealer.open_for(Purpose::Resources, owner, cursor).ok_or_else(unknown)?;
        Ok((Timestamp::from_millis(place.created_at), place.task.parse().map_err(|_| unknown())?))
    }

    async fn read(&self) -> Result<Value, RpcError> {
        let uri = self.params.required_text("uri")?;
        if let (Era::Stateless, Some(sent)) = (self.era, &self.context.headers) {
            super::headers::check_name(sent, &uri, false)?;
        }
        let Some((task, number)) = artifact_of(&uri) else { return Err(self.unknown(&uri)) };
        let read = self.shared.engine.read_artifact(&self.context.caller, &task, number, LONGEST).await;
        let (kept, bytes) = read.map_err(|error| match error {
            ReadError::NotFound => self.unknown(&uri),
            ReadError::Store(error) => failed(&error),
            ReadError::Lost => RpcError::internal(error.to_string()).with_data(json!({ "uri": uri })),
            ReadError::TooLarge { ref url, size, .. } => {
                let instead = match url {
                    Some(url) => format!("{error}; fetch it from {url}"),
                    None => format!("{error}; set `server.public_url`, and it has an address to be fetched from"),
                };
                RpcError::internal(instead).with_data(json!({ "uri": uri, "size": size, "url": url }))
            }
        })?;
        let mut content = json!({ "uri": uri });
        if let Some(mime_type) = &kept.mime_type {
            content["mimeType"] = mime_type.as_str().into();
        }
        match as_text(&kept, bytes) {
            Ok(text) => content["text"] = text.into(),
            Err(bytes) => content["blob"] = STANDARD.encode(bytes).into(),
        }
        Ok(self.around(json!({ "contents": [content] }), 0, "private"))
    }

    fn templates(&self) -> Result<Value, RpcError> {
        if self.params.text("cursor")?.is_some() {
            return Err(RpcError::invalid_params("`params.cursor` is not one that this server gave out; list without it"));
        }
        let template = json!({
            "uriTemplate": "jobgate://tasks/{task}/artifacts/{number}",
            "name": "artifact",
            "title": "A file that a job made",
            "description": "A kept artifact of one of your tasks, by the task's id and the artifact's number, from 1. The result of the \
                            task names those that there are.",
        });
        Ok(self.around(json!({ "resourceTemplates": [template] }), LIST_TTL_MS, "public"))
    }

    /// What the version wants around a result.
    fn around(&self, mut result: Value, ttl_ms: u64, scope: &str) -> Value {
        if let (Era::Stateless, Some(members)) = (self.era, result.as_object_mut()) {
            members.insert("resultType".to_owned(), "complete".into());
            members.insert("ttlMs".to_owned(), ttl_ms.into());
            members.insert("cacheScope".to_owned(), scope.into());
            members.insert("_meta".to_owned(), json!(super::wire::ServerMeta));
        }
        result
    }

    /// Unknown, someone else's and expired look the same (requirement I1).
    fn unknown(&self, uri: &str) -> RpcError {
        let error = match self.era {
            Era::Stateless => RpcError::invalid_params(ReadError::NotFound.to_string()),
            Era::Session => RpcError::no_resource(ReadError::NotFound.to_string()),
        };
        self.shared.limits.unknown(self.context, error.with_data(json!({ "uri": uri })))
    }
}

fn resource(task: TaskId, number: usize, kept: &KeptArtifact) -> Value {
    let mut resource = json!({ "uri": artifact_uri(task, number), "name": kept.name, "size": kept.size });
    if let Some(mime_type) = &kept.mime_type {
        resource["mimeType"] = mime_type.as_str().into();
    }
    if let Some(description) = &kept.description {
        resource["description"] = description.as_str().into();
    }
    resource
}

/// The text of a file whose type says that it is one, and that is one; else its bytes.
fn as_text(kept: &KeptArtifact, bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    let essence = kept.mime_type.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let said = essence.starts_with("text/")
        || ["+json", "+xml", "+yaml"].iter().any(|suffix| essence.ends_with(suffix))
        || matches!(
            &*essence,
            "application/json" | "application/xml" | "application/yaml" | "application/javascript" | "application/x-ndjson"
        );
    if said { String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes) } else { Err(bytes) }
}

fn failed(error: &StoreError) -> RpcError {
    tracing::error!(%error, "the store failed");
    RpcError::internal("the gateway's store failed; try again")
}
