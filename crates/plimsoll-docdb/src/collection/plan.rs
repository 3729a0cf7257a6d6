//! Chooses how a query finds its documents: through which index and over which keys, or over the whole collection.
//!
//! In order: the hint; `_id` alone; the index with the most leading fields bound to single values, then one whose next
//! field is bound to a range, then one that yields the order asked for; the whole collection else.

mod hint;
mod partial;

use std::ops::Bound;

use bson::raw::{RawBsonRef, RawDocument};

use super::selection::KeyRange;
use super::{Collection, Field, Index};
use crate::error::CommandError;
use crate::query::Filter;

/// Where the documents of a plan come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The documents in order of `_id`; `bounded` if only some keys are looked at.
    Collection { bounded: bool },
    /// A secondary index by its id.
    Index {
        id: u32,
        unique: bool,
        multikey: bool,
    },
}

/// How to find the documents of a query.
#[derive(Debug, Clone)]
pub struct Plan {
    pub collection: u32,
    pub access: Access,
    pub ranges: Vec<KeyRange>,
    pub backward: bool,
    /// The documents come in the order that was asked for.
    pub sorted: bool,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted<'a> {
    pub filter: Option<(&'a RawDocument, &'a Filter)>,
    pub sort: Option<&'a RawDocument>,
    pub hint: Option<RawBsonRef<'a>>,
}

/// One field of a sort order that an index may yield.
type SortField<'a> = (&'a str, bool);

/// Chooses a plan. An error if the hint names no index.
pub fn choose(collection: &Collection, wanted: Wanted<'_>) -> Result<Plan, CommandError> {
    let sort = wanted.sort.and_then(sort_fields).unwrap_or_default();
    if let Some(hint) = wanted.hint {
        return hint::follow(collection, hint, wanted, &sort);
    }
    if let [("$natural", backward)] = sort.as_slice() {
        return Ok(natural(collection, *backward));
    }
    let by_id = id_candidate(collection, wanted, &sort);
    if by_id.equalities > 0 {
        return Ok(by_id.plan);
    }
    let mut best = by_id;
    for index in collection.ready() {
        let candidate = candidate(collection, index, wanted, &sort);
        if let Some(candidate) = candidate
            && candidate.rank() > best.rank()
        {
            best = candidate;
        }
    }
    Ok(best.plan)
}

/// All documents in order of `_id`.
pub fn everything(collection: &Collection) -> Plan {
    natural(collection, false)
}

/// One range of an index, its key bounds complete.
pub fn of_range(collection: &Collection, index: &Index, range: KeyRange) -> Plan {
    Plan {
        collection: collection.id,
        access: index_access(index),
        ranges: vec![range],
        backward: false,
        sorted: false,
    }
}

