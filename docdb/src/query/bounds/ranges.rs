//! Which encoded values of one field a condition allows.

use crate::query::condition::{Condition, Operator, Set};
use crate::value::pattern::Pattern;
use crate::value::{Value, key, kind};

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

/// Ranges in order, apart from one another.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    pub(super) list: Vec<Range>,
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
        Self {
            lower: Cut::before(prefix.clone()),
            upper: Cut {
                prefix,
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
        Self {
            list: normal(list),
            is_exact: true,
        }
    }

    fn inexact(list: Vec<Range>) -> Self {
        Self {
            list: normal(list),
            is_exact: false,
        }
    }

    /// Missing fields have the key of null, and so has what cannot have the field.
    pub(super) fn missing() -> Self {
        Self::inexact(vec![Range::point(&Value::Null)])
    }

    pub(super) fn is_full(&self) -> bool {
        self.list == [Range::ranks(FIRST, END)]
    }

    /// Less is more selective: points, then ranges.
    pub(super) fn weight(&self) -> (bool, usize) {
        (!self.list.iter().all(Range::is_point), self.list.len())
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
        if !ranges.is_exact {
            return Self::full();
        }
        let mut list = Vec::with_capacity(ranges.list.len() + 1);
        let mut lower = Cut::before(vec![FIRST]);
        for range in ranges.list {
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
        let mut list = Vec::new();
        let (mut left, mut right) = (self.list.iter().peekable(), other.list.iter().peekable());
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
        Self {
            list: normal(list),
            is_exact: self.is_exact && other.is_exact,
        }
    }

    /// Whether all of it lies in `other`.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.list.iter().all(|mine| {
            let mut others = other.list.iter();
            others.any(|other| other.lower <= mine.lower && mine.upper <= other.upper)
        })
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

fn from_set(set: &Set) -> Ranges {
    let mut list = Vec::with_capacity(set.constants.len());
    let mut is_exact = true;
    for constant in &set.constants {
        match constant.value() {
            value @ (Value::Array(_) | Value::Null) => {
                let part = equal(&value);
                list.extend(part.list);
                is_exact &= part.is_exact;
            }
            // A million of these need no list each.
            value => list.push(Range::point(&value)),
        }
    }
    for part in set.patterns.iter().map(from_pattern) {
        list.extend(part.list);
        is_exact &= part.is_exact;
    }
    Ranges {
        list: normal(list),
        is_exact,
    }
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
