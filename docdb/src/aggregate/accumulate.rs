//! What `$group` gathers per group: sums, extremes, lists, sets.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use bson::{Bson, Document};

use crate::error::{Code, Result};
use crate::expression::footprint;
use crate::expression::sum::{Extreme, Sum};
use crate::value::display;
use crate::value::{Number, compare_owned, key};

/// Which accumulator, as the stage names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccumulatorKind {
    Sum,
    Average,
    Minimum,
    Maximum,
    First,
    Last,
    Push,
    AddToSet,
    Count,
    MergeObjects,
    DeviationOfAll,
    DeviationOfSample,
    FirstN(usize),
    LastN(usize),
    MinimumN(usize),
    MaximumN(usize),
}

/// What one group gathered so far.
#[derive(Debug, Clone)]
pub(super) enum Accumulator {
    Sum(Sum),
    Average(Sum),
    Extreme(Extreme),
    First(Option<Bson>),
    Last(Bson),
    List(Vec<Bson>),
    /// Equal values once, by their sort keys.
    Set(BTreeMap<Vec<u8>, Bson>),
    Count(i64),
    Merged(Document),
    Deviation(Deviation),
    FirstN(usize, Vec<Bson>),
    LastN(usize, VecDeque<Bson>),
    /// How many, and whether the greatest are wanted; kept sorted, best first.
    BestN(usize, Ordering, Vec<Bson>),
}

/// Count, mean and sum of squared distances, kept as Welford's method does.
#[derive(Debug, Clone, Default)]
pub(super) struct Deviation {
    of_sample: bool,
    count: f64,
    mean: f64,
    squares: f64,
}

impl Accumulator {
    pub(super) fn new(kind: AccumulatorKind) -> Self {
        match kind {
            AccumulatorKind::Sum => Self::Sum(Sum::default()),
            AccumulatorKind::Average => Self::Average(Sum::default()),
            AccumulatorKind::Minimum => Self::Extreme(Extreme::new(Ordering::Less)),
            AccumulatorKind::Maximum => Self::Extreme(Extreme::new(Ordering::Greater)),
            AccumulatorKind::First => Self::First(None),
            AccumulatorKind::Last => Self::Last(Bson::Null),
            AccumulatorKind::Push => Self::List(Vec::new()),
            AccumulatorKind::AddToSet => Self::Set(BTreeMap::new()),
            AccumulatorKind::Count => Self::Count(0),
            AccumulatorKind::MergeObjects => Self::Merged(Document::new()),
            AccumulatorKind::DeviationOfAll | AccumulatorKind::DeviationOfSample => {
                Self::Deviation(Deviation {
                    of_sample: kind == AccumulatorKind::DeviationOfSample,
                    ..Deviation::default()
                })
            }
            AccumulatorKind::FirstN(n) => Self::FirstN(n, Vec::new()),
            AccumulatorKind::LastN(n) => Self::LastN(n, VecDeque::new()),
            AccumulatorKind::MinimumN(n) => Self::BestN(n, Ordering::Less, Vec::new()),
            AccumulatorKind::MaximumN(n) => Self::BestN(n, Ordering::Greater, Vec::new()),
        }
    }

    /// Takes one document's value, `None` if it is missing; says by about how many bytes of memory that grew it.
    pub(super) fn add(&mut self, value: Option<Bson>) -> Result<isize> {
        let Some(value) = value else {
            return Ok(self.add_missing());
        };
        let size = bytes(&value);
        Ok(match self {
            Self::Sum(sum) | Self::Average(sum) => {
                sum.add(&value);
                0
            }
            Self::Extreme(extreme) => {
                let before = extreme.best().map_or(0, bytes);
                extreme.add(&value);
                extreme.best().map_or(0, bytes) - before
            }
            Self::First(first @ None) => {
                *first = Some(value);
                size
            }
            Self::Last(last) => size - bytes(&std::mem::replace(last, value)),
            Self::List(list) => {
                list.push(value);
                size
            }
            Self::Set(set) => {
                let mut place = Vec::new();
                key::encode_owned(&value, &mut place);
                let taken = size + isize::try_from(place.len()).unwrap_or(isize::MAX / 2);
                let is_new = set.insert(place, value).is_none();
                if is_new { taken } else { 0 }
            }
            Self::Count(count) => {
                *count += 1;
                0
            }
            Self::Merged(merged) => merge(merged, value)?,
            Self::Deviation(deviation) => {
                deviation.add(&value);
                0
            }
            Self::FirstN(n, list) if list.len() < *n => {
                list.push(value);
                size
            }
            Self::First(_) | Self::FirstN(..) => 0,
            Self::LastN(n, list) => size - push_last(*n, list, value),
            Self::BestN(n, wanted, list) => insert_best(*n, *wanted, list, value),
        })
    }

