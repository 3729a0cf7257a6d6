//! `listCollections`: a cursor over the collections of a database.

use bson::RawDocumentBuf;
use bson::raw::RawBsonRef;

use super::arguments;
use super::listing::{self, Prepared};
use crate::catalog::check_database;
use crate::collection::{Collection, ID_INDEX};
use crate::cursor::Cursor;
use crate::error::Result;
use crate::expression::Variables;
use crate::query::Filter;
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    const LIST: &str = "listCollections";
    let database = request.database();
    check_database(database)?;
    let (mut filter, mut name_only, mut first) = (None, false, None);
    arguments::each(request, |name, value| {
        match name {
            "filter" => filter = arguments::optional_object(LIST, name, value)?,
            "nameOnly" => name_only = arguments::truth(LIST, name, value)?,
            "authorizedCollections" => {
                arguments::truth(LIST, name, value)?;
            }
            "cursor" => first = batch_size(LIST, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let filter = filter
        .map(|filter| Filter::parse_listed(filter, &Variables::default(), &shard.lists))
        .transpose()?;
    let mut found = Vec::new();
    for collection in shard.catalog.in_database(database) {
        let full = describe(collection, false);
        let wanted = match &filter {
            Some(filter) => filter.try_matches(&full)?,
            None => true,
        };
        if wanted {
            found.push(if name_only {
                describe(collection, true)
            } else {
                full
            });
        }
    }
    let cursor = Cursor::new(
        (database, "$cmd.listCollections"),
        context,
        Prepared::boxed(found),
    );
    let first = first.unwrap_or(u64::MAX);
    listing::open(shard, cursor, first, false)
}

/// `batchSize` of a `cursor` argument.
pub(super) fn batch_size(command: &str, value: RawBsonRef<'_>) -> Result<Option<u64>> {
    let place = format!("{command}.cursor");
    let cursor = arguments::object(command, "cursor", value)?;
    let mut found = None;
    arguments::each_of(&place, cursor, |name, value| {
        if name != "batchSize" {
            return Ok(false);
        }
        found = Some(arguments::count(&place, name, value)?);
        Ok(true)
    })?;
    Ok(found)
}

fn describe(collection: &Collection, name_only: bool) -> RawDocumentBuf {
    let mut writer = Writer::with_capacity(256);
    writer.string("name", &collection.name);
    writer.string("type", "collection");
    if name_only {
        return writer.finish();
    }
    writer.begin_document("options");
    writer.end();
    writer.begin_document("info");
    writer.boolean("readOnly", false);
    writer.raw("uuid", collection.uuid_value());
    writer.end();
    writer.begin_document("idIndex");
    write_id_index(&mut writer);
    writer.end();
    writer.finish()
}

/// The index that every collection has, as `listIndexes` shows it.
pub(super) fn write_id_index(writer: &mut Writer) {
    writer.int("v", 2);
    writer.begin_document("key");
    writer.int("_id", 1);
    writer.end();
    writer.string("name", ID_INDEX);
}
