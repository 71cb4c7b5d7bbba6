//! The front end: JSON in, JSON out. No HTTP types here; `http` and [`stdio`] carry the bytes.

mod catalog;
mod dialects;
mod dispatch;
mod error;
mod forms;
mod frontend;
mod grants;
mod headers;
mod jsonrpc;
mod limits;
mod listing;
mod live;
mod own_tools;
mod params;
mod progress;
mod questions;
mod resources;
mod schema;
mod seal;
mod sessions;
pub mod stdio;
mod strict;
mod ticket;
mod versions;
mod wire;

pub use catalog::BadTool;
pub use dispatch::{Dispatcher, DispatcherError, DispatcherParts};
pub use error::RpcError;
pub use frontend::{Frontend, Message, Notes, Reply, RequestContext, Streams, Verb};
pub use headers::{HeaderText, McpHeaders};
pub use limits::{Counters, LimitKind, Limits};
