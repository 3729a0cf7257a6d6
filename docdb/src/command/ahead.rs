//! What comes before a command with a long filter: its long lists are read piece by piece, and counted, while others have their turn.

use std::ops::Range;

use bson::raw::RawBsonRef;

use super::row::find;
use super::{TABLE, carry_out, only_asks, selects};
use crate::error::Result;
use crate::memory::{Claim, READ_BYTES, READ_TIMES};
use crate::query::{Ahead, Part};
use crate::scheduler::Context;
use crate::shard::{Flow, Resumable, Shard};
use crate::wire::Request;

/// A command that has not begun.
#[derive(Debug)]
struct Preparation {
    ahead: Ahead,
    request: Request,
    context: Context,
    claim: Claim,
}

pub(super) fn begin(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    if request.longest() <= READ_BYTES || !selects(request) {
        return carry_out(shard, request, context);
    }
    let preparation = Preparation {
        ahead: Ahead::new(request.bytes(), parts(request).into_iter()),
        request: request.clone(),
        context: context.clone(),
        claim: shard.memory().claim(),
    };
    Box::new(preparation).go_on(shard)
}

/// Where the filters of a command are that are read where they lie: not those of an `explain`, which decodes what it shows.
fn parts(request: &Request) -> Vec<(&Range<usize>, Part)> {
    let part = match find(TABLE, request.name()).map_or("", |command| command.name) {
        "find" | "listCollections" => Part::Holder("filter"),
        "count" | "distinct" | "findAndModify" => Part::Holder("query"),
        "aggregate" if !is_explained(request) => Part::Aggregate,
        "delete" => Part::Batch("deletes"),
        "update" => Part::Batch("updates"),
        _ => return Vec::new(),
    };
    let beside = match part {
        Part::Batch(field) => request.beside(field),
        _ => &[],
    };
    let statements = beside.iter().map(|one| (one, Part::Holder("q")));
    statements.chain([(request.body_place(), part)]).collect()
}

fn is_explained(request: &Request) -> bool {
    let mut fields = request.body().iter().flatten();
    fields.any(|(name, value)| name == "explain" && !matches!(value, RawBsonRef::Boolean(false)))
}

impl Preparation {
    fn hold(&mut self, bytes: usize) -> Result<()> {
        if self.claim.hold(bytes) {
            Ok(())
        } else {
            Err(self.claim.exceeded("a long query"))
        }
    }
}

impl Resumable for Preparation {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.budget();
        while budget.take() {
            if !self.ahead.step() {
                continue;
            }
            let others = if only_asks(&self.request) {
                self.ahead.others(self.request.parts())
            } else {
                0
            };
            self.hold(self.ahead.held() + others * READ_TIMES)?;
            let Self {
                ahead,
                request,
                context,
                claim,
            } = *self;
            shard.cursors.reading = Some(claim);
            shard.lists = ahead.finish();
            return carry_out(shard, &request, &context);
        }
        self.hold(self.ahead.held())?;
        Ok(Flow::More(self))
    }
}
