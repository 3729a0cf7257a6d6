//! `updateUser`: another password or other roles.

use bson::Document;

use super::create_user::{account, check_mechanisms, roles};
use crate::auth::Credentials;
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
        user.credentials = Credentials::of_password(password)?;
    }
    if body.contains_key("roles") {
        user.roles = roles(shared, session, &body, &database)?;
    }
    shared.change_users(|users| drop(users.insert((database, name), user)))?;
    Ok(Document::new())
}
