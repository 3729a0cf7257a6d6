//! `explain`: how a command would find its documents, and what that would cost. Nothing is changed.

use bson::raw::{RawBsonRef, RawDocument, RawDocumentBuf};
use bson::{Bson, Document, doc};
use plimsoll_base::Nanos;

use super::arguments;
use super::find::{self, Arguments};
use super::pipeline;
use super::write::{hint, parse_filter};
use crate::collection::plan::{Access, Plan};
use crate::collection::{Advance, Collection, Rows};
use crate::error::{Code, Result};
use crate::query::{Filter, Lists};
use crate::scheduler::Context;
use crate::shard::{Flow, Resumable, Shard};
use crate::value::decode;
use crate::wire::Request;

/// The commands that search for documents.
const EXPLAINED: [&str; 8] = [
    "aggregate",
    "count",
    "delete",
    "distinct",
    "find",
    "findAndModify",
    "findandmodify",
    "update",
];
/// Bytes that a sort may hold, as shown.
const SORT_MEMORY: i32 = 100 * 1024 * 1024;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    const EXPLAIN: &str = "explain";
    let body = request.body();
    let inner = body.get(EXPLAIN)?;
    let inner = arguments::object(EXPLAIN, EXPLAIN, inner.unwrap_or(RawBsonRef::Null))?;
    let mut execute = true;
    arguments::each(request, |name, value| {
        if name != "verbosity" {
            return Ok(false);
        }
        execute = match arguments::text(EXPLAIN, name, value)? {
            "queryPlanner" => false,
            "executionStats" | "allPlansExecution" => true,
            other => {
                return Err(Code::BadValue.error(format!(
                    "Enumeration value '{other}' for field 'explain.verbosity' is not a valid value."
                )));
            }
        };
        Ok(true)
    })?;
    let mut command = decode(inner)?;
    command.insert("$db", request.database());
    let raw = RawDocumentBuf::try_from(&command)?;
    explained(shard, &Request::from_document(&raw), context, execute)
}

/// Explains the command that was inside.
fn explained(
    shard: &mut Shard,
    request: &Request,
    context: &Context,
    execute: bool,
) -> Result<Flow> {
    if !EXPLAINED.contains(&request.name()) {
        return Err(Code::CommandNotFound.error(format!(
            "Explain failed due to unknown command: {}",
            request.name()
        )));
    }
    let namespace = arguments::namespace(request)?;
    if request.name() == "aggregate" {
        let mut command = decode(request.body())?;
        command.insert("explain", true);
        let raw = RawDocumentBuf::try_from(&command)?;
        let request = Request::from_document(&raw);
        let arguments = pipeline::Arguments::parse(&request, context.now)?;
        return explain_pipeline(shard, namespace, &arguments, execute);
    }
    let first = |field| request.documents(field).map(|all| first_of(all, request));
    let (target, query) = match request.name() {
        "find" => (Target::Find, Arguments::parse(request, context.now)?),
        "count" => (Target::Count, filter_arguments(request.body(), "query")?),
        "distinct" => (Target::Distinct, filter_arguments(request.body(), "query")?),
        "findAndModify" | "findandmodify" => {
            let remove = request.body().get_bool("remove").unwrap_or(false);
            let mut query = filter_arguments(request.body(), "query")?;
            query.limit = 1;
            (
                if remove {
                    Target::Delete
                } else {
                    Target::Update
                },
                query,
            )
        }
        "update" => (Target::Update, filter_arguments(first("updates")??, "q")?),
        _ => (Target::Delete, filter_arguments(first("deletes")??, "q")?),
    };
    begin(shard, namespace, &query, target, execute)
}

fn first_of<'a>(all: Option<Vec<&'a RawDocument>>, request: &Request) -> Result<&'a RawDocument> {
    match all.unwrap_or_default().as_slice() {
        [one] => Ok(one),
        _ => Err(Code::InvalidOptions.error(format!(
            "explained {} command must have exactly one statement",
            request.name()
        ))),
    }
}

/// Filter, sort and hint of a command or statement that is not a `find`.
fn filter_arguments<'a>(body: &'a RawDocument, filter: &str) -> Result<Arguments<'a>> {
    let mut query = Arguments::default();
    for element in body.iter_elements() {
        let element = element?;
        let (name, value) = (element.key().as_str(), element.value()?);
        match name {
            name if name == filter => {
                query.filter = arguments::optional_object("explain", name, value)?;
            }
            "sort" => query.sort = arguments::optional_object("explain", name, value)?,
            "hint" => query.hint = hint("explain", value)?,
            _ => {}
        }
    }
    Ok(query)
}

