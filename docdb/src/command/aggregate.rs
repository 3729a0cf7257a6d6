//! `aggregate`: a cursor over what a pipeline makes of a collection. A leading `$match` and the `$sort` after it are
//! served from an index where there is one for them.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use bson::{Bson, Document, doc};

use super::arguments;
use super::listing;
use super::pipeline::{Arguments, NAME, select};
use super::stats::write_collection;
use crate::aggregate::{Execution, Foreign, Pipeline, Progress};
use crate::catalog::check_collection;
use crate::collection::plan::{self, Wanted};
use crate::collection::{Advance, Selection, stored};
use crate::cursor::{Batch, Cursor, FIRST_BATCH, Filled, Producer, Source};
use crate::error::{Code, Result};
use crate::query::Filter;
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::value::Writer;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    let arguments = Arguments::parse(request, context.now)?;
    let (database, name) = namespace(request, &arguments)?;
    if arguments.explain {
        return super::explain::aggregate(shard, (database, name), &arguments);
    }
    let producer = producer(shard, (database, name), &arguments)?;
    let first = arguments.first.unwrap_or(FIRST_BATCH);
    let cursor = Cursor::new((database, name), context, producer);
    listing::open(shard, cursor, first, false)
}

/// `aggregate: 1` asks the database or the server; of such pipelines none is supported.
fn namespace<'a>(request: &'a Request, arguments: &Arguments<'_>) -> Result<(&'a str, &'a str)> {
    let collection = request.body().get(NAME)?;
    match collection {
        Some(RawBsonRef::Int32(1) | RawBsonRef::Int64(1)) => {}
        Some(RawBsonRef::Double(one)) if one.to_bits() == 1.0_f64.to_bits() => {}
        _ => return arguments::namespace(request),
    }
    let stage = first_stage(&arguments.stages).map_or("", |(name, _)| name);
    Err(match stage {
        "$currentOp" | "$listLocalSessions" | "$listSessions" | "$documents" | "$changeStream" => {
            Code::Location(40324).error(format!("Unrecognized pipeline stage name: '{stage}'"))
        }
        _ => Code::InvalidNamespace.error(format!(
            "{{aggregate: 1}} is not valid for '{stage}'; a collection is required."
        )),
    })
}

fn first_stage<'a>(stages: &[&'a RawDocument]) -> Option<(&'a str, RawBsonRef<'a>)> {
    let (name, value) = stages.first()?.iter().next()?.ok()?;
    Some((name.as_str(), value))
}

fn producer(
    shard: &Shard,
    namespace: (&str, &str),
    arguments: &Arguments<'_>,
) -> Result<Box<dyn Producer>> {
    if let Some((name @ ("$collStats" | "$indexStats"), options)) = first_stage(&arguments.stages) {
        let rest = arguments.stages.get(1..).unwrap_or_default();
        let pipeline = Pipeline::parse(rest, &arguments.variables)?;
        let input = if name == "$collStats" {
            vec![coll_stats(shard, namespace, options)?]
        } else {
            index_stats(shard, namespace)
        };
        let mut execution = pipeline.execute(arguments.variables.clone());
        for document in input {
            execution.push(document);
        }
        execution.end_input();
        return Ok(Box::new(Aggregate::new(namespace.0, None, execution)));
    }
    let mut pipeline = Pipeline::parse(&arguments.stages, &arguments.variables)?;
    for collection in pipeline.foreign_collections() {
        check_collection(namespace.0, collection)?;
    }
    let filter = pipeline.take_leading_match();
    let selection = select(shard, namespace, filter, &pipeline, arguments)?;
    if selection.as_ref().is_some_and(|walk| walk.plan().sorted) {
        pipeline.drop_leading_sort();
    }
    let mut execution = pipeline.execute(arguments.variables.clone());
    if selection.is_none() {
        execution.end_input();
    }
    Ok(Box::new(Aggregate::new(namespace.0, selection, execution)))
}

/// The document of `$collStats`, with the parts that were asked for.
fn coll_stats(
    shard: &Shard,
    (database, name): (&str, &str),
    options: RawBsonRef<'_>,
) -> Result<RawDocumentBuf> {
    let options = arguments::object("$collStats", "$collStats", options)?;
    let collection = shard.catalog.find(database, name);
    let mut writer = Writer::with_capacity(512);
    writer.string("ns", &format!("{database}.{name}"));
    for option in options {
        let (option, _) = option?;
        match option.as_str() {
            "count" if collection.is_none() => {
                return Err(Code::NamespaceNotFound.error(format!(
                    "Unable to retrieve count in $collStats stage :: caused by :: Collection [{database}.{name}] not found."
                )));
            }
            "count" => writer.count("count", collection.map_or(0, |one| one.count)),
            "storageStats" => {
                writer.begin_document("storageStats");
                write_collection(&mut writer, collection, 1);
                writer.end();
            }
            other => return Err(arguments::unsupported("$collStats", other)),
        }
    }
    Ok(writer.finish())
}

