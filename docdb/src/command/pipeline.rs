//! The fields of an `aggregate`, and the walk over its input: what running a pipeline and explaining it have in common.

use bson::raw::{RawBsonRef, RawDocument};

use super::arguments::{self, missing};
use super::list_collections::batch_size;
use super::write::hint;
use crate::aggregate::Pipeline;
use crate::collection::Selection;
use crate::collection::plan::{self, Wanted};
use crate::error::{Code, Result};
use crate::expression::Variables;
use crate::query::Filter;
use crate::shard::Shard;
use crate::wire::Request;

pub(super) const NAME: &str = "aggregate";

/// The fields of an `aggregate`.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    pub stages: Vec<&'a RawDocument>,
    pub hint: Option<RawBsonRef<'a>>,
    pub variables: Variables,
    pub explain: bool,
    /// `allowDiskUse: false`
    pub(super) in_memory: bool,
    pub first: Option<u64>,
}

impl<'a> Arguments<'a> {
    pub(super) fn parse(request: &'a Request, now: bson::DateTime) -> Result<Self> {
        let (mut stages, mut cursor) = (None, false);
        let mut found = Self {
            stages: Vec::new(),
            hint: None,
            variables: Variables::at(now),
            explain: false,
            in_memory: false,
            first: None,
        };
        arguments::each(request, |name, value| {
            match name {
                "pipeline" => stages = Some(arguments::documents(NAME, name, value)?),
                "cursor" => {
                    cursor = true;
                    found.first = batch_size(NAME, value)?;
                }
                "explain" => found.explain = arguments::truth(NAME, name, value)?,
                "hint" => found.hint = hint(NAME, value)?,
                "let" => arguments::variables(NAME, value, &mut found.variables)?,
                "collation" => arguments::collation(NAME, value)?,
                "allowDiskUse" => found.in_memory = !arguments::truth(NAME, name, value)?,
                "bypassDocumentValidation" | "bypassEmptyTsReplacement" => {
                    arguments::truth(NAME, name, value)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        found.stages = stages.ok_or_else(|| missing(NAME, "pipeline"))?;
        if cursor || found.explain {
            return Ok(found);
        }
        Err(Code::FailedToParse.error(
            "The 'cursor' option is required, except for aggregate with the explain argument",
        ))
    }
}

/// The walk over the input, in the order of a leading `$sort` if an index yields it. `None` if there is no such collection.
pub(super) fn select(
    shard: &Shard,
    (database, name): (&str, &str),
    filter: Option<Filter>,
    pipeline: &Pipeline,
    arguments: &Arguments<'_>,
) -> Result<Option<Selection>> {
    let Some(collection) = shard.catalog.find(database, name) else {
        return Ok(None);
    };
    let filter = filter.filter(|filter| !filter.is_empty());
    let wanted = Wanted {
        filter: filter.as_ref(),
        sort: pipeline.leading_sort(),
        hint: arguments.hint,
    };
    let plan = plan::choose(collection, wanted)?;
    let selection = Selection::new(plan, filter);
    Ok(Some(selection.counted(shard.memory())))
}
