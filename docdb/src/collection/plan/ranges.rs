//! The key ranges that a plan walks over: as they are, or made one by one of a long list.

use std::borrow::Cow;
use std::ops::Bound;

use super::KeyRange;
use crate::collection::keys::KEPT;
use crate::query::bounds::{Interval, Intervals, Points};
use crate::value::key;

/// Bytes of the id of a collection or an index, before a key's values.
const PREFIX: usize = size_of::<u32>();

/// In key order.
#[derive(Debug, Clone)]
pub(crate) enum Ranges {
    List(Vec<KeyRange>),
    /// The keys that begin with `id` and one of these.
    Points {
        id: u32,
        points: Points,
        /// There is but one such key for each, and that is all of it.
        are_whole: bool,
    },
}

impl Ranges {
    /// The intervals below the prefix `id`. Of long bounds only as much counts as cut keys have of their values; what then is one
    /// interval becomes one, so that no key is met twice.
    pub(super) fn below(id: u32, intervals: Intervals) -> Self {
        let list = match intervals {
            Intervals::List(list) => list,
            Intervals::Points(points) => {
                return Self::Points {
                    id,
                    points,
                    are_whole: false,
                };
            }
        };
        let is_long = |bytes: &[u8]| bytes.len() >= KEPT;
        if list
            .iter()
            .any(|one| is_long(&one.lower) || is_long(&one.upper))
        {
            return Self::List(widened(id, &list));
        }
        let ranges = list.iter().map(|interval| {
            let lower = Bound::Included(prefixed(id, &interval.lower));
            (lower, Bound::Excluded(prefixed(id, &interval.upper)))
        });
        Self::List(ranges.collect())
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Points { points, .. } => points.len(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<Cow<'_, KeyRange>> {
        match self {
            Self::List(list) => list.get(at).map(Cow::Borrowed),
            Self::Points {
                id,
                points,
                are_whole,
            } => point(*id, points, at, *are_whole).map(Cow::Owned),
        }
    }

    /// Makes ranges that can hold but one key each, because they begin with all of that key's values, those keys.
    pub(super) fn be_points(&mut self) {
        match self {
            Self::List(list) => {
                let is_whole = |(lower, _): &KeyRange| {
                    as_bytes(lower).is_some_and(|key| key.len() < PREFIX + KEPT)
                };
                if list.iter().all(is_whole) {
                    for (lower, upper) in list {
                        upper.clone_from(lower);
                    }
                }
            }
            Self::Points {
                points, are_whole, ..
            } => *are_whole = points.longest() < KEPT,
        }
    }
}

fn point(id: u32, points: &Points, at: usize, is_whole: bool) -> Option<KeyRange> {
    let key = points.key(at)?;
    let kept = key.get(..KEPT).unwrap_or(&key);
    let lower = prefixed(id, kept);
    let upper = if is_whole {
        return Some((Bound::Included(lower.clone()), Bound::Included(lower)));
    } else if key.len() > KEPT && is_repeated(points, at, kept) {
        // The range before holds these keys already.
        lower.clone()
    } else {
        key::after(&lower)
    };
    Some((Bound::Included(lower), Bound::Excluded(upper)))
}

fn is_repeated(points: &Points, at: usize, kept: &[u8]) -> bool {
    let before = at.checked_sub(1).and_then(|before| points.key(before));
    before.is_some_and(|before| before.starts_with(kept))
}

fn prefixed(id: u32, bytes: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(PREFIX + bytes.len());
    key.extend_from_slice(&id.to_be_bytes());
    key.extend_from_slice(bytes);
    key
}

fn widened(id: u32, intervals: &[Interval]) -> Vec<KeyRange> {
    let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for interval in intervals {
        let kept = |bytes: &[u8]| prefixed(id, bytes.get(..KEPT).unwrap_or(bytes));
        let (lower, mut upper) = (kept(&interval.lower), kept(&interval.upper));
        if interval.upper.len() > KEPT {
            upper = key::after(&upper);
        }
        match found.last_mut() {
            Some((_, last)) if lower < *last => *last = upper.max(std::mem::take(last)),
            _ => found.push((lower, upper)),
        }
    }
    let ranges = found.into_iter();
    ranges
        .map(|(lower, upper)| (Bound::Included(lower), Bound::Excluded(upper)))
        .collect()
}

fn as_bytes(bound: &Bound<Vec<u8>>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}
