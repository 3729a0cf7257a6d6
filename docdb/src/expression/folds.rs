//! Sums, averages and extremes over an array's elements or over all arguments.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of the table have one signature"
)]

use std::cmp::Ordering;

use bson::Bson;

use super::Evaluated;
use super::function::{Call, Function, functions};
use super::sum::{Extreme, Sum};
use crate::error::Result;

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$sum" Any => sum;
    "$avg" Any => average;
    "$min" Any => |call| extreme(call, Ordering::Less);
    "$max" Any => |call| extreme(call, Ordering::Greater);
};

/// What `$sum` and its like go over: the elements of the one array, or all arguments.
fn operands<'c>(call: &'c Call<'_>) -> Box<dyn Iterator<Item = &'c Bson> + 'c> {
    match call.values.as_slice() {
        [Some(Bson::Array(array))] => Box::new(array.iter()),
        values => Box::new(values.iter().flatten()),
    }
}

fn sum(call: &mut Call<'_>) -> Result<Evaluated> {
    let mut sum = Sum::default();
    operands(call).for_each(|value| sum.add(value));
    Ok(Some(sum.total()))
}

fn average(call: &mut Call<'_>) -> Result<Evaluated> {
    let mut sum = Sum::default();
    operands(call).for_each(|value| sum.add(value));
    Ok(Some(sum.average()))
}

fn extreme(call: &mut Call<'_>, wanted: Ordering) -> Result<Evaluated> {
    let mut extreme = Extreme::new(wanted);
    operands(call).for_each(|value| extreme.add(value));
    Ok(Some(extreme.value()))
}
