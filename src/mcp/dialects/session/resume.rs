//! A stream that broke goes on: what it stood for is in the id of its last event, and the answer is in the store.

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::Spoken;
use super::stream::{Event, Form, Outlet, Standing};
use crate::domain::Timestamp;
use crate::mcp::dialects::{classic, core, draft};
use crate::mcp::error::RpcError;
use crate::mcp::frontend::{Reply, Streams};
use crate::mcp::limits::Slot;
use crate::mcp::seal::Purpose;

impl Spoken {
    /// Goes on behind the event with this id, in whatever process and after whatever restart.
    ///
    /// # Errors
    /// HTTP 400 for an id that was not given out to this caller, 406 for a client that takes no stream.
    pub(super) fn resume(&self, last: &str) -> Result<Reply, RpcError> {
        let owner = &self.context.caller.principal;
        let unknown = || RpcError::refused(400, "`Last-Event-ID` is not one that this server gave out; open a stream without it");
        let event: Event = self.shared.sealer.open_for(Purpose::Event, owner, last).ok_or_else(unknown)?;
        if event.standing.form == Form::Session {
            return self.listen();
        }
        if self.context.streams == Streams::Refused {
            return Err(RpcError::refused(406, "this is an event stream; accept `text/event-stream`"));
        }
        if event.last {
            // The answer has been given, and is given once.
            return Ok(Reply::Stream(mpsc::channel(1).1));
        }
        let id = RawValue::from_string(event.standing.id.clone()).map_err(|_| unknown())?;
        let token = event.standing.token.clone().map(RawValue::from_string).transpose().map_err(|_| unknown())?;
        let slot = self.shared.limits.waiter(&self.context)?;
        if let Some(here) = self.here() {
            // The connection that broke may not have noticed.
            here.cancel(id.get());
        }
        let mut spoken = self.clone();
        spoken.context.streams = Streams::Wanted;
        Ok(spoken.go_on(&id, token.as_deref(), |outlet| answer(outlet, event.standing, slot)))
    }
}

async fn answer(mut outlet: Outlet, standing: Standing, slot: Slot) -> Result<Bytes, RpcError> {
    let task = outlet.spoken.find(&standing.task).await?;
    let until = standing.until.map(Timestamp::from_millis);
    if standing.form == Form::Core {
        return core::wait(outlet, task, slot).await;
    }
    outlet.resumable(standing.form, &task, until).await;
    match (standing.form, until) {
        (Form::Draft, _) => draft::follow(&mut outlet, task.id).await,
        (Form::Classic, Some(until)) => classic::answer(&mut outlet, task, until).await,
        (Form::Core | Form::Session | Form::Classic, _) => Err(RpcError::internal("a stream that stands for nothing")),
    }
}
