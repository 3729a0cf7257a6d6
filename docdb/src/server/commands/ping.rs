//! `ping`: the server is there.

use bson::Document;

use crate::error::Result;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(_: &Shared, _: &mut Session, _: &Request) -> Result<Document> {
    Ok(Document::new())
}