fn index_stats(shard: &Shard, (database, name): (&str, &str)) -> Vec<RawDocumentBuf> {
    let Some(collection) = shard.catalog.find(database, name) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut writer = Writer::with_capacity(96);
    super::list_collections::write_id_index(&mut writer);
    found.push(writer.finish());
    found.extend(collection.ready().map(|index| index.spec.describe()));
    found
}

/// Gives a pipeline's results.
#[derive(Debug)]
struct Aggregate {
    database: String,
    selection: Option<Selection>,
    execution: Execution,
    /// A result that did not fit into the batch before.
    pending: Option<RawDocumentBuf>,
}

impl Aggregate {
    fn new(database: &str, selection: Option<Selection>, execution: Execution) -> Self {
        Self {
            database: database.to_owned(),
            selection,
            execution,
            pending: None,
        }
    }

    /// Gives the pipeline one more document. False if the budget is used up.
    fn feed(&mut self, source: Source<'_>, budget: &mut usize) -> Result<bool> {
        let Some(selection) = &mut self.selection else {
            self.execution.end_input();
            return Ok(true);
        };
        match selection.next(source.store, budget)? {
            Advance::Document(document) => self.execution.push(stored(&document)?.to_owned()),
            Advance::Later => return Ok(false),
            Advance::End => {
                self.selection = None;
                self.execution.end_input();
            }
        }
        Ok(true)
    }
}

impl Producer for Aggregate {
    fn fill(
        &mut self,
        source: Source<'_>,
        batch: &mut Batch,
        budget: &mut usize,
    ) -> Result<Filled> {
        if let Some(selection) = &self.selection {
            source.catalog.check(selection)?;
        }
        loop {
            if !batch.push_pending(&mut self.pending) || batch.is_full() {
                return Ok(Filled::Full);
            }
            // Results without input, as of $unwind or after $sort, take from the budget too.
            let Some(left) = budget.checked_sub(1) else {
                return Ok(Filled::Later);
            };
            let mut others = Others {
                source,
                database: &self.database,
                examined: 0,
            };
            let progress = self.execution.next(&mut others)?;
            let examined = others.examined;
            match progress {
                Progress::Document(document) => {
                    *budget = left;
                    self.pending = Some(document);
                }
                Progress::Done => return Ok(Filled::End),
                Progress::NeedsInput => {
                    if !self.feed(source, budget)? {
                        return Ok(Filled::Later);
                    }
                }
            }
            *budget = budget.saturating_sub(examined);
        }
    }

    fn pause(&mut self) {
        if let Some(selection) = &mut self.selection {
            selection.pause();
        }
    }
}

/// The other collections of the database, for `$lookup` and `$unionWith`.
struct Others<'a> {
    source: Source<'a>,
    database: &'a str,
    /// Documents looked at so far.
    examined: usize,
}

impl Others<'_> {
    fn read(&mut self, collection: &str, filter: Option<Filter>) -> Result<Vec<RawDocumentBuf>> {
        let Some(collection) = self.source.catalog.find(self.database, collection) else {
            return Ok(Vec::new());
        };
        let wanted = Wanted {
            filter: filter.as_ref(),
            ..Wanted::default()
        };
        let plan = plan::choose(collection, wanted)?;
        let mut selection = Selection::new(plan, filter);
        let mut found = Vec::new();
        let mut budget = usize::MAX;
        while let Advance::Document(document) = selection.next(self.source.store, &mut budget)? {
            found.push(stored(&document)?.to_owned());
        }
        self.examined += usize::MAX - budget;
        Ok(found)
    }
}

impl Foreign for Others<'_> {
    fn find(
        &mut self,
        collection: &str,
        field: &str,
        values: &[Bson],
    ) -> Result<Vec<RawDocumentBuf>> {
        let is_pattern = |value: &Bson| matches!(value, Bson::RegularExpression(_));
        let filter = if values.iter().any(is_pattern) {
            // In `$in` a pattern would be matched; here it is a value like any other.
            let equal = |value: &Bson| doc! { field: { "$eq": value.clone() } };
            doc! { "$or": values.iter().map(equal).collect::<Vec<_>>() }
        } else if let [value] = values {
            doc! { field: { "$eq": value.clone() } }
        } else {
            doc! { field: { "$in": values.to_vec() } }
        };
        self.read(collection, Some(parse(&filter)?))
    }

    fn all(&mut self, collection: &str) -> Result<Vec<RawDocumentBuf>> {
        self.read(collection, None)
    }
}

fn parse(filter: &Document) -> Result<Filter> {
    let raw = RawDocumentBuf::try_from(filter)?;
    Filter::parse(&raw)
}
