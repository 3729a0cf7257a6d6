//! Knows which databases, collections and indexes a shard has, and keeps that on disk in the same batches as the documents.
//!
//! Rows of the catalogue space: `v` the format's version; `i` the next id; `c` + collection id: names and indexes;
//! `n` + collection id: counts; `d` + kind + id: a dropped range whose keys are still to be deleted.
//! Ids of collections and indexes come from one counter and are never used again, so that what is left of a dropped
//! collection can never show up in a new one.

mod namespace;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

pub(crate) use self::namespace::{check_collection, check_database, check_new_collection};
use crate::collection::row::{self, COLLECTION, put_collection, row_key};
use crate::collection::{Collection, Index, IndexSpec, Scratch, Selection, Writer};
use crate::error::{Code, Result};
use crate::store::{Slice, Space, Store, StoreError};

const VERSION_KEY: &[u8] = b"v";
const VERSION: u32 = 1;
const NEXT_ID_KEY: &[u8] = b"i";
const COUNTS: u8 = b'n';
const DROPPED: u8 = b'd';

/// Everything that is named in one shard.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    names: BTreeMap<String, BTreeMap<String, u32>>,
    collections: BTreeMap<u32, Collection>,
    next_id: u32,
    /// Collections whose counts changed since the last commit.
    dirty: Vec<u32>,
    dropped: VecDeque<Dropped>,
    /// Where the first of them is deleted up to: what is gone is not looked at again.
    swept: Option<Slice>,
    /// Since the census was last taken.
    pub(crate) names_changed: bool,
    scratch: Scratch,
}

/// A range of keys that nothing refers to any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dropped {
    space: Space,
    id: u32,
}

impl Catalog {
    /// Reads the catalogue of a store. Index builds that did not end are given up: nobody was told that they succeeded.
    pub(crate) fn load(store: &mut Store) -> Result<Self> {
        let mut catalog = Self {
            next_id: 1,
            ..Self::default()
        };
        check_version(store)?;
        if let Some(next) = store.get(Space::Catalog, NEXT_ID_KEY)? {
            catalog.next_id = row::read_u32(&next).ok_or_else(|| row::damaged("next id"))?;
        }
        for (key, value) in rows(store, COLLECTION)? {
            let id = row::read_u32(&key).ok_or_else(|| row::damaged("collection id"))?;
            let collection = row::read_collection(id, &value)?;
            catalog.enter(collection);
        }
        for (key, value) in rows(store, COUNTS)? {
            let id = row::read_u32(&key).ok_or_else(|| row::damaged("count's id"))?;
            if let Some(collection) = catalog.collections.get_mut(&id) {
                row::read_counts(collection, &value)?;
            }
        }
        for (key, _) in rows(store, DROPPED)? {
            catalog.dropped.push_back(read_dropped(&key)?);
        }
        catalog.give_up_builds(store);
        Ok(catalog)
    }

    /// Goes back to what is on disk, after a batch that failed. Ids given out since then stay used, because commands
    /// that are on their way may still hold them.
    pub(crate) fn reload(&mut self, store: &mut Store) {
        if let Ok(mut catalog) = Self::load(store) {
            catalog.next_id = catalog.next_id.max(self.next_id);
            *self = catalog;
        }
    }

    fn enter(&mut self, collection: Collection) {
        self.names_changed = true;
        self.names
            .entry(collection.database.clone())
            .or_default()
            .insert(collection.name.clone(), collection.id);
        self.collections.insert(collection.id, collection);
    }

    fn give_up_builds(&mut self, store: &mut Store) {
        let unfinished: Vec<(u32, u32)> = self
            .collections
            .values()
            .flat_map(|collection| {
                let building = collection.indexes.iter().filter(|index| index.building);
                building.map(|index| (collection.id, index.id))
            })
            .collect();
        for (collection, index) in unfinished {
            self.drop_index(store, collection, index);
        }
    }

