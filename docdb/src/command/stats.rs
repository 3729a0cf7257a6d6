//! `collStats`, `dbStats` and `dataSize`: sizes and counts, all from the catalogue.
//!
//! `storageSize` is the sum of the bytes kept: what the files take on disk besides belongs to the whole shard.

use bson::raw::RawBsonRef;

use super::arguments;
use crate::catalog::check_database;
use crate::collection::{Collection, ID_INDEX};
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::wire::Request;

/// Bytes of an `_id` key that are counted for the `_id` index: it is the order of the documents and takes none itself.
const ID_INDEX_BYTES: u64 = 0;

pub(super) fn collection(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let (database, name) = arguments::namespace(request)?;
    let scale = scale(request, "collStats")?;
    let mut writer = Writer::with_capacity(512);
    writer.string("ns", &format!("{database}.{name}"));
    write_collection(&mut writer, shard.catalog.find(database, name), scale);
    Ok(Flow::Done(writer.ok()))
}

/// The fields of `collStats` and of `storageStats` of the stage `$collStats`.
pub(super) fn write_collection(writer: &mut Writer, collection: Option<&Collection>, scale: u64) {
    let count = collection.map_or(0, |one| one.count);
    let bytes = collection.map_or(0, |one| one.bytes);
    let index_bytes = collection.map_or(0, Collection::index_bytes);
    writer.count("size", bytes / scale);
    writer.count("count", count);
    if let Some(average) = bytes.checked_div(count) {
        writer.count("avgObjSize", average);
    }
    writer.int("numOrphanDocs", 0);
    writer.count("storageSize", bytes / scale);
    writer.int("freeStorageSize", 0);
    writer.boolean("capped", false);
    let indexes = collection.map_or(0, |one| one.ready().count() + 1);
    writer.count("nindexes", indexes as u64);
    writer.begin_array("indexBuilds");
    writer.end();
    writer.count("totalIndexSize", index_bytes / scale);
    writer.count("totalSize", (bytes + index_bytes) / scale);
    writer.begin_document("indexSizes");
    if let Some(collection) = collection {
        writer.count(ID_INDEX, ID_INDEX_BYTES);
        for index in collection.ready() {
            writer.count(&index.spec.name, index.bytes / scale);
        }
    }
    writer.end();
    writer.count("scaleFactor", scale);
}

pub(super) fn database(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let database = request.database();
    check_database(database)?;
    let scale = scale(request, "dbStats")?;
    let (mut collections, mut documents, mut bytes) = (0, 0, 0);
    let (mut indexes, mut index_bytes) = (0, 0);
    for collection in shard.catalog.in_database(database) {
        collections += 1;
        documents += collection.count;
        bytes += collection.bytes;
        indexes += collection.ready().count() as u64 + 1;
        index_bytes += collection.index_bytes();
    }
    let average = if documents == 0 {
        0.0
    } else {
        bytes as f64 / documents as f64
    };
    let mut writer = Writer::with_capacity(512);
    writer.string("db", database);
    writer.count("collections", collections);
    writer.int("views", 0);
    writer.count("objects", documents);
    writer.double("avgObjSize", average);
    let scaled = |bytes: u64| bytes as f64 / scale as f64;
    writer.double("dataSize", scaled(bytes));
    writer.double("storageSize", scaled(bytes));
    writer.count("indexes", indexes);
    writer.double("indexSize", scaled(index_bytes));
    writer.double("totalSize", scaled(bytes + index_bytes));
    writer.count("scaleFactor", scale);
    Ok(Flow::Done(writer.ok()))
}

pub(super) fn data_size(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    const DATA_SIZE: &str = "dataSize";
    let namespace = request.body().get(DATA_SIZE)?;
    let namespace = namespace.unwrap_or(RawBsonRef::Null);
    let namespace = arguments::text(DATA_SIZE, DATA_SIZE, namespace)?;
    arguments::each(request, |field, value| {
        match field {
            "keyPattern" | "min" | "max" => arguments::refuse_unless_off(DATA_SIZE, field, value)?,
            "estimate" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let Some((database, name)) = namespace.split_once('.') else {
        return Err(
            Code::InvalidNamespace.error(format!("Invalid namespace specified '{namespace}'"))
        );
    };
    let collection = shard.catalog.find(database, name);
    let mut writer = Writer::with_capacity(96);
    writer.boolean("estimate", false);
    writer.count("size", collection.map_or(0, |one| one.bytes));
    writer.count("numObjects", collection.map_or(0, |one| one.count));
    writer.int("millis", 0);
    Ok(Flow::Done(writer.ok()))
}

/// What sizes are divided by.
fn scale(request: &Request, command: &str) -> Result<u64> {
    let mut scale = 1;
    arguments::each(request, |field, value| {
        match field {
            "scale" => scale = arguments::integer(command, field, value)?,
            "freeStorage" | "verbose" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    u64::try_from(scale)
        .ok()
        .filter(|scale| *scale > 0)
        .ok_or_else(|| {
            Code::BadValue.error(format!(
                "BSON field '{command}.scale' value must be >= 1, actual value '{scale}'"
            ))
        })
}
