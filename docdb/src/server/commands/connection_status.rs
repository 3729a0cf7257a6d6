//! `connectionStatus`: who is logged in here, and with which roles.

use bson::{Bson, Document, doc};

use crate::error::Result;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(_: &Shared, session: &mut Session, _: &Request) -> Result<Document> {
    let (mut users, mut roles) = (Vec::new(), Vec::new());
    if let Some((database, name, user)) = &session.user {
        users.push(Bson::from(doc! { "user": name, "db": database }));
        let role = |(role, held_on): &(crate::auth::Role, String)| {
            Bson::from(doc! { "role": role.name(), "db": held_on })
        };
        roles.extend(user.roles.iter().map(role));
    }
    Ok(doc! { "authInfo": { "authenticatedUsers": users, "authenticatedUserRoles": roles } })
}