    /// First and last take a missing value for null; counting counts it; nothing else notices it.
    fn add_missing(&mut self) -> isize {
        let null = bytes(&Bson::Null);
        match self {
            Self::First(first @ None) => *first = Some(Bson::Null),
            Self::Last(last) => return null - bytes(&std::mem::replace(last, Bson::Null)),
            Self::Count(count) => *count += 1,
            Self::FirstN(n, list) if list.len() < *n => list.push(Bson::Null),
            Self::LastN(n, list) => return null - push_last(*n, list, Bson::Null),
            _ => return 0,
        }
        null
    }

    pub(super) fn finish(self) -> Bson {
        match self {
            Self::Sum(sum) => sum.total(),
            Self::Average(sum) => sum.average(),
            Self::Extreme(extreme) => extreme.value(),
            Self::First(first) => first.unwrap_or(Bson::Null),
            Self::Last(last) => last,
            Self::List(list) | Self::FirstN(_, list) | Self::BestN(_, _, list) => Bson::Array(list),
            Self::Set(set) => Bson::Array(set.into_values().collect()),
            Self::Count(count) => i32::try_from(count).map_or(Bson::Int64(count), Bson::Int32),
            Self::Merged(merged) => Bson::Document(merged),
            Self::Deviation(deviation) => deviation.value(),
            Self::LastN(_, list) => Bson::Array(list.into()),
        }
    }
}

/// What a value takes; far less than half of the address space.
fn bytes(value: &Bson) -> isize {
    isize::try_from(footprint(value)).unwrap_or(isize::MAX / 2)
}

fn merge(merged: &mut Document, value: Bson) -> Result<isize> {
    let document = match value {
        Bson::Document(document) => document,
        Bson::Null | Bson::Undefined => return Ok(0),
        other => {
            return Err(Code::Location(40400).error(format!(
                "$mergeObjects requires object inputs, but input {} is of type {}",
                display::value(&other),
                display::type_name(&other)
            )));
        }
    };
    let mut grown = 0;
    for (name, value) in document {
        grown += bytes(&value);
        match merged.insert(name, value) {
            Some(old) => grown -= bytes(&old),
            None => grown += 40,
        }
    }
    Ok(grown)
}

/// Appends; what the list is then too long by goes at the front, and its size is answered.
fn push_last(n: usize, list: &mut VecDeque<Bson>, value: Bson) -> isize {
    list.push_back(value);
    if list.len() > n {
        list.pop_front().as_ref().map_or(0, bytes)
    } else {
        0
    }
}

fn insert_best(n: usize, wanted: Ordering, list: &mut Vec<Bson>, value: Bson) -> isize {
    if matches!(value, Bson::Null | Bson::Undefined) {
        return 0;
    }
    let place = list.partition_point(|other| compare_owned(&value, other) != wanted);
    if place >= n {
        return 0;
    }
    let size = bytes(&value);
    list.insert(place, value);
    if list.len() > n {
        size - list.pop().as_ref().map_or(0, bytes)
    } else {
        size
    }
}

impl Deviation {
    fn add(&mut self, value: &Bson) {
        let Some(number) = Number::from_bson(value) else {
            return;
        };
        let number = number.to_f64();
        self.count += 1.0;
        let distance = number - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (number - self.mean);
    }

    fn value(&self) -> Bson {
        let divisor = if self.of_sample {
            self.count - 1.0
        } else {
            self.count
        };
        if divisor <= 0.0 {
            return Bson::Null;
        }
        Bson::Double((self.squares / divisor).sqrt())
    }
}
