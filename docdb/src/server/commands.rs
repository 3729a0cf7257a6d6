//! Commands that concern a connection, the users or the server as a whole: found through the table of all
//! commands.

#![expect(
    clippy::unnecessary_wraps,
    reason = "the signature of Respond, which others fail through"
)]

mod end_sessions;
mod facts;
mod hello;
mod list_databases;
mod login;
mod operations;
mod table;
mod users;

use bson::Document;

pub(crate) use table::TABLE;
pub use table::listed;

use super::session::Session;
use super::shared::Shared;
use crate::error::{Code, Result};
use crate::wire::Request;

/// Answers a command without an executor; `ok` is added to what it returns.
pub(crate) type Respond = fn(&Shared, &mut Session, &Request) -> Result<Document>;

/// The MongoDB release whose protocol and behaviour this server follows.
pub(crate) const VERSION: &str = "7.0.14";
pub(crate) const VERSION_PARTS: [i32; 4] = [7, 0, 14, 0];

/// A count as drivers expect it.
pub(crate) fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The value of the command's first field, as the user's name of `createUser`.
pub(crate) fn subject(request: &Request) -> Result<String> {
    let name = request.name();
    request
        .body()
        .get_str(name)
        .map(str::to_owned)
        .map_err(|_| {
            Code::TypeMismatch.error(format!(
                "BSON field '{name}.{name}' is the wrong type, expected type 'string'"
            ))
        })
}
