//! Chooses how a query finds its documents: through which index and over which keys, or over the whole collection.
//!
//! In order: the hint; `_id` alone; the index with the most leading fields held to single values, then the one with the
//! most restricted fields, then one that yields the order asked for; the whole collection else.

mod hint;
mod ranges;

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::LazyLock;

use bson::raw::RawBsonRef;

use self::ranges::Ranges;
use super::{Collection, Index};
use crate::error::Result;
use crate::query::bounds::bounds;
use crate::query::{Direction, Filter, SortField, SortOrder};
use crate::value::path::Path;

/// Where the documents of a plan come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The documents in order of `_id`; `bounded` if only some keys are looked at.
    Collection { bounded: bool },
    /// A secondary index by its id.
    Index {
        id: u32,
        unique: bool,
        multikey: bool,
    },
}

/// Key intervals of the store to walk, each with its collection's or index's prefix.
pub(crate) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// How to find the documents of a query.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub collection: u32,
    pub access: Access,
    /// In key order, whatever the direction.
    ranges: Ranges,
    pub(crate) backward: bool,
    /// The documents come in the order that was asked for.
    pub sorted: bool,
}

impl Plan {
    /// The range that is walked after `done` others.
    pub(super) fn range(&self, done: usize) -> Option<Cow<'_, KeyRange>> {
        let place = if self.backward {
            self.ranges.len().checked_sub(done + 1)?
        } else {
            done
        };
        self.ranges.get(place)
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted<'a> {
    pub filter: Option<&'a Filter>,
    pub sort: Option<&'a SortOrder>,
    pub hint: Option<RawBsonRef<'a>>,
}

/// A plan with what speaks for it.
#[derive(Debug)]
struct Candidate {
    plan: Plan,
    /// Leading fields held to a single value.
    points: usize,
    /// Leading fields restricted at all.
    bounded: usize,
    /// Leading fields that have but one value in each range; 0 if some range is wider.
    pinned: usize,
    /// It is sorted though that was asked for.
    sorts: bool,
    unique: bool,
    admits_missing: bool,
}

static ID_ORDER: LazyLock<[SortField; 1]> = LazyLock::new(|| {
    [SortField {
        path: Path::parse("_id").expect("a plain name is a path"),
        direction: Direction::Ascending,
    }]
});
static EVERYTHING: LazyLock<Filter> =
    LazyLock::new(|| Filter::parse(&bson::RawDocumentBuf::new()).expect("the empty filter is one"));

/// Chooses a plan. An error if the hint names no index.
pub(crate) fn choose(collection: &Collection, wanted: Wanted<'_>) -> Result<Plan> {
    if let Some(hint) = wanted.hint {
        return hint::follow(collection, hint, wanted);
    }
    if let Some(direction) = wanted.sort.and_then(SortOrder::natural) {
        return Ok(natural(collection, direction == Direction::Descending));
    }
    let mut best = by_id(collection, wanted);
    if best.points > 0 {
        return Ok(best.plan);
    }
    for index in collection.ready() {
        if is_partial_for(index, wanted) {
            continue;
        }
        let candidate = through(collection, index, wanted);
        let complete = !index.spec.sparse || !candidate.admits_missing;
        if complete && candidate.is_useful(index) && candidate.rank() > best.rank() {
            best = candidate;
        }
    }
    Ok(best.plan)
}

/// Whether the index may lack documents that the query asks for.
fn is_partial_for(index: &Index, wanted: Wanted<'_>) -> bool {
    index.spec.partial.as_ref().is_some_and(|partial| {
        wanted
            .filter
            .is_none_or(|filter| !filter.implies(&partial.filter))
    })
}

/// All documents in order of `_id`.
pub(crate) fn everything(collection: &Collection) -> Plan {
    natural(collection, false)
}

/// One range of an index, its key bounds complete.
pub(crate) fn from_range(collection: &Collection, index: &Index, range: KeyRange) -> Plan {
    Plan {
        collection: collection.id,
        access: index_access(index),
        ranges: Ranges::List(vec![range]),
        backward: false,
        sorted: false,
    }
}

fn natural(collection: &Collection, backward: bool) -> Plan {
    let id = collection.id;
    let whole = (
        Bound::Included(id.to_be_bytes().to_vec()),
        Bound::Excluded(id.saturating_add(1).to_be_bytes().to_vec()),
    );
    Plan {
        collection: id,
        access: Access::Collection { bounded: false },
        ranges: Ranges::List(vec![whole]),
        backward,
        sorted: true,
    }
}

fn index_access(index: &Index) -> Access {
    Access::Index {
        id: index.id,
        unique: index.spec.unique,
        multikey: index.multikey,
    }
}

impl Candidate {
    fn rank(&self) -> (usize, usize, bool, bool) {
        (self.points, self.bounded, self.sorts, self.unique)
    }

    /// A partial index is useful by itself: it holds fewer documents.
    fn is_useful(&self, index: &Index) -> bool {
        self.bounded > 0 || self.sorts || index.spec.partial.is_some()
    }
}

/// Through the order of the documents themselves.
fn by_id(collection: &Collection, wanted: Wanted<'_>) -> Candidate {
    let mut candidate = walk(collection.id, &*ID_ORDER, false, wanted);
    candidate.plan.collection = collection.id;
    candidate.plan.access = Access::Collection {
        bounded: candidate.bounded > 0,
    };
    candidate.unique = true;
    if candidate.pinned > 0 {
        candidate.plan.ranges.be_points();
    }
    candidate
}

fn through(collection: &Collection, index: &Index, wanted: Wanted<'_>) -> Candidate {
    let mut candidate = walk(index.id, &index.spec.fields, index.multikey, wanted);
    candidate.plan.collection = collection.id;
    candidate.plan.access = index_access(index);
    candidate.unique = index.spec.unique;
    if index.spec.unique && candidate.pinned == index.spec.fields.len() {
        candidate.plan.ranges.be_points();
    }
    if index.cut && wanted.sort.is_some_and(|sort| !sort.is_empty()) {
        (candidate.sorts, candidate.plan.sorted) = (false, false);
        candidate.plan.backward = false;
    }
    candidate
}

/// A walk over the keys that begin with `id`.
fn walk(id: u32, fields: &[SortField], is_multikey: bool, wanted: Wanted<'_>) -> Candidate {
    let bounds = bounds(wanted.filter.unwrap_or(&EVERYTHING), fields, is_multikey);
    let sort = wanted.sort.filter(|sort| !sort.is_empty());
    let direction = sort.map(|sort| bounds.order(fields, sort, is_multikey));
    Candidate {
        points: bounds.points,
        bounded: bounds.bounded,
        pinned: if bounds.all_points { bounds.bounded } else { 0 },
        sorts: matches!(direction, Some(Some(_))),
        unique: false,
        admits_missing: bounds.admits_missing,
        plan: Plan {
            collection: 0,
            access: Access::Collection { bounded: true },
            ranges: Ranges::below(id, bounds.intervals),
            backward: direction == Some(Some(Direction::Descending)),
            sorted: direction != Some(None),
        },
    }
}
