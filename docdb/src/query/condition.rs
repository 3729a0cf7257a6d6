//! What a filter asks: of a document, of a path in it, and of a single value.
//!
//! One file, because it is one recursion: a condition on an array can hold a filter for its elements.

use std::cmp::Ordering;
use std::sync::Arc;

use bson::Bson;

use super::computed::{Computed, Root};
use super::constant::Constant;
use super::list::List;
use crate::error::CommandError;
use crate::expression::Variables;
use crate::value::path::{Leaf, Path};
use crate::value::pattern::Pattern;
use crate::value::{Fields, Number, Value, compare_values, kind};

/// A filter or a part of one.
#[derive(Debug, Clone)]
pub(super) enum Predicate {
    Constant(bool),
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
    Nor(Vec<Predicate>),
    Not(Box<Predicate>),
    Field(Field),
    Expression(Box<Computed>),
}

/// A condition on what a path leads to: any one of those values suffices.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) path: Path,
    pub(super) condition: Condition,
}

/// The comparisons; `$ne` is `$eq` negated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// One condition on one value.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    Compare(Operator, Constant),
    In(Set),
    Matches(Pattern),
    Exists,
    /// Type bytes.
    HasType(Vec<u8>),
    Remainder {
        divisor: i64,
        remainder: i64,
    },
    Bits(Bits),
    Size(i64),
    /// An array with a document in it that matches.
    HasDocument(Box<Predicate>),
    /// An array with an element that meets all of these.
    HasElement(Vec<Clause>),
}

/// A condition, or that not all of several hold.
#[derive(Debug, Clone)]
pub(super) enum Clause {
    Is(Condition),
    Not(Vec<Clause>),
}

/// The values of `$in`.
#[derive(Debug, Clone)]
pub(super) struct Set {
    pub(super) values: Values,
    pub(super) patterns: Arc<Vec<Pattern>>,
    pub(super) has_null: bool,
}

/// What an `$in` has beside patterns.
#[derive(Debug, Clone)]
pub(super) enum Values {
    /// In order, each once.
    Few(Vec<Constant>),
    Many(Arc<List>),
}

/// Which bits of a number or of binary data are asked for.
#[derive(Debug, Clone)]
pub(super) struct Bits {
    pub(super) positions: Vec<u32>,
    /// Whether the bits must be set.
    pub(super) are_set: bool,
    /// Whether all must be so, not just one.
    pub(super) all: bool,
}

impl Predicate {
    #[inline]
    pub(super) fn matches(&self, document: Fields<'_>, root: Option<&Root<'_>>) -> bool {
        match self {
            Self::Field(field) => field.matches(document),
            Self::And(predicates) => predicates
                .iter()
                .all(|predicate| predicate.matches(document, root)),
            Self::Or(predicates) => predicates
                .iter()
                .any(|predicate| predicate.matches(document, root)),
            Self::Nor(predicates) => !predicates
                .iter()
                .any(|predicate| predicate.matches(document, root)),
            Self::Not(predicate) => !predicate.matches(document, root),
            Self::Constant(holds) => *holds,
            Self::Expression(computed) => computed.holds(root),
        }
    }

    pub(super) fn computes(&self) -> bool {
        match self {
            Self::Expression(_) => true,
            Self::And(predicates) | Self::Or(predicates) | Self::Nor(predicates) => {
                predicates.iter().any(Self::computes)
            }
            Self::Not(predicate) => predicate.computes(),
            Self::Field(_) | Self::Constant(_) => false,
        }
    }

    /// Gives expressions their variables. There are none within a condition on a value.
    pub(super) fn bind(&mut self, variables: &Variables) {
        match self {
            Self::Expression(computed) => computed.bind(variables),
            Self::And(predicates) | Self::Or(predicates) | Self::Nor(predicates) => {
                for predicate in predicates {
                    predicate.bind(variables);
                }
            }
            Self::Not(predicate) => predicate.bind(variables),
            Self::Field(_) | Self::Constant(_) => {}
        }
    }

    /// The regular expressions in it.
    pub(super) fn patterns(&self) -> Vec<&Pattern> {
        let mut found = Vec::new();
        self.gather(&mut found);
        found
    }

