//! What becomes of a request: an answer at once, or a job for the executor of its database.

use std::sync::atomic::Ordering;

use bson::RawDocumentBuf;

use super::commands;
use super::session::Session;
use super::shared::Shared;
use crate::auth::Access;
use crate::command::{self, CommandKind};
use crate::error::{Code, Result};
use crate::wire::Request;

pub(crate) enum Route {
    Reply(RawDocumentBuf),
    Execute {
        database: String,
        session: Option<[u8; 16]>,
    },
}

/// Bytes of a message of who has to log in and did not: what a handshake and a login need, with room.
const STRANGER_BYTES_MAX: usize = 16 << 10;

/// Decides, and answers what concerns the connection or the server as a whole.
pub(crate) fn route(shared: &Shared, session: &mut Session, request: &Request) -> Route {
    let name = request.name();
    let own = command::find(commands::TABLE, name);
    let of_shards = command::find(command::TABLE, name);
    let (kind, name) = match (own, of_shards) {
        (Some(own), _) => (own.kind, own.name),
        (None, Some(entry)) => (entry.kind, entry.name),
        (None, None) => return Route::Reply(command::not_found(name).reply()),
    };
    if let Err(error) = allow(shared, session, (kind, name), request) {
        return Route::Reply(error.reply());
    }
    match own {
        Some(own) => Route::Reply(finished((own.run)(shared, session, request))),
        None => Route::Execute {
            database: database(request).to_owned(),
            session: session_id(request),
        },
    }
}

fn finished(result: Result<bson::Document>) -> RawDocumentBuf {
    let document = result.map(|mut document| {
        document.insert("ok", 1.0);
        document
    });
    let failed = |error: &bson::error::Error| Code::InternalError.error(error.to_string()).reply();
    match document {
        Ok(document) => RawDocumentBuf::try_from(&document).unwrap_or_else(|error| failed(&error)),
        Err(error) => error.reply(),
    }
}

/// The database whose executor has the data, and for which rights are needed: for a command that names a namespace, as a rename
/// that is sent to `admin`, that of the collection.
fn database(request: &Request) -> &str {
    let name = request.name();
    let named = ["renameCollection", "dataSize"].contains(&name);
    let namespace = named.then(|| request.body().get_str(name).ok()).flatten();
    let database = namespace
        .and_then(|namespace| namespace.split_once('.'))
        .map(|(database, _)| database);
    database.unwrap_or_else(|| request.database())
}

/// `lsid.id`: drivers send a UUID.
fn session_id(request: &Request) -> Option<[u8; 16]> {
    let id = request
        .body()
        .get_document("lsid")
        .ok()?
        .get_binary("id")
        .ok()?;
    id.bytes.try_into().ok()
}

/// Whether who logged in may do this. What a driver needs before it logs in is free.
fn allow(
    shared: &Shared,
    session: &mut Session,
    (kind, name): (CommandKind, &str),
    request: &Request,
) -> Result<()> {
    if !shared.config.auth {
        return Ok(());
    }
    if session.user.is_none() && request.bytes().len() > STRANGER_BYTES_MAX {
        return Err(Code::Unauthorized.error(format!(
            "a message of {} bytes requires authentication; without, {STRANGER_BYTES_MAX} are possible",
            request.bytes().len()
        )));
    }
    if FREE.contains(&name) {
        return Ok(());
    }
    refresh(shared, session);
    let database = database(request);
    let access = match (kind, name) {
        (_, "createUser") if shared.may_make_first_user(session) => return Ok(()),
        // Who may make users may make himself one that may end commands.
        (_, "createUser" | "dropUser" | "updateUser" | "usersInfo" | "killOp") => Access::Users,
        (_, "aggregate") if command::lists_operations(request) => Access::Monitor,
        (CommandKind::DatabaseRead, _) => Access::Read,
        (CommandKind::DatabaseWrite, _) => Access::Write,
        (CommandKind::Connection | CommandKind::Cluster, _) => Access::Monitor,
    };
    if session.may(access, database) || (session.user.is_some() && HARMLESS.contains(&name)) {
        return Ok(());
    }
    let text = if session.user.is_none() {
        format!("Command {name} requires authentication")
    } else {
        format!("not authorized on {database} to execute command {name}")
    };
    Err(Code::Unauthorized.error(text))
}

/// Commands that need no login.
const FREE: [&str; 9] = [
    "hello",
    "ping",
    "buildInfo",
    "saslStart",
    "saslContinue",
    "logout",
    "connectionStatus",
    "whatsmyuri",
    "endSessions",
];
/// Commands that any login may send.
const HARMLESS: [&str; 7] = [
    "getParameter",
    "hostInfo",
    "getLog",
    "listDatabases",
    "killSessions",
    "listCommands",
    "refreshSessions",
];

/// Looks the session's user up again if users were changed since.
fn refresh(shared: &Shared, session: &mut Session) {
    let version = shared.users_version.load(Ordering::Acquire);
    if session.users_version == version {
        return;
    }
    session.users_version = version;
    let users = shared.users();
    session.user = session.user.take().and_then(|(database, name, _)| {
        let user = std::sync::Arc::new(users.get(&database, &name)?.clone());
        Some((database, name, user))
    });
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    #[test]
    fn rights_are_needed_for_the_database_that_is_read() {
        for (command, expected) in [
            (rawdoc! { "dataSize": "theirs.c", "$db": "mine" }, "theirs"),
            (
                rawdoc! { "renameCollection": "theirs.c", "to": "mine.c", "$db": "admin" },
                "theirs",
            ),
            (
                rawdoc! { "find": "c", "renameCollection": "theirs.c", "$db": "mine" },
                "mine",
            ),
            (rawdoc! { "dataSize": 1, "$db": "mine" }, "mine"),
        ] {
            assert_eq!(
                database(&Request::from_document(&command)),
                expected,
                "{command:?}"
            );
        }
    }
}