    pub(crate) fn find(&self, database: &str, collection: &str) -> Option<&Collection> {
        let id = self.names.get(database)?.get(collection)?;
        self.collections.get(id)
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Collection> {
        self.collections.get(&id)
    }

    /// The databases with their collections, in order of names.
    pub(crate) fn databases(&self) -> impl Iterator<Item = (&str, Vec<&Collection>)> {
        self.names.iter().map(|(name, collections)| {
            let found = collections
                .values()
                .filter_map(|id| self.collections.get(id));
            (name.as_str(), found.collect())
        })
    }

    /// The collections of one database in order of their names.
    pub(crate) fn in_database(&self, database: &str) -> impl Iterator<Item = &Collection> {
        self.names
            .get(database)
            .into_iter()
            .flat_map(|collections| collections.values())
            .filter_map(|id| self.collections.get(id))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Collection> {
        self.collections.values()
    }

    /// Changes documents of the collection; `None` if it was dropped.
    pub(crate) fn writer<'a>(&'a mut self, store: &'a mut Store, id: u32) -> Option<Writer<'a>> {
        let collection = self.collections.get_mut(&id)?;
        Some(Writer::new(
            store,
            collection,
            &mut self.scratch,
            &mut self.dirty,
        ))
    }

    /// Refuses to go on with a walk whose collection or index was dropped meanwhile.
    pub(crate) fn check(&self, walk: &Selection) -> Result<()> {
        walk.check(self.get(walk.plan().collection))
    }

    /// The collection's id; it is created if there is none of that name.
    pub(crate) fn find_or_create(
        &mut self,
        store: &mut Store,
        database: &str,
        name: &str,
    ) -> Result<u32> {
        if let Some(collection) = self.find(database, name) {
            return Ok(collection.id);
        }
        self.create(store, database, name)
    }

    /// Creates a collection that does not exist.
    pub(crate) fn create(&mut self, store: &mut Store, database: &str, name: &str) -> Result<u32> {
        check_new_collection(database, name)?;
        self.check_spelling(database)?;
        let id = self.new_id(store)?;
        let uuid = bson::Uuid::new().bytes();
        let collection = Collection::new(id, database, name, uuid);
        put_collection(store, &collection);
        self.enter(collection);
        self.mark(id);
        Ok(id)
    }

    /// Databases whose names differ in case only are refused, as MongoDB does for the sake of file systems.
    fn check_spelling(&self, database: &str) -> Result<()> {
        if self.names.contains_key(database) {
            return Ok(());
        }
        match self
            .names
            .keys()
            .find(|name| name.eq_ignore_ascii_case(database))
        {
            None => Ok(()),
            Some(other) => Err(Code::DatabaseDifferCase.error(format!(
                "db already exists with different case already have: [{other}] trying to create [{database}]"
            ))),
        }
    }

    fn new_id(&mut self, store: &mut Store) -> Result<u32> {
        let id = self.next_id;
        self.next_id = id
            .checked_add(1)
            .ok_or_else(|| Code::InternalError.error("all ids of collections are used up"))?;
        store.put(Space::Catalog, NEXT_ID_KEY, &self.next_id.to_be_bytes());
        Ok(id)
    }

    /// Drops a collection with its indexes. Its keys are deleted later, in slices ([`Catalog::sweep`]).
    pub(crate) fn drop_collection(&mut self, store: &mut Store, id: u32) {
        let Some(collection) = self.collections.remove(&id) else {
            return;
        };
        self.forget_name(&collection.database, &collection.name);
        store.delete(Space::Catalog, &row_key(COLLECTION, id));
        store.delete(Space::Catalog, &row_key(COUNTS, id));
        self.abandon(store, Space::Documents, id);
        for index in &collection.indexes {
            self.abandon(store, Space::Indexes, index.id);
        }
    }

    fn forget_name(&mut self, database: &str, name: &str) {
        self.names_changed = true;
        if let Some(collections) = self.names.get_mut(database) {
            collections.remove(name);
            if collections.is_empty() {
                self.names.remove(database);
            }
        }
    }

    fn abandon(&mut self, store: &mut Store, space: Space, id: u32) {
        let dropped = Dropped { space, id };
        store.put(Space::Catalog, &dropped_key(dropped), &[]);
        self.dropped.push_back(dropped);
    }

    /// Gives a collection another name in its database. The name must be free.
    pub(crate) fn rename(&mut self, store: &mut Store, id: u32, name: &str) {
        let Some(mut collection) = self.collections.remove(&id) else {
            return;
        };
        self.forget_name(&collection.database, &collection.name);
        name.clone_into(&mut collection.name);
        put_collection(store, &collection);
        self.enter(collection);
    }

    /// Adds an index that is still to be filled; returns its id.
    pub(crate) fn add_index(
        &mut self,
        store: &mut Store,
        collection: u32,
        spec: IndexSpec,
    ) -> Result<u32> {
        let id = self.new_id(store)?;
        let Some(collection) = self.collections.get_mut(&collection) else {
            return Err(Code::NamespaceNotFound.error("ns not found"));
        };
        collection.indexes.push(Index::new(id, spec));
        put_collection(store, collection);
        Ok(id)
    }

    /// Changes an index as `change` says; false if there is no such index.
    pub(crate) fn change_index(
        &mut self,
        store: &mut Store,
        collection: u32,
        index: u32,
        change: impl FnOnce(&mut Index),
    ) -> bool {
        let Some(collection) = self.collections.get_mut(&collection) else {
            return false;
        };
        let Some(index) = collection.indexes.iter_mut().find(|one| one.id == index) else {
            return false;
        };
        change(index);
        put_collection(store, collection);
        let id = collection.id;
        self.mark(id);
        true
    }

    pub(crate) fn drop_index(&mut self, store: &mut Store, collection: u32, index: u32) {
        let Some(collection) = self.collections.get_mut(&collection) else {
            return;
        };
        let Some(position) = collection.indexes.iter().position(|one| one.id == index) else {
            return;
        };
        collection.indexes.remove(position);
        put_collection(store, collection);
        let id = collection.id;
        self.mark(id);
        self.abandon(store, Space::Indexes, index);
    }

    fn mark(&mut self, id: u32) {
        if let Some(collection) = self.collections.get_mut(&id)
            && !std::mem::replace(&mut collection.dirty, true)
        {
            self.dirty.push(id);
        }
    }

    /// Puts the counts that changed into the batch. Called right before each commit, so that counts on disk are always
    /// those of the documents beside them. True if any changed.
    pub(crate) fn put_counts(&mut self, store: &mut Store) -> bool {
        let changed = !self.dirty.is_empty();
        for id in std::mem::take(&mut self.dirty) {
            if let Some(collection) = self.collections.get_mut(&id) {
                collection.dirty = false;
                store.put(
                    Space::Catalog,
                    &row_key(COUNTS, id),
                    &row::write_counts(collection),
                );
            }
        }
        changed
    }

    /// Deletes up to `most` keys of dropped ranges; true if some may be left.
    pub(crate) fn sweep(&mut self, store: &mut Store, most: usize) -> Result<bool, StoreError> {
        let Some(&dropped) = self.dropped.front() else {
            return Ok(false);
        };
        let lower = dropped.id.to_be_bytes();
        let upper = dropped.id.saturating_add(1).to_be_bytes();
        let keys = {
            let from = match &self.swept {
                Some(last) => Bound::Excluded(&last[..]),
                None => Bound::Included(&lower[..]),
            };
            let scan = store.scan(dropped.space, from, Bound::Excluded(&upper));
            scan.take(most)
                .map(|entry| entry.map(|(key, _)| key))
                .collect::<Result<Vec<_>, _>>()?
        };
        for key in &keys {
            store.delete(dropped.space, key);
        }
        self.swept = keys.last().cloned();
        if keys.len() < most {
            self.swept = None;
            store.delete(Space::Catalog, &dropped_key(dropped));
            self.dropped.pop_front();
        }
        Ok(!self.dropped.is_empty())
    }
}

fn check_version(store: &mut Store) -> Result<()> {
    match store.get(Space::Catalog, VERSION_KEY)? {
        None => {
            store.put(Space::Catalog, VERSION_KEY, &VERSION.to_be_bytes());
            Ok(())
        }
        Some(found) if row::read_u32(&found) == Some(VERSION) => Ok(()),
        Some(found) => Err(Code::InternalError.error(format!(
            "the data has version {:?} of the catalogue, this program reads {VERSION}: use the program that wrote it",
            row::read_u32(&found)
        ))),
    }
}

fn dropped_key(dropped: Dropped) -> [u8; 6] {
    let [a, b, c, d] = dropped.id.to_be_bytes();
    let kind = if dropped.space == Space::Documents {
        b'd'
    } else {
        b'i'
    };
    [DROPPED, kind, a, b, c, d]
}

fn read_dropped(key: &[u8]) -> Result<Dropped> {
    let space = match key.first() {
        Some(b'd') => Space::Documents,
        Some(b'i') => Space::Indexes,
        _ => return Err(row::damaged("dropped range")),
    };
    let id = key.get(1..).and_then(row::read_u32);
    let id = id.ok_or_else(|| row::damaged("dropped range"))?;
    Ok(Dropped { space, id })
}

/// A key and a value.
type Row = (Vec<u8>, Vec<u8>);

/// The catalogue rows of one kind: their keys without the kind, and their values.
fn rows(store: &Store, kind: u8) -> Result<Vec<Row>, StoreError> {
    let scan = store.scan(
        Space::Catalog,
        Bound::Included(&[kind]),
        Bound::Excluded(&[kind + 1]),
    );
    scan.map(|entry| {
        entry.map(|(key, value)| (key.get(1..).unwrap_or_default().to_vec(), value.to_vec()))
    })
    .collect()
}