/// What the explained command does with the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Find,
    Count,
    Distinct,
    Update,
    Delete,
    Pipeline,
}

fn begin(
    shard: &mut Shard,
    namespace: (&str, &str),
    query: &Arguments<'_>,
    target: Target,
    execute: bool,
) -> Result<Flow> {
    let filter = parse_filter(query.filter, &query.variables, &Lists::default())?;
    explain(
        shard,
        namespace,
        query,
        filter,
        (target, execute, Vec::new()),
    )
}

fn explain(
    shard: &mut Shard,
    (database, name): (&str, &str),
    query: &Arguments<'_>,
    filter: Option<Filter>,
    (target, execute, stages): (Target, bool, Vec<Bson>),
) -> Result<Flow> {
    find::projection(query)?;
    let limit = (query.limit > 0).then_some(query.limit);
    let rows = find::rows(shard, (database, name), filter, query, limit)?;
    let collection = shard.catalog.find(database, name);
    let plan = if let (Some(rows), Some(collection)) = (&rows, collection) {
        shown(collection, rows, query, target)?
    } else {
        doc! { "stage": "EOF" }
    };
    let job = Explain {
        namespace: format!("{database}.{name}"),
        filter: query.filter.map_or_else(|| Ok(Document::new()), decode)?,
        plan,
        rows: rows.filter(|_| execute),
        execute,
        returned: 0,
        keys: 0,
        documents: 0,
        stages,
        is_pipeline: target == Target::Pipeline,
        begun: shard.clock.now(),
        time: Nanos(0),
    };
    Box::new(job).go_on(shard)
}

/// `aggregate` with `explain: true`.
pub(super) fn aggregate(
    shard: &mut Shard,
    namespace: (&str, &str),
    arguments: &pipeline::Arguments<'_>,
) -> Result<Flow> {
    explain_pipeline(shard, namespace, arguments, false)
}

fn explain_pipeline(
    shard: &mut Shard,
    namespace: (&str, &str),
    arguments: &pipeline::Arguments<'_>,
    execute: bool,
) -> Result<Flow> {
    let mut pipeline = crate::aggregate::Pipeline::parse(&arguments.stages, &arguments.variables)?;
    let filter = pipeline.take_leading_match();
    let mut rest = arguments.stages.as_slice();
    let mut query = Arguments {
        hint: arguments.hint,
        ..Arguments::default()
    };
    if let (Some(_), [first, others @ ..]) = (&filter, rest) {
        query.filter = first.get_document("$match").ok();
        rest = others;
    }
    let walk = pipeline::select(shard, namespace, filter.clone(), &pipeline, arguments)?;
    let sorted = pipeline.leading_sort().is_some() && walk.is_some_and(|walk| walk.plan().sorted);
    if let (true, [first, others @ ..]) = (sorted, rest) {
        query.sort = first.get_document("$sort").ok();
        rest = others;
    }
    let stages = rest
        .iter()
        .map(|stage| decode(stage).map(Bson::from))
        .collect::<Result<_, _>>()?;
    let filter = filter.filter(|filter| !filter.is_empty());
    explain(
        shard,
        namespace,
        &query,
        filter,
        (Target::Pipeline, execute, stages),
    )
}

/// The tree of stages, what documents go through last on top.
fn shown(
    collection: &Collection,
    rows: &Rows,
    query: &Arguments<'_>,
    target: Target,
) -> Result<Document> {
    let plan = rows.selection.plan();
    let filter = query.filter.map_or_else(|| Ok(Document::new()), decode)?;
    if target == Target::Count && filter.is_empty() && query.hint.is_none() {
        return Ok(doc! { "stage": "COUNT", "inputStage": { "stage": "RECORD_STORE_FAST_COUNT" } });
    }
    let mut tree = access(collection, plan, filter);
    if rows.sorts() {
        let pattern = query.sort.map_or_else(|| Ok(Document::new()), decode)?;
        let mut sort = doc! { "stage": "SORT", "sortPattern": pattern, "memLimit": SORT_MEMORY, "type": "simple" };
        if query.limit > 0 {
            sort.insert(
                "limitAmount",
                i64::try_from(query.limit + query.skip).unwrap_or(i64::MAX),
            );
        }
        sort.insert("inputStage", tree);
        tree = sort;
    }
    if query.skip > 0 {
        let skip = i64::try_from(query.skip).unwrap_or(i64::MAX);
        tree = doc! { "stage": "SKIP", "skipAmount": skip, "inputStage": tree };
    }
    if query.limit > 0 && !rows.sorts() {
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
        tree = doc! { "stage": "LIMIT", "limitAmount": limit, "inputStage": tree };
    }
    if let Some(projection) = query.projection.filter(|one| !one.is_empty()) {
        let projection = decode(projection)?;
        tree =
            doc! { "stage": "PROJECTION_DEFAULT", "transformBy": projection, "inputStage": tree };
    }
    let top = match target {
        Target::Count => "COUNT",
        Target::Update => "UPDATE",
        Target::Delete => "DELETE",
        Target::Find | Target::Distinct | Target::Pipeline => return Ok(tree),
    };
    Ok(doc! { "stage": top, "inputStage": tree })
}

