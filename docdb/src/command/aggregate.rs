//! `aggregate`: a cursor over what a pipeline makes of a collection. A leading `$match` and the `$sort` after it are
//! served from an index where there is one for them.

use std::any::Any;
use std::sync::Arc;

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::arguments;
use super::listing;
use super::pipeline::{Arguments, NAME, select};
use super::stats::write_collection;
use crate::aggregate::{Execution, Foreign, Pipeline, Progress, Read, Walk, unknown_stage};
use crate::budget::Budget;
use crate::catalog::check_collection;
use crate::collection::plan::{self, Wanted};
use crate::collection::{Advance, Selection, stored};
use crate::cursor::{Batch, Cursor, FIRST_BATCH, Filled, Producer, Source};
use crate::error::{Code, Result};
use crate::memory::Memory;
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
    let mut cursor = Cursor::new((database, name), context, producer);
    cursor.weigh(request, shard.cursors.reading.as_ref());
    cursor.limit(super::max_time(request));
    listing::open(shard, cursor, first, false)
}

/// The stage that lists commands under way.
pub(crate) const CURRENT_OP: &str = "$currentOp";

/// `aggregate: 1` asks the database or the server; of such pipelines only `$currentOp` is supported.
fn namespace<'a>(request: &'a Request, arguments: &Arguments<'_>) -> Result<(&'a str, &'a str)> {
    let collection = request.body().get(NAME)?;
    match collection {
        Some(RawBsonRef::Int32(1) | RawBsonRef::Int64(1)) => {}
        Some(RawBsonRef::Double(one)) if one.to_bits() == 1.0_f64.to_bits() => {}
        _ => return arguments::namespace(request),
    }
    let stage = first_stage(&arguments.stages).map_or("", |(name, _)| name);
    if stage == CURRENT_OP {
        return Ok((request.database(), "$cmd.aggregate"));
    }
    Err(match stage {
        "$listLocalSessions" | "$listSessions" | "$documents" | "$changeStream" => {
            unknown_stage(stage)
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
    let room = shard.room(arguments.in_memory);
    if let Some((name @ ("$collStats" | "$indexStats" | CURRENT_OP), options)) =
        first_stage(&arguments.stages)
    {
        let rest = arguments.stages.get(1..).unwrap_or_default();
        let pipeline = Pipeline::parse_listed(rest, &arguments.variables, &shard.lists)?;
        let input = match name {
            "$collStats" => vec![coll_stats(shard, namespace, options)?],
            CURRENT_OP => operations(shard, namespace, options)?,
            _ => index_stats(shard, namespace),
        };
        let mut execution = pipeline.execute(arguments.variables.clone(), room);
        for document in input {
            execution.push(document);
        }
        execution.end_input();
        return Ok(Box::new(Aggregate::new(
            (shard, namespace.0),
            None,
            execution,
        )));
    }
    let mut pipeline =
        Pipeline::parse_listed(&arguments.stages, &arguments.variables, &shard.lists)?;
    for collection in pipeline.foreign_collections() {
        check_collection(namespace.0, collection)?;
    }
    let filter = pipeline.take_leading_match();
    let selection = select(shard, namespace, filter, &pipeline, arguments)?;
    if selection.as_ref().is_some_and(|walk| walk.plan().sorted) {
        pipeline.drop_leading_sort();
    }
    let mut execution = pipeline.execute(arguments.variables.clone(), room);
    if selection.is_none() {
        execution.end_input();
    }
    Ok(Box::new(Aggregate::new(
        (shard, namespace.0),
        selection,
        execution,
    )))
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

/// What `$currentOp` begins with: a document for each command that takes long.
fn operations(
    shard: &Shard,
    (database, _): (&str, &str),
    options: RawBsonRef<'_>,
) -> Result<Vec<RawDocumentBuf>> {
    if database != "admin" {
        return Err(Code::InvalidNamespace
            .error("$currentOp must be run against the 'admin' database with {aggregate: 1}"));
    }
    for option in arguments::object(CURRENT_OP, CURRENT_OP, options)? {
        let (name, value) = option?;
        // Without a login, everybody's operations are one's own; what else they choose is not listed here in any case.
        match name.as_str() {
            "allUsers" | "localOps" | "idleConnections" | "idleSessions" | "idleCursors"
            | "truncateOps" | "backtrace" | "targetAllNodes" => {
                arguments::truth(CURRENT_OP, name.as_str(), value)?;
            }
            other => return Err(arguments::unsupported(CURRENT_OP, other)),
        }
    }
    let now = shard.clock.now();
    let running = shard.operations.running();
    Ok(running.iter().map(|one| one.describe(now)).collect())
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
    memory: Arc<Memory>,
    selection: Option<Selection>,
    execution: Execution,
    /// A result that did not fit into the batch before.
    pending: Option<RawDocumentBuf>,
}

impl Aggregate {
    fn new(
        (shard, database): (&Shard, &str),
        selection: Option<Selection>,
        execution: Execution,
    ) -> Self {
        Self {
            database: database.to_owned(),
            memory: Arc::clone(shard.memory()),
            selection,
            execution,
            pending: None,
        }
    }

    /// Gives the pipeline one more document. False if the budget is used up.
    fn feed(&mut self, source: Source<'_>, budget: &mut Budget) -> Result<bool> {
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
        budget: &mut Budget,
    ) -> Result<Filled> {
        if let Some(selection) = &self.selection {
            source.catalog.check(selection)?;
        }
        loop {
            if !batch.push_pending(&mut self.pending) || batch.is_full() {
                return Ok(Filled::Full);
            }
            // Results without input, as of $unwind or after $sort, take from the budget too.
            if budget.is_over() {
                return Ok(Filled::Later);
            }
            let mut others = Others {
                source,
                database: &self.database,
                memory: &self.memory,
                budget,
            };
            match self.execution.next(&mut others)? {
                Progress::Document(document) => {
                    budget.take();
                    self.pending = Some(document);
                }
                Progress::Done => return Ok(Filled::End),
                Progress::Later => return Ok(Filled::Later),
                Progress::NeedsInput => {
                    if !self.feed(source, budget)? {
                        return Ok(Filled::Later);
                    }
                }
            }
        }
    }

    fn pause(&mut self) {
        if let Some(selection) = &mut self.selection {
            selection.pause();
        }
        self.execution.pause();
    }

    fn held(&self) -> usize {
        let pending = self.pending.as_ref();
        pending.map_or(0, |pending| pending.as_bytes().len()) + self.execution.held()
    }
}

/// The other collections of the database, for `$lookup` and `$unionWith`.
struct Others<'a> {
    source: Source<'a>,
    database: &'a str,
    memory: &'a Arc<Memory>,
    budget: &'a mut Budget,
}

/// A read of one of them; `None` if there is no such collection.
#[derive(Debug)]
struct OtherWalk(Option<Selection>);

impl Walk for OtherWalk {
    fn pause(&mut self) {
        if let Some(selection) = &mut self.0 {
            selection.pause();
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl Foreign for Others<'_> {
    fn open(&mut self, collection: &str, filter: Option<Filter>) -> Result<Box<dyn Walk>> {
        let found = self.source.catalog.find(self.database, collection);
        let plan = |collection| {
            let wanted = Wanted {
                filter: filter.as_ref(),
                ..Wanted::default()
            };
            plan::choose(collection, wanted)
        };
        let plan = found.map(plan).transpose()?;
        let counted = |plan| Selection::new(plan, filter).counted(self.memory);
        let selection = plan.map(counted);
        Ok(Box::new(OtherWalk(selection)))
    }

    fn read(&mut self, walk: &mut dyn Walk) -> Result<Read> {
        let walk = walk.as_any().downcast_mut::<OtherWalk>();
        let Some(OtherWalk(Some(selection))) = walk else {
            return Ok(Read::End);
        };
        self.source.catalog.check(selection)?;
        Ok(match selection.next(self.source.store, self.budget)? {
            Advance::Document(document) => Read::Document(stored(&document)?.to_owned()),
            Advance::End => Read::End,
            Advance::Later => Read::Later,
        })
    }

    fn take(&mut self) -> bool {
        self.budget.take();
        !self.budget.is_over()
    }
}
