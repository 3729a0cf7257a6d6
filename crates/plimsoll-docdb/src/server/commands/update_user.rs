//! `updateUser`: another password or other roles.

use bson::Document;

use super::create_user::{check_mechanisms, roles};
use super::{body, subject};
use crate::auth::Credentials;
use crate::error::{Code, CommandError};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(
    shared: &Shared,
    _: &mut Session,
    request: &Request,
) -> Result<Document, CommandError> {
    let (name, body, database) = (
        subject(request)?,
        body(request)?,
        request.database().to_owned(),
    );
    let known = shared.users().get(&database, &name).cloned();
    let mut user = known
        .ok_or_else(|| Code::UserNotFound.error(format!("User {name}@{database} not found")))?;
    check_mechanisms(&body)?;
    if !body.contains_key("pwd") && !body.contains_key("roles") {
        return Err(Code::BadValue.error("Must specify at least one field to update in updateUser"));
    }
    if let Ok(password) = body.get_str("pwd") {
        user.credentials = Credentials::of_password(password)?;
    }
    if body.contains_key("roles") {
        user.roles = roles(&body, &database)?;
    }
    shared.change_users(|users| drop(users.insert((database, name), user)))?;
    Ok(Document::new())
}
