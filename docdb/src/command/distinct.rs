//! `distinct`: the different values of a field over the documents that match, arrays element by element.

use std::collections::BTreeSet;
use std::sync::Arc;

use bson::{RawDocument, RawDocumentBuf};

use super::arguments::{self, missing};
use super::write::{hint, parse_filter, select};
use crate::budget::Budget;
use crate::collection::{Advance, LARGEST_DOCUMENT, Selection, stored};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::memory::{Claim, Memory};
use crate::scheduler::Context;
use crate::shard::{Flow, Resumable, Shard};
use crate::value::path::{Leaf, Path};
use crate::value::{Fields, Value, Writer, decimal, key};
use crate::wire::Request;

/// The values of a larger document are looked at one by one against the budget: it may have a million.
const SMALL: usize = 4 << 10;
/// What a value costs beside the bytes of its key, roughly: its part of a node, and what the allocator adds.
const OVERHEAD: usize = 80;
/// So many keys are given back at once: a million take as long as their documents did.
const FORGOTTEN: usize = 16;
/// The budget is told each time so many more bytes are held.
const TOLD: usize = 64 << 10;

pub(super) fn run(shard: &mut Shard, request: &Request, context: &Context) -> Result<Flow> {
    const DISTINCT: &str = "distinct";
    let namespace = arguments::namespace(request)?;
    let (mut field, mut filter, mut hinted) = (None, None, None);
    arguments::each(request, |name, value| {
        match name {
            "key" => field = Some(arguments::text(DISTINCT, name, value)?),
            "query" => filter = arguments::optional_object(DISTINCT, name, value)?,
            "hint" => hinted = hint(DISTINCT, value)?,
            "collation" => arguments::collation(DISTINCT, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let field = field.ok_or_else(|| missing(DISTINCT, "key"))?;
    let path = Path::parse(field)?;
    let filter = parse_filter(filter, &Variables::at(context.now), &shard.lists)?;
    let Some(selection) = select(shard, namespace, filter, hinted)? else {
        return Ok(Flow::Done(Values::new(shard.memory()).reply()));
    };
    let job = Distinct {
        selection,
        path,
        rest: Rest::default(),
        values: Values::new(shard.memory()),
        ended: false,
    };
    Box::new(job).go_on(shard)
}

#[derive(Debug)]
struct Distinct {
    selection: Selection,
    path: Path,
    rest: Rest,
    values: Values,
    /// All documents were seen.
    ended: bool,
}

/// Values of a large document, not all of which were looked at yet.
#[derive(Debug, Default)]
struct Rest {
    values: RawDocumentBuf,
    /// Bytes of them that are done with.
    used: usize,
}

/// Values in the order in which they were met.
#[derive(Debug)]
struct Values {
    seen: BTreeSet<Vec<u8>>,
    seen_bytes: usize,
    /// They are kept as they will be sent.
    reply: Writer,
    /// Bytes that the budget knows of.
    told: usize,
    claim: Claim,
}

impl Resumable for Distinct {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.budget();
        shard.catalog.check(&self.selection)?;
        while !self.ended {
            if !self.rest.add_to(&mut self.values, &mut budget)? {
                return Ok(Flow::More(self));
            }
            let document = match self.selection.next(&shard.store, &mut budget)? {
                Advance::Document(document) => document,
                Advance::Later => return Ok(Flow::More(self)),
                Advance::End => {
                    self.ended = true;
                    break;
                }
            };
            self.see(stored(&document)?)?;
        }
        if !self.values.forget(&mut budget) {
            return Ok(Flow::More(self));
        }
        Ok(Flow::Done(self.values.reply()))
    }
}

impl Distinct {
    /// Adds the values of a small document; those of a large one come after it, one by one.
    fn see(&mut self, document: &RawDocument) -> Result<()> {
        let is_large = document.as_bytes().len() > SMALL;
        let mut later = is_large.then(Writer::default);
        let values = &mut self.values;
        self.path
            .visit(Fields::new(document), Leaf::Whole, |found| {
                match (found.value, &mut later) {
                    (None, _) => {}
                    (Some(Value::Array(elements)), Some(later)) => later.elements(elements),
                    (Some(value), Some(later)) => later.value(b"", &value),
                    (Some(Value::Array(elements)), None) => {
                        elements.values().for_each(|one| values.add(&one));
                    }
                    (Some(value), None) => values.add(&value),
                }
                false
            });
        if let Some(later) = later {
            self.rest = Rest {
                values: later.finish(),
                used: 0,
            };
        }
        self.values.check(self.rest.values.as_bytes().len())
    }
}

impl Rest {
    /// Adds what is left. False if the budget is used up before.
    fn add_to(&mut self, values: &mut Values, budget: &mut Budget) -> Result<bool> {
        let fields = Fields::new(&self.values);
        let held = fields.bytes().len();
        for element in fields.after(self.used).elements() {
            if !budget.take() {
                return Ok(false);
            }
            self.used += element.size();
            values.add(&element.value());
            values.check(held)?;
        }
        *self = Self::default();
        Ok(true)
    }
}

impl Values {
    fn new(memory: &Arc<Memory>) -> Self {
        let mut reply = Writer::default();
        reply.begin_array("values");
        Self {
            seen: BTreeSet::new(),
            seen_bytes: 0,
            reply,
            told: 0,
            claim: memory.claim_for_pieces(),
        }
    }

    fn add(&mut self, value: &Value<'_>) {
        let mut encoded = Vec::with_capacity(32);
        key::encode_value(value, &mut encoded);
        encoded.shrink_to_fit();
        let bytes = encoded.len() + OVERHEAD;
        let at = self.seen.len();
        if self.seen.insert(encoded) {
            self.seen_bytes += bytes;
            let mut digits = [0; 20];
            self.reply.value(decimal(at, &mut digits).as_bytes(), value);
        }
    }

    /// An error if they are more than a reply, or than there is memory for. `beside`: bytes that are held with them.
    fn check(&mut self, beside: usize) -> Result<()> {
        if self.reply.len() > LARGEST_DOCUMENT {
            return Err(Code::Location(17217).error("distinct too big, 16mb cap"));
        }
        // The buffer grows by doubling.
        let held = self.seen_bytes + 2 * self.reply.len() + beside;
        if held.abs_diff(self.told) < TOLD {
            return Ok(());
        }
        self.told = held;
        if self.claim.hold(held) {
            Ok(())
        } else {
            Err(self.claim.exceeded("distinct values"))
        }
    }

    /// Gives back what tells them apart. False if the budget is used up before.
    fn forget(&mut self, budget: &mut Budget) -> bool {
        while !self.seen.is_empty() {
            if !budget.take() {
                return false;
            }
            (0..FORGOTTEN).for_each(|_| drop(self.seen.pop_first()));
        }
        true
    }

    fn reply(mut self) -> RawDocumentBuf {
        self.reply.end();
        self.reply.ok()
    }
}
