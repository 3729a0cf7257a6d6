//! `update`: changes documents by operators, replacement or pipeline; inserts where nothing matches and `upsert` asks for it.

use bson::RawDocumentBuf;
use bson::raw::{RawBson, RawBsonRef, RawDocument};

use super::arguments::{self, missing};
use super::statements::{Batch, Statements, carry_out};
use super::write::{Hint, dropped, id_equality, select};
use crate::collection::{Next, Selection, document_key, stored};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::query::Filter;
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::store::Space;
use crate::update::Update;
use crate::value::decimal;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    let mut update = UpdateCommand {
        batch: Batch::default(),
        variables: Variables::at(context.now),
        now: context.now,
        current: None,
        modified: 0,
        upserted: Vec::new(),
    };
    arguments::each(request, |name, value| {
        match name {
            "ordered" => update.batch.ordered = arguments::truth("update", name, value)?,
            "let" => arguments::variables("update", value, &mut update.variables)?,
            "updates" | "bypassDocumentValidation" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    carry_out(shard, request, update)
}

#[derive(Debug)]
struct UpdateCommand {
    batch: Batch,
    variables: Variables,
    now: bson::DateTime,
    current: Option<Running>,
    modified: u64,
    upserted: Vec<(usize, RawBson)>,
}

/// A statement on its way over the documents.
#[derive(Debug)]
struct Running {
    collection: u32,
    selection: Selection,
    update: Update,
    filter: Filter,
    multi: bool,
    upsert: bool,
    matched: bool,
}

/// One element of `updates`.
#[derive(Debug)]
struct Statement<'a> {
    filter: &'a RawDocument,
    update: RawBsonRef<'a>,
    array_filters: Vec<&'a RawDocument>,
    multi: bool,
    upsert: bool,
    hint: Option<Hint<'a>>,
    /// `c`: variables of a pipeline.
    constants: Option<RawBsonRef<'a>>,
}

impl Statements for UpdateCommand {
    const COMMAND: &'static str = "update";
    const LIST: &'static str = "updates";

    fn check(raw: &RawDocument) -> Result<()> {
        Statement::parse(raw).map(drop)
    }

    fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    fn give_up(&mut self) {
        self.current = None;
    }

    fn reply(self) -> RawDocumentBuf {
        let Self {
            modified,
            upserted,
            batch,
            ..
        } = self;
        batch.reply.finish(Some(&mut |writer| {
            writer.count("nModified", modified);
            if upserted.is_empty() {
                return;
            }
            writer.begin_array("upserted");
            for (at, (index, id)) in upserted.iter().enumerate() {
                writer.begin_document(decimal(at, &mut [0; 20]));
                writer.count("index", *index as u64);
                writer.raw("_id", id.as_raw_bson_ref());
                writer.end();
            }
            writer.end();
        }))
    }

    fn statement(
        &mut self,
        shard: &mut Shard,
        namespace: (&str, &str),
        raw: &RawDocument,
        budget: &mut usize,
    ) -> Result<bool> {
        if self.current.is_none() {
            let statement = Statement::parse(raw)?;
            let update = statement.update(&self.variables)?;
            if statement.multi && update.is_replacement() {
                return Err(Code::FailedToParse
                    .error("multi update is not supported for replacement-style update"));
            }
            if let Some(id) = id_equality(statement.filter)
                && statement.hint.is_none()
                && self.by_id(shard, namespace, id, &update)?
            {
                return Ok(true);
            }
            let filter = Filter::parse_with(statement.filter, &self.variables)?;
            let selection = select(
                shard,
                namespace,
                statement.filter,
                statement.hint.as_ref(),
                &self.variables,
            )?;
            let Some((collection, selection)) = selection else {
                if statement.upsert {
                    self.upsert(shard, namespace, &update, &filter)?;
                }
                return Ok(true);
            };
            self.current = Some(Running {
                collection,
                selection,
                update,
                filter,
                multi: statement.multi,
                upsert: statement.upsert,
                matched: false,
            });
        }
        let Some(mut running) = self.current.take() else {
            return Ok(true);
        };
        if !self.walk(shard, &mut running, budget)? {
            self.current = Some(running);
            return Ok(false);
        }
        if running.upsert && !running.matched {
            self.upsert(shard, namespace, &running.update, &running.filter)?;
        }
        Ok(true)
    }
}

impl UpdateCommand {
    /// The fast path of `{_id: value}`. False if there is no such document.
    fn by_id(
        &mut self,
        shard: &mut Shard,
        (database, name): (&str, &str),
        id: RawBsonRef<'_>,
        update: &Update,
    ) -> Result<bool> {
        let Some(collection) = shard.catalog.find(database, name).map(|one| one.id) else {
            return Ok(false);
        };
        let mut key = Vec::with_capacity(32);
        document_key(collection, id, &mut key);
        let Some(old) = shard.store.get(Space::Documents, &key)? else {
            return Ok(false);
        };
        self.change(shard, collection, update, stored(&old)?, None)?;
        Ok(true)
    }

    /// True once all documents were seen.
    fn walk(
        &mut self,
        shard: &mut Shard,
        running: &mut Running,
        budget: &mut usize,
    ) -> Result<bool> {
        shard.catalog.check(&running.selection)?;
        loop {
            let document = match running.selection.next(&shard.store, budget)? {
                Next::Document(document) => document,
                Next::Later => return Ok(false),
                Next::End => return Ok(true),
            };
            running.matched = true;
            let old = stored(&document)?;
            let positional = if running.update.needs_positional() {
                running.filter.positional(old)
            } else {
                None
            };
            self.change(shard, running.collection, &running.update, old, positional)?;
            if !running.multi {
                return Ok(true);
            }
        }
    }

    fn change(
        &mut self,
        shard: &mut Shard,
        collection: u32,
        update: &Update,
        old: &RawDocument,
        positional: Option<usize>,
    ) -> Result<()> {
        if let Some(new) = update.apply(old, positional, false, self.now)? {
            let Some(mut writer) = shard.catalog.writer(&mut shard.store, collection) else {
                return Err(dropped());
            };
            writer.replace(old, &new)?;
            self.modified += 1;
        }
        self.batch.reply.n += 1;
        Ok(())
    }

    fn upsert(
        &mut self,
        shard: &mut Shard,
        (database, name): (&str, &str),
        update: &Update,
        filter: &Filter,
    ) -> Result<()> {
        let new = update.upsert(filter, self.now)?;
        let id = insert(shard, (database, name), &new)?;
        self.upserted.push((self.batch.next, id));
        self.batch.reply.n += 1;
        Ok(())
    }
}

/// Inserts what an upsert made; returns its `_id`.
pub(super) fn insert(
    shard: &mut Shard,
    (database, name): (&str, &str),
    document: &RawDocument,
) -> Result<RawBson> {
    let collection = shard
        .catalog
        .find_or_create(&mut shard.store, database, name)?;
    if let Some(mut writer) = shard.catalog.writer(&mut shard.store, collection) {
        writer.insert(document)?;
    }
    let id = document.get("_id")?;
    Ok(id.map_or(RawBson::Null, RawBson::from))
}

impl<'a> Statement<'a> {
    fn update(&self, variables: &Variables) -> Result<Update> {
        let Some(constants) = self.constants else {
            return Update::parse_with(self.update, &self.array_filters, variables);
        };
        let mut all = variables.clone();
        arguments::constants("update.updates", constants, &mut all)?;
        Update::parse_with(self.update, &self.array_filters, &all)
    }

    fn parse(raw: &'a RawDocument) -> Result<Self> {
        const PLACE: &str = "update.updates";
        let (mut filter, mut update, mut array_filters) = (None, None, Vec::new());
        let (mut multi, mut upsert, mut hint, mut constants) = (false, false, None, None);
        arguments::each_of(PLACE, raw, |name, value| {
            match name {
                "q" => filter = Some(arguments::object(PLACE, name, value)?),
                "u" => update = Some(value),
                "multi" => multi = arguments::truth(PLACE, name, value)?,
                "upsert" => upsert = arguments::truth(PLACE, name, value)?,
                "arrayFilters" => array_filters = documents(PLACE, name, value)?,
                "hint" => hint = Hint::parse("update", value)?,
                "collation" => arguments::collation("update", value)?,
                "c" => constants = Some(value),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(Self {
            filter: filter.ok_or_else(|| missing(PLACE, "q"))?,
            update: update.ok_or_else(|| missing(PLACE, "u"))?,
            array_filters,
            multi,
            upsert,
            hint,
            constants,
        })
    }
}

/// An array of documents, such as `arrayFilters`.
pub(super) fn documents<'a>(
    place: &str,
    name: &str,
    value: RawBsonRef<'a>,
) -> Result<Vec<&'a RawDocument>> {
    let array = match value {
        RawBsonRef::Array(array) => array,
        RawBsonRef::Null => return Ok(Vec::new()),
        other => return Err(arguments::wrong_type(place, name, other, "'array'")),
    };
    array
        .into_iter()
        .enumerate()
        .map(|(at, element)| {
            let element = element?;
            arguments::object(place, &format!("{name}.{at}"), element)
        })
        .collect()
}
