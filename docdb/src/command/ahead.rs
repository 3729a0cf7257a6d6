//! What comes before a command with a long filter: its long lists are read piece by piece, and counted, while others have their turn.

use super::{carry_out, query_bytes, selects};
use crate::error::Result;
use crate::memory::{Claim, READ_BYTES, READ_TIMES};
use crate::query::Ahead;
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
        ahead: Ahead::new(request.bytes(), request.parts()),
        request: request.clone(),
        context: context.clone(),
        claim: shard.memory().claim(),
    };
    Box::new(preparation).go_on(shard)
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
            let others = query_bytes(&self.request).saturating_sub(self.ahead.listed());
            let others = if others > READ_BYTES { others } else { 0 };
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