    fn gather<'a>(&'a self, found: &mut Vec<&'a Pattern>) {
        match self {
            Self::And(all) | Self::Or(all) | Self::Nor(all) => {
                for one in all {
                    one.gather(found);
                }
            }
            Self::Not(inner) => inner.gather(found),
            Self::Field(field) => field.condition.gather(found),
            Self::Constant(_) | Self::Expression(_) => {}
        }
    }

    pub(super) fn equalities<'a>(&'a self, found: &mut Vec<(&'a str, Bson)>) {
        match self {
            Self::And(predicates) => predicates
                .iter()
                .for_each(|predicate| predicate.equalities(found)),
            Self::Or(predicates) => {
                if let [predicate] = &predicates[..] {
                    predicate.equalities(found);
                }
            }
            Self::Field(Field {
                path,
                condition: Condition::Compare(Operator::Equal, constant),
            }) => found.push((path.text(), constant.value().to_bson())),
            _ => {}
        }
    }
}

impl Field {
    pub(super) const fn leaf(&self) -> Leaf {
        if self.condition.is_of_whole_arrays() {
            Leaf::Whole
        } else {
            Leaf::Elements
        }
    }

    #[inline]
    fn matches(&self, document: Fields<'_>) -> bool {
        // The most frequent question of all, `{_id: x}` and its like, needs no value decoded.
        if let Condition::Compare(Operator::Equal, constant) = &self.condition
            && let [part] = self.path.parts()
            && let Some(element) = document.find(&part.name)
            && let Some(is_equal) = constant.equals_bytewise(&element)
        {
            return is_equal;
        }
        self.path.visit(document, self.leaf(), |found| {
            self.condition.holds(found.value.as_ref())
        })
    }
}

impl Clause {
    fn gather<'a>(&'a self, found: &mut Vec<&'a Pattern>) {
        match self {
            Self::Is(condition) => condition.gather(found),
            Self::Not(clauses) => clauses.iter().for_each(|clause| clause.gather(found)),
        }
    }

    pub(super) fn holds(&self, value: &Value<'_>) -> bool {
        match self {
            Self::Is(condition) => condition.holds(Some(value)),
            Self::Not(clauses) => !clauses.iter().all(|clause| clause.holds(value)),
        }
    }
}

impl Condition {
    fn gather<'a>(&'a self, found: &mut Vec<&'a Pattern>) {
        match self {
            Self::Matches(pattern) => found.push(pattern),
            Self::In(set) => found.extend(set.patterns.iter()),
            Self::HasDocument(inner) => inner.gather(found),
            Self::HasElement(clauses) => clauses.iter().for_each(|clause| clause.gather(found)),
            _ => {}
        }
    }

    /// The error of a pattern in it that took too many steps, once.
    pub(super) fn take_failure(&self) -> Option<CommandError> {
        let mut patterns = Vec::new();
        self.gather(&mut patterns);
        patterns.iter().find_map(|pattern| pattern.take_failure())
    }

    /// Whether an array at the end of a path is looked at whole and only whole.
    pub(super) const fn is_of_whole_arrays(&self) -> bool {
        matches!(
            self,
            Self::Size(_) | Self::HasDocument(_) | Self::HasElement(_)
        )
    }

    /// `None` is a missing field.
    #[inline]
    pub(super) fn holds(&self, value: Option<&Value<'_>>) -> bool {
        match (self, value) {
            (Self::Compare(operator, constant), value) => {
                compare(*operator, &constant.value(), value)
            }
            (Self::In(set), value) => set.holds(value),
            (_, None) => false,
            (Self::Exists, Some(_)) => true,
            (condition, Some(value)) => condition.holds_present(value),
        }
    }

    fn holds_present(&self, value: &Value<'_>) -> bool {
        match self {
            Self::Matches(pattern) => pattern.matches(value),
            Self::HasType(kinds) => kinds.contains(&value.kind()),
            Self::Remainder { divisor, remainder } => Number::from_value(value)
                .and_then(Number::to_i64)
                .is_some_and(|number| number.wrapping_rem(*divisor) == *remainder),
            Self::Bits(bits) => bits.hold(value),
            Self::Size(size) => match value {
                Value::Array(array) => i64::try_from(array.elements().count()) == Ok(*size),
                _ => false,
            },
            Self::HasDocument(_) | Self::HasElement(_) => self.matching_element(value).is_some(),
            Self::Compare(..) | Self::In(_) | Self::Exists => self.holds(Some(value)),
        }
    }

    /// Of `$elemMatch`, the place of the first element that matches.
    pub(super) fn matching_element(&self, value: &Value<'_>) -> Option<usize> {
        let Value::Array(array) = value else {
            return None;
        };
        match self {
            Self::HasDocument(predicate) => array.values().position(|element| match element {
                Value::Document(fields) | Value::Array(fields) => predicate.matches(fields, None),
                _ => false,
            }),
            Self::HasElement(clauses) => array
                .values()
                .position(|element| clauses.iter().all(|clause| clause.holds(&element))),
            _ => None,
        }
    }
}

