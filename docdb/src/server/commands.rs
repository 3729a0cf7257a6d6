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

use bson::{Document, RawDocumentBuf};

pub(crate) use table::TABLE;
pub use table::listed;

use super::session::Session;
use super::shared::Shared;
use crate::error::{Code, Result};
use crate::value::decode;
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

/// What fields of a command may take that are decoded as a whole.
const PICKED_BYTES_MAX: usize = 1 << 20;

/// These fields of a command, and no others: a message may be long, and the loop that decodes it serves connections.
pub(crate) fn picked(request: &Request, names: &[&str]) -> Result<Document> {
    let mut picked = RawDocumentBuf::new();
    for element in request.body().iter_elements() {
        let element = element?;
        if !names.contains(&element.key().as_str()) {
            continue;
        }
        if picked.as_bytes().len() + element.size() > PICKED_BYTES_MAX {
            return Err(Code::BSONObjectTooLarge.error(format!(
                "the fields of {} may have {PICKED_BYTES_MAX} bytes",
                request.name()
            )));
        }
        picked.append(element.key(), element.value()?);
    }
    decode(&picked)
}
