//! Comparison, negation, types: operators on values of any type.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of the table have one signature"
)]

use std::cmp::Ordering;

use bson::Bson;

use super::function::{Call, Function, Shape};
use super::{Evaluated, is_true};
use crate::error::CommandError;
use crate::value::{Number, compare_owned};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("$cmp", Shape::Exactly(2), cmp),
    Function::new("$eq", Shape::Exactly(2), |call| test(call, Ordering::is_eq)),
    Function::new("$ne", Shape::Exactly(2), |call| test(call, Ordering::is_ne)),
    Function::new("$gt", Shape::Exactly(2), |call| test(call, Ordering::is_gt)),
    Function::new("$gte", Shape::Exactly(2), |call| {
        test(call, Ordering::is_ge)
    }),
    Function::new("$lt", Shape::Exactly(2), |call| test(call, Ordering::is_lt)),
    Function::new("$lte", Shape::Exactly(2), |call| {
        test(call, Ordering::is_le)
    }),
    Function::new("$not", Shape::Exactly(1), not),
    Function::new("$type", Shape::Exactly(1), kind),
    Function::new("$isNumber", Shape::Exactly(1), is_number),
];

fn order(call: &Call<'_, '_>) -> Ordering {
    compare(call.get(0), call.get(1))
}

/// MongoDB's order with missing below everything else.
pub(crate) fn compare(left: Option<&Bson>, right: Option<&Bson>) -> Ordering {
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
