//! The loop over the statements of `update` and `delete`.

use std::ops::Range;

use bson::raw::{RawBsonRef, RawDocument};

use super::arguments::{self, missing};
use super::write::{
    self, BATCH_MOST, SlicedWrite, WriteReply, dropped, id_equality, insert, select,
};
use crate::budget::Budget;
use crate::collection::plan::Access;
use crate::collection::{Advance, Selection, stored};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::query::Filter;
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::update::Update;
use crate::wire::Request;

/// What `update` and `delete` differ in.
#[derive(Debug)]
pub(super) struct WriteCommand {
    pub(super) name: &'static str,
    /// The argument that holds the statements.
    pub(super) list: &'static str,
    /// Arguments without a meaning here.
    pub(super) ignored: &'static [&'static str],
    /// A reply without any statement.
    pub(super) reply: fn() -> WriteReply,
    /// Reads one. What is malformed fails the command before anything is done; what a filter cannot do fails its write.
    pub(super) parse: for<'a> fn(&'a RawDocument) -> Result<Statement<'a>>,
}

/// One write over the documents of one filter.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) filter: &'a RawDocument,
    pub(super) hint: Option<RawBsonRef<'a>>,
    /// All documents that match, not just one.
    pub(super) multi: bool,
    pub(super) upsert: bool,
    /// `None`: the documents are removed.
    pub(super) change: Option<Change<'a>>,
}

/// What an update makes of a document.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) update: RawBsonRef<'a>,
    pub(super) array_filters: Vec<&'a RawDocument>,
    /// `c`: variables of a pipeline.
    pub(super) constants: Option<RawBsonRef<'a>>,
}

impl Change<'_> {
    fn parse(&self, variables: &Variables) -> Result<Update> {
        let Some(constants) = self.constants else {
            return Update::parse_with(self.update, &self.array_filters, variables);
        };
        let mut all = variables.clone();
        arguments::constants("update.updates", constants, &mut all)?;
        Update::parse_with(self.update, &self.array_filters, &all)
    }
}

/// How far the statements were carried out.
#[derive(Debug)]
struct Statements {
    command: &'static WriteCommand,
    /// The first failure ends it.
    ordered: bool,
    variables: Variables,
    now: bson::DateTime,
    /// Where the statements lie in the request.
    list: Vec<Range<usize>>,
    /// The statement that is carried out, or comes next.
    next: usize,
    current: Option<Running>,
    reply: WriteReply,
}

/// A statement on its way over the documents.
#[derive(Debug)]
struct Running {
    selection: Selection,
    filter: Filter,
    update: Option<Update>,
    multi: bool,
    upsert: bool,
    matched: bool,
}

pub(super) fn carry_out(
    shard: &mut Shard,
    request: &Request,
    context: &Context,
    command: &'static WriteCommand,
) -> Result<Flow> {
    let (mut ordered, mut variables) = (true, Variables::at(context.now));
    arguments::each(request, |name, value| {
        match name {
            "ordered" => ordered = arguments::truth(command.name, name, value)?,
            "let" => arguments::variables(command.name, value, &mut variables)?,
            _ => return Ok(name == command.list || command.ignored.contains(&name)),
        }
        Ok(true)
    })?;
    let list = request
        .places(command.list)?
        .ok_or_else(|| missing(command.name, command.list))?;
    BATCH_MOST.check(list.len())?;
    for place in &list {
        (command.parse)(request.document(place))?;
    }
    let statements = Statements {
        command,
        ordered,
        variables,
        now: context.now,
        list,
        next: 0,
        current: None,
        reply: (command.reply)(),
    };
    write::begin(shard, request, statements)
}

impl SlicedWrite for Statements {
    fn slice(&mut self, shard: &mut Shard, request: &Request) -> Result<bool> {
        let namespace = arguments::namespace(request)?;
        let mut budget = shard.budget();
        while let Some(place) = self.list.get(self.next) {
            if budget.is_over() {
                return Ok(false);
            }
            let raw = request.document(place);
            let outcome = self.statement(shard, namespace, raw, &mut budget);
            // A statement counts as a document, whether it found one or not.
            budget.take();
            match outcome {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => {
                    self.reply.fail(self.next, error, shard.memory())?;
                    if self.ordered {
                        return Ok(true);
                    }
                }
            }
            self.next += 1;
        }
        Ok(true)
    }

    fn into_reply(self) -> WriteReply {
        self.reply
    }
}

