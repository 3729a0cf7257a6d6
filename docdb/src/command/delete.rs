//! `delete`: removes one or all documents that match a filter.

use bson::RawDocumentBuf;
use bson::raw::{RawBsonRef, RawDocument};

use super::arguments::{self, missing};
use super::statements::{Batch, Statements, carry_out};
use super::write::{Hint, dropped, id_equality, select};
use crate::collection::{Next, Selection, document_key, stored};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::scheduler::Context;
use crate::shard::{Flow, Shard};
use crate::store::Space;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    let mut delete = Delete {
        batch: Batch::default(),
        variables: Variables::at(context.now),
        current: None,
    };
    arguments::each(request, |name, value| {
        match name {
            "ordered" => delete.batch.ordered = arguments::truth("delete", name, value)?,
            "let" => arguments::variables("delete", value, &mut delete.variables)?,
            "deletes" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    carry_out(shard, request, delete)
}

#[derive(Debug)]
struct Delete {
    batch: Batch,
    variables: Variables,
    current: Option<Running>,
}

/// A statement on its way over the documents.
#[derive(Debug)]
struct Running {
    collection: u32,
    selection: Selection,
    only_one: bool,
}

/// One element of `deletes`.
#[derive(Debug)]
struct Statement<'a> {
    filter: &'a RawDocument,
    only_one: bool,
    hint: Option<Hint<'a>>,
}

impl Statements for Delete {
    const COMMAND: &'static str = "delete";
    const LIST: &'static str = "deletes";

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
        self.batch.reply.finish(None)
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
            if let Some(id) = id_equality(statement.filter)
                && statement.hint.is_none()
            {
                return self.by_id(shard, namespace, id).map(|()| true);
            }
            let selection = select(
                shard,
                namespace,
                statement.filter,
                statement.hint.as_ref(),
                &self.variables,
            )?;
            let Some((collection, selection)) = selection else {
                return Ok(true);
            };
            self.current = Some(Running {
                collection,
                selection,
                only_one: statement.only_one,
            });
        }
        let Some(mut running) = self.current.take() else {
            return Ok(true);
        };
        shard.catalog.check(&running.selection)?;
        loop {
            let document = match running.selection.next(&shard.store, budget)? {
                Next::Document(document) => document,
                Next::End => return Ok(true),
                Next::Later => {
                    self.current = Some(running);
                    return Ok(false);
                }
            };
            self.remove(shard, running.collection, stored(&document)?)?;
            if running.only_one {
                return Ok(true);
            }
        }
    }
}

impl Delete {
    /// The fast path of `{_id: value}`.
    fn by_id(
        &mut self,
        shard: &mut Shard,
        (database, name): (&str, &str),
        id: RawBsonRef<'_>,
    ) -> Result<()> {
        let Some(collection) = shard.catalog.find(database, name).map(|one| one.id) else {
            return Ok(());
        };
        let mut key = Vec::with_capacity(32);
        document_key(collection, id, &mut key);
        match shard.store.get(Space::Documents, &key)? {
            Some(old) => self.remove(shard, collection, stored(&old)?),
            None => Ok(()),
        }
    }

    fn remove(&mut self, shard: &mut Shard, collection: u32, old: &RawDocument) -> Result<()> {
        let Some(mut writer) = shard.catalog.writer(&mut shard.store, collection) else {
            return Err(dropped());
        };
        writer.remove(old)?;
        self.batch.reply.n += 1;
        Ok(())
    }
}

impl<'a> Statement<'a> {
    fn parse(raw: &'a RawDocument) -> Result<Self> {
        const PLACE: &str = "delete.deletes";
        let (mut filter, mut limit, mut hint) = (None, None, None);
        arguments::each_of(PLACE, raw, |name, value| {
            match name {
                "q" => filter = Some(arguments::object(PLACE, name, value)?),
                "limit" => limit = Some(arguments::integer(PLACE, name, value)?),
                "hint" => hint = Hint::parse("delete", value)?,
                "collation" => arguments::collation("delete", value)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        let only_one = match limit.ok_or_else(|| missing(PLACE, "limit"))? {
            0 => false,
            1 => true,
            other => {
                return Err(Code::FailedToParse.error(format!(
                    "The limit field in delete objects must be 0 or 1. Got {other}"
                )));
            }
        };
        Ok(Self {
            filter: filter.ok_or_else(|| missing(PLACE, "q"))?,
            only_one,
            hint,
        })
    }
}
