//! `endSessions`, `killSessions` and `refreshSessions`: all that a session holds here are its cursors.

use bson::Document;
use bson::raw::RawBsonRef;

use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

/// Sessions of one command; drivers send up to 10,000. Each is looked at on the loop that serves connections.
const SESSIONS_MAX: usize = 100_000;

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
    let list = request.body().get_array(name);
    let list = list.map_err(|_| wrong(name, "array"))?;
    let id = |one: RawBsonRef<'_>| {
        one.as_document()?
            .get_binary("id")
            .ok()?
            .bytes
            .try_into()
            .ok()
    };
    let mut sessions = Vec::new();
    for one in list {
        if sessions.len() == SESSIONS_MAX {
            return Err(
                Code::BadValue.error(format!("{name} takes {SESSIONS_MAX} sessions at once"))
            );
        }
        sessions.push(id(one?).ok_or_else(|| wrong("id", "a UUID"))?);
    }
    Ok(sessions)
}
