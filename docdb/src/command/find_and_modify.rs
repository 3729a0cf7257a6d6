//! `findAndModify`: changes, replaces or removes one document and returns it as it was or as it is.

use bson::RawDocumentBuf;
use bson::raw::{RawBson, RawBsonRef, RawDocument};

use super::arguments;
use super::find::{self, Arguments};
use super::write::{hint, insert, parse_filter};
use crate::collection::{Advance, Rows, stored};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::query::{Filter, Lists, Projection};
use crate::scheduler::Context;
use crate::shard::{Flow, Resumable, Shard};
use crate::store::Slice;
use crate::update::Update;
use crate::value::Writer;
use crate::wire::Request;

/// The name in messages.
const NAME: &str = "findAndModify";

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    let job = FindAndModify {
        request: request.clone(),
        now: context.now,
        rows: None,
    };
    Box::new(job).go_on(shard)
}

/// The fields of the command.
#[derive(Debug, Default)]
struct Fields<'a> {
    find: Arguments<'a>,
    update: Option<RawBsonRef<'a>>,
    array_filters: Vec<&'a RawDocument>,
    remove: bool,
    new: bool,
    upsert: bool,
}

/// What is to be done to the document, parsed.
#[derive(Debug)]
struct Action {
    /// `None`: remove it.
    update: Option<Update>,
    filter: Filter,
    projection: Option<Projection>,
    new: bool,
    upsert: bool,
}

#[derive(Debug)]
struct FindAndModify {
    request: Request,
    now: bson::DateTime,
    /// The search, if it takes more than one slice.
    rows: Option<Rows>,
}

/// What happened: goes into `lastErrorObject` and `value`.
#[derive(Debug, Default)]
struct Outcome {
    found: bool,
    upserted: Option<RawBson>,
    value: Option<RawDocumentBuf>,
}

