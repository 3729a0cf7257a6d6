//! Comparison, negation, types: operators on values of any type.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of the table have one signature"
)]

use std::cmp::Ordering;

use bson::Bson;

use super::table::{Call, Function, Shape};
use super::{Evaluated, is_true};
use crate::error::CommandError;
use crate::value::{Number, compare_owned};

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$cmp",
        shape: Shape::Exactly(2),
        body: cmp,
    },
    Function {
        name: "$eq",
        shape: Shape::Exactly(2),
        body: |call| test(call, Ordering::is_eq),
    },
    Function {
        name: "$ne",
        shape: Shape::Exactly(2),
        body: |call| test(call, Ordering::is_ne),
    },
    Function {
        name: "$gt",
        shape: Shape::Exactly(2),
        body: |call| test(call, Ordering::is_gt),
    },
    Function {
        name: "$gte",
        shape: Shape::Exactly(2),
        body: |call| test(call, Ordering::is_ge),
    },
    Function {
        name: "$lt",
        shape: Shape::Exactly(2),
        body: |call| test(call, Ordering::is_lt),
    },
    Function {
        name: "$lte",
        shape: Shape::Exactly(2),
        body: |call| test(call, Ordering::is_le),
    },
    Function {
        name: "$not",
        shape: Shape::Exactly(1),
        body: not,
    },
    Function {
        name: "$type",
        shape: Shape::Exactly(1),
        body: kind,
    },
    Function {
        name: "$isNumber",
        shape: Shape::Exactly(1),
        body: is_number,
    },
];

fn order(call: &Call<'_, '_>) -> Ordering {
    compare(call.get(0), call.get(1))
}

/// MongoDB's order with missing below everything else.
pub(in crate::aggregate) fn compare(left: Option<&Bson>, right: Option<&Bson>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compare_owned(left, right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

fn cmp(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    Ok(Some(Bson::Int32(match order(call) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })))
}

fn test(call: &Call<'_, '_>, holds: fn(Ordering) -> bool) -> Result<Evaluated, CommandError> {
    Ok(Some(Bson::Boolean(holds(order(call)))))
}

fn not(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    Ok(Some(Bson::Boolean(!is_true(call.get(0)))))
}

fn kind(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    Ok(Some(Bson::String(call.type_name(0).to_owned())))
}

fn is_number(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let number = call.get(0).and_then(Number::of_bson);
    Ok(Some(Bson::Boolean(number.is_some())))
}