fn access(collection: &Collection, plan: &Plan, filter: Document) -> Document {
    let direction = if plan.backward { "backward" } else { "forward" };
    let only_id = filter.len() == 1 && filter.contains_key("_id");
    let (key, name, flags) = match plan.access {
        Access::Collection { bounded: false } => {
            let mut scan = doc! { "stage": "COLLSCAN" };
            if !filter.is_empty() {
                scan.insert("filter", filter);
            }
            scan.insert("direction", direction);
            return scan;
        }
        Access::Collection { bounded: true } => {
            let equal = filter
                .get("_id")
                .is_some_and(|id| id.as_document().is_none());
            if only_id && equal {
                return doc! { "stage": "IDHACK" };
            }
            (doc! { "_id": 1 }, "_id_", (false, true, false, false))
        }
        Access::Index {
            id,
            unique,
            multikey,
        } => {
            let Some(index) = collection.indexes.iter().find(|index| index.id == id) else {
                return doc! { "stage": "EOF" };
            };
            let key = decode(&index.spec.key).unwrap_or_default();
            let partial = index.spec.partial.is_some();
            (
                key,
                index.spec.name.as_str(),
                (multikey, unique, index.spec.sparse, partial),
            )
        }
    };
    let (multikey, unique, sparse, partial) = flags;
    let scan = doc! {
        "stage": "IXSCAN", "keyPattern": key, "indexName": name, "isMultiKey": multikey, "isUnique": unique,
        "isSparse": sparse, "isPartial": partial, "indexVersion": 2, "direction": direction,
    };
    let mut fetch = doc! { "stage": "FETCH" };
    if !filter.is_empty() {
        fetch.insert("filter", filter);
    }
    fetch.insert("inputStage", scan);
    fetch
}

/// An explanation that carries the search out.
#[derive(Debug)]
struct Explain {
    namespace: String,
    filter: Document,
    plan: Document,
    /// What is left of the search.
    rows: Option<Rows>,
    execute: bool,
    returned: u64,
    keys: u64,
    documents: u64,
    stages: Vec<Bson>,
    is_pipeline: bool,
    begun: Nanos,
    time: Nanos,
}

impl Resumable for Explain {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.budget();
        while let Some(rows) = &mut self.rows {
            shard.catalog.check(&rows.selection)?;
            match rows.next(&shard.store, &mut budget)? {
                Advance::Document(_) => self.returned += 1,
                Advance::Later => return Ok(Flow::More(self)),
                Advance::End => {
                    self.keys = rows.selection.keys_examined;
                    self.documents = rows.selection.documents_examined;
                    self.rows = None;
                }
            }
        }
        self.time = Nanos(shard.clock.now().0.saturating_sub(self.begun.0));
        let reply = RawDocumentBuf::try_from(&self.reply())?;
        Ok(Flow::Done(reply))
    }
}

impl Explain {
    fn reply(&self) -> Document {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut found = doc! { "queryPlanner": {
            "namespace": &self.namespace, "indexFilterSet": false, "parsedQuery": self.filter.clone(),
            "winningPlan": self.plan.clone(), "rejectedPlans": [],
        } };
        if self.execute {
            let mut stages = self.plan.clone();
            stages.insert("nReturned", count(self.returned));
            found.insert("executionStats", doc! {
                "executionSuccess": true, "nReturned": count(self.returned), "executionTimeMillis": i64::try_from(self.time.0 / 1_000_000).unwrap_or(i64::MAX),
                "totalKeysExamined": count(self.keys), "totalDocsExamined": count(self.documents),
                "executionStages": stages,
            });
        }
        if self.is_pipeline && !self.stages.is_empty() {
            let mut stages = vec![Bson::from(doc! { "$cursor": found })];
            stages.extend(self.stages.iter().cloned());
            found = doc! { "stages": stages };
        }
        found.insert("explainVersion", "1");
        found.insert("ok", 1.0);
        found
    }
}
