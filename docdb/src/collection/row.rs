//! The catalogue's rows: names and indexes of a collection as BSON, its counts as fixed numbers.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::{Collection, Index, IndexSpec};
use crate::error::{Code, CommandError, Result};
use crate::store::{Space, Store};
use crate::value::Writer;

/// The kind of a collection's row: its names and indexes.
pub(crate) const COLLECTION: u8 = b'c';

pub(crate) fn damaged(what: &str) -> CommandError {
    Code::InternalError.error(format!("the catalogue is damaged: {what} cannot be read"))
}

pub(crate) fn read_u32(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

fn write_collection(collection: &Collection) -> RawDocumentBuf {
    let mut writer = Writer::with_capacity(256);
    writer.string("database", &collection.database);
    writer.string("name", &collection.name);
    writer.raw("uuid", collection.uuid_value());
    writer.begin_document("indexes");
    for index in &collection.indexes {
        writer.begin_document(&index.id.to_string());
        writer.document("spec", &index.spec.describe());
        writer.boolean("multikey", index.multikey);
        writer.boolean("building", index.building);
        if index.cut {
            writer.boolean("cut", true);
        }
        writer.end();
    }
    writer.end();
    writer.finish()
}

pub(crate) fn read_collection(id: u32, bytes: &[u8]) -> Result<Collection> {
    let row = RawDocument::from_bytes(bytes).map_err(|_| damaged("a collection"))?;
    let name = |field| row.get_str(field).map_err(|_| damaged("a name"));
    let uuid = row.get_binary("uuid").map_err(|_| damaged("a UUID"))?;
    let uuid = uuid.bytes.try_into().map_err(|_| damaged("a UUID"))?;
    let mut collection = Collection::new(id, name("database")?, name("name")?, uuid);
    let indexes = row
        .get_document("indexes")
        .map_err(|_| damaged("the list of indexes"))?;
    for entry in indexes {
        let (id, value) = entry.map_err(|_| damaged("an index"))?;
        let index = id.as_str().parse().ok().zip(value.as_document());
        let (id, stored) = index.ok_or_else(|| damaged("an index"))?;
        collection.indexes.push(read_index(id, stored)?);
    }
    Ok(collection)
}

fn read_index(id: u32, stored: &RawDocument) -> Result<Index> {
    let spec = stored.get_document("spec");
    let spec = IndexSpec::parse(spec.map_err(|_| damaged("an index"))?)?;
    let flag = |name| matches!(stored.get(name), Ok(Some(RawBsonRef::Boolean(true))));
    let mut index = Index::new(id, spec);
    index.multikey = flag("multikey");
    index.building = flag("building");
    index.cut = flag("cut");
    Ok(index)
}

/// Documents, their bytes; then per index its id, entries and bytes of keys. All u64, little-endian.
pub(crate) fn write_counts(collection: &Collection) -> Vec<u8> {
    let mut row = Vec::with_capacity(16 + 24 * collection.indexes.len());
    for number in [collection.count, collection.bytes] {
        row.extend_from_slice(&number.to_le_bytes());
    }
    for index in &collection.indexes {
        for number in [u64::from(index.id), index.entries, index.bytes] {
            row.extend_from_slice(&number.to_le_bytes());
        }
    }
    row
}

pub(crate) fn read_counts(collection: &mut Collection, row: &[u8]) -> Result<()> {
    let (numbers, rest) = row.as_chunks::<8>();
    let mut numbers = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let (Some(count), Some(bytes), []) = (numbers.next(), numbers.next(), rest) else {
        return Err(damaged("a count"));
    };
    (collection.count, collection.bytes) = (count, bytes);
    while let (Some(id), Some(entries), Some(bytes)) =
        (numbers.next(), numbers.next(), numbers.next())
    {
        let index = collection
            .indexes
            .iter_mut()
            .find(|index| u64::from(index.id) == id);
        if let Some(index) = index {
            (index.entries, index.bytes) = (entries, bytes);
        }
    }
    Ok(())
}

/// The row of a collection, as kept after every change of its names or indexes.
pub(crate) fn put_collection(store: &mut Store, collection: &Collection) {
    let row = write_collection(collection);
    let row: &RawDocument = &row;
    store.put(
        Space::Catalog,
        &row_key(COLLECTION, collection.id),
        row.as_bytes(),
    );
}

/// The key of a row of one kind about a collection.
pub(crate) fn row_key(kind: u8, id: u32) -> [u8; 5] {
    let [a, b, c, d] = id.to_be_bytes();
    [kind, a, b, c, d]
}
