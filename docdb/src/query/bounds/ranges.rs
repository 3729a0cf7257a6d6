//! Which encoded values of one field a condition allows.

use super::PARTS_MAX;
use super::points::Points;
use crate::query::condition::{Condition, Operator, Set, Values};
use crate::query::list::{List, SHORT};
use crate::value::pattern::Pattern;
use crate::value::{Value, key, kind};
use std::sync::Arc;

/// The numbers without NaN, which no range but one with NaN holds.
const NUMBERS: (u8, u8) = (kind::RANK_NUMBER + 1, kind::RANK_NUMBER + 4);
const FIRST: u8 = kind::rank(kind::MIN_KEY);
const END: u8 = kind::RANK_MAX_KEY + 1;

/// A place between encodings: before all that begin with `prefix`, or after them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cut {
    prefix: Vec<u8>,
    is_after: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    pub(super) lower: Cut,
    pub(super) upper: Cut,
}

#[derive(Debug, Clone)]
pub(super) enum Form {
    /// In order, apart from one another.
    List(Vec<Range>),
    /// The values of a long list.
    Points(Points),
}

#[derive(Debug, Clone)]
pub(super) struct Ranges {
    pub(super) form: Form,
    /// Whether a key in them means that the condition holds.
    pub(super) is_exact: bool,
}

impl Cut {
    fn before(prefix: Vec<u8>) -> Self {
        Self {
            prefix,
            is_after: false,
        }
    }

    /// The least key on the upper side.
    pub(super) fn bytes(&self) -> Vec<u8> {
        if self.is_after {
            key::after(&self.prefix)
        } else {
            self.prefix.clone()
        }
    }

    fn inverted(&self) -> Self {
        Self {
            prefix: self.prefix.iter().map(|byte| !byte).collect(),
            is_after: !self.is_after,
        }
    }
}

impl Range {
    fn point(value: &Value<'_>) -> Self {
        let mut prefix = Vec::new();
        key::encode_value(value, &mut prefix);
        Self::between(prefix.clone(), prefix)
    }

    /// All encodings from `first` on, up to those that begin with `last`.
    fn between(first: Vec<u8>, last: Vec<u8>) -> Self {
        Self {
            lower: Cut::before(first),
            upper: Cut {
                prefix: last,
                is_after: true,
            },
        }
    }

    /// All encodings whose first byte is from `first` on and below `end`.
    fn ranks(first: u8, end: u8) -> Self {
        Self {
            lower: Cut::before(vec![first]),
            upper: Cut::before(vec![end]),
        }
    }

    fn from_rank(rank: u8) -> Self {
        Self::ranks(rank, rank + 1)
    }

    pub(super) fn is_point(&self) -> bool {
        self.lower.prefix == self.upper.prefix && !self.lower.is_after && self.upper.is_after
    }

    /// The encoding of the one value.
    pub(super) fn prefix(&self) -> &[u8] {
        &self.lower.prefix
    }
}

/// The ranges of a descending field: inverted encodings in their order.
pub(super) fn inverted(list: &[Range]) -> Vec<Range> {
    let inverted = list.iter().rev().map(|range| Range {
        lower: range.upper.inverted(),
        upper: range.lower.inverted(),
    });
    inverted.collect()
}

impl Ranges {
    fn full() -> Self {
        Self::inexact(vec![Range::ranks(FIRST, END)])
    }

    fn exact(list: Vec<Range>) -> Self {
        Self::new(list, true)
    }

    fn inexact(list: Vec<Range>) -> Self {
        Self::new(list, false)
    }

    fn new(list: Vec<Range>, is_exact: bool) -> Self {
        Self {
            form: Form::List(normal(list)),
            is_exact,
        }
    }

    fn of_points(points: Points, is_exact: bool) -> Self {
        let form = if points.len() > SHORT {
            Form::Points(points)
        } else {
            Form::List(listed(&points))
        };
        Self { form, is_exact }
    }

    /// As ranges, one by one.
    fn into_list(self) -> Vec<Range> {
        match self.form {
            Form::List(list) => list,
            Form::Points(points) => listed(&points),
        }
    }

    pub(super) fn len(&self) -> usize {
        match &self.form {
            Form::List(list) => list.len(),
            Form::Points(points) => points.len(),
        }
    }

    /// Missing fields have the key of null, and so has what cannot have the field.
    pub(super) fn missing() -> Self {
        Self::inexact(vec![Range::point(&Value::Null)])
    }

    pub(super) fn is_full(&self) -> bool {
        matches!(&self.form, Form::List(list) if *list == [Range::ranks(FIRST, END)])
    }

    /// Less is more selective: points, then ranges.
    pub(super) fn weight(&self) -> (bool, usize) {
        let are_points = match &self.form {
            Form::List(list) => list.iter().all(Range::is_point),
            Form::Points(_) => true,
        };
        (!are_points, self.len())
    }

