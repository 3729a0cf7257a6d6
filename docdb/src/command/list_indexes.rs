//! `listIndexes`: a cursor over the indexes of a collection, with every option.

use super::arguments;
use super::list_collections::{batch_size, write_id_index};
use super::listing::{self, Prepared};
use crate::cursor::Cursor;
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    const LIST: &str = "listIndexes";
    let (database, name) = arguments::namespace(request)?;
    let mut first = None;
    arguments::each(request, |field, value| {
        if field != "cursor" {
            return Ok(false);
        }
        first = batch_size(LIST, value)?;
        Ok(true)
    })?;
    let Some(collection) = shard.catalog.find(database, name) else {
        return Err(Code::NamespaceNotFound.error(format!("ns does not exist: {database}.{name}")));
    };
    let mut id_index = Writer::with_capacity(64);
    write_id_index(&mut id_index);
    let mut found = vec![id_index.finish()];
    found.extend(collection.ready().map(|index| index.spec.describe()));
    let cursor = Cursor::new((database, name), context, Prepared::boxed(found));
    let first = first.unwrap_or(u64::MAX);
    listing::open(shard, cursor, first, false)
}
