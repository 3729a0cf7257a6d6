//! `getParameter`: the few parameters that tools ask for.

use bson::{Document, doc};

use super::body;
use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(_: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    let known = doc! {
        "featureCompatibilityVersion": { "version": "7.0" },
        "authenticationMechanisms": ["SCRAM-SHA-256"],
    };
    let body = body(request)?;
    if matches!(body.get_str("getParameter"), Ok("*")) {
        return Ok(known);
    }
    let found: Document = known
        .into_iter()
        .filter(|(name, _)| body.contains_key(name))
        .collect();
    if found.is_empty() {
        Err(Code::InvalidOptions.error("no option found to get"))
    } else {
        Ok(found)
    }
}
