//! `getMore`: the next batch of a cursor, for the session that opened it.

use bson::raw::RawBsonRef;

use super::{arguments, listing};
use crate::error::{Code, CommandError, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    const GET_MORE: &str = "getMore";
    let id = match request.body().get(GET_MORE)? {
        Some(RawBsonRef::Int64(id)) => id,
        other => {
            let value = other.unwrap_or(RawBsonRef::Null);
            return Err(arguments::wrong_type(GET_MORE, GET_MORE, value, "'long'"));
        }
    };
    let (mut collection, mut batch_size) = (None, 0);
    arguments::each(request, |name, value| {
        match name {
            "collection" => collection = Some(arguments::text(GET_MORE, name, value)?),
            "batchSize" => batch_size = arguments::count(GET_MORE, name, value)?,
            "term" | "lastKnownCommittedOpTime" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let collection = collection.ok_or_else(|| arguments::missing(GET_MORE, "collection"))?;
    check(shard, id, (request.database(), collection), context.session)?;
    let Some(cursor) = shard.cursors.take(id) else {
        return Err(dead(id));
    };
    let most = if batch_size == 0 {
        u64::MAX
    } else {
        batch_size
    };
    listing::go_on(shard, id, cursor, most)
}

/// The cursor must be open, of this collection, and of this session.
fn check(
    shard: &Shard,
    id: i64,
    (database, collection): (&str, &str),
    session: Option<[u8; 16]>,
) -> Result<()> {
    let cursor = shard.cursors.get(id).ok_or_else(|| dead(id))?;
    if (cursor.database.as_str(), cursor.collection.as_str()) != (database, collection) {
        return Err(Code::Unauthorized.error(format!(
            "Requested getMore on namespace '{database}.{collection}', but cursor belongs to a different namespace {}.{}",
            cursor.database, cursor.collection
        )));
    }
    let code = match (cursor.session, session) {
        (None, Some(_)) => Code::Location(50736),
        (Some(_), None) => Code::Location(50737),
        (Some(owner), Some(asking)) if owner != asking => Code::Location(50738),
        _ => return Ok(()),
    };
    Err(code.error(format!(
        "Cannot run getMore on cursor {id}, which was created in another session"
    )))
}

/// The error of a cursor that was used up, closed, timed out or never was.
pub(super) fn dead(id: i64) -> CommandError {
    Code::CursorNotFound.error(format!("cursor id {id} not found"))
}
