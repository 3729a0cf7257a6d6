//! `delete`: removes one or all documents that match a filter.

use bson::raw::RawDocument;

use super::arguments::{self, missing};
use super::statements::{Statement, WriteCommand, carry_out};
use super::write::{WriteReply, hint};
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::wire::Request;

static DELETE: WriteCommand = WriteCommand {
    name: "delete",
    list: "deletes",
    ignored: &[],
    reply: WriteReply::default,
    parse,
};

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    carry_out(shard, request, context, &DELETE)
}

/// One element of `deletes`.
fn parse(raw: &RawDocument) -> Result<Statement<'_>> {
    const PLACE: &str = "delete.deletes";
    let (mut filter, mut limit, mut hinted) = (None, None, None);
    arguments::each_of(PLACE, raw, |name, value| {
        match name {
            "q" => filter = Some(arguments::object(PLACE, name, value)?),
            "limit" => limit = Some(arguments::integer(PLACE, name, value)?),
            "hint" => hinted = hint("delete", value)?,
            "collation" => arguments::collation("delete", value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let multi = match limit.ok_or_else(|| missing(PLACE, "limit"))? {
        0 => true,
        1 => false,
        other => {
            return Err(Code::FailedToParse.error(format!(
                "The limit field in delete objects must be 0 or 1. Got {other}"
            )));
        }
    };
    Ok(Statement {
        filter: filter.ok_or_else(|| missing(PLACE, "q"))?,
        hint: hinted,
        multi,
        upsert: false,
        change: None,
    })
}
