//! Which part of an index a filter allows: key intervals that hold every document that can match.
//!
//! The law, tested with random documents and filters: scanning the intervals and filtering gives
//! what filtering everything gives. An index with arrays (multikey) has a key per element, and two
//! conditions on one array may be met by different elements; so there the bounds of two conditions
//! are only combined where one `$elemMatch` ties them to the same element, or where their paths
//! have nothing in common.

mod collect;
mod order;
mod points;
mod ranges;
#[cfg(test)]
mod tests;

use super::condition::Condition;
use super::condition::Predicate;
use super::filter::Filter;
use super::keys::{Direction, SortField};
use crate::value::key;
use collect::{Collected, Restriction};
use ranges::{Form, Range, Ranges};

pub(crate) use points::Points;

/// Intervals that a combination of points may grow to; beyond it later fields are left to the filter.
const INTERVALS_MAX: usize = super::list::SHORT;
/// Intervals that the values of long lists become at most where they stand beside others: in the branches of an `$or`, beside a
/// pattern. With more values, an interval holds several.
pub(super) const PARTS_MAX: usize = 4 * INTERVALS_MAX;
/// Branches of an `$or` that are looked at.
const BRANCHES_MAX: usize = 64;

/// Keys from `lower` on and below `upper`: the encodings of an index's fields one after another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Interval {
    pub lower: Vec<u8>,
    pub upper: Vec<u8>,
}

/// Where to look in an index.
#[derive(Debug, Clone)]
pub(crate) enum Intervals {
    /// In key order, apart from one another. None at all: nothing can match.
    List(Vec<Interval>),
    /// All keys that begin with one of these.
    Points(Points),
}

/// What an index can do for a filter.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub(crate) intervals: Intervals,
    /// Whether every document with a key in the intervals matches: the filter need not be asked.
    pub(crate) is_exact: bool,
    /// Leading fields that the intervals restrict; 0: the index says nothing about the filter.
    pub(crate) bounded: usize,
    /// Of these, how many of the first are held to single values.
    pub points: usize,
    /// Each interval holds but the keys that begin with one value of each restricted field.
    pub(crate) all_points: bool,
    /// Whether a document without any of the index's fields can match; a sparse index does not have it.
    pub(crate) admits_missing: bool,
    /// Per field of the index, whether it has but one value within the intervals.
    fixed: Vec<bool>,
    /// Per field of the index, whether a condition restricts it.
    restricted: Vec<bool>,
}

/// What `filter` allows of an index on `fields`. `is_multikey`: some document has an array at one of them.
pub(crate) fn bounds(filter: &Filter, fields: &[SortField], is_multikey: bool) -> Bounds {
    let mut collected = Collected::default();
    collected.predicate(&filter.root);
    let plain = build(&collected, fields, is_multikey);
    if plain.bounded > 0 {
        return plain;
    }
    branches(&collected, fields, is_multikey).unwrap_or(plain)
}

/// The union over an `$or` each of whose branches restricts the first field.
fn branches(collected: &Collected<'_>, fields: &[SortField], is_multikey: bool) -> Option<Bounds> {
    let branches = collected
        .ors
        .iter()
        .find(|predicates| predicates.len() <= BRANCHES_MAX)?;
    // No fewer than of a short list.
    let most = (PARTS_MAX / branches.len().max(1)).max(INTERVALS_MAX);
    let mut union: Option<Bounds> = None;
    let mut intervals = Vec::new();
    for branch in *branches {
        let mut with_branch = collected.clone();
        with_branch.ors.clear();
        with_branch.is_complete &= collected.ors.len() == 1;
        with_branch.predicate(branch);
        let mut bounds = build(&with_branch, fields, is_multikey);
        if bounds.bounded == 0 {
            return None;
        }
        intervals.extend(bounds.take_intervals(most));
        match &mut union {
            None => union = Some(bounds),
            Some(union) => union.add(bounds),
        }
    }
    let mut union = union?;
    union.intervals = Intervals::List(merged(intervals));
    Some(union)
}

