//! `subscriptions/listen`: a stream that says what was granted, then every visible change of the granted tasks.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::domain::TaskId;
use crate::engine::AccessError;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::{Reply, Streams};
use crate::mcp::jsonrpc;
use crate::mcp::wire::{Frame, Subscription, TaskView};

use super::Asked;
use crate::mcp::dialects::said::store_error;

/// Tasks on one stream.
const MOST: usize = 1000;
/// Messages on their way to a slow reader; the watch behind them keeps the newest state of each task alone.
const WAITING: usize = 8;

/// What a client asks for. Kinds of news that are not served are left out of the acknowledgement.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    #[serde(default)]
    task_ids: Option<Vec<String>>,
}

#[derive(Serialize)]
struct Granted<'a> {
    notifications: GrantedFilter,
    #[serde(rename = "_meta")]
    meta: Subscription<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GrantedFilter {
    #[serde(skip_serializing_if = "Option::is_none")]
    task_ids: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ended<'a> {
    result_type: &'static str,
    #[serde(rename = "_meta")]
    meta: Subscription<'a>,
}

impl Asked<'_> {
    pub(super) async fn listen(&self) -> Result<Reply, RpcError> {
        let filter: Filter = self.params.value("notifications")?.ok_or_else(|| {
            RpcError::invalid_params("`params.notifications` is missing, for example {\"taskIds\":[\"task_...\"]}")
        })?;
        if filter.task_ids.is_some() && !self.capabilities.tasks {
            return Err(RpcError::tasks_required("`params.notifications.taskIds`"));
        }
        if filter.task_ids.as_ref().is_some_and(|ids| ids.len() > MOST) {
            return Err(RpcError::invalid_params(format!("`params.notifications.taskIds` names more than {MOST} tasks")));
        }
        if self.context.streams == Streams::Refused {
            return Err(RpcError::refused(406, "a subscription is an event stream; accept `text/event-stream`"));
        }
        let mut wanted = self.ids(filter.task_ids.as_deref().unwrap_or_default()).await?;
        let asked_for = filter.task_ids.as_ref().map_or(0, Vec::len);
        let unknown = asked_for - wanted.len();
        wanted.sort_unstable();
        wanted.dedup_by_key(|(id, _)| *id);
        let ids: Vec<TaskId> = wanted.iter().map(|(id, _)| *id).collect();
        let engine = self.shared.engine.clone();
        let mut watch = engine.watch(&self.context.caller, &ids).await.map_err(|error| store_error(&error))?;
        for _ in 0..unknown + (ids.len() - watch.ids().len()) {
            let unknown = self.no_access(AccessError::NotFound);
            if unknown.retry_after().is_some() {
                return Err(unknown);
            }
        }
        let slot = self.shared.limits.stream(self.context)?;
        let subscription: Box<RawValue> = self.request.id.to_owned();
        let granted = Granted {
            notifications: GrantedFilter {
                task_ids: filter.task_ids.is_some().then(|| {
                    wanted.retain(|(id, _)| watch.ids().contains(id));
                    wanted.into_iter().map(|(_, shown)| shown).collect()
                }),
            },
            meta: Subscription(&subscription),
        };
        let acknowledged = jsonrpc::notification("notifications/subscriptions/acknowledged", &granted);
        let (news, stream) = mpsc::channel(WAITING);
        let (cancel, who) = (self.context.cancel.clone(), self.context.caller.principal.clone());
        self.shared.supervisor.spawn("subscription", async move {
            let _slot = slot;
            if news.send(acknowledged.into()).await.is_err() {
                return;
            }
            loop {
                let task = tokio::select! {
                    () = news.closed() => return,
                    () = cancel.cancelled() => return,
                    task = watch.next() => task,
                };
                let Some(task) = task else { break };
                let interval = engine.caller_interval(&task);
                let (result, frame) = (engine.shown_result(&task), Frame::Pushed(&subscription));
                let view = TaskView { task: &task, who: &who, interval, result: result.as_deref(), frame };
                if news.send(jsonrpc::notification("notifications/tasks", &view).into()).await.is_err() {
                    return;
                }
            }
            let ended = Ended { result_type: "complete", meta: Subscription(&subscription) };
            // Nobody may be there any more; then nobody misses it.
            news.send(jsonrpc::result(&subscription, &ended).into()).await.ok();
        });
        Ok(Reply::Stream(stream))
    }

    /// The tasks with these shown ids, each with the id that it was asked for by; those that a client named itself are looked up.
    async fn ids(&self, shown: &[String]) -> Result<Vec<(TaskId, String)>, RpcError> {
        let mut ids = Vec::with_capacity(shown.len());
        for text in shown {
            let id = match text.parse() {
                Ok(id) => Some(id),
                Err(_) => match self.shared.engine.find(&self.context.caller, text).await {
                    Ok(task) => Some(task.id),
                    Err(AccessError::NotFound) => None,
                    Err(AccessError::Store(error)) => return Err(store_error(&error)),
                },
            };
            ids.extend(id.map(|id| (id, text.clone())));
        }
        Ok(ids)
    }
}
