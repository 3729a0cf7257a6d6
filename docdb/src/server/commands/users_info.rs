//! `usersInfo`: one user, several, or all of a database; never what they log in with.

use bson::{Bson, Document, doc};

use super::body;
use crate::auth::User;
use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(shared: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    let body = body(request)?;
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
    let roles: Vec<Document> = user
        .roles
        .iter()
        .map(|(role, held_on)| doc! { "role": role.name(), "db": held_on })
        .collect();
    Bson::from(doc! {
        "_id": format!("{database}.{name}"), "user": name, "db": database, "roles": roles, "mechanisms": ["SCRAM-SHA-256"],
    })
}