/// In order, overlapping ones as one.
fn merged(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort();
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        match merged.last_mut() {
            Some(last) if interval.lower <= last.upper => {
                last.upper = std::mem::take(&mut last.upper).max(interval.upper);
            }
            _ => merged.push(interval),
        }
    }
    merged
}

impl Intervals {
    fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Points(points) => points.len(),
        }
    }

    fn get(&self, at: usize) -> Option<Interval> {
        match self {
            Self::List(list) => list.get(at).cloned(),
            Self::Points(points) => points.key(at).map(|key| under(&key)),
        }
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = Interval> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

impl Bounds {
    /// Takes its intervals; of a long list, one for about as many values as make it `most` intervals.
    fn take_intervals(&mut self, most: usize) -> Vec<Interval> {
        match std::mem::replace(&mut self.intervals, Intervals::List(Vec::new())) {
            Intervals::List(list) => list,
            Intervals::Points(points) => {
                self.is_exact &= points.len() <= most;
                let parts = points.parts(most).map(|(first, last)| Interval {
                    lower: first.into_owned(),
                    upper: key::after(&last),
                });
                parts.collect()
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.is_exact &= other.is_exact;
        self.bounded = self.bounded.min(other.bounded);
        self.points = 0;
        self.all_points = false;
        self.admits_missing |= other.admits_missing;
        self.fixed.fill(false);
        for (mine, others) in self.restricted.iter_mut().zip(other.restricted) {
            *mine |= others;
        }
    }
}

fn build(collected: &Collected<'_>, fields: &[SortField], is_multikey: bool) -> Bounds {
    let restrictions = &collected.restrictions;
    let mut used = vec![false; restrictions.len()];
    let mut chosen: Vec<usize> = Vec::new();
    let mut per_field: Vec<Option<Ranges>> = Vec::with_capacity(fields.len());
    for field in fields {
        let has_index = field.path.parts().iter().any(|part| part.index.is_some());
        let on_field = || {
            let all = restrictions.iter().enumerate();
            all.filter(|(_, one)| one.path.text() == field.path.text() && !one.ranges.is_full())
        };
        if is_multikey || has_index {
            let free = on_field().filter(|(_, one)| {
                chosen
                    .iter()
                    .all(|at| restrictions.get(*at).is_some_and(|other| one.joins(other)))
            });
            let best = free.min_by_key(|(_, one)| one.ranges.weight());
            per_field.push(best.map(|(at, one)| {
                chosen.push(at);
                mark(&mut used, at);
                one.ranges.clone()
            }));
        } else {
            let mut all: Option<Ranges> = None;
            for (at, one) in on_field() {
                mark(&mut used, at);
                all = Some(match all {
                    None => one.ranges.clone(),
                    Some(so_far) => so_far.intersect(&one.ranges),
                });
            }
            per_field.push(all);
        }
    }
    let admits_missing = !restrictions.iter().any(|one| {
        one.needs_value
            && fields
                .iter()
                .any(|field| field.path.text() == one.path.text())
    });
    let is_exact = collected.is_complete
        && collected.ors.is_empty()
        && restrictions
            .iter()
            .zip(&used)
            .all(|(one, used)| *used && one.ranges.is_exact)
        // Two long lists have more in common than is told.
        && per_field.iter().flatten().all(|ranges| ranges.is_exact)
        && (!is_multikey || !restrictions.iter().any(|one| one.is_negated));
    let restricted = per_field.iter().map(Option::is_some).collect();
    let mut bounds = compose(fields, per_field);
    bounds.is_exact &= is_exact;
    bounds.admits_missing = admits_missing;
    bounds.restricted = restricted;
    bounds
}

fn mark(used: &mut [bool], at: usize) {
    if let Some(used) = used.get_mut(at) {
        *used = true;
    }
}

/// Joins the fields' ranges: single values make prefixes, the first wider range ends them.
fn compose(fields: &[SortField], per_field: Vec<Option<Ranges>>) -> Bounds {
    let restricted = per_field.iter().filter(|ranges| ranges.is_some()).count();
    let mut bounds = Bounds {
        intervals: Intervals::List(Vec::new()),
        is_exact: true,
        bounded: 0,
        points: 0,
        all_points: false,
        admits_missing: true,
        fixed: vec![false; fields.len()],
        restricted: Vec::new(),
    };
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    for ((at, field), ranges) in fields.iter().enumerate().zip(per_field) {
        let Some(ranges) = ranges else { break };
        if at > 0 && prefixes.len().saturating_mul(ranges.len()) > INTERVALS_MAX {
            break;
        }
        bounds.bounded = at + 1;
        let is_descending = field.direction == Direction::Descending;
        let ranges = match ranges.form {
            Form::List(list) if is_descending => ranges::inverted(&list),
            Form::List(list) => list,
            // Nothing is before it, for it is long: or that was nothing at all.
            Form::Points(_) if at > 0 => continue,
            Form::Points(points) => {
                bounds.is_exact = bounds.bounded == restricted;
                bounds.all_points = true;
                bounds.intervals = Intervals::Points(if is_descending {
                    points.inverted()
                } else {
                    points
                });
                return bounds;
            }
        };
        if ranges.iter().all(Range::is_point) {
            if let (true, Some(fixed)) = (ranges.len() == 1, bounds.fixed.get_mut(at)) {
                *fixed = true;
                bounds.points += usize::from(bounds.points == at);
            }
            prefixes = joined(&prefixes, &ranges, |prefix, range| {
                [prefix, range.prefix()].concat()
            });
        } else {
            let list = joined(&prefixes, &ranges, |prefix, range| Interval {
                lower: [prefix, &range.lower.bytes()].concat(),
                upper: [prefix, &range.upper.bytes()].concat(),
            });
            bounds.intervals = Intervals::List(list);
            bounds.is_exact = bounds.bounded == restricted;
            return bounds;
        }
    }
    bounds.is_exact = bounds.bounded == restricted;
    bounds.all_points = bounds.bounded > 0;
    bounds.intervals = Intervals::List(prefixes.iter().map(|prefix| under(prefix)).collect());
    bounds
}

fn joined<T>(prefixes: &[Vec<u8>], ranges: &[Range], join: impl Fn(&[u8], &Range) -> T) -> Vec<T> {
    let pairs = prefixes
        .iter()
        .flat_map(|prefix| ranges.iter().map(move |range| (prefix, range)));
    pairs.map(|(prefix, range)| join(prefix, range)).collect()
}

/// All keys that begin with `prefix`.
fn under(prefix: &[u8]) -> Interval {
    Interval {
        lower: prefix.to_vec(),
        upper: key::after(prefix),
    }
}

impl Filter {
    /// Whether whatever matches this filter matches `partial` too, as a partial index needs to serve it.
    /// False where that cannot be seen.
    pub(crate) fn implies(&self, partial: &Self) -> bool {
        let mut collected = Collected::default();
        collected.predicate(&self.root);
        implies(&collected.restrictions, &partial.root)
    }
}

fn implies(restrictions: &[Restriction], partial: &Predicate) -> bool {
    match partial {
        Predicate::Constant(holds) => *holds,
        Predicate::And(predicates) => predicates
            .iter()
            .all(|predicate| implies(restrictions, predicate)),
        Predicate::Field(field) => {
            let wanted = Ranges::from_condition(&field.condition);
            let is_exists = matches!(field.condition, Condition::Exists);
            let on_path = |one: &&Restriction| one.path.text() == field.path.text();
            restrictions.iter().filter(on_path).any(|one| {
                let is_plain = field.path.parts().iter().all(|part| part.index.is_none());
                (is_exists && one.needs_value)
                    || (is_plain && wanted.is_exact && one.ranges.is_within(&wanted))
            })
        }
        _ => false,
    }
}
