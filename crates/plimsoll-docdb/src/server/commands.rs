//! Commands that concern a connection, the users or the server as a whole: one file each, found through the table of
//! all commands.

#![expect(
    clippy::unnecessary_wraps,
    reason = "the signature of Respond, which others fail through"
)]

pub(crate) mod build_info;
pub(crate) mod connection_status;
pub(crate) mod create_user;
pub(crate) mod drop_user;
pub(crate) mod end_sessions;
pub(crate) mod get_cmd_line_opts;
pub(crate) mod get_log;
pub(crate) mod get_parameter;
pub(crate) mod hello;
pub(crate) mod host_info;
pub(crate) mod list_commands;
pub(crate) mod list_databases;
pub(crate) mod logout;
pub(crate) mod ping;
pub(crate) mod sasl;
pub(crate) mod server_status;
pub(crate) mod update_user;
pub(crate) mod users_info;
pub(crate) mod whats_my_uri;

use bson::Document;

use super::session::Session;
use super::shared::Shared;
use crate::error::{Code, CommandError};
use crate::wire::Request;

/// Answers a command without an executor; `ok` is added to what it returns.
pub(crate) type Respond = fn(&Shared, &mut Session, &Request) -> Result<Document, CommandError>;

/// The MongoDB release whose protocol and behaviour this server follows.
pub(crate) const VERSION: &str = "7.0.14";
pub(crate) const VERSION_PARTS: [i32; 4] = [7, 0, 14, 0];

/// A count as drivers expect it.
pub(crate) fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The command's body as owned values.
pub(crate) fn body(request: &Request) -> Result<Document, CommandError> {
    Document::try_from(request.body()).map_err(|error| Code::InvalidBSON.error(error.to_string()))
}

/// The value of the command's first field, as the user's name of `createUser`.
pub(crate) fn subject(request: &Request) -> Result<String, CommandError> {
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
