//! `logout`: the connection is nobody's again.

use bson::Document;

use crate::error::Result;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(_: &Shared, session: &mut Session, _: &Request) -> Result<Document> {
    session.user = None;
    session.conversation = None;
    Ok(Document::new())
}
