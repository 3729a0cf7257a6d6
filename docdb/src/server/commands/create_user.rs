//! `createUser`: a name, a password and roles, on disk before it is acknowledged.

use bson::{Bson, Document};

use super::{body, subject};
use crate::auth::{Access, Credentials, Role, User};
use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(
    shared: &Shared,
    session: &mut Session,
    request: &Request,
) -> Result<Document> {
    let (name, body, database) = account(request)?;
    if name.is_empty() {
        return Err(Code::BadValue.error("User document needs 'user' field to be non-empty"));
    }
    if shared.users().get(&database, &name).is_some() {
        let text = format!("User \"{name}@{database}\" already exists");
        return Err(Code::Location(51003).error(text));
    }
    check_mechanisms(&body)?;
    let password = body
        .get_str("pwd")
        .map_err(|_| Code::BadValue.error("Must provide a 'pwd' field for all user documents"))?;
    let user = User {
        credentials: Credentials::of_password(password)?,
        roles: roles(shared, session, &body, &database)?,
    };
    shared.change_users(|users| drop(users.insert((database, name), user)))?;
    Ok(Document::new())
}

/// The user's name, the whole command, and the user's database.
pub(super) fn account(request: &Request) -> Result<(String, Document, String)> {
    Ok((
        subject(request)?,
        body(request)?,
        request.database().to_owned(),
    ))
}

/// `mechanisms`, if given, must be what this server has.
pub(super) fn check_mechanisms(body: &Document) -> Result<()> {
    let wanted = body
        .get_array("mechanisms")
        .map(Vec::as_slice)
        .unwrap_or_default();
    match wanted
        .iter()
        .find(|one| one.as_str() != Some("SCRAM-SHA-256"))
    {
        Some(other) => Err(Code::BadValue.error(format!(
            "mechanism {other} is not supported; SCRAM-SHA-256 is"
        ))),
        None => Ok(()),
    }
}

/// `roles`: names, or documents of a role and its database. With `--auth`, who gives a role away must be allowed to manage
/// the users of the database that it holds on: else the keeper of one database could make itself that of all.
pub(super) fn roles(
    shared: &Shared,
    session: &Session,
    body: &Document,
    database: &str,
) -> Result<Vec<(Role, String)>> {
    let free = !shared.config.auth || shared.may_make_first_user(session);
    let list = body
        .get_array("roles")
        .map_err(|_| Code::BadValue.error("\"roles\" must be an array"))?;
    let role = |entry: &Bson| {
        let (name, held_on) = match entry {
            Bson::String(name) => (name.as_str(), database),
            Bson::Document(row) => (
                row.get_str("role").unwrap_or_default(),
                row.get_str("db").unwrap_or(database),
            ),
            _ => ("", database),
        };
        let role = Role::named(name).ok_or_else(|| {
            Code::RoleNotFound.error(format!("Could not find role: {name}@{held_on}"))
        })?;
        if free || session.may(Access::Users, held_on) {
            return Ok((role, held_on.to_owned()));
        }
        Err(Code::Unauthorized.error(format!("not authorized to grant {name}@{held_on}")))
    };
    list.iter().map(role).collect()
}
