//! `update`: changes documents by operators, replacement or pipeline; inserts where nothing matches and `upsert` asks for it.

use bson::raw::RawDocument;

use super::arguments::{self, missing};
use super::statements::{Change, Statement, WriteCommand, carry_out};
use super::write::{WriteReply, hint};
use crate::error::Result;
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::wire::Request;

static UPDATE: WriteCommand = WriteCommand {
    name: "update",
    list: "updates",
    ignored: &["bypassDocumentValidation", "bypassEmptyTsReplacement"],
    reply: WriteReply::for_updates,
    parse,
};

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    carry_out(shard, request, context, &UPDATE)
}

/// One element of `updates`.
fn parse(raw: &RawDocument) -> Result<Statement<'_>> {
    const PLACE: &str = "update.updates";
    let (mut filter, mut update, mut array_filters) = (None, None, Vec::new());
    let (mut multi, mut upsert, mut hinted, mut constants) = (false, false, None, None);
    arguments::each_of(PLACE, raw, |name, value| {
        match name {
            "q" => filter = Some(arguments::object(PLACE, name, value)?),
            "u" => update = Some(value),
            "multi" => multi = arguments::truth(PLACE, name, value)?,
            "upsert" => upsert = arguments::truth(PLACE, name, value)?,
            "arrayFilters" => array_filters = arguments::documents(PLACE, name, value)?,
            "hint" => hinted = hint("update", value)?,
            "collation" => arguments::collation("update", value)?,
            "c" => constants = Some(value),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(Statement {
        filter: filter.ok_or_else(|| missing(PLACE, "q"))?,
        hint: hinted,
        multi,
        upsert,
        change: Some(Change {
            update: update.ok_or_else(|| missing(PLACE, "u"))?,
            array_filters,
            constants,
        }),
    })
}
