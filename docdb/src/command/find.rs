//! `find`: a cursor over the documents that match a filter, in order, projected.

use bson::RawDocumentBuf;
use bson::raw::{RawBsonRef, RawDocument};

use super::arguments;
use super::listing;
use super::write::{hint, id_equality, parse_filter};
use crate::budget::Budget;
use crate::collection::plan::{self, Wanted};
use crate::collection::{Advance, Rows, Selection, stored};
use crate::cursor::{Batch, Cursor, FIRST_BATCH, Filled, Producer, Source};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::query::{Filter, Projection, SortOrder};
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::wire::Request;

/// The fields of a `find`.
#[derive(Debug, Default)]
pub(super) struct Arguments<'a> {
    pub filter: Option<&'a RawDocument>,
    pub(crate) projection: Option<&'a RawDocument>,
    pub sort: Option<&'a RawDocument>,
    pub hint: Option<RawBsonRef<'a>>,
    pub skip: u64,
    pub limit: u64,
    pub batch_size: Option<u64>,
    pub(crate) single_batch: bool,
    pub keep: bool,
    /// `allowDiskUse: false`
    pub(super) in_memory: bool,
    pub variables: Variables,
}

impl<'a> Arguments<'a> {
    pub(super) fn parse(request: &'a Request, now: bson::DateTime) -> Result<Self> {
        let mut found = Self {
            variables: Variables::at(now),
            ..Self::default()
        };
        arguments::each(request, |name, value| found.field(name, value))?;
        Ok(found)
    }

