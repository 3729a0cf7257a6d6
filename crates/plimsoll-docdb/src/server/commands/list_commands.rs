//! `listCommands`: the table of commands.

use bson::{Document, doc};

use crate::command::TABLE;
use crate::error::CommandError;
use crate::server::session::Session;
use crate::server::shared::Shared;
use crate::wire::Request;

pub(crate) fn respond(_: &Shared, _: &mut Session, _: &Request) -> Result<Document, CommandError> {
    let commands: Document = TABLE
        .iter()
        .map(|entry| {
            (
                entry.name.to_owned(),
                doc! { "help": entry.help, "apiVersions": [] }.into(),
            )
        })
        .collect();
    Ok(doc! { "commands": commands })
}
