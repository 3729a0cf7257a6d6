//! The grammar of a threshold: `aggregation operator number`.

use std::fmt;

use super::ThresholdError;
use crate::nearest::hint;

/// Which figure of a metric is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregation {
    Count,
    Rate,
    Value,
    Avg,
    Min,
    Med,
    Max,
    /// A percentile, 0 to 100.
    Percentile(f64),
}

const NAMED: [(&str, Aggregation); 7] = [
    ("count", Aggregation::Count),
    ("rate", Aggregation::Rate),
    ("value", Aggregation::Value),
    ("avg", Aggregation::Avg),
    ("min", Aggregation::Min),
    ("med", Aggregation::Med),
    ("max", Aggregation::Max),
];

impl Aggregation {
    fn parse(text: &str) -> Result<Self, ThresholdError> {
        if let Some((_, named)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*named);
        }
        let inside = text
            .strip_prefix("p(")
            .and_then(|rest| rest.strip_suffix(')'));
        let Some(inside) = inside else {
            let hint = hint(text, NAMED.iter().map(|(name, _)| *name));
            return Err(ThresholdError::Aggregation(text.to_owned(), hint));
        };
        match decimal(inside.trim()) {
            Some(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Percentile(percent)),
            _ => Err(ThresholdError::Percentile(text.to_owned())),
        }
    }
}

impl fmt::Display for Aggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Percentile(percent) = self {
            return write!(f, "p({percent})");
        }
        let named = NAMED.iter().find(|(_, named)| named == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

/// How the figure is compared with the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    NotEqual,
}

/// Longer ones first, so that `<=` is not read as `<`.
const OPERATORS: [(&str, Operator); 7] = [
    ("===", Operator::Equal),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// `p(95)<500`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expression {
    pub(crate) aggregation: Aggregation,
    pub operator: Operator,
    pub bound: f64,
}

impl Expression {
    /// Reads an expression; white space between its parts does not matter.
    pub fn parse(text: &str) -> Result<Self, ThresholdError> {
        let place = text.find(['<', '>', '=', '!']);
        let no_operator = || ThresholdError::NoOperator(text.to_owned());
        let (left, rest) = text.split_at(place.ok_or_else(no_operator)?);
        let (right, operator) = OPERATORS
            .iter()
            .find_map(|(sign, operator)| Some((rest.strip_prefix(sign)?, *operator)))
            .ok_or_else(no_operator)?;
        let aggregation = Aggregation::parse(left.trim())?;
        let right = right.trim();
        let bound = decimal(right).ok_or_else(|| ThresholdError::Number(right.to_owned()))?;
        Ok(Self {
            aggregation,
            operator,
            bound,
        })
    }

    /// Whether a figure keeps the threshold.
    #[expect(
        clippy::float_cmp,
        reason = "the script asks for equality, so it gets equality"
    )]
    pub fn holds(&self, value: f64) -> bool {
        match self.operator {
            Operator::Less => value < self.bound,
            Operator::AtMost => value <= self.bound,
            Operator::Greater => value > self.bound,
            Operator::AtLeast => value >= self.bound,
            Operator::Equal => value == self.bound,
            Operator::NotEqual => value != self.bound,
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = OPERATORS
            .iter()
            .rev()
            .find(|(_, operator)| *operator == self.operator);
        let sign = sign.map_or("", |(sign, _)| sign);
        write!(f, "{}{sign}{}", self.aggregation, self.bound)
    }
}

/// A decimal number; words such as `inf`, which Rust would read, are none.
fn decimal(text: &str) -> Option<f64> {
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let number: f64 = text.parse().ok()?;
    (text.chars().all(allowed) && number.is_finite()).then_some(number)
}
