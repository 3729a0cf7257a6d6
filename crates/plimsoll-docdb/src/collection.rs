//! One collection: its documents and its index entries, which always change together.
//!
//! Everything that can refuse a change (uniqueness, `_id`, size, arrays that cannot be indexed) is checked before the
//! first key is put, because a batch cannot be taken back.

mod duplicate;
mod index;
mod keys;
pub mod plan;
mod rows;
mod selection;
pub mod text;
mod writer;

pub use self::index::{Field, ID_INDEX, Index, IndexSpec, Partial, is_simple_collation, parse_key};
pub use self::keys::{Entries, Entry, each_key, encode};
pub use self::rows::Rows;
pub use self::selection::{KeyRange, Next, Selection, stored};
pub(crate) use self::writer::entry_value;
pub use self::writer::{Scratch, Writer, document_key};

use bson::raw::{RawBinaryRef, RawBsonRef};
use bson::spec::BinarySubtype;

/// Largest document in bytes (MongoDB's limit).
pub const LARGEST_DOCUMENT: usize = 16 * 1024 * 1024;

/// What is known of a collection without reading its documents.
#[derive(Debug)]
pub struct Collection {
    /// Prefix of its documents' keys; never reused.
    pub id: u32,
    pub database: String,
    pub name: String,
    pub uuid: [u8; 16],
    /// All but the `_id` index, which is the order of the documents themselves.
    pub indexes: Vec<Index>,
    pub count: u64,
    /// Bytes of all documents.
    pub bytes: u64,
    /// The counts changed since the last commit.
    pub(crate) dirty: bool,
}

impl Collection {
    pub fn new(id: u32, database: &str, name: &str, uuid: [u8; 16]) -> Self {
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
    pub fn namespace(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    pub fn uuid_value(&self) -> RawBsonRef<'_> {
        RawBsonRef::Binary(RawBinaryRef {
            subtype: BinarySubtype::Uuid,
            bytes: &self.uuid,
        })
    }

    /// Bytes of the keys of all secondary indexes.
    pub fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(|index| index.bytes).sum()
    }

    /// The indexes that queries may use.
    pub fn ready(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|index| !index.building)
    }
}

impl Index {
    /// An index without entries, being built.
    pub fn new(id: u32, spec: IndexSpec) -> Self {
        Self {
            id,
            spec,
            multikey: false,
            building: true,
            entries: 0,
            bytes: 0,
        }
    }
}
