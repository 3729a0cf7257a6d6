//! Sums, averages and extremes of values of any type, for expressions and for groups.

use std::cmp::Ordering;

use bson::Bson;

use crate::value::{Decimal, Number, compare_owned};

/// A sum of numbers of any type: integers exactly, doubles with their rounding errors carried along.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sum {
    integers: i128,
    double: f64,
    /// What `double` lost to rounding (Neumaier's summation): 0.1 ten times is 1.
    lost: f64,
    decimal: Option<Decimal>,
    has_long: bool,
    has_double: bool,
    count: i64,
}

impl Sum {
    /// Adds a number; anything else counts as nothing.
    pub(crate) fn add(&mut self, value: &Bson) {
        let Some(number) = Number::from_bson(value) else {
            return;
        };
        self.count += 1;
        match number {
            Number::Int(value) => self.integers = self.integers.saturating_add(value.into()),
            Number::Long(value) => {
                self.has_long = true;
                self.integers = self.integers.saturating_add(value.into());
            }
            Number::Double(value) => {
                self.has_double = true;
                self.add_double(value);
            }
            Number::Decimal(value) => {
                let sum = self.decimal.unwrap_or(Decimal::ZERO);
                self.decimal = Some(sum.plus(value));
            }
        }
    }

    fn add_double(&mut self, value: f64) {
        let sum = self.double + value;
        if sum.is_finite() {
            self.lost += if self.double.abs() >= value.abs() {
                (self.double - sum) + value
            } else {
                (value - sum) + self.double
            };
        }
        self.double = sum;
    }

    fn real(&self) -> f64 {
        let mut whole = self.clone();
        whole.add_double(self.integers as f64);
        whole.double
            + if whole.double.is_finite() {
                whole.lost
            } else {
                0.0
            }
    }

    fn exact(&self, decimal: Decimal) -> Decimal {
        let integers = Decimal::parse(&self.integers.to_string()).unwrap_or(Decimal::ZERO);
        let doubles =
            Decimal::from_f64_exactly(self.double).plus(Decimal::from_f64_exactly(self.lost));
        decimal.plus(integers).plus(doubles)
    }

    /// Of the widest type that was added; a double where 64 bits do not suffice.
    pub(crate) fn total(&self) -> Bson {
        if let Some(decimal) = self.decimal {
            return Number::Decimal(self.exact(decimal)).to_bson();
        }
        if self.has_double {
            return Bson::Double(self.real());
        }
        match (i32::try_from(self.integers), i64::try_from(self.integers)) {
            (Ok(small), _) if !self.has_long => Bson::Int32(small),
            (_, Ok(long)) => Bson::Int64(long),
            _ => Bson::Double(self.integers as f64),
        }
    }

    /// Null of nothing.
    pub(crate) fn average(&self) -> Bson {
        if self.count == 0 {
            return Bson::Null;
        }
        match self.decimal {
            Some(decimal) => {
                let mean = self.exact(decimal).over(Decimal::integer(self.count));
                Number::Decimal(mean).to_bson()
            }
            None => Bson::Double(self.real() / self.count as f64),
        }
    }
}

/// The least or the greatest of values; null and missing do not count.
#[derive(Debug, Clone)]
pub(crate) struct Extreme {
    wanted: Ordering,
    best: Option<Bson>,
}

impl Extreme {
    pub(crate) fn new(wanted: Ordering) -> Self {
        Self { wanted, best: None }
    }

    pub(crate) fn add(&mut self, value: &Bson) {
        if matches!(value, Bson::Null | Bson::Undefined) {
            return;
        }
        let better = match &self.best {
            None => true,
            Some(best) => compare_owned(value, best) == self.wanted,
        };
        if better {
            self.best = Some(value.clone());
        }
    }

    pub(crate) fn best(&self) -> Option<&Bson> {
        self.best.as_ref()
    }

    pub(crate) fn value(&self) -> Bson {
        self.best.clone().unwrap_or(Bson::Null)
    }
}