impl<'a> Fields<'a> {
    fn parse(request: &'a Request, now: bson::DateTime) -> Result<Self> {
        let mut fields = Self::default();
        fields.find.variables = Variables::at(now);
        arguments::each(request, |name, value| {
            match name {
                "query" => fields.find.filter = arguments::optional_object(NAME, name, value)?,
                "fields" => {
                    fields.find.projection = arguments::optional_object(NAME, name, value)?;
                }
                "sort" => fields.find.sort = arguments::optional_object(NAME, name, value)?,
                "hint" => fields.find.hint = hint(NAME, value)?,
                "update" => fields.update = Some(value),
                "arrayFilters" => fields.array_filters = arguments::documents(NAME, name, value)?,
                "remove" => fields.remove = arguments::truth(NAME, name, value)?,
                "new" => fields.new = arguments::truth(NAME, name, value)?,
                "upsert" => fields.upsert = arguments::truth(NAME, name, value)?,
                "collation" => arguments::collation(NAME, value)?,
                "let" => arguments::variables(NAME, value, &mut fields.find.variables)?,
                "bypassDocumentValidation" | "bypassEmptyTsReplacement" => {}
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        fields.check()?;
        Ok(fields)
    }

    fn check(&self) -> Result<()> {
        let problem = match (self.remove, &self.update) {
            (true, Some(_)) => "Cannot specify both an update and remove=true",
            (false, None) => "Either an update or remove=true must be specified",
            (true, None) if self.upsert => "Cannot specify both upsert=true and remove=true",
            (true, None) if self.new => {
                "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document"
            }
            _ => return Ok(()),
        };
        Err(Code::FailedToParse.error(problem))
    }

    fn action(&self, lists: &Lists) -> Result<Action> {
        let variables = &self.find.variables;
        let update = self
            .update
            .map(|update| Update::parse_with(update, &self.array_filters, variables));
        Ok(Action {
            update: update.transpose()?,
            filter: Filter::parse_listed(self.find.filter.unwrap_or(empty()), variables, lists)?,
            projection: find::projection(&self.find)?,
            new: self.new,
            upsert: self.upsert,
        })
    }
}

fn empty() -> &'static RawDocument {
    RawDocument::from_bytes(&[5, 0, 0, 0, 0]).expect("five bytes are the empty document")
}

impl Resumable for FindAndModify {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.budget();
        let rows = self.rows.take();
        let (database, name) = arguments::namespace(&self.request)?;
        let fields = Fields::parse(&self.request, self.now)?;
        let action = fields.action(&shard.lists)?;
        let mut rows = match rows {
            Some(rows) => Some(rows),
            None => search(shard, (database, name), &fields.find)?,
        };
        while let Some(walk) = &mut rows {
            shard.catalog.check(&walk.selection)?;
            match walk.next(&shard.store, &mut budget)? {
                Advance::End => break,
                Advance::Later => {
                    self.rows = rows;
                    return Ok(Flow::More(self));
                }
                Advance::Document(document) => {
                    let collection = walk.selection.plan().collection;
                    if let Some(current) = recheck(shard, collection, &document, &action.filter)? {
                        let old = stored(&current)?;
                        let outcome = action.apply(shard, collection, old, self.now)?;
                        return Ok(Flow::Done(outcome.reply(&action)));
                    }
                    // It changed while the others were sorted: look again.
                    rows = search(shard, (database, name), &fields.find)?;
                }
            }
        }
        let outcome = action.not_found(shard, (database, name), self.now)?;
        Ok(Flow::Done(outcome.reply(&action)))
    }
}

fn search(
    shard: &Shard,
    namespace: (&str, &str),
    arguments: &Arguments<'_>,
) -> Result<Option<Rows>> {
    let filter = parse_filter(arguments.filter, &arguments.variables, &shard.lists)?;
    find::rows(shard, namespace, filter, arguments, Some(1))
}

/// The document as it is now, if it still matches.
fn recheck(
    shard: &Shard,
    collection: u32,
    document: &Slice,
    filter: &Filter,
) -> Result<Option<Slice>> {
    let found = stored(document)?;
    let id = found.get("_id")?.unwrap_or(RawBsonRef::Null);
    let Some(current) = shard.document(collection, id)? else {
        return Ok(None);
    };
    let matches = current[..] == document[..] || filter.try_matches(stored(&current)?)?;
    Ok(matches.then_some(current))
}

impl Action {
    fn apply(
        &self,
        shard: &mut Shard,
        collection: u32,
        old: &RawDocument,
        now: bson::DateTime,
    ) -> Result<Outcome> {
        let positional = self.filter.positional(old);
        let mut outcome = Outcome {
            found: true,
            ..Outcome::default()
        };
        let Some(mut writer) = shard.catalog.writer(&mut shard.store, collection) else {
            return Err(super::write::dropped());
        };
        let Some(update) = &self.update else {
            outcome.value = Some(self.project(old, positional)?);
            writer.remove(old)?;
            return Ok(outcome);
        };
        let new = update.apply(old, positional, false, now)?;
        let shown = match &new {
            Some(new) if self.new => new,
            _ => old,
        };
        // Whatever can fail is done before the write.
        outcome.value = Some(self.project(shown, positional)?);
        if let Some(new) = &new {
            writer.replace(old, new)?;
        }
        Ok(outcome)
    }

    fn not_found(
        &self,
        shard: &mut Shard,
        namespace: (&str, &str),
        now: bson::DateTime,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        if let Some(update) = &self.update
            && self.upsert
        {
            let new = update.upsert(&self.filter, now)?;
            if self.new {
                outcome.value = Some(self.project(&new, None)?);
            }
            outcome.upserted = Some(insert(shard, namespace, &new)?);
        }
        Ok(outcome)
    }

    fn project(&self, document: &RawDocument, positional: Option<usize>) -> Result<RawDocumentBuf> {
        match &self.projection {
            Some(projection) => projection.apply(document, positional),
            None => Ok(document.to_owned()),
        }
    }
}

impl Outcome {
    fn reply(&self, action: &Action) -> RawDocumentBuf {
        let size = self
            .value
            .as_ref()
            .map_or(0, |value| value.as_bytes().len());
        let mut writer = Writer::with_capacity(size + 128);
        writer.begin_document("lastErrorObject");
        writer.int("n", i32::from(self.found || self.upserted.is_some()));
        if action.update.is_some() {
            writer.boolean("updatedExisting", self.found);
        }
        if let Some(id) = &self.upserted {
            writer.raw("upserted", id.as_raw_bson_ref());
        }
        writer.end();
        match &self.value {
            Some(value) => writer.document("value", value),
            None => writer.raw("value", RawBsonRef::Null),
        }
        writer.ok()
    }
}
