//! `validate`: checks that documents, index entries and counts agree.
//!
//! Documents and entries are read from one snapshot. The entries that the documents should have and those that there are
//! must have the same sum of hashes, so that a collection of any size is checked in constant memory.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;

use bson::RawDocumentBuf;
use bson::raw::{RawBsonRef, RawDocument};

use super::arguments;
use crate::collection::{Collection, Entries, ID_INDEX, document_key, entry_value, stored};
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Resumable, Shard};
use crate::store::{Scan, Slice, Space, Store};
use crate::value::{Writer, decimal};
use crate::wire::Request;

/// Problems that are listed; further ones only count.
const MOST_PROBLEMS: usize = 100;

pub(super) fn run(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    let (database, name) = arguments::namespace(request)?;
    arguments::each(request, |field, value| {
        match field {
            "full" | "metadata" | "checkBSONConformance" | "background" => {}
            "repair" | "enforceFastCount" => {
                arguments::refuse_unless_off("validate", field, value)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let Some(collection) = shard.catalog.find(database, name) else {
        return Err(Code::NamespaceNotFound.error(format!(
            "Collection '{database}.{name}' does not exist to validate."
        )));
    };
    let check = Check::new(&shard.store, collection);
    Box::new(check).go_on(shard)
}

#[derive(Debug)]
struct Check {
    namespace: String,
    collection: u32,
    /// Documents and bytes as the catalogue has them.
    expected: (u64, u64),
    found: (u64, u64),
    documents: Option<Scan>,
    indexes: Vec<IndexCheck>,
    problems: Vec<String>,
    invalid: u64,
    entries: Entries,
    key: Vec<u8>,
}

/// One index: what the documents say, what the catalogue says, what there is.
#[derive(Debug)]
struct IndexCheck {
    id: u32,
    name: String,
    catalogued: u64,
    expected: Sum,
    found: Sum,
    /// `None` once all entries were seen.
    scan: Option<Scan>,
}

/// Entries, regardless of their order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hash: u64,
}

impl Sum {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut hasher = DefaultHasher::new();
        (key, value).hash(&mut hasher);
        self.hash = self.hash.wrapping_add(hasher.finish());
        self.count += 1;
    }
}

fn scan(store: &Store, space: Space, id: u32) -> Scan {
    let (lower, upper) = (id.to_be_bytes(), id.saturating_add(1).to_be_bytes());
    store.scan(space, Bound::Included(&lower), Bound::Excluded(&upper))
}

impl Check {
    fn new(store: &Store, collection: &Collection) -> Self {
        let indexes = collection.ready().map(|index| IndexCheck {
            id: index.id,
            name: index.spec.name.clone(),
            catalogued: index.entries,
            expected: Sum::default(),
            found: Sum::default(),
            scan: Some(scan(store, Space::Indexes, index.id)),
        });
        Self {
            namespace: collection.namespace(),
            collection: collection.id,
            expected: (collection.count, collection.bytes),
            found: (0, 0),
            indexes: indexes.collect(),
            documents: Some(scan(store, Space::Documents, collection.id)),
            problems: Vec::new(),
            invalid: 0,
            entries: Entries::default(),
            key: Vec::new(),
        }
    }
}

impl Resumable for Check {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.budget();
        let Some(collection) = shard.catalog.get(self.collection) else {
            return Err(super::write::dropped());
        };
        while let Some(mut documents) = self.documents.take() {
            if !budget.take() {
                self.documents = Some(documents);
                return Ok(Flow::More(self));
            }
            if let Some(entry) = documents.next() {
                let (key, value) = entry?;
                self.document(collection, &key, &value);
                self.documents = Some(documents);
            }
        }
        for index in &mut self.indexes {
            while let Some(scan) = &mut index.scan {
                if !budget.take() {
                    return Ok(Flow::More(self));
                }
                match scan.next().transpose()? {
                    Some((key, value)) => index.found.add(&key, &value),
                    None => index.scan = None,
                }
            }
        }
        self.judge();
        Ok(Flow::Done(self.reply()))
    }
}

impl Check {
    fn document(&mut self, collection: &Collection, key: &Slice, value: &Slice) {
        self.found.0 += 1;
        self.found.1 += value.len() as u64;
        let checked = crate::value::validate(value).and_then(|()| stored(value));
        let document: &RawDocument = match checked {
            Ok(document) => document,
            Err(error) => return self.invalid_document(&error.message),
        };
        let Ok(Some(id)) = document.get("_id") else {
            return self.invalid_document("it has no _id");
        };
        document_key(self.collection, id, &mut self.key);
        if self.key[..] != key[..] {
            return self.invalid_document("its key is not that of its _id");
        }
        let id = self.key.get(4..).unwrap_or_default();
        if let Err(error) = self.entries.collect(&collection.indexes, document, id) {
            return self.invalid_document(&error.message);
        }
        for entry in self.entries.list() {
            let Some(index) = collection.indexes.get(entry.index) else {
                continue;
            };
            if let Some(check) = self.indexes.iter_mut().find(|one| one.id == index.id) {
                let value = entry_value(index.spec.unique, id);
                check.expected.add(self.entries.key(*entry), &value);
            }
        }
    }

    fn invalid_document(&mut self, problem: &str) {
        self.invalid += 1;
        self.problem(format!("a document is damaged: {problem}"));
    }

    fn problem(&mut self, problem: String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }

    fn judge(&mut self) {
        if self.found != self.expected {
            let ((count, bytes), (found, found_bytes)) = (self.expected, self.found);
            self.problem(format!(
                "the catalogue counts {count} documents of {bytes} bytes, there are {found} of {found_bytes}"
            ));
        }
        let mut problems = Vec::new();
        for index in &self.indexes {
            if index.expected != index.found {
                problems.push(format!(
                    "index {} has {} entries, the documents ask for {} or for others",
                    index.name, index.found.count, index.expected.count
                ));
            } else if index.catalogued != index.found.count {
                problems.push(format!(
                    "the catalogue counts {} entries of index {}, there are {}",
                    index.catalogued, index.name, index.found.count
                ));
            }
        }
        for problem in problems {
            self.problem(problem);
        }
    }

    fn reply(&self) -> RawDocumentBuf {
        let mut writer = Writer::with_capacity(512);
        writer.string("ns", &self.namespace);
        writer.count("nInvalidDocuments", self.invalid);
        writer.int("nNonCompliantDocuments", 0);
        writer.count("nrecords", self.found.0);
        writer.count("nIndexes", self.indexes.len() as u64 + 1);
        writer.begin_document("keysPerIndex");
        writer.count(ID_INDEX, self.found.0);
        for index in &self.indexes {
            writer.count(&index.name, index.found.count);
        }
        writer.end();
        writer.begin_document("indexDetails");
        let ok = (ID_INDEX, self.invalid == 0);
        let others = self
            .indexes
            .iter()
            .map(|index| (index.name.as_str(), index.expected == index.found));
        for (name, valid) in std::iter::once(ok).chain(others) {
            writer.begin_document(name);
            writer.boolean("valid", valid);
            writer.end();
        }
        writer.end();
        writer.boolean("valid", self.problems.is_empty());
        writer.boolean("repaired", false);
        let lists = [
            "warnings",
            "extraIndexEntries",
            "missingIndexEntries",
            "corruptRecords",
        ];
        for name in lists {
            writer.begin_array(name);
            writer.end();
        }
        writer.begin_array("errors");
        for (at, problem) in self.problems.iter().enumerate() {
            writer.raw(decimal(at, &mut [0; 20]), RawBsonRef::String(problem));
        }
        writer.end();
        writer.ok()
    }
}
