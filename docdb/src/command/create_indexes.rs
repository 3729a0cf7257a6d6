//! `createIndexes`: adds indexes and fills them from the documents there are, in slices between other commands.
//!
//! From its start on every write keeps a new index up to date, so it is complete once each document was seen. A crash
//! before that leaves no index: recovery gives unfinished ones up.

use bson::RawDocumentBuf;
use bson::raw::RawDocument;

use super::arguments::{self, missing};
use crate::budget::Budget;
use crate::collection::{Advance, Collection, Index, IndexSpec, Selection, plan, stored};
use crate::error::{Code, Result};
use crate::scheduler::Context;
use crate::shard::{Flow, Resumable, Shard};
use crate::value::display;
use crate::value::{Fields, Writer};
use crate::wire::Request;

/// Indexes per collection, that of `_id` included (MongoDB's limit).
const MOST: usize = 64;

/// What `ignoreUnknownIndexOptions` leaves of an index as a backup has it: nothing that MongoDB does not know. What it knows and
/// this server has not is still refused.
fn known_options(spec: &RawDocument) -> RawDocumentBuf {
    let mut known = Writer::with_capacity(spec.as_bytes().len());
    for element in Fields::new(spec).elements() {
        if std::str::from_utf8(element.name).is_ok_and(|name| OPTIONS.contains(&name)) {
            known.element(&element);
        }
    }
    known.finish()
}

/// The fields of an index specification of MongoDB 7.0.
const OPTIONS: [&str; 27] = [
    "key",
    "name",
    "v",
    "unique",
    "sparse",
    "expireAfterSeconds",
    "partialFilterExpression",
    "hidden",
    "collation",
    "background",
    "ns",
    "dropDups",
    "storageEngine",
    "weights",
    "default_language",
    "language_override",
    "textIndexVersion",
    "2dsphereIndexVersion",
    "bits",
    "min",
    "max",
    "bucketSize",
    "finestIndexedLevel",
    "coarsestIndexedLevel",
    "wildcardProjection",
    "clustered",
    "prepareUnique",
];

