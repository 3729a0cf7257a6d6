//! Users: made, changed, dropped and shown; on disk before it is acknowledged, and never with what they log in with.

use bson::{Bson, Document, doc};

use super::{picked, subject};
use crate::auth::{Access, Credentials, Role, User};
use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

/// `createUser`: a name, a password and roles, on disk before it is acknowledged.
pub(crate) fn create_user(
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
        credentials: Credentials::from_password(password)?,
        roles: roles(shared, session, &body, &database)?,
    };
    shared.change_users(|users| drop(users.insert((database, name), user)))?;
    Ok(Document::new())
}

/// The user's name, the fields of the command that say what to make of it, and the user's database.
fn account(request: &Request) -> Result<(String, Document, String)> {
    Ok((
        subject(request)?,
        picked(request, &["pwd", "roles", "mechanisms"])?,
        request.database().to_owned(),
    ))
}

/// `mechanisms`, if given, must be what this server has.
fn check_mechanisms(body: &Document) -> Result<()> {
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
fn roles(
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

/// `updateUser`: another password or other roles.
pub(crate) fn update_user(
    shared: &Shared,
    session: &mut Session,
    request: &Request,
) -> Result<Document> {
    let (name, body, database) = account(request)?;
    let known = shared.users().get(&database, &name).cloned();
    let mut user = known
        .ok_or_else(|| Code::UserNotFound.error(format!("User {name}@{database} not found")))?;
    check_mechanisms(&body)?;
    if !body.contains_key("pwd") && !body.contains_key("roles") {
        return Err(Code::BadValue.error("Must specify at least one field to update in updateUser"));
    }
    if let Some(password) = body.get("pwd") {
        let password = password
            .as_str()
            .ok_or_else(|| Code::TypeMismatch.error("'pwd' must be a string"))?;
        user.credentials = Credentials::from_password(password)?;
    }
    if body.contains_key("roles") {
        user.roles = roles(shared, session, &body, &database)?;
    }
    shared.change_users(|users| drop(users.insert((database, name), user)))?;
    Ok(Document::new())
}

/// `dropUser`: who is logged in as this user loses every right at once.
pub(crate) fn drop_user(shared: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    let key = (request.database().to_owned(), subject(request)?);
    if shared.users().get(&key.0, &key.1).is_none() {
        return Err(Code::UserNotFound.error(format!("User '{}@{}' not found", key.1, key.0)));
    }
    shared.change_users(|users| drop(users.remove(&key)))?;
    Ok(Document::new())
}

/// `usersInfo`: one user, several, or all of a database; never what they log in with.
pub(crate) fn users_info(shared: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    let body = picked(request, &["usersInfo"])?;
    let here = request.database();
    let wanted = match body.get("usersInfo") {
        Some(Bson::Array(several)) => several
            .iter()
            .map(|one| key(one, here))
            .collect::<Result<Vec<_>, _>>()?,
        Some(Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_)) | None => Vec::new(),
        Some(one) => vec![key(one, here)?],
    };
    let users = shared.users();
    let rows: Vec<Bson> = users
        .iter()
        .filter(|(database, name, _)| match wanted.as_slice() {
            [] => *database == here,
            some => some
                .iter()
                .any(|(wanted_database, wanted)| wanted_database == database && wanted == name),
        })
        .map(|(database, name, user)| row(database, name, user))
        .collect();
    Ok(doc! { "users": rows })
}

fn key(value: &Bson, here: &str) -> Result<(String, String)> {
    let text = |text: &str| text.to_owned();
    match value {
        Bson::String(name) => Ok((text(here), name.clone())),
        Bson::Document(row) => Ok((
            text(row.get_str("db").unwrap_or(here)),
            text(row.get_str("user").unwrap_or_default()),
        )),
        _ => Err(Code::BadValue.error("User and role names must be either strings or objects")),
    }
}

fn row(database: &str, name: &str, user: &User) -> Bson {
    Bson::from(doc! {
        "_id": format!("{database}.{name}"), "user": name, "db": database, "roles": user.listed_roles(), "mechanisms": ["SCRAM-SHA-256"],
    })
}
