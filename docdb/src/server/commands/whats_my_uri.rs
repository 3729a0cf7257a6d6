//! `whatsmyuri`: the client's address as the server sees it.

use bson::{Document, doc};

use crate::error::Result;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(_: &Shared, session: &mut Session, _: &Request) -> Result<Document> {
    Ok(doc! { "you": &session.peer })
}
