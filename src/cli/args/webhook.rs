//! The command line of `jobgate webhook`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ListArgs, Output, SourceArgs};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum WebhookCommand {
    /// Signs a body as a provider would and prints the headers, one a line, as `curl -H @FILE` reads them.
    Sign(WebhookSignArgs),
    /// Checks a captured delivery and says that it is accepted, or which rule refuses it.
    Verify(WebhookVerifyArgs),
    /// Signs a body as a provider would, delivers it, and prints the answer. The exit code is 0 when it was accepted.
    Send(WebhookSendArgs),
    /// Looks after deliveries that were accepted and could not be used.
    #[command(subcommand)]
    Dead(DeadCommand),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct WebhookSendArgs {
    /// A provider of the configuration: its `webhook` says scheme, secret and address.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["scheme", "with"])]
    pub(in crate::cli) provider: Option<String>,
    /// The configuration. Default: ./jobgate.yaml.
    #[arg(long, value_name = "FILE", requires = "provider")]
    pub(in crate::cli) config: Option<PathBuf>,
    /// Where to deliver. Default: the provider's address.
    #[arg(long, value_name = "URL", required_unless_present = "provider")]
    pub(in crate::cli) to: Option<String>,
    /// The signature scheme, or `none`.
    #[arg(long, value_name = "NAME", required_unless_present = "provider")]
    pub(in crate::cli) scheme: Option<String>,
    /// Another word of the scheme, for example `signature_header=X-Signature`.
    #[arg(long = "with", value_name = "WORD=VALUE")]
    pub(in crate::cli) with: Vec<String>,
    /// The environment variable with the secret, instead of the configuration's; of public-key schemes the private key.
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) secret_env: Option<String>,
    /// The file with the secret.
    #[arg(long, value_name = "FILE", conflicts_with = "secret_env")]
    pub(in crate::cli) secret_file: Option<PathBuf>,
    /// The address that is signed, where it is another than the one that is delivered to.
    #[arg(long, value_name = "URL")]
    pub(in crate::cli) url: Option<String>,
    /// The delivery's id, where the scheme has one. Default: a new one; the same one again is a repeat.
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) id: Option<String>,
    /// The media type of the body.
    #[arg(long, value_name = "TYPE", default_value = "application/json")]
    pub(in crate::cli) content_type: String,
    /// The sender's clock, in unix seconds. Default: now.
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) at: Option<i64>,
    /// How to print the answer.
    #[arg(long, value_enum, default_value_t = Output::Text, value_name = "FORMAT")]
    pub(in crate::cli) output: Output,
    /// The body, byte for byte.
    #[arg(value_name = "BODYFILE")]
    pub(in crate::cli) body: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum DeadCommand {
    /// Lists them, newest first, each with the reason.
    List(ListArgs),
    /// Shows one whole, with its body.
    Show(DeadArgs),
    /// Takes them again, as if they had just come; for when what was wrong is mended. Needs a running gateway.
    Redrive(DeadArgs),
    /// Throws them away.
    Drop(DeadArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DeadArgs {
    /// Their ids, as the list shows them.
    #[arg(value_name = "ID", required = true)]
    pub(in crate::cli) ids: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) source: SourceArgs,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Output::Text, value_name = "FORMAT")]
    pub(in crate::cli) output: Output,
}

/// How a route is configured.
#[derive(Debug, Args)]
pub(in crate::cli) struct WebhookRouteArgs {
    /// The signature scheme, for example `stripe` or `standard_webhooks`.
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) scheme: String,
    /// Another word of the scheme, for example `topic_arn=arn:aws:sns:...` or `origins=a.example,b.example`.
    #[arg(long = "with", value_name = "WORD=VALUE")]
    pub(in crate::cli) with: Vec<String>,
    /// The environment variable with the secret; several for a rotation. A secret itself is never an argument.
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) secret_env: Vec<String>,
    /// The file with the secret.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) secret_file: Vec<PathBuf>,
    /// The route's public address, as it is configured, with the query that was sent.
    #[arg(long, value_name = "URL", default_value = "https://gateway.example.com/hooks/provider")]
    pub(in crate::cli) url: String,
    /// The receiver's clock, in unix seconds. Default: now.
    #[arg(long, value_name = "SECONDS")]
    pub(in crate::cli) at: Option<i64>,
    /// The body, byte for byte.
    #[arg(value_name = "BODYFILE")]
    pub(in crate::cli) body: PathBuf,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct WebhookSignArgs {
    #[command(flatten)]
    pub(in crate::cli) route: WebhookRouteArgs,
    /// The delivery's id, where the scheme has one.
    #[arg(long, value_name = "ID", default_value = "msg_1")]
    pub(in crate::cli) id: String,
    /// Where to write the body that is to be sent. Only `aws_sns` changes it.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) body_out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct WebhookVerifyArgs {
    #[command(flatten)]
    pub(in crate::cli) route: WebhookRouteArgs,
    /// The headers that came, one `Name: value` a line.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) headers: PathBuf,
    /// The provider's public keys (JWKS), for schemes that have them.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) key_set: Option<PathBuf>,
    /// The certificate (PEM) that the message names, for `aws_sns`.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) certificate: Option<PathBuf>,
}
