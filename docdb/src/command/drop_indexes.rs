//! `dropIndexes`: drops indexes by name, by key pattern, or all but that of `_id`.

use bson::raw::{RawBsonRef, RawDocument};

use super::arguments::{self, missing};
use crate::collection::{Collection, ID_INDEX, is_id_key, parse_key};
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::value::display;
use crate::wire::Request;

const NAME: &str = "dropIndexes";

pub(super) fn run(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let (database, name) = arguments::namespace(request)?;
    let mut wanted = None;
    arguments::each(request, |field, value| {
        if field == "index" {
            wanted = Some(value);
        }
        Ok(field == "index")
    })?;
    let wanted = wanted.ok_or_else(|| missing(NAME, "index"))?;
    let Some(collection) = shard.catalog.find(database, name) else {
        return Err(Code::NamespaceNotFound.error(format!("ns not found {database}.{name}")));
    };
    let (id, before) = (collection.id, collection.indexes.len() as u64 + 1);
    let dropped = chosen(collection, wanted)?;
    for index in dropped {
        shard.catalog.drop_index(&mut shard.store, id, index);
    }
    let mut writer = Writer::with_capacity(96);
    writer.count("nIndexesWas", before);
    if wanted == RawBsonRef::String("*") {
        writer.string("msg", "non-_id indexes dropped for collection");
    }
    Ok(Flow::Done(writer.ok()))
}

fn chosen(collection: &Collection, wanted: RawBsonRef<'_>) -> Result<Vec<u32>> {
    match wanted {
        RawBsonRef::String("*") => Ok(collection.indexes.iter().map(|one| one.id).collect()),
        RawBsonRef::String(name) => Ok(vec![by_name(collection, name)?]),
        RawBsonRef::Document(key) => Ok(vec![by_key(collection, key)?]),
        RawBsonRef::Array(names) => names
            .into_iter()
            .map(|name| match name {
                Ok(RawBsonRef::String(name)) => by_name(collection, name),
                _ => Err(arguments::wrong_type(NAME, "index", wanted, "'string'")),
            })
            .collect(),
        other => Err(arguments::wrong_type(
            NAME,
            "index",
            other,
            "types '[string, object]'",
        )),
    }
}

fn by_name(collection: &Collection, name: &str) -> Result<u32> {
    if name == ID_INDEX {
        return Err(Code::InvalidOptions.error("cannot drop _id index"));
    }
    let found = collection.indexes.iter().find(|one| one.spec.name == name);
    found
        .map(|one| one.id)
        .ok_or_else(|| Code::IndexNotFound.error(format!("index not found with name [{name}]")))
}

fn by_key(collection: &Collection, key: &RawDocument) -> Result<u32> {
    let fields = parse_key(key)?;
    if is_id_key(&fields) {
        return Err(Code::InvalidOptions.error("cannot drop _id index"));
    }
    let mut found = collection
        .indexes
        .iter()
        .filter(|one| one.spec.fields == fields);
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index.id),
        (Some(_), Some(_)) => Err(Code::AmbiguousIndexKeyPattern.error(format!(
            "index key pattern {} matches several indexes: drop by name",
            display::document(key)
        ))),
        _ => Err(Code::IndexNotFound.error(format!(
            "can't find index with key: {}",
            display::document(key)
        ))),
    }
}
