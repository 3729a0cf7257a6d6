//! Carries out commands: one file per command, one table for dispatch, help and docs.

mod aggregate;
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
mod rename_collection;
mod statements;
mod stats;
mod table;
#[cfg(test)]
mod tests;
mod update;
mod validate;
mod write;

use std::fmt::Debug;

use bson::RawDocumentBuf;
use bson::raw::RawBsonRef;
use plimsoll_core::Nanos;

pub use self::table::{Entry, Kind, TABLE, entry};
use crate::error::{Code, CommandError};
use crate::scheduler::Context;
use crate::shard::Shard;
use crate::wire::Request;

/// How far a command came.
#[derive(Debug)]
pub enum Flow {
    Done(RawDocumentBuf),
    More(Box<dyn Job>),
}

/// A command that can go on later.
pub trait Job: Debug + Send {
    fn go_on(self: Box<Self>, shard: &mut Shard) -> Result<Flow, CommandError>;
}

/// Carries out a command of one database.
pub type Run = fn(&mut Shard, &Request, &Context) -> Result<Flow, CommandError>;

/// Starts a command of the table.
pub(crate) fn begin(
    shard: &mut Shard,
    request: &Request,
    context: &Context,
) -> Result<Flow, CommandError> {
    match entry(request.name()).and_then(|entry| entry.run) {
        Some(run) => run(shard, request, context),
        None => Err(not_found(request.name())),
    }
}

/// Whether a command of the table may change something.
pub(crate) fn is_write(name: &str) -> bool {
    entry(name).is_some_and(|entry| entry.kind == Kind::DatabaseWrite)
}

/// The error of a command that does not exist here.
pub fn not_found(name: &str) -> CommandError {
    Code::CommandNotFound.error(format!("no such command: '{name}'"))
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
