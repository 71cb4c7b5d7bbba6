//! How `adapter: rest` is checked and built.

use std::sync::Arc;

use http::HeaderName;
use http::header::AUTHORIZATION;
use jobgate_adapter_api::{AdapterSpec, Deps, Issue, Issues, Place, Secret, SecretRef, ToolWords};

use crate::adapter::RestAdapter;
use crate::clean::Cleaner;
use crate::exchange::{Credential, Exchange, basic_pair};
use crate::plan::Checked;
use crate::words::{Auth, Job, Named, Provider};

/// The kind: `adapter: rest`.
#[derive(Debug)]
pub struct Rest;

impl AdapterSpec for Rest {
    const KIND: &'static str = "rest";
    type Config = Provider;
    type Tool = Job;
    type Checked = Checked;
    type Adapter = RestAdapter;

    fn check(place: &Place, config: Provider, tools: Vec<ToolWords<Job>>, issues: &mut Issues) -> Option<Checked> {
        crate::check::check(place, config, tools, issues)
    }

    fn uses_callback(checked: &Checked) -> bool {
        checked.provider.tools.values().any(|tool| tool.submit.request.uses("callback"))
    }

    fn reads_deliveries(checked: &Checked) -> bool {
        checked.provider.delivery.is_some()
    }

    fn pushed_only(checked: &Checked, tool: &str) -> bool {
        checked.provider.tools.get(tool).is_some_and(|tool| !tool.status.sees_success())
    }

    fn build(checked: &Checked, deps: &Deps) -> Result<RestAdapter, Issue> {
        let mut secrets = Vec::new();
        let credential = checked.auth.as_ref().map(|auth| credential(auth, deps, &mut secrets)).transpose()?;
        secrets.extend(credential.iter().map(|credential| credential.secret().clone()));
        let transport = match checked.max_body_bytes {
            Some(most) => deps.transport.clone().with_max_body_bytes(most),
            None => deps.transport.clone(),
        };
        let exchange = Exchange {
            plan: Arc::clone(&checked.provider),
            credential,
            cleaner: Cleaner::new(secrets),
            transport,
            clock: Arc::clone(&deps.clock),
        };
        Ok(RestAdapter::new(exchange))
    }
}

/// Reads the secret and puts it into the form that is sent; both are remembered for cleaning.
fn credential(auth: &Auth, deps: &Deps, secrets: &mut Vec<Secret>) -> Result<Credential, Issue> {
    let place = deps.place.key("auth");
    let mut read = |place: Place, reference: &SecretRef| {
        let secret = deps.secrets.read(reference).map_err(|error| Issue { place, message: error.to_string(), hint: None })?;
        secrets.push(secret.clone());
        Ok(secret)
    };
    let prefixed = |named: &Named, secret: &Secret| format!("{}{}", named.prefix, secret.expose());
    match auth {
        Auth::Bearer(reference) => {
            let secret = read(place.key("bearer"), reference)?;
            Ok(Credential::header(AUTHORIZATION, format!("Bearer {}", secret.expose())))
        }
        Auth::Basic(basic) => {
            let password = read(place.key("basic").key("password"), &basic.password)?;
            let pair = basic_pair(&basic.username, &password);
            secrets.push(pair.clone());
            Ok(Credential::basic(&pair))
        }
        Auth::Header(named) => {
            let secret = read(place.key("header").key("value"), &named.value)?;
            let name = HeaderName::try_from(&named.name).map_err(|_| Issue {
                place: place.key("header").key("name"),
                message: format!("`{}` is no header name", named.name),
                hint: None,
            })?;
            Ok(Credential::header(name, prefixed(named, &secret)))
        }
        Auth::Query(named) => {
            let secret = read(place.key("query").key("value"), &named.value)?;
            Ok(Credential::Query(named.name.clone(), Secret::new(prefixed(named, &secret))))
        }
    }
}
