//! The loop over the statements of `update` and `delete`, which give way to others between slices.

use std::fmt::Debug;
use std::ops::Range;

use bson::RawDocumentBuf;
use bson::raw::RawDocument;

use super::arguments::{self, missing};
use super::write::{BATCH_MOST, WriteReply};
use crate::error::Result;
use crate::shard::{Flow, Resumable, Shard};
use crate::wire::Request;

/// How far a list of statements was carried out.
#[derive(Debug)]
pub(super) struct Batch {
    /// The first failure ends it.
    pub(super) ordered: bool,
    /// The statement that is carried out, or comes next.
    pub(super) next: usize,
    pub(super) reply: WriteReply,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            ordered: true,
            next: 0,
            reply: WriteReply::default(),
        }
    }
}

/// A command that is a list of statements, each over the documents of one filter.
pub(super) trait Statements: Debug + Send + Sized + 'static {
    const COMMAND: &'static str;
    /// The argument that holds them.
    const LIST: &'static str;

    /// What is malformed fails the command before anything is done; what a filter cannot do fails its write.
    fn check(raw: &RawDocument) -> Result<()>;
    fn batch(&mut self) -> &mut Batch;
    /// Carries out the statement, or goes on with it; true if it is done.
    fn statement(
        &mut self,
        shard: &mut Shard,
        namespace: (&str, &str),
        raw: &RawDocument,
        budget: &mut usize,
    ) -> Result<bool>;
    /// Forgets the statement that failed on its way.
    fn give_up(&mut self);
    fn reply(self) -> RawDocumentBuf;
}

/// Carries the command out; what it reads beside the list is parsed already.
pub(super) fn carry_out<S: Statements>(
    shard: &mut Shard,
    request: &Request,
    mut statements: S,
) -> Result<Flow> {
    let list = request
        .places(S::LIST)?
        .ok_or_else(|| missing(S::COMMAND, S::LIST))?;
    BATCH_MOST.check(list.len())?;
    for place in &list {
        S::check(request.document(place))?;
    }
    if slice(&mut statements, shard, request, &list)? {
        return Ok(Flow::Done(statements.reply()));
    }
    let request = request.clone();
    Ok(Flow::More(Box::new(Rest {
        request,
        list,
        statements,
    })))
}

/// What is left after a slice.
#[derive(Debug)]
struct Rest<S> {
    request: Request,
    /// Where the statements lie in the request.
    list: Vec<Range<usize>>,
    statements: S,
}

impl<S: Statements> Resumable for Rest<S> {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let Self {
            request,
            list,
            statements,
        } = &mut *self;
        if slice(statements, shard, request, list)? {
            return Ok(Flow::Done(self.statements.reply()));
        }
        Ok(Flow::More(self))
    }
}

/// Carries out some more; true if that was all.
fn slice<S: Statements>(
    statements: &mut S,
    shard: &mut Shard,
    request: &Request,
    list: &[Range<usize>],
) -> Result<bool> {
    let namespace = arguments::namespace(request)?;
    let mut budget = shard.slice;
    while let Some(place) = list.get(statements.batch().next) {
        if budget == 0 {
            return Ok(false);
        }
        let outcome = statements.statement(shard, namespace, request.document(place), &mut budget);
        budget = budget.saturating_sub(1);
        match outcome {
            Ok(true) => statements.batch().next += 1,
            Ok(false) => return Ok(false),
            Err(error) => {
                statements.give_up();
                let batch = statements.batch();
                batch.reply.fail(batch.next, error)?;
                batch.next += 1;
                if batch.ordered {
                    return Ok(true);
                }
            }
        }
    }
    Ok(true)
}