pub(super) fn run(shard: &mut Shard, request: &Request, _: &Context) -> Result<Flow> {
    const CREATE: &str = "createIndexes";
    let (database, name) = arguments::namespace(request)?;
    let mut lenient = false;
    arguments::each(request, |field, value| {
        match field {
            "indexes" | "commitQuorum" => {}
            "ignoreUnknownIndexOptions" => lenient = arguments::truth(CREATE, field, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let specs = request
        .documents("indexes")?
        .ok_or_else(|| missing(CREATE, "indexes"))?;
    if specs.is_empty() {
        return Err(Code::BadValue.error("Must specify at least one index to create"));
    }
    let specs = specs
        .into_iter()
        .map(|spec| {
            if lenient {
                IndexSpec::parse(&known_options(spec))
            } else {
                IndexSpec::parse(spec)
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    let existed = shard.catalog.find(database, name).is_some();
    let id = shard
        .catalog
        .find_or_create(&mut shard.store, database, name)?;
    let before = shard
        .catalog
        .get(id)
        .map_or(1, |one| one.ready().count() + 1);
    let new = new_ones(shard, id, specs)?;
    let mut build = Build {
        collection: id,
        indexes: Vec::new(),
        awaited: new.awaited,
        before,
        created_collection: !existed,
        selection: None,
    };
    for spec in new.specs {
        let index = shard.catalog.add_index(&mut shard.store, id, spec)?;
        build.indexes.push(index);
    }
    if let Some(collection) = shard.catalog.get(id)
        && !build.indexes.is_empty()
    {
        let plan = plan::everything(collection);
        build.selection = Some(Selection::new(plan, None));
    }
    Box::new(build).go_on(shard)
}

/// What of a request is to be done.
#[derive(Debug, Default)]
struct New {
    specs: Vec<IndexSpec>,
    /// Indexes that another command is building.
    awaited: Vec<u32>,
}

fn new_ones(shard: &Shard, id: u32, specs: Vec<IndexSpec>) -> Result<New> {
    let Some(collection) = shard.catalog.get(id) else {
        return Ok(New::default());
    };
    let mut new = New::default();
    for spec in specs {
        if spec.is_id() {
            continue;
        }
        if let Some(existing) = conflict_of(collection, &spec)? {
            if existing.building {
                new.awaited.push(existing.id);
            }
            continue;
        }
        let repeated = new
            .specs
            .iter()
            .map(|one| compare(one, &spec))
            .collect::<Result<Vec<_>, _>>()?;
        if repeated.contains(&true) {
            continue;
        }
        if collection.indexes.len() + new.specs.len() + 2 > MOST {
            return Err(Code::CannotCreateIndex.error(format!(
                "add index fails, too many indexes for {} key:{}",
                collection.namespace(),
                display::document(&spec.key)
            )));
        }
        new.specs.push(spec);
    }
    Ok(new)
}

/// The existing index that is the same; an error if one is in the way.
fn conflict_of<'a>(collection: &'a Collection, spec: &IndexSpec) -> Result<Option<&'a Index>> {
    for index in &collection.indexes {
        if compare(&index.spec, spec)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Whether both are the same index; an error if they cannot exist together.
fn compare(existing: &IndexSpec, asked: &IndexSpec) -> Result<bool> {
    let same_name = existing.name == asked.name;
    let same_options = existing.expire_after == asked.expire_after;
    let shown = || {
        format!(
            "Requested index: {}, existing index: {}",
            display::document(&asked.describe()),
            display::document(&existing.describe())
        )
    };
    match (same_name, existing.same_signature(asked)) {
        (true, true) if same_options => Ok(true),
        (true, true) => Err(Code::IndexOptionsConflict.error(format!(
            "An equivalent index already exists with the same name but different options. {}",
            shown()
        ))),
        (true, false) => Err(Code::IndexKeySpecsConflict.error(format!(
            "An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. {}",
            shown()
        ))),
        (false, true) if same_options => Err(Code::IndexOptionsConflict.error(format!(
            "Index already exists with a different name: {}",
            existing.name
        ))),
        (false, true) => Err(Code::IndexOptionsConflict.error(format!(
            "An equivalent index already exists with a different name and options. {}",
            shown()
        ))),
        (false, false) => Ok(false),
    }
}

/// Indexes that are being filled.
#[derive(Debug)]
struct Build {
    collection: u32,
    indexes: Vec<u32>,
    awaited: Vec<u32>,
    before: usize,
    created_collection: bool,
    /// `None` once all documents were seen.
    selection: Option<Selection>,
}

impl Resumable for Build {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.budget();
        match self.fill(shard, &mut budget) {
            Ok(true) => {}
            Ok(false) => return Ok(Flow::More(self)),
            Err(error) => {
                self.give_up(shard);
                return Err(error);
            }
        }
        for index in std::mem::take(&mut self.indexes) {
            let ready = |index: &mut Index| index.building = false;
            shard
                .catalog
                .change_index(&mut shard.store, self.collection, index, ready);
        }
        if self.awaits(shard) {
            return Ok(Flow::More(self));
        }
        let after = shard
            .catalog
            .get(self.collection)
            .map_or(0, |one| one.ready().count() + 1);
        Ok(Flow::Done(self.reply(after)))
    }

    /// An index that nobody fills any more would be awaited for ever.
    fn give_up(self: Box<Self>, shard: &mut Shard) {
        for index in &self.indexes {
            shard
                .catalog
                .drop_index(&mut shard.store, self.collection, *index);
        }
    }
}

impl Build {
    /// True once all documents are in all indexes.
    fn fill(&mut self, shard: &mut Shard, budget: &mut Budget) -> Result<bool> {
        let Some(selection) = &mut self.selection else {
            return Ok(true);
        };
        shard.catalog.check(selection)?;
        loop {
            let document = match selection.next(&shard.store, budget)? {
                Advance::Document(document) => document,
                Advance::End => break,
                Advance::Later => {
                    // The next slice must see what was written meanwhile, not what was there at the start.
                    selection.pause();
                    return Ok(false);
                }
            };
            let document: &RawDocument = stored(&document)?;
            for index in &self.indexes {
                let writer = shard.catalog.writer(&mut shard.store, self.collection);
                let mut writer = writer.ok_or_else(super::write::dropped)?;
                writer.fill(*index, document)?;
            }
        }
        self.selection = None;
        Ok(true)
    }

    /// Whether another command is still building an index that this one asked for too.
    fn awaits(&self, shard: &Shard) -> bool {
        let collection = shard.catalog.get(self.collection);
        collection.is_some_and(|collection| {
            let building = collection.indexes.iter().filter(|index| index.building);
            building
                .into_iter()
                .any(|index| self.awaited.contains(&index.id))
        })
    }

    fn reply(&self, after: usize) -> RawDocumentBuf {
        let mut writer = Writer::with_capacity(128);
        writer.count("numIndexesBefore", self.before as u64);
        writer.count("numIndexesAfter", after as u64);
        writer.boolean("createdCollectionAutomatically", self.created_collection);
        if self.before == after {
            writer.string("note", "all indexes already exist");
        }
        writer.ok()
    }
}
