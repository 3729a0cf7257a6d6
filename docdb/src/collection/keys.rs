//! The entries of a document in the indexes of its collection, and which keys they have there.

use bson::raw::RawDocument;
use sha2::{Digest as _, Sha256};

use super::index::{Index, IndexSpec};
use crate::error::Result;
use crate::query::encode_key;
use crate::query::keys::{self, Purpose};
use crate::value::{Fields, Value};

/// Values of a key that take more are cut: their beginning is kept, and a digest of all of them follows. So values of any length
/// can be indexed, though the store takes keys up to 64 KiB, of which the `_id` needs some. Two cut keys with the same
/// beginning are told apart, but not in the order of their values.
const WHOLE_MAX: usize = 32 << 10;
const DIGEST: usize = 16;
/// Bytes before the values.
const INDEX_ID: usize = size_of::<u32>();
/// How much of cut values is kept.
pub(super) const KEPT: usize = WHOLE_MAX - DIGEST;

/// Cuts the values that begin at `start` if they are too long, and says whether.
pub(super) fn cut(bytes: &mut Vec<u8>, start: usize) -> bool {
    let values = bytes.get(start..).unwrap_or_default();
    if values.len() <= WHOLE_MAX {
        return false;
    }
    let digest = Sha256::digest(values);
    bytes.truncate(start + KEPT);
    bytes.extend_from_slice(digest.get(..DIGEST).unwrap_or_default());
    true
}

/// The entries of one document in all indexes of its collection. One buffer is used again and again.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    list: Vec<IndexEntry>,
    /// Which indexes saw an array.
    multikey: Vec<usize>,
    /// Which indexes got a cut key.
    cut: Vec<usize>,
}

/// One entry: its key is `index id | values | encoded _id` (without `_id` if unique).
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexEntry {
    /// Position of the index within its collection.
    pub index: usize,
    start: usize,
    end: usize,
}

impl Entries {
    pub(crate) fn list(&self) -> &[IndexEntry] {
        &self.list
    }

    /// Indexes that this document makes multikey, by position.
    pub(crate) fn multikey(&self) -> &[usize] {
        &self.multikey
    }

    /// Indexes that have a cut key of this document, by position.
    pub(crate) fn cut(&self) -> &[usize] {
        &self.cut
    }

    /// The key as stored.
    pub(crate) fn key(&self, entry: IndexEntry) -> &[u8] {
        self.bytes.get(entry.start..entry.end).unwrap_or_default()
    }

    pub(crate) fn contains(&self, other: &[u8]) -> bool {
        self.list.iter().any(|entry| self.key(*entry) == other)
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
        self.multikey.clear();
        self.cut.clear();
    }

    /// Replaces what was in the buffer by the entries of `document` in one index.
    pub(crate) fn collect_index(
        &mut self,
        position: usize,
        indexes: &[Index],
        document: &RawDocument,
        id: &[u8],
    ) -> Result<()> {
        self.clear();
        match indexes.get(position) {
            Some(index) => self.collect_one(position, index, document, id),
            None => Ok(()),
        }
    }

    /// Replaces what was in the buffer by the entries of `document`, whose encoded `_id` is `id`.
    pub(crate) fn collect(
        &mut self,
        indexes: &[Index],
        document: &RawDocument,
        id: &[u8],
    ) -> Result<()> {
        self.clear();
        for (position, index) in indexes.iter().enumerate() {
            self.collect_one(position, index, document, id)?;
        }
        Ok(())
    }

    /// The fast path: one field at the top, no array in it, nothing conditional. False if the index or value is not so.
    fn collect_plain(
        &mut self,
        position: usize,
        index: &Index,
        document: &RawDocument,
        id: &[u8],
    ) -> bool {
        let spec = &index.spec;
        let ([field], None, false) = (spec.fields.as_slice(), &spec.partial, spec.sparse) else {
            return false;
        };
        let [part] = field.path.parts() else {
            return false;
        };
        let found = Fields::new(document).find(&part.name);
        let value = found.map_or(Value::Null, |element| element.value());
        if matches!(value, Value::Array(_)) {
            return false;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&index.id.to_be_bytes());
        field.encode(&value, &mut self.bytes);
        if cut(&mut self.bytes, start + INDEX_ID) {
            self.cut.push(position);
        }
        if !spec.unique {
            self.bytes.extend_from_slice(id);
        }
        self.list.push(IndexEntry {
            index: position,
            start,
            end: self.bytes.len(),
        });
        true
    }

    fn collect_one(
        &mut self,
        position: usize,
        index: &Index,
        document: &RawDocument,
        id: &[u8],
    ) -> Result<()> {
        if self.collect_plain(position, index, document, id) {
            return Ok(());
        }
        let first = self.list.len();
        let (bytes, list, shortened) = (&mut self.bytes, &mut self.list, &mut self.cut);
        let multikey = each_key(&index.spec, document, &mut |values| {
            let start = bytes.len();
            bytes.extend_from_slice(&index.id.to_be_bytes());
            encode_key(&index.spec.fields, values, bytes);
            if cut(bytes, start + INDEX_ID) {
                shortened.push(position);
            }
            if !index.spec.unique {
                bytes.extend_from_slice(id);
            }
            list.push(IndexEntry {
                index: position,
                start,
                end: bytes.len(),
            });
        })?;
        if multikey {
            self.multikey.push(position);
            let (bytes, added) = (&self.bytes, self.list.get_mut(first..).unwrap_or_default());
            added.sort_unstable_by(|left, right| {
                bytes
                    .get(left.start..left.end)
                    .cmp(&bytes.get(right.start..right.end))
            });
            let mut kept = first;
            for at in first..self.list.len() {
                let entry = self.list[at];
                if at == first || self.key(entry) != self.key(self.list[kept - 1]) {
                    self.list[kept] = entry;
                    kept += 1;
                }
            }
            self.list.truncate(kept);
        }
        Ok(())
    }
}

/// Calls `emit` with the values of each key (`None` where the field is missing). Returns whether an array was met.
pub(crate) fn each_key<'a>(
    spec: &IndexSpec,
    document: &'a RawDocument,
    emit: &mut dyn FnMut(&[Option<Value<'a>>]),
) -> Result<bool> {
    if let Some(partial) = &spec.partial
        && !partial.filter.try_matches(document)?
    {
        return Ok(false);
    }
    let document = Fields::new(document);
    keys::each(Purpose::Index, &spec.fields, document, &mut |values| {
        if !(spec.sparse && values.iter().all(Option::is_none)) {
            emit(values);
        }
    })
}