    /// What the condition allows.
    pub(super) fn from_condition(condition: &Condition) -> Self {
        match condition {
            Condition::Compare(Operator::Equal, constant) => equal(&constant.value()),
            Condition::Compare(operator, constant) => comparison(*operator, &constant.value()),
            Condition::In(set) => from_set(set),
            Condition::Matches(pattern) => from_pattern(pattern),
            Condition::HasType(kinds) => from_types(kinds),
            Condition::Remainder { .. } => Self::inexact(vec![Range::ranks(NUMBERS.0, NUMBERS.1)]),
            Condition::Bits(_) => Self::inexact(vec![
                Range::ranks(NUMBERS.0, NUMBERS.1),
                Range::from_rank(kind::rank(kind::BINARY)),
            ]),
            Condition::Exists
            | Condition::Size(_)
            | Condition::HasDocument(_)
            | Condition::HasElement(_) => Self::full(),
        }
    }

    /// What the condition does not allow, as far as keys tell.
    pub(super) fn outside(condition: &Condition) -> Self {
        if matches!(condition, Condition::Exists) {
            return Self::missing();
        }
        let ranges = Self::from_condition(condition);
        // What is between the values of a long list is nearly everything.
        let inside = match ranges.form {
            Form::List(list) if ranges.is_exact => list,
            _ => return Self::full(),
        };
        let mut list = Vec::with_capacity(inside.len() + 1);
        let mut lower = Cut::before(vec![FIRST]);
        for range in inside {
            list.push(Range {
                lower,
                upper: range.lower,
            });
            lower = range.upper;
        }
        let upper = Cut::before(vec![END]);
        list.push(Range { lower, upper });
        Self::exact(list)
    }

    pub(super) fn intersect(&self, other: &Self) -> Self {
        let is_exact = self.is_exact && other.is_exact;
        let (mine, others) = match (&self.form, &other.form) {
            (Form::List(mine), Form::List(others)) => (mine, others),
            (Form::Points(points), Form::List(list)) | (Form::List(list), Form::Points(points)) => {
                return within(points, list, is_exact);
            }
            (Form::Points(mine), Form::Points(others)) => {
                let fewer = if mine.len() <= others.len() {
                    mine
                } else {
                    others
                };
                return Self::of_points(fewer.clone(), false);
            }
        };
        let mut list = Vec::new();
        let (mut left, mut right) = (mine.iter().peekable(), others.iter().peekable());
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            let lower = one.lower.clone().max(two.lower.clone());
            let upper = one.upper.clone().min(two.upper.clone());
            if one.upper < two.upper {
                left.next();
            } else {
                right.next();
            }
            list.push(Range { lower, upper });
        }
        Self::new(list, is_exact)
    }

    /// Whether all of it lies in `other`, as far as that is seen: of a long list, only whether it lies in one range.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        let Form::List(others) = &other.form else {
            return false;
        };
        let is_inside = |mine: &Range| {
            let mut others = others.iter();
            others.any(|other| other.lower <= mine.lower && mine.upper <= other.upper)
        };
        match &self.form {
            Form::List(list) => list.iter().all(is_inside),
            Form::Points(points) => whole(points).iter().all(is_inside),
        }
    }
}

