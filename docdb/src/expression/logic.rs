//! Comparison, negation, types: operators on values of any type.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of the table have one signature"
)]

use std::cmp::Ordering;

use bson::Bson;

use super::function::{Call, Function, functions};
use super::{Evaluated, is_true};
use crate::error::Result;
use crate::value::compare_owned;

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$cmp" Exactly(2) => cmp;
    "$eq" Exactly(2) => |call| test(call, Ordering::is_eq);
    "$ne" Exactly(2) => |call| test(call, Ordering::is_ne);
    "$gt" Exactly(2) => |call| test(call, Ordering::is_gt);
    "$gte" Exactly(2) => |call| test(call, Ordering::is_ge);
    "$lt" Exactly(2) => |call| test(call, Ordering::is_lt);
    "$lte" Exactly(2) => |call| test(call, Ordering::is_le);
    "$not" Exactly(1) => not;
    "$type" Exactly(1) => kind;
    "$isNumber" Exactly(1) => is_number;
};

fn order(call: &Call<'_>) -> Ordering {
    compare(call.get(0), call.get(1))
}

/// MongoDB's order with missing below everything else.
pub(crate) fn compare(left: Option<&Bson>, right: Option<&Bson>) -> Ordering {
    match (left, right) {
        (Some(left), Some(right)) => compare_owned(left, right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    }
}

fn cmp(call: &mut Call<'_>) -> Result<Evaluated> {
    Ok(Some(Bson::Int32(match order(call) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })))
}

fn test(call: &Call<'_>, holds: fn(Ordering) -> bool) -> Result<Evaluated> {
    Ok(Some(Bson::Boolean(holds(order(call)))))
}

fn not(call: &mut Call<'_>) -> Result<Evaluated> {
    Ok(Some(Bson::Boolean(!is_true(call.get(0)))))
}

fn kind(call: &mut Call<'_>) -> Result<Evaluated> {
    Ok(Some(Bson::String(call.type_name(0).to_owned())))
}

fn is_number(call: &mut Call<'_>) -> Result<Evaluated> {
    let number = call.number(0);
    Ok(Some(Bson::Boolean(number.is_some())))
}