    /// Takes one field of a `find`; false if there is no such field.
    pub(super) fn field(&mut self, name: &'a str, value: RawBsonRef<'a>) -> Result<bool> {
        const FIND: &str = "find";
        match name {
            "filter" => self.filter = arguments::optional_object(FIND, name, value)?,
            "projection" => self.projection = arguments::optional_object(FIND, name, value)?,
            "sort" => self.sort = arguments::optional_object(FIND, name, value)?,
            "hint" => self.hint = hint(FIND, value)?,
            "skip" => self.skip = arguments::count(FIND, name, value)?,
            "limit" => self.limit = arguments::count(FIND, name, value)?,
            "batchSize" => self.batch_size = Some(arguments::count(FIND, name, value)?),
            "singleBatch" => self.single_batch = arguments::truth(FIND, name, value)?,
            "noCursorTimeout" => self.keep = arguments::truth(FIND, name, value)?,
            "collation" => arguments::collation(FIND, value)?,
            "let" => arguments::variables(FIND, value, &mut self.variables)?,
            "allowDiskUse" => self.in_memory = !arguments::truth(FIND, name, value)?,
            "allowPartialResults" | "oplogReplay" => {
                arguments::truth(FIND, name, value)?;
            }
            "tailable" if arguments::truth(FIND, name, value)? => {
                return Err(Code::BadValue.error(
                    "error processing query: tailable cursor requested on non capped collection",
                ));
            }
            "awaitData" if arguments::truth(FIND, name, value)? => {
                return Err(Code::FailedToParse
                    .error("Cannot set 'awaitData' without also setting 'tailable'"));
            }
            "min" | "max" | "returnKey" | "showRecordId" | "tailable" | "awaitData"
            | "snapshot" => arguments::refuse_unless_off(FIND, name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The value of a filter that is nothing but `_id`, if nothing else matters.
    fn only_id(&self) -> Option<RawBsonRef<'a>> {
        let plain = self.sort.is_none()
            && self.hint.is_none()
            && self.skip == 0
            && self.batch_size != Some(0);
        if plain {
            id_equality(self.filter?)
        } else {
            None
        }
    }
}

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    let (database, name) = arguments::namespace(request)?;
    let arguments = Arguments::parse(request, context.now)?;
    if let Some(id) = arguments.only_id() {
        return by_id(shard, (database, name), id, &arguments).map(Flow::Done);
    }
    let producer = find(shard, (database, name), &arguments)?;
    let mut cursor = Cursor::new((database, name), context, producer);
    cursor.keep = arguments.keep;
    cursor.weigh(request, shard.cursors.reading.as_ref());
    cursor.limit(super::max_time(request));
    let first = arguments.batch_size.unwrap_or(FIRST_BATCH);
    listing::open(shard, cursor, first, arguments.single_batch)
}

/// The producer of a find's batches.
pub(super) fn find(
    shard: &Shard,
    (database, name): (&str, &str),
    arguments: &Arguments<'_>,
) -> Result<Box<dyn Producer>> {
    let filter = parse_filter(arguments.filter, &arguments.variables, &shard.lists)?;
    let projection = projection(arguments)?;
    let limit = (arguments.limit > 0).then_some(arguments.limit);
    let rows = rows(shard, (database, name), filter, arguments, limit)?;
    Ok(match rows {
        Some(rows) => Box::new(Find { rows, projection }),
        None => Box::new(listing::Prepared::default()),
    })
}

/// The documents of a find in order; `None` if there is no such collection.
pub(super) fn rows(
    shard: &Shard,
    (database, name): (&str, &str),
    filter: Option<Filter>,
    arguments: &Arguments<'_>,
    limit: Option<u64>,
) -> Result<Option<Rows>> {
    let sort = arguments.sort.filter(|sort| !sort.is_empty());
    let order = sort.map(SortOrder::parse).transpose()?;
    let Some(collection) = shard.catalog.find(database, name) else {
        return Ok(None);
    };
    let wanted = Wanted {
        filter: filter.as_ref(),
        sort: order.as_ref(),
        hint: arguments.hint,
    };
    let plan = plan::choose(collection, wanted)?;
    let order = order.filter(|order| !plan.sorted && !order.is_empty());
    let room = shard.room(arguments.in_memory);
    let selection = Selection::new(plan, filter).counted(&room.memory);
    Ok(Some(Rows::new(
        selection,
        order,
        arguments.skip,
        limit,
        room,
    )))
}

pub(super) fn projection(arguments: &Arguments<'_>) -> Result<Option<Projection>> {
    let raw = arguments.projection.filter(|raw| !raw.is_empty());
    raw.map(|raw| Projection::parse_with(raw, &arguments.variables))
        .transpose()
}

/// The fast path: at most one document, found by its key, with no filter and no plan.
fn by_id(
    shard: &Shard,
    (database, name): (&str, &str),
    id: RawBsonRef<'_>,
    arguments: &Arguments<'_>,
) -> Result<RawDocumentBuf> {
    let projection = projection(arguments)?;
    let mut batch = Batch::new("firstBatch", 1);
    if let Some(collection) = shard.catalog.find(database, name)
        && let Some(document) = shard.document(collection.id, id)?
    {
        let document = stored(&document)?;
        // The first document always fits into a batch.
        let _fits = match &projection {
            Some(projection) => batch.push(&projection.apply(document, None)?),
            None => batch.push(document),
        };
    }
    Ok(batch.finish(0, database, name))
}

/// Gives a find's documents.
#[derive(Debug)]
struct Find {
    rows: Rows,
    projection: Option<Projection>,
}

impl Producer for Find {
    fn fill(
        &mut self,
        source: Source<'_>,
        batch: &mut Batch,
        budget: &mut Budget,
    ) -> Result<Filled> {
        source.catalog.check(&self.rows.selection)?;
        loop {
            if !batch.copy(budget) {
                return Ok(Filled::Later);
            }
            if batch.is_full() {
                let end = self.rows.is_done();
                return Ok(if end { Filled::End } else { Filled::Full });
            }
            let slice = match self.rows.next(source.store, budget)? {
                Advance::Document(document) => document,
                Advance::Later => return Ok(Filled::Later),
                Advance::End => return Ok(Filled::End),
            };
            let document = stored(&slice)?;
            let Some(projection) = &self.projection else {
                if !batch.push_slice(&slice) {
                    self.rows.unread(slice);
                    return Ok(Filled::Full);
                }
                continue;
            };
            let filter = self.rows.selection.filter();
            let positional = filter
                .filter(|_| projection.needs_positional())
                .and_then(|filter| filter.positional(document));
            let projected = projection.apply(document, positional)?;
            if !batch.push(&projected) {
                self.rows.unread(slice);
                return Ok(Filled::Full);
            }
        }
    }

    fn pause(&mut self) {
        self.rows.pause();
    }

    fn held(&self) -> usize {
        self.rows.held()
    }
}