fn natural(collection: &Collection, backward: bool) -> Plan {
    Plan {
        collection: collection.id,
        access: Access::Collection { bounded: false },
        ranges: vec![whole(collection.id)],
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

/// A plan with what speaks for it.
#[derive(Debug)]
struct Candidate {
    plan: Plan,
    /// Leading fields bound to one value each.
    equalities: usize,
    /// The field after those is bound to less than everything.
    ranged: bool,
    unique: bool,
}

impl Candidate {
    fn rank(&self) -> (usize, bool, bool, bool) {
        (self.equalities, self.ranged, self.plan.sorted, self.unique)
    }
}

fn id_candidate(
    collection: &Collection,
    wanted: Wanted<'_>,
    sort: &[SortField<'_>],
) -> Candidate {
    let field = Field {
        path: "_id".to_owned(),
        parts: vec!["_id".to_owned()],
        descending: false,
    };
    let fields = [field];
    let bounds = wanted
        .filter
        .map(|(_, filter)| bounds_of(&fields, filter, false));
    let order = order_of(&fields, bounds.as_ref(), sort);
    let bounded = bounds.as_ref().is_some_and(|bounds| bounds.ranged || bounds.equalities > 0);
    Candidate {
        equalities: bounds.as_ref().map_or(0, |bounds| bounds.equalities),
        ranged: bounds.as_ref().is_some_and(|bounds| bounds.ranged),
        unique: true,
        plan: Plan {
            collection: collection.id,
            access: Access::Collection { bounded },
            ranges: ranges(collection.id, bounds),
            backward: order.unwrap_or(false),
            sorted: sort.is_empty() || order.is_some(),
        },
    }
}

/// `None` if the index cannot serve the query, or is of no use for it.
fn candidate(
    collection: &Collection,
    index: &Index,
    wanted: Wanted<'_>,
    sort: &[SortField<'_>],
) -> Option<Candidate> {
    if let Some(partial) = &index.spec.partial {
        let (raw, _) = wanted.filter?;
        if !partial::implies(raw, &partial.raw) {
            return None;
        }
    }
    let candidate = unchecked(collection, index, wanted, sort);
    let useful = candidate.equalities > 0
        || candidate.ranged
        || (candidate.plan.sorted && !sort.is_empty())
        || index.spec.partial.is_some();
    let complete = !index.spec.sparse
        || wanted
            .filter
            .is_some_and(|(_, filter)| bounds_of(&index.spec.fields, filter, index.multikey).excludes_missing);
    (useful && complete).then_some(candidate)
}

fn unchecked(
    collection: &Collection,
    index: &Index,
    wanted: Wanted<'_>,
    sort: &[SortField<'_>],
) -> Candidate {
    let fields = &index.spec.fields;
    let bounds = wanted
        .filter
        .map(|(_, filter)| bounds_of(fields, filter, index.multikey));
    // A document comes at its first entry within the bounds, which need not be where the sort order has it.
    let order = if index.multikey {
        None
    } else {
        order_of(fields, bounds.as_ref(), sort)
    };
    Candidate {
        equalities: bounds.as_ref().map_or(0, |bounds| bounds.equalities),
        ranged: bounds.as_ref().is_some_and(|bounds| bounds.ranged),
        unique: index.spec.unique,
        plan: Plan {
            collection: collection.id,
            access: index_access(index),
            ranges: ranges(index.id, bounds),
            backward: order.unwrap_or(false),
            sorted: sort.is_empty() || order.is_some(),
        },
    }
}

/// Whether walking the index yields the sort order: `Some(backward)`.
fn order_of(
    fields: &[Field],
    bounds: Option<&Bounds>,
    sort: &[SortField<'_>],
) -> Option<bool> {
    let fixed = bounds.map_or(0, |bounds| bounds.equalities);
    // With several ranges for a leading field, the order begins anew in each.
    let single = bounds.is_none_or(|bounds| bounds.ranges.len() <= 1);
    let bound = |path: &str| fields.iter().take(fixed).any(|field| field.path == path);
    let mut rest = fields.iter().skip(fixed);
    let mut backward = None;
    for (path, descending) in sort {
        if bound(path) {
            continue;
        }
        let field = rest.next().filter(|field| field.path == *path)?;
        let reversed = field.descending != *descending;
        if *backward.get_or_insert(reversed) != reversed {
            return None;
        }
    }
    if sort.is_empty() {
        return None;
    }
    let ordered = single || backward.is_none() || fixed == 0 && ranges_ascend(bounds);
    ordered.then_some(backward.unwrap_or(false))
}

/// Several ranges of the first field are in order of their keys, so walking them one by one keeps the order.
fn ranges_ascend(bounds: Option<&Bounds>) -> bool {
    bounds.is_none_or(|_| false)
}

fn sort_fields(sort: &RawDocument) -> Option<Vec<SortField<'_>>> {
    let mut fields = Vec::new();
    for element in sort.iter_elements() {
        let element = element.ok()?;
        let direction = match element.value().ok()? {
            RawBsonRef::Int32(number) => f64::from(number),
            RawBsonRef::Int64(number) => number as f64,
            RawBsonRef::Double(number) => number,
            _ => return None,
        };
        fields.push((element.key().as_str(), direction < 0.0));
    }
    Some(fields)
}

/// All keys that begin with an id.
fn whole(id: u32) -> KeyRange {
    (
        Bound::Included(id.to_be_bytes().to_vec()),
        Bound::Excluded(id.saturating_add(1).to_be_bytes().to_vec()),
    )
}

// STAND-IN until query::bounds
#[derive(Debug, Default)]
struct Bounds { ranges: Vec<KeyRange>, equalities: usize, ranged: bool, excludes_missing: bool }
fn bounds_of(fields: &[Field], _: &Filter, _: bool) -> Bounds { let _ = fields; Bounds::default() }
fn ranges(id: u32, bounds: Option<Bounds>) -> Vec<KeyRange> { let _ = bounds; vec![whole(id)] }
