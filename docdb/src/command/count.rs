//! `count`: how many documents match; without a filter, from the collection's own count.

use bson::RawDocumentBuf;

use super::arguments;
use super::write::{hint, parse_filter, select};
use crate::collection::{Advance, Selection};
use crate::error::Result;
use crate::expression::Variables;
use crate::scheduler::Context;
use crate::shard::{Flow, Resumable, Shard};
use crate::value::Writer;
use crate::wire::Request;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    const COUNT: &str = "count";
    let (database, name) = arguments::namespace(request)?;
    let (mut filter, mut hinted, mut skip, mut limit) = (None, None, 0, 0);
    arguments::each(request, |field, value| {
        match field {
            "query" => filter = arguments::optional_object(COUNT, field, value)?,
            "hint" => hinted = hint(COUNT, value)?,
            "skip" => skip = arguments::count(COUNT, field, value)?,
            // A negative limit means the same as its absolute value, as it did in the old protocol.
            "limit" => limit = arguments::integer(COUNT, field, value)?.unsigned_abs(),
            "collation" => arguments::collation(COUNT, value)?,
            "fields" => {}
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let limit = if limit == 0 { u64::MAX } else { limit };
    let filter = parse_filter(filter, &Variables::at(context.now), &shard.lists)?;
    if filter.is_none() && hinted.is_none() {
        let collection = shard.catalog.find(database, name);
        let count = collection.map_or(0, |collection| collection.count);
        return Ok(Flow::Done(reply(count.saturating_sub(skip).min(limit))));
    }
    // A wrong hint is an error even where no index is needed; a sparse one counts what it holds.
    let Some(selection) = select(shard, (database, name), filter, hinted)? else {
        return Ok(Flow::Done(reply(0)));
    };
    let count = Count {
        selection,
        skip,
        limit,
        found: 0,
    };
    Box::new(count).go_on(shard)
}

fn reply(n: u64) -> RawDocumentBuf {
    let mut writer = Writer::with_capacity(32);
    writer.count("n", n);
    writer.ok()
}

/// A count that looks at documents.
#[derive(Debug)]
struct Count {
    selection: Selection,
    skip: u64,
    limit: u64,
    found: u64,
}

impl Resumable for Count {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.budget();
        shard.catalog.check(&self.selection)?;
        let most = self.skip.saturating_add(self.limit);
        while self.found < most {
            match self.selection.next(&shard.store, &mut budget)? {
                Advance::Document(_) => self.found += 1,
                Advance::End => break,
                Advance::Later => return Ok(Flow::More(self)),
            }
        }
        Ok(Flow::Done(reply(self.found.saturating_sub(self.skip))))
    }
}
