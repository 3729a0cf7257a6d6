//! `endSessions`, `killSessions` and `refreshSessions`: all that a session holds here are its cursors.

use bson::{Bson, Document};

use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::value::decode;
use crate::wire::Request;

/// Closes the cursors of the sessions, within 50 ms. Who had to log in and did not has no sessions.
pub(crate) fn respond(
    shared: &Shared,
    session: &mut Session,
    request: &Request,
) -> Result<Document> {
    let ended = sessions(request)?;
    if !shared.config.auth || session.user.is_some() {
        shared.executors.ended_sessions().tell(ended);
    }
    Ok(Document::new())
}

/// Sessions do not end here by themselves, so there is nothing to refresh.
pub(crate) fn refresh(_: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    sessions(request).map(|_| Document::new())
}

/// The command's list: documents with a UUID named `id`.
fn sessions(request: &Request) -> Result<Vec<[u8; 16]>> {
    let name = request.name();
    let wrong = |place: &str, expected: &str| {
        Code::TypeMismatch.error(format!(
            "BSON field '{name}.{place}' is the wrong type, expected type '{expected}'"
        ))
    };
    let body = decode(request.body())?;
    let list = body.get_array(name).map_err(|_| wrong(name, "array"))?;
    let id = |one: &Bson| match one.as_document().and_then(|one| one.get("id")) {
        Some(Bson::Binary(id)) => id.bytes.as_slice().try_into().ok(),
        _ => None,
    };
    list.iter()
        .map(|one| id(one).ok_or_else(|| wrong("id", "a UUID")))
        .collect()
}
