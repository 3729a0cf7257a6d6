//! One collection: its documents and its index entries, which always change together.
//!
//! Everything that can refuse a change (uniqueness, `_id`, size, arrays that cannot be indexed) is checked before the
//! first key is put, because a batch cannot be taken back.

mod duplicate;
mod index;
mod keys;
pub(crate) mod plan;
pub(crate) mod row;
mod rows;
mod selection;
mod writer;

pub(crate) use self::index::{
    ID_INDEX, Index, IndexSpec, is_id_key, is_simple_collation, parse_key,
};
pub(crate) use self::keys::Entries;
#[cfg(test)]
pub(crate) use self::keys::each_key;
pub(crate) use self::plan::KeyRange;
pub(crate) use self::rows::Rows;
pub(crate) use self::selection::{Advance, Selection, stored};
pub(crate) use self::writer::entry_value;
pub(crate) use self::writer::{Scratch, Writer, document_key};

use bson::raw::{RawBinaryRef, RawBsonRef};
use bson::spec::BinarySubtype;

/// Largest document in bytes (MongoDB's limit).
pub(crate) const LARGEST_DOCUMENT: usize = 16 * 1024 * 1024;

/// What is known of a collection without reading its documents.
#[derive(Debug)]
pub(crate) struct Collection {
    /// Prefix of its documents' keys; never reused.
    pub id: u32,
    pub database: String,
    pub name: String,
    pub(crate) uuid: [u8; 16],
    /// All but the `_id` index, which is the order of the documents themselves.
    pub indexes: Vec<Index>,
    pub count: u64,
    /// Bytes of all documents.
    pub bytes: u64,
    /// The counts changed since the last commit.
    pub(crate) dirty: bool,
}

impl Collection {
    pub(crate) fn new(id: u32, database: &str, name: &str, uuid: [u8; 16]) -> Self {
        Self {
            id,
            database: database.to_owned(),
            name: name.to_owned(),
            uuid,
            indexes: Vec::new(),
            count: 0,
            bytes: 0,
            dirty: false,
        }
    }

    /// `database.collection`
    pub(crate) fn namespace(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    pub(crate) fn uuid_value(&self) -> RawBsonRef<'_> {
        RawBsonRef::Binary(RawBinaryRef {
            subtype: BinarySubtype::Uuid,
            bytes: &self.uuid,
        })
    }

    /// Bytes of the keys of all secondary indexes.
    pub(crate) fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(|index| index.bytes).sum()
    }

    /// The indexes that queries may use.
    pub(crate) fn ready(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|index| !index.building)
    }
}

impl Index {
    /// An index without entries, being built.
    pub(crate) fn new(id: u32, spec: IndexSpec) -> Self {
        Self {
            id,
            spec,
            multikey: false,
            cut: false,
            building: true,
            entries: 0,
            bytes: 0,
        }
    }
}
