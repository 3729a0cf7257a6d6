//! Inserts, replaces and removes one document with all its index entries.

use std::borrow::Cow;

use bson::raw::{RawBsonRef, RawDocument};

use super::keys::Entries;
use super::row::put_collection;
use super::{Collection, duplicate};
use crate::error::{Code, Result};
use crate::store::{MAX_KEY, Space, Store};
use crate::value::key;

/// Buffers that every change uses again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    key: Vec<u8>,
    before: Entries,
    after: Entries,
}

/// The right to change one collection.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    store: &'a mut Store,
    collection: &'a mut Collection,
    scratch: &'a mut Scratch,
    dirty: &'a mut Vec<u32>,
}

/// The key of a document: `collection id | encoded _id`. Replaces what is in `out`.
pub(crate) fn document_key(collection: u32, id: RawBsonRef<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&collection.to_be_bytes());
    key::encode(id, out);
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        store: &'a mut Store,
        collection: &'a mut Collection,
        scratch: &'a mut Scratch,
        dirty: &'a mut Vec<u32>,
    ) -> Self {
        Self {
            store,
            collection,
            scratch,
            dirty,
        }
    }

    /// Adds a document that has an `_id`.
    pub(crate) fn insert(&mut self, document: &RawDocument) -> Result<()> {
        let id = id_of(document)?;
        document_key(self.collection.id, id, &mut self.scratch.key);
        if self
            .store
            .get(Space::Documents, &self.scratch.key)?
            .is_some()
        {
            return Err(duplicate::id_error(self.collection, id));
        }
        let Scratch { key, before, after } = &mut *self.scratch;
        let encoded_id = key.get(4..).unwrap_or_default();
        before.clear();
        after.collect(&self.collection.indexes, document, encoded_id)?;
        self.check(document)?;
        self.put_entries();
        self.store
            .put(Space::Documents, &self.scratch.key, document.as_bytes());
        self.collection.count += 1;
        self.collection.bytes += document.as_bytes().len() as u64;
        self.mark();
        Ok(())
    }

    /// Puts `new` in the place of `old`; both have the same `_id`.
    pub(crate) fn replace(&mut self, old: &RawDocument, new: &RawDocument) -> Result<()> {
        document_key(self.collection.id, id_of(new)?, &mut self.scratch.key);
        let Scratch { key, before, after } = &mut *self.scratch;
        let encoded_id = key.get(4..).unwrap_or_default();
        after.collect(&self.collection.indexes, new, encoded_id)?;
        before.collect(&self.collection.indexes, old, encoded_id)?;
        self.check(new)?;
        self.delete_entries();
        self.put_entries();
        self.store
            .put(Space::Documents, &self.scratch.key, new.as_bytes());
        let bytes = self.collection.bytes + new.as_bytes().len() as u64;
        self.collection.bytes = bytes.saturating_sub(old.as_bytes().len() as u64);
        self.mark();
        Ok(())
    }

    /// Removes a document.
    pub(crate) fn remove(&mut self, old: &RawDocument) -> Result<()> {
        document_key(self.collection.id, id_of(old)?, &mut self.scratch.key);
        let Scratch { key, before, after } = &mut *self.scratch;
        let encoded_id = key.get(4..).unwrap_or_default();
        before.collect(&self.collection.indexes, old, encoded_id)?;
        after.clear();
        self.delete_entries();
        self.store.delete(Space::Documents, &self.scratch.key);
        self.collection.count = self.collection.count.saturating_sub(1);
        let length = old.as_bytes().len() as u64;
        self.collection.bytes = self.collection.bytes.saturating_sub(length);
        self.mark();
        Ok(())
    }

    /// Adds the entries of an existing document to one index that is being built.
    pub(crate) fn fill(&mut self, index: u32, document: &RawDocument) -> Result<()> {
        document_key(self.collection.id, id_of(document)?, &mut self.scratch.key);
        let position = self
            .collection
            .indexes
            .iter()
            .position(|one| one.id == index);
        let Some(position) = position else {
            return Err(Code::IndexNotFound.error("the index was dropped while it was built"));
        };
        let Scratch { key, before, after } = &mut *self.scratch;
        let encoded_id = key.get(4..).unwrap_or_default();
        before.clear();
        after.collect_index(position, &self.collection.indexes, document, encoded_id)?;
        self.check(document)?;
        // Writes since the build began have put their own entries: those are there and counted already.
        for at in 0..self.scratch.after.list().len() {
            let entry = self.scratch.after.list()[at];
            let present = self
                .store
                .get(Space::Indexes, self.scratch.after.key(entry))?;
            if present.is_none() {
                self.put_entry(at);
            }
        }
        self.note_multikey();
        self.mark();
        Ok(())
    }

    /// Refuses keys that the store cannot take, and a new key that another document has in a unique index.
    fn check(&self, document: &RawDocument) -> Result<()> {
        let Scratch { key, after, .. } = &*self.scratch;
        let lengths = after.list().iter().map(|entry| after.key(*entry).len());
        if let Some(length) = lengths.chain([key.len()]).find(|length| *length > MAX_KEY) {
            return Err(Code::KeyTooLong.error(format!(
                "an _id of {length} bytes as a key is longer than {MAX_KEY} in {}",
                self.collection.namespace()
            )));
        }
        self.check_unique(document)
    }

    /// Refuses a new key that another document has in a unique index.
    fn check_unique(&self, document: &RawDocument) -> Result<()> {
        let Scratch { key, before, after } = &*self.scratch;
        for entry in after.list() {
            let Some(index) = self.collection.indexes.get(entry.index) else {
                continue;
            };
            let wanted = after.key(*entry);
            if !index.spec.unique || before.contains(wanted) {
                continue;
            }
            if let Some(owner) = self.store.get(Space::Indexes, wanted)?
                && Some(&*owner) != key.get(4..)
            {
                let values = wanted.get(4..).unwrap_or_default();
                return Err(duplicate::index_error(
                    self.collection,
                    &index.spec,
                    document,
                    values,
                ));
            }
        }
        Ok(())
    }

    /// Deletes the entries that the document no longer has.
    fn delete_entries(&mut self) {
        let Scratch { before, after, .. } = &*self.scratch;
        for entry in before.list() {
            let stale = before.key(*entry);
            if after.contains(stale) {
                continue;
            }
            if let Some(index) = self.collection.indexes.get_mut(entry.index) {
                // A build in progress may not have come to this document yet: then there is no entry to count off.
                if index.building && !matches!(self.store.get(Space::Indexes, stale), Ok(Some(_))) {
                    continue;
                }
                index.entries = index.entries.saturating_sub(1);
                index.bytes = index.bytes.saturating_sub(stale.len() as u64);
            }
            self.store.delete(Space::Indexes, stale);
        }
    }

    /// Puts the entries that the document did not have before.
    fn put_entries(&mut self) {
        for at in 0..self.scratch.after.list().len() {
            let entry = self.scratch.after.list()[at];
            if !self.is_kept(at) || self.is_unbuilt(entry.index, at) {
                self.put_entry(at);
            }
        }
        self.note_multikey();
    }

    /// The document had this entry before.
    fn is_kept(&self, at: usize) -> bool {
        let Scratch { before, after, .. } = &*self.scratch;
        after
            .list()
            .get(at)
            .is_some_and(|entry| before.contains(after.key(*entry)))
    }

    /// The index is being built and has not come to this entry.
    fn is_unbuilt(&self, index: usize, at: usize) -> bool {
        let after = &self.scratch.after;
        let building = self
            .collection
            .indexes
            .get(index)
            .is_some_and(|one| one.building);
        building
            && after.list().get(at).is_some_and(|entry| {
                matches!(self.store.get(Space::Indexes, after.key(*entry)), Ok(None))
            })
    }

    fn put_entry(&mut self, at: usize) {
        let Scratch { key, after, .. } = &*self.scratch;
        let Some(entry) = after.list().get(at) else {
            return;
        };
        let id = key.get(4..).unwrap_or_default();
        let Some(index) = self.collection.indexes.get_mut(entry.index) else {
            return;
        };
        let entry_key = after.key(*entry);
        let value = entry_value(index.spec.unique, id);
        self.store.put(Space::Indexes, entry_key, &value);
        index.entries += 1;
        index.bytes += entry_key.len() as u64;
    }

    /// Notes what the new entries say of their indexes as a whole: that some document has an array, or a key that was cut.
    fn note_multikey(&mut self) {
        let mut changed = false;
        let Scratch { after, .. } = &*self.scratch;
        for position in after.multikey() {
            if let Some(index) = self.collection.indexes.get_mut(*position) {
                changed |= !std::mem::replace(&mut index.multikey, true);
            }
        }
        for position in after.cut() {
            if let Some(index) = self.collection.indexes.get_mut(*position) {
                changed |= !std::mem::replace(&mut index.cut, true);
            }
        }
        if changed {
            put_collection(self.store, self.collection);
        }
    }

    fn mark(&mut self) {
        if !std::mem::replace(&mut self.collection.dirty, true) {
            self.dirty.push(self.collection.id);
        }
    }
}

/// The value of an entry: of a unique index the encoded `_id`, else how many bytes at the end of the key are the `_id`.
pub(crate) fn entry_value(unique: bool, id: &[u8]) -> Cow<'_, [u8]> {
    if unique {
        return Cow::Borrowed(id);
    }
    let length = u32::try_from(id.len()).unwrap_or(u32::MAX);
    Cow::Owned(length.to_le_bytes().to_vec())
}

/// The encoded `_id` that an entry leads to.
pub(crate) fn id_of_entry<'a>(unique: bool, key: &'a [u8], value: &'a [u8]) -> Option<&'a [u8]> {
    if unique {
        return Some(value);
    }
    let length = u32::from_le_bytes(value.try_into().ok()?);
    let start = key.len().checked_sub(usize::try_from(length).ok()?)?;
    key.get(start..)
}

fn id_of(document: &RawDocument) -> Result<RawBsonRef<'_>> {
    match document.get("_id") {
        Ok(Some(id)) => Ok(id),
        Ok(None) => Err(Code::InternalError.error("a document without _id came to the store")),
        Err(error) => Err(Code::InvalidBSON.error(error.to_string())),
    }
}
