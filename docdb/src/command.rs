//! Carries out commands: one file per command, one table for dispatch, help and docs.

mod aggregate;
mod ahead;
mod arguments;
mod coll_mod;
mod count;
mod create;
mod create_indexes;
mod delete;
mod distinct;
mod drop;
mod drop_indexes;
mod explain;
mod find;
mod find_and_modify;
mod get_more;
mod insert;
mod kill_cursors;
mod list_collections;
mod list_indexes;
mod listing;
mod pipeline;
mod rename_collection;
mod row;
mod statements;
mod stats;
mod table;
#[cfg(test)]
mod tests;
mod update;
mod validate;
mod write;

use bson::raw::RawBsonRef;
use plimsoll_base::Nanos;

pub(crate) use self::row::Command;
pub use self::row::CommandKind;
pub(crate) use self::row::{find, rows};
pub(crate) use self::table::TABLE;
use crate::elsewhere;
use crate::error::{Code, CommandError, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::wire::Request;

/// Carries out a command of one database.
pub(crate) type Run = fn(&mut Shard, &Request, &Context) -> Result<Flow>;

/// Starts a command of the table; one with a long filter after this was looked through.
pub(crate) fn begin(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    ahead::begin(shard, request, context)
}

fn carry_out(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    match find(TABLE, request.name()) {
        Some(command) => (command.run)(shard, request, context),
        None => Err(not_found(request.name())),
    }
}

/// Whether a command of the table may change something.
pub(crate) fn is_write(name: &str) -> bool {
    find(TABLE, name).is_some_and(|command| command.kind == CommandKind::DatabaseWrite)
}

/// Whether a command may have a filter.
fn selects(request: &Request) -> bool {
    find(TABLE, request.name()).is_some_and(|command| {
        command.kind == CommandKind::DatabaseRead
            || matches!(command.name, "delete" | "update" | "findAndModify")
    })
}

/// Whether it may be all of a command that is read as a filter or a pipeline is: there is nothing in it that is stored.
fn only_asks(request: &Request) -> bool {
    find(TABLE, request.name()).is_some_and(|command| {
        command.kind == CommandKind::DatabaseRead || command.name == "delete"
    })
}

/// The error of a command that does not exist here.
pub(crate) fn not_found(name: &str) -> CommandError {
    let unsupported = elsewhere::COMMANDS.refusal(name);
    unsupported.unwrap_or_else(|| Code::CommandNotFound.error(format!("no such command: '{name}'")))
}

/// Whether a pipeline begins with `$currentOp`: it shows what others do.
pub(crate) fn lists_operations(request: &Request) -> bool {
    let Ok(Some(RawBsonRef::Array(stages))) = request.body().get("pipeline") else {
        return false;
    };
    let first = stages.into_iter().next().and_then(Result::ok);
    let first = first.and_then(RawBsonRef::as_document);
    first.is_some_and(|stage| matches!(stage.get(aggregate::CURRENT_OP), Ok(Some(_))))
}

/// `maxTimeMS` of a command; 0 means none.
pub(crate) fn max_time(request: &Request) -> Option<Nanos> {
    let limit = match request.body().get("maxTimeMS") {
        Ok(Some(RawBsonRef::Int32(limit))) => i64::from(limit),
        Ok(Some(RawBsonRef::Int64(limit))) => limit,
        Ok(Some(RawBsonRef::Double(limit))) => limit as i64,
        _ => 0,
    };
    let limit = u64::try_from(limit).ok().filter(|limit| *limit > 0)?;
    Some(Nanos(limit.saturating_mul(1_000_000)))
}
