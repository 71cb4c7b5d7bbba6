//! What the words mean: compiled texts, parsed addresses, ordered rules.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use url::Url;

use crate::language::{Engine, Text};

mod artifact;
mod auth;
mod cancel;
mod delivery;
mod find;
mod input;
mod log;
mod pace;
mod pages;
mod request;
mod resolve;
mod result;
mod status;
mod step;
mod submit;

pub(crate) use artifact::{Admitted, ArtifactPlan, Fetching, KeepPlan};
pub(crate) use auth::{
    AuthPlan, ExchangePlan, FixedPlan, Gives, JwtPlan, SecretAt, SignInAuthPlan, SignInPlan, SignaturePlan, SourcePlan, TlsPlan,
    TokenPlan, TokenTexts,
};
pub(crate) use cancel::{CancelPlan, WayPlan};
pub(crate) use delivery::{DeliveryPlan, ToldPlan};
pub(crate) use find::{DetailPlan, FindPlan, ListPlan};
pub(crate) use input::{AnswerPlan, DeclinePlan, InputKindPlan, InputPlan};
pub(crate) use log::LogPlan;
pub(crate) use pace::{ErrorPlan, PacePlan};
pub(crate) use pages::{PageKind, PagesPlan};
pub(crate) use request::{BodyPlan, PartPlan, Reading, RequestPlan, Target};
pub(crate) use resolve::ResolvePlan;
pub(crate) use result::{FailurePlan, FurtherPlan, OutputPlan, PieceKind, PiecePlan, ReasonPlan, RepeatPlan, ResultPlan};
pub(crate) use status::{LatePlan, ProgressPlan, RulePlan, Rules, StatusPlan};
pub(crate) use step::StepPlan;
pub(crate) use submit::{NamesPlan, OutcomePlan, SubmitPlan};

/// A provider and its tools, checked.
#[derive(Debug)]
pub struct Checked {
    pub(crate) provider: Arc<ProviderPlan>,
    pub(crate) auth: Option<AuthPlan>,
    pub(crate) tls: Option<TlsPlan>,
    pub(crate) max_body_bytes: Option<usize>,
    /// Whether a request follows redirects.
    pub(crate) follows: bool,
}

#[derive(Debug)]
pub(crate) struct ProviderPlan {
    pub(crate) base: Url,
    pub(crate) bases: BTreeMap<String, Url>,
    pub(crate) headers: Vec<(HeaderName, Text)>,
    pub(crate) timeout: Duration,
    pub(crate) error_message: Option<Text>,
    pub(crate) errors: Vec<ErrorPlan>,
    pub(crate) pace: Option<PacePlan>,
    pub(crate) delivery: Option<DeliveryPlan>,
    pub(crate) tools: BTreeMap<String, ToolPlan>,
    pub(crate) engine: Engine,
}

#[derive(Debug)]
pub(crate) struct ToolPlan {
    pub(crate) idempotent: bool,
    pub(crate) lookups: Vec<StepPlan>,
    pub(crate) submit: SubmitPlan,
    pub(crate) find: Option<FindPlan>,
    pub(crate) status: StatusPlan,
    pub(crate) log: Option<LogPlan>,
    /// Handles that come by delivery and that no text for callers uses: whoever has one may be able to act for the job, so its value is
    /// taken out of whatever the provider says.
    pub(crate) secrets: Vec<String>,
    pub(crate) result: ResultPlan,
    pub(crate) failure: FailurePlan,
    pub(crate) told: Option<ToldPlan>,
    pub(crate) cancel: Option<CancelPlan>,
    pub(crate) input: Option<InputPlan>,
}

impl ToolPlan {
    /// Whether files are fetched for it.
    pub(crate) fn keeps_files(&self) -> bool {
        let told = self.told.iter().filter_map(|told| told.output.as_ref());
        let outputs = std::iter::once(&self.result.output).chain(told);
        outputs.flat_map(|output| &output.artifacts).any(|artifact| artifact.keep.is_some())
    }
}
