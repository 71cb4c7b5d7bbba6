//! Words to meaning to thing: what users write, what it means, how an instance is built from it.

use jobgate_adapter_api::{AdapterSpec, Deps, Issue, Issues, Place, SecretRef, ToolWords as Named};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use crate::adapter::TemplateAdapter;

/// The kind: `adapter: template`.
#[derive(Debug)]
pub struct Template;

/// A provider section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The service's address, for example `https://jobs.example.com/v1`.
    url: String,
    /// The bearer token of every call.
    token: SecretRef,
}

/// A tool's `job:` section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolWords {
    /// The kind of job, for example `render`; without it the caller says it in the argument `kind`.
    kind: Option<String>,
}

/// What the words mean.
#[derive(Debug)]
pub struct Checked {
    url: Url,
    token: SecretRef,
    kinds: Vec<(String, Option<String>)>,
}

impl AdapterSpec for Template {
    const KIND: &'static str = "template";
    type Config = Config;
    type Tool = ToolWords;
    type Checked = Checked;
    type Adapter = TemplateAdapter;

    fn check(place: &Place, config: Config, tools: Vec<Named<ToolWords>>, issues: &mut Issues) -> Option<Checked> {
        let url = base(&config.url, &place.key("url"), issues);
        let kinds = tools.into_iter().map(|tool| {
            if tool.words.kind.as_deref() == Some("") {
                issues.add_with_hint(tool.place.key("kind"), "the kind is empty", "kind: render");
            }
            (tool.name, tool.words.kind)
        });
        let kinds = kinds.collect();
        Some(Checked { url: url?, token: config.token, kinds })
    }

    fn reads_deliveries(_checked: &Checked) -> bool {
        true
    }

    fn build(checked: &Checked, deps: &Deps) -> Result<TemplateAdapter, Issue> {
        let token = deps.secrets.read(&checked.token).map_err(|error| Issue {
            place: deps.place.key("token"),
            message: error.to_string(),
            hint: None,
        })?;
        Ok(TemplateAdapter::new(checked.url.clone(), token, checked.kinds.clone(), deps))
    }
}

/// An address that paths can be put after.
fn base(text: &str, place: &Place, issues: &mut Issues) -> Option<Url> {
    match Url::parse(text) {
        Ok(mut url) if matches!(url.scheme(), "http" | "https") => {
            if !url.path().ends_with('/') {
                url.set_path(&format!("{}/", url.path()));
            }
            Some(url)
        }
        Ok(_) | Err(_) => {
            issues.add_with_hint(place.clone(), format!("`{text}` is no http(s) address"), "url: https://jobs.example.com/v1");
            None
        }
    }
}
