//! `dropUser`: who is logged in as this user loses every right at once.

use bson::Document;

use super::subject;
use crate::error::{Code, Result};
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(shared: &Shared, _: &mut Session, request: &Request) -> Result<Document> {
    let key = (request.database().to_owned(), subject(request)?);
    if shared.users().get(&key.0, &key.1).is_none() {
        return Err(Code::UserNotFound.error(format!("User '{}@{}' not found", key.1, key.0)));
    }
    shared.change_users(|users| drop(users.remove(&key)))?;
    Ok(Document::new())
}