#[inline]
fn compare(operator: Operator, constant: &Value<'_>, value: Option<&Value<'_>>) -> bool {
    let value = value.unwrap_or(&Value::Undefined);
    if operator == Operator::Equal {
        return compare_values(value, constant).is_eq() || are_both_nothing(constant, value);
    }
    compare_range(operator, constant, value)
}

/// A range holds within the constant's type; `MinKey` and `MaxKey` are the ends of all types.
fn compare_range(operator: Operator, constant: &Value<'_>, value: &Value<'_>) -> bool {
    let includes_equal = matches!(operator, Operator::LessOrEqual | Operator::GreaterOrEqual);
    let wants_less = matches!(operator, Operator::Less | Operator::LessOrEqual);
    if value.rank() != constant.rank() {
        return match constant {
            Value::MinKey => !wants_less,
            Value::MaxKey => wants_less,
            _ => includes_equal && are_both_nothing(constant, value),
        };
    }
    if value.is_nan() != constant.is_nan() {
        return false;
    }
    match compare_values(value, constant) {
        Ordering::Equal => includes_equal,
        Ordering::Less => wants_less,
        Ordering::Greater => !wants_less,
    }
}

/// Null stands for missing (which comes here as undefined) and for undefined too.
fn are_both_nothing(constant: &Value<'_>, value: &Value<'_>) -> bool {
    matches!(
        (constant, value),
        (Value::Null, Value::Undefined | Value::Null)
    )
}

impl Set {
    fn holds(&self, value: Option<&Value<'_>>) -> bool {
        let Some(value) = value else {
            return self.has_null;
        };
        if self.has_null && matches!(value, Value::Undefined) {
            return true;
        }
        let is_listed = match &self.values {
            Values::Few(constants) => constants
                .binary_search_by(|constant| compare_values(&constant.value(), value))
                .is_ok(),
            Values::Many(list) => list.contains(value),
        };
        is_listed || self.patterns.iter().any(|pattern| pattern.matches(value))
    }
}

impl Bits {
    fn hold(&self, value: &Value<'_>) -> bool {
        if let Value::Binary { bytes, .. } = value {
            return self.hold_by(|position| {
                let byte = bytes.get(position as usize / 8).copied().unwrap_or(0);
                byte >> (position % 8) & 1 == 1
            });
        }
        match Number::from_value(value).and_then(Number::to_i64_exact) {
            // Beyond its 64 bits a number goes on as its sign.
            Some(number) => self.hold_by(|position| number >> position.min(63) & 1 == 1),
            None => false,
        }
    }

    fn hold_by(&self, bit: impl Fn(u32) -> bool) -> bool {
        let mut positions = self.positions.iter();
        if self.all {
            positions.all(|position| bit(*position) == self.are_set)
        } else {
            positions.any(|position| bit(*position) == self.are_set)
        }
    }
}

/// The type bytes that `number` stands for.
pub(super) const NUMBERS: [u8; 4] = [kind::DOUBLE, kind::INT, kind::LONG, kind::DECIMAL];