impl Statements {
    /// Carries out the statement, or goes on with it; true if it is done.
    fn statement(
        &mut self,
        shard: &mut Shard,
        namespace: (&str, &str),
        raw: &RawDocument,
        budget: &mut Budget,
    ) -> Result<bool> {
        let running = match self.current.take() {
            Some(running) => Some(running),
            None => self.begin(shard, namespace, raw)?,
        };
        let Some(mut running) = running else {
            return Ok(true);
        };
        if !self.walk(shard, &mut running, budget)? {
            self.current = Some(running);
            return Ok(false);
        }
        if running.upsert && !running.matched {
            self.upsert(shard, namespace, running.update.as_ref(), &running.filter)?;
        }
        Ok(true)
    }

    /// `None` if the statement is done already.
    fn begin(
        &mut self,
        shard: &mut Shard,
        namespace: (&str, &str),
        raw: &RawDocument,
    ) -> Result<Option<Running>> {
        let statement = (self.command.parse)(raw)?;
        let change = statement.change.as_ref();
        let update = change
            .map(|change| change.parse(&self.variables))
            .transpose()?;
        if statement.multi && update.as_ref().is_some_and(Update::is_replacement) {
            return Err(Code::FailedToParse
                .error("multi update is not supported for replacement-style update"));
        }
        let id = id_equality(statement.filter).filter(|_| statement.hint.is_none());
        if let Some(id) = id
            && (self.by_id(shard, namespace, id, update.as_ref())? || !statement.upsert)
        {
            return Ok(None);
        }
        let filter = Filter::parse_listed(statement.filter, &self.variables, &shard.lists)?;
        let asked = Some(filter.clone()).filter(|filter| !filter.is_empty());
        let Some(selection) = select(shard, namespace, asked, statement.hint)? else {
            if statement.upsert {
                self.upsert(shard, namespace, update.as_ref(), &filter)?;
            }
            return Ok(None);
        };
        Ok(Some(Running {
            selection,
            filter,
            update,
            multi: statement.multi,
            upsert: statement.upsert,
            matched: false,
        }))
    }

    /// The fast path of `{_id: value}`. False if there is no such document.
    fn by_id(
        &mut self,
        shard: &mut Shard,
        (database, name): (&str, &str),
        id: RawBsonRef<'_>,
        update: Option<&Update>,
    ) -> Result<bool> {
        let Some(collection) = shard.catalog.find(database, name).map(|one| one.id) else {
            return Ok(false);
        };
        let Some(old) = shard.document(collection, id)? else {
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
        budget: &mut Budget,
    ) -> Result<bool> {
        shard.catalog.check(&running.selection)?;
        let collection = running.selection.plan().collection;
        let update = running.update.as_ref();
        loop {
            let document = match running.selection.next(&shard.store, budget)? {
                Advance::Document(document) => document,
                Advance::Later => {
                    // A walk over the documents themselves gives them as they were when its scan began; the next slice
                    // must see what others wrote meanwhile. A walk over an index reads each document anew and keeps its
                    // scan, or it would meet what this statement moved ahead of it again.
                    if matches!(running.selection.plan().access, Access::Collection { .. }) {
                        running.selection.pause();
                    }
                    return Ok(false);
                }
                Advance::End => return Ok(true),
            };
            running.matched = true;
            let old = stored(&document)?;
            let positional = match update {
                Some(update) if update.needs_positional() => running.filter.positional(old),
                _ => None,
            };
            self.change(shard, collection, update, old, positional)?;
            if !running.multi {
                return Ok(true);
            }
        }
    }

    fn change(
        &mut self,
        shard: &mut Shard,
        collection: u32,
        update: Option<&Update>,
        old: &RawDocument,
        positional: Option<usize>,
    ) -> Result<()> {
        let new = match update {
            None => None,
            Some(update) => match update.apply(old, positional, false, self.now)? {
                None => {
                    self.reply.n += 1;
                    return Ok(());
                }
                new => new,
            },
        };
        let writer = shard.catalog.writer(&mut shard.store, collection);
        let mut writer = writer.ok_or_else(dropped)?;
        match &new {
            Some(new) => writer.replace(old, new)?,
            None => writer.remove(old)?,
        }
        self.reply.n += 1;
        self.reply.modified = self.reply.modified.map(|modified| modified + 1);
        Ok(())
    }

    fn upsert(
        &mut self,
        shard: &mut Shard,
        namespace: (&str, &str),
        update: Option<&Update>,
        filter: &Filter,
    ) -> Result<()> {
        if let Some(update) = update {
            let new = update.upsert(filter, self.now)?;
            let id = insert(shard, namespace, &new)?;
            self.reply.upsert(self.next, id, shard.memory());
        }
        Ok(())
    }
}
