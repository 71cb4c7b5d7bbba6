//! The `Mcp-*` headers of one HTTP request as values, and their comparison with the body (SEP-2243).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::RpcError;

/// What a request said in one header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeaderText {
    /// Nothing.
    #[default]
    Absent,
    /// This, without the white space around it.
    One(String),
    /// Several things: an intermediary may have acted on any of them.
    Repeated,
    /// Something that is no visible ASCII.
    Unreadable,
}

impl HeaderText {
    /// The text, where there is exactly one.
    #[must_use]
    pub fn one(&self) -> Option<&str> {
        match self {
            Self::One(text) => Some(text),
            Self::Absent | Self::Repeated | Self::Unreadable => None,
        }
    }

    /// The text, or nothing.
    fn optional(&self, name: &str) -> Result<Option<&str>, RpcError> {
        match self {
            Self::Absent => Ok(None),
            Self::One(text) => Ok(Some(text)),
            Self::Repeated => Err(RpcError::header_mismatch(format!("header `{name}` was sent more than once"))),
            Self::Unreadable => Err(RpcError::header_mismatch(format!("header `{name}` holds characters that it must not hold"))),
        }
    }
}

/// The headers that mirror the body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpHeaders {
    /// `MCP-Protocol-Version`.
    pub protocol_version: HeaderText,
    /// `Mcp-Method`.
    pub method: HeaderText,
    /// `Mcp-Name`.
    pub name: HeaderText,
    /// `Mcp-Param-*`: the rest of the name in lower case, and what it said.
    pub params: Vec<(String, HeaderText)>,
}

/// One `x-mcp-header` annotation of a tool's input schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The header's name after `Mcp-Param-`, as the schema writes it.
    name: String,
    /// The property names from the root.
    path: Vec<String>,
}

/// The annotations along chains of `properties`; others are none (Streamable HTTP, "Schema Extension").
pub(crate) fn param_headers(input_schema: &Value) -> Vec<ParamHeader> {
    let mut found = Vec::new();
    collect(input_schema, &mut Vec::new(), &mut found);
    found
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<ParamHeader>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, schema) in properties {
        path.push(name.clone());
        if let Some(header) = schema.get("x-mcp-header").and_then(Value::as_str) {
            found.push(ParamHeader { name: header.to_owned(), path: path.clone() });
        }
        collect(schema, path, found);
        path.pop();
    }
}

/// `MCP-Protocol-Version` has to be there and to say what the body says.
pub(crate) fn check_version(headers: &McpHeaders, body: Option<&str>) -> Result<(), RpcError> {
    let Some(header) = headers.protocol_version.optional("MCP-Protocol-Version")? else {
        return Err(RpcError::header_mismatch("header `MCP-Protocol-Version` is missing, for example `2026-07-28`"));
    };
    match body {
        Some(body) if body != header => Err(differs("MCP-Protocol-Version", header, body)),
        _ => Ok(()),
    }
}

/// `Mcp-Method` has to be there and to say what the body says.
pub(crate) fn check_method(headers: &McpHeaders, body: &str) -> Result<(), RpcError> {
    match headers.method.optional("Mcp-Method")? {
        None => Err(RpcError::header_mismatch(format!("header `Mcp-Method` is missing; this request's is `{body}`"))),
        Some(header) if header != body => Err(differs("Mcp-Method", header, body)),
        Some(_) => Ok(()),
    }
}

/// `Mcp-Name` has to say what the body says. `required` is off for `tasks/*`: clients in the field leave it out there, and where
/// it is absent no intermediary can have acted on another value.
pub(crate) fn check_name(headers: &McpHeaders, body: &str, required: bool) -> Result<(), RpcError> {
    match headers.name.optional("Mcp-Name")? {
        None if required => Err(RpcError::header_mismatch("header `Mcp-Name` is missing; it repeats the tool's name")),
        None => Ok(()),
        Some(header) => {
            let decoded = decode("Mcp-Name", header)?;
            if decoded == body { Ok(()) } else { Err(differs("Mcp-Name", &decoded, body)) }
        }
    }
}

/// Every `Mcp-Param-*` header that the schema asks for has to say what the argument says; others are none of ours.
pub(crate) fn check_params(headers: &McpHeaders, wanted: &[ParamHeader], arguments: &Value) -> Result<(), RpcError> {
    for param in wanted {
        let name = format!("Mcp-Param-{}", param.name);
        let mut sent = headers.params.iter().filter(|(name, _)| name.eq_ignore_ascii_case(&param.name)).map(|(_, text)| text);
        let header = sent.next().unwrap_or(&HeaderText::Absent).optional(&name)?;
        let argument = param.path.iter().try_fold(arguments, |value, step| value.get(step)).filter(|value| !value.is_null());
        let path = param.path.join(".");
        match (header, argument) {
            (None, None) => {}
            (None, Some(_)) => {
                return Err(RpcError::header_mismatch(format!("header `{name}` is missing; it repeats argument `{path}`")));
            }
            (Some(_), None) => {
                return Err(RpcError::header_mismatch(format!("header `{name}` is there, but argument `{path}` is not")));
            }
            (Some(header), Some(argument)) => {
                let decoded = decode(&name, header)?;
                if !same(&decoded, argument) {
                    return Err(RpcError::header_mismatch(format!(
                        "header `{name}` says `{decoded}`, argument `{path}` says `{argument}`"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Whether a header's text stands for this argument: booleans in lower case, numbers by value.
fn same(header: &str, argument: &Value) -> bool {
    match argument {
        Value::String(text) => header == text,
        Value::Bool(true) => header == "true",
        Value::Bool(false) => header == "false",
        Value::Number(number) => {
            header == number.to_string() || matches!((header.parse::<f64>(), number.as_f64()), (Ok(a), Some(b)) if a == b)
        }
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Undoes `=?base64?…?=`; any other text stands for itself (Streamable HTTP, "Value Encoding").
fn decode(name: &str, header: &str) -> Result<String, RpcError> {
    let Some(encoded) = header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(header.to_owned());
    };
    let broken =
        || RpcError::header_mismatch(format!("header `{name}` does not hold base64 of UTF-8 between `=?base64?` and `?=`"));
    String::from_utf8(STANDARD.decode(encoded).map_err(|_| broken())?).map_err(|_| broken())
}

fn differs(name: &str, header: &str, body: &str) -> RpcError {
    RpcError::header_mismatch(format!("header `{name}` says `{header}`, the body says `{body}`"))
}