/// In order, none empty, none touching the next.
fn normal(mut list: Vec<Range>) -> Vec<Range> {
    list.retain(|range| range.lower < range.upper);
    list.sort();
    let mut merged: Vec<Range> = Vec::with_capacity(list.len());
    for range in list {
        match merged.last_mut() {
            // Points stay points, even beside one another.
            Some(last) if range.lower < last.upper => {
                if last.upper < range.upper {
                    last.upper = range.upper;
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

fn equal(constant: &Value<'_>) -> Ranges {
    match constant {
        // Whole arrays are no keys: their elements are, and undefined for an empty one.
        Value::Array(array) => {
            let first = array.values().next().unwrap_or(Value::Undefined);
            Ranges::inexact(vec![Range::point(&first), Range::point(constant)])
        }
        Value::Null => Ranges::inexact(vec![
            Range::point(&Value::Undefined),
            Range::point(&Value::Null),
        ]),
        constant => Ranges::exact(vec![Range::point(constant)]),
    }
}

fn comparison(operator: Operator, constant: &Value<'_>) -> Ranges {
    let wants_less = matches!(operator, Operator::Less | Operator::LessOrEqual);
    let with_equal = matches!(operator, Operator::LessOrEqual | Operator::GreaterOrEqual);
    match constant {
        Value::Array(_) => return Ranges::full(),
        Value::MinKey if !wants_less => return Ranges::full(),
        Value::MaxKey if wants_less => return Ranges::full(),
        Value::MinKey | Value::MaxKey | Value::Null => {
            return if with_equal {
                equal(constant)
            } else {
                Ranges::exact(Vec::new())
            };
        }
        constant if constant.is_nan() => {
            return if with_equal {
                equal(constant)
            } else {
                Ranges::exact(Vec::new())
            };
        }
        _ => {}
    }
    let bracket = if kind::is_number(constant.kind()) {
        Range::ranks(NUMBERS.0, NUMBERS.1)
    } else {
        Range::from_rank(constant.rank())
    };
    let Range { lower, upper } = Range::point(constant);
    Ranges::exact(vec![match (wants_less, with_equal) {
        (true, true) => Range {
            lower: bracket.lower,
            upper,
        },
        (true, false) => Range {
            lower: bracket.lower,
            upper: lower,
        },
        (false, true) => Range {
            lower,
            upper: bracket.upper,
        },
        (false, false) => Range {
            lower: upper,
            upper: bracket.upper,
        },
    }])
}

/// One range for each of the points.
fn listed(points: &Points) -> Vec<Range> {
    let keys = (0..points.len()).map_while(|at| points.key(at));
    keys.map(|key| Range::between(key.to_vec(), key.into_owned()))
        .collect()
}

/// One range from the first to the last of them; `None` if there are none.
fn whole(points: &Points) -> Option<Range> {
    let last = points.key(points.len().checked_sub(1)?)?;
    Some(Range::between(
        points.key(0)?.into_owned(),
        last.into_owned(),
    ))
}

/// Those in one of the ranges, if these are few; else those from the first range to the last.
fn within(points: &Points, list: &[Range], is_exact: bool) -> Ranges {
    let (Some(first), Some(last)) = (list.first(), list.last()) else {
        return Ranges::new(Vec::new(), is_exact);
    };
    let between = |lower: &Cut, upper: &Cut| points.between(&lower.bytes(), &upper.bytes());
    let all = between(&first.lower, &last.upper);
    if list.len() == 1 {
        return Ranges::of_points(all, is_exact);
    }
    let mut found = Vec::new();
    for range in list {
        let inside = between(&range.lower, &range.upper);
        if found.len() + inside.len() > SHORT {
            return Ranges::of_points(all, false);
        }
        found.extend(listed(&inside));
    }
    Ranges::new(found, is_exact)
}

fn from_list(list: &Arc<List>, set: &Set) -> Ranges {
    let points = Points::new(list);
    // An array is found by its first element, and null beside undefined.
    let is_exact = !set.has_null && !list.has_arrays();
    if set.patterns.is_empty() {
        return Ranges::of_points(points, is_exact);
    }
    let patterns: Vec<Ranges> = set.patterns.iter().map(from_pattern).collect();
    let parts = points.parts(PARTS_MAX);
    let mut ranges: Vec<Range> = parts
        .map(|(first, last)| Range::between(first.into_owned(), last.into_owned()))
        .collect();
    let are_apart = points.len() <= PARTS_MAX;
    let is_exact = is_exact && are_apart && patterns.iter().all(|part| part.is_exact);
    ranges.extend(patterns.into_iter().flat_map(Ranges::into_list));
    Ranges::new(ranges, is_exact)
}

fn from_set(set: &Set) -> Ranges {
    let constants = match &set.values {
        Values::Few(constants) => constants,
        Values::Many(list) => return from_list(list, set),
    };
    let mut list = Vec::with_capacity(constants.len());
    let mut is_exact = true;
    for constant in constants {
        match constant.value() {
            value @ (Value::Array(_) | Value::Null) => {
                let part = equal(&value);
                is_exact &= part.is_exact;
                list.extend(part.into_list());
            }
            value => list.push(Range::point(&value)),
        }
    }
    for part in set.patterns.iter().map(from_pattern) {
        is_exact &= part.is_exact;
        list.extend(part.into_list());
    }
    Ranges::new(list, is_exact)
}

/// Strings that begin as every match does, and the regular expression itself as a stored value.
fn from_pattern(pattern: &Pattern) -> Ranges {
    let (prefix, is_all) = pattern.prefix();
    let itself = Range::point(&Value::Regex {
        pattern: pattern.source().as_bytes(),
        options: pattern.options().as_bytes(),
    });
    let strings = if prefix.is_empty() {
        Range::from_rank(kind::rank(kind::STRING))
    } else {
        let mut lower = Vec::new();
        key::encode_value(&Value::String(prefix.as_bytes()), &mut lower);
        // Without its end mark it is what all strings with this prefix begin with.
        lower.pop();
        Range {
            upper: Cut::before(key::after(&lower)),
            lower: Cut::before(lower),
        }
    };
    let list = vec![strings, itself];
    if is_all {
        Ranges::exact(list)
    } else {
        Ranges::inexact(list)
    }
}

fn from_types(kinds: &[u8]) -> Ranges {
    if kinds.contains(&kind::ARRAY) {
        return Ranges::full();
    }
    let list = kinds.iter().map(|kind| match *kind {
        number if kind::is_number(number) => Range::ranks(kind::RANK_NUMBER, NUMBERS.1),
        kind => Range::from_rank(kind::rank(kind)),
    });
    Ranges::inexact(list.collect())
}
