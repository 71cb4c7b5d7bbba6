//! From a plan to what is sent: secrets are read, and known to the cleaner in every form in which they are sent.

use http::header::AUTHORIZATION;
use jobgate_adapter_api::{Deps, Issue, Secret, TlsOptions, Transport};

use super::Proof;
use super::aws::Signer;
use super::jwt::Minter;
use super::piece::{Piece, basic_pair};
use super::sign_in::{SignIn, SignInAuth};
use super::token::{Source, client_pair};
use super::tokens::Tokens;
use crate::plan::{AuthPlan, ExchangePlan, FixedPlan, JwtPlan, SecretAt, SignInAuthPlan, SourcePlan, TlsPlan};
use crate::words::ClientSecret;

/// Reads what a plan names.
struct Reader<'a> {
    deps: &'a Deps,
    secrets: Vec<Secret>,
}

/// What proves who calls are from, and every secret that it is made of.
pub(crate) fn build(plan: Option<&AuthPlan>, deps: &Deps) -> Result<(Proof, Vec<Secret>), Issue> {
    let mut reader = Reader { deps, secrets: Vec::new() };
    let proof = match plan {
        None => Proof::Fixed(Vec::new()),
        Some(AuthPlan::Fixed(plans)) => Proof::Fixed(plans.iter().map(|plan| reader.piece(plan)).collect::<Result<_, _>>()?),
        Some(AuthPlan::Token(plan)) => {
            let source = reader.source(&plan.source)?;
            Proof::Token(Box::new(Tokens::new(source, plan.header.clone(), plan.prefix.clone(), plan.expired.clone())))
        }
        Some(AuthPlan::Signature(plan)) => Proof::Signature(Signer {
            service: plan.service.clone(),
            region: plan.region.clone(),
            access_key_id: reader.read(&plan.access_key_id)?,
            secret_access_key: reader.read(&plan.secret_access_key)?,
            session_token: plan.session_token.as_ref().map(|at| reader.read(at)).transpose()?,
        }),
    };
    Ok((proof, reader.secrets))
}

/// The transport for a provider's own addresses, with its own certificates, and the one for all others: there the machine's authorities
/// count as well, and the client shows nothing of itself.
pub(crate) fn transports(plan: Option<&TlsPlan>, deps: &Deps) -> Result<(Transport, Transport), Issue> {
    let Some(plan) = plan else { return Ok((deps.transport.clone(), deps.transport.clone())) };
    let mut reader = Reader { deps, secrets: Vec::new() };
    let ca = plan.ca.as_ref().map(|at| reader.read(at)).transpose()?.map(|pem| pem.expose().to_owned());
    let identity = match &plan.identity {
        Some((certificate, key)) => Some((reader.read(certificate)?.expose().to_owned(), reader.read(key)?)),
        None => None,
    };
    let issue = |message| Issue { place: deps.place.key("tls"), message, hint: None };
    let others = deps.transport.with_tls(&TlsOptions { ca: ca.clone(), machine: true, identity: None }).map_err(issue)?;
    let own = deps.transport.with_tls(&TlsOptions { ca, machine: false, identity }).map_err(issue)?;
    Ok((own, others))
}

impl Reader<'_> {
    fn read(&mut self, at: &SecretAt) -> Result<Secret, Issue> {
        let issue = |error: &dyn ToString| Issue { place: at.place.clone(), message: error.to_string(), hint: None };
        let secret = self.deps.secrets.read(&at.reference).map_err(|error| issue(&error))?;
        self.secrets.push(secret.clone());
        Ok(secret)
    }

    fn piece(&mut self, plan: &FixedPlan) -> Result<Piece, Issue> {
        let with = |prefix: &str, secret: &Secret| Secret::new(format!("{prefix}{}", secret.expose()));
        let piece = match plan {
            FixedPlan::Header { name, prefix, value } => Piece::Header(name.clone(), with(prefix, &self.read(value)?)),
            FixedPlan::Basic { username, password } => {
                let pair = basic_pair(username, &self.read(password)?);
                self.secrets.push(pair.clone());
                Piece::Header(AUTHORIZATION, with("Basic ", &pair))
            }
            FixedPlan::Query { name, prefix, value } => Piece::Query(name.clone(), with(prefix, &self.read(value)?)),
            FixedPlan::Field { name, prefix, value } => Piece::Field(name.clone(), with(prefix, &self.read(value)?)),
        };
        self.secrets.extend(piece.forms());
        Ok(piece)
    }

    fn source(&mut self, plan: &SourcePlan) -> Result<Source, Issue> {
        Ok(match plan {
            SourcePlan::Client { url, id, secret, send, params } => {
                let secret = self.read(secret)?;
                match send {
                    ClientSecret::Basic => self.secrets.push(client_pair(id, &secret)),
                    ClientSecret::Body => self.secrets.extend(Piece::Field(String::new(), secret.clone()).forms()),
                }
                let endpoint = ExchangePlan { url: url.clone(), params: params.clone() };
                Source::Client { endpoint, id: id.clone(), secret, send: *send }
            }
            SourcePlan::Jwt { jwt, exchange: None } => Source::Jwt(self.minter(jwt)?),
            SourcePlan::Jwt { jwt, exchange: Some(endpoint) } => {
                Source::Grant { minter: self.minter(jwt)?, endpoint: endpoint.clone() }
            }
            SourcePlan::SignIn(plan) => {
                let mut secrets = std::collections::BTreeMap::new();
                for (name, at) in &plan.secrets {
                    let secret = self.read(at)?;
                    self.secrets.extend(Piece::Field(name.clone(), secret.clone()).forms());
                    secrets.insert(name.clone(), secret);
                }
                let auth = match &plan.auth {
                    Some(SignInAuthPlan::Fixed(plan)) => Some(SignInAuth::Fixed(self.piece(plan)?)),
                    Some(SignInAuthPlan::Jwt(plan)) => Some(SignInAuth::Jwt(Box::new(self.minter(plan)?))),
                    None => None,
                };
                Source::SignIn(Box::new(SignIn { plan: std::sync::Arc::clone(plan), secrets, auth }))
            }
        })
    }

    fn minter(&mut self, plan: &JwtPlan) -> Result<Minter, Issue> {
        let key = self.read(&plan.key)?;
        let minter = Minter::new(&key, plan.algorithm, plan.key_id.as_deref(), &plan.claims, plan.lifetime);
        minter.map_err(|message| Issue { place: plan.key.place.clone(), message, hint: None })
    }
}
