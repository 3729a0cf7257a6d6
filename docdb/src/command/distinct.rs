//! `distinct`: the different values of a field over the documents that match, arrays element by element.

use std::collections::BTreeSet;

use bson::RawDocumentBuf;

use super::arguments::{self, missing};
use super::write::{hint, parse_filter, select};
use crate::collection::{Advance, LARGEST_DOCUMENT, Selection, stored};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::scheduler::Context;
use crate::shard::{Flow, Resumable, Shard};
use crate::value::path::{Leaf, Path};
use crate::value::{Fields, Value, Writer, decimal, key};
use crate::wire::Request;

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
    let filter = parse_filter(filter, &Variables::at(context.now))?;
    let Some(selection) = select(shard, namespace, filter, hinted)? else {
        return Ok(Flow::Done(Values::default().reply()));
    };
    let job = Distinct {
        selection,
        path,
        values: Values::default(),
    };
    Box::new(job).go_on(shard)
}

#[derive(Debug)]
struct Distinct {
    selection: Selection,
    path: Path,
    values: Values,
}

/// Values in the order in which they were met.
#[derive(Debug, Default)]
struct Values {
    seen: BTreeSet<Vec<u8>>,
    /// Each as the only field of a document.
    list: Vec<RawDocumentBuf>,
    bytes: usize,
}

impl Resumable for Distinct {
    fn go_on(mut self: Box<Self>, shard: &mut Shard) -> Result<Flow> {
        let mut budget = shard.budget();
        shard.catalog.check(&self.selection)?;
        loop {
            let document = match self.selection.next(&shard.store, &mut budget)? {
                Advance::Document(document) => document,
                Advance::Later => return Ok(Flow::More(self)),
                Advance::End => return Ok(Flow::Done(self.values.reply())),
            };
            let fields = Fields::new(stored(&document)?);
            let values = &mut self.values;
            self.path.visit(fields, Leaf::Whole, |found| {
                match found.value {
                    Some(Value::Array(elements)) => {
                        elements.values().for_each(|one| values.add(&one));
                    }
                    Some(value) => values.add(&value),
                    None => {}
                }
                false
            });
            if values.bytes > LARGEST_DOCUMENT {
                return Err(Code::Location(17217).error("distinct too big, 16mb cap"));
            }
        }
    }
}

impl Values {
    fn add(&mut self, value: &Value<'_>) {
        let mut encoded = Vec::with_capacity(32);
        key::encode_value(value, &mut encoded);
        if self.seen.insert(encoded) {
            let mut writer = Writer::default();
            writer.value(b"", value);
            let kept = writer.finish();
            self.bytes += kept.as_bytes().len();
            self.list.push(kept);
        }
    }

    fn reply(&self) -> RawDocumentBuf {
        let mut writer = Writer::with_capacity(self.bytes + 64);
        writer.begin_array("values");
        let values = self.list.iter().flat_map(|kept| kept.iter().flatten());
        for (at, (_, value)) in values.enumerate() {
            writer.raw(decimal(at, &mut [0; 20]), value);
        }
        writer.end();
        writer.ok()
    }
}
