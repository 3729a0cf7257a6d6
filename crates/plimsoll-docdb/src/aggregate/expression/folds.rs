//! Sums, averages and extremes over an array's elements or over all arguments.

#![expect(
    clippy::unnecessary_wraps,
    reason = "all functions of the table have one signature"
)]

use std::cmp::Ordering;

use bson::Bson;

use super::Evaluated;
use super::table::{Call, Function, Shape};
use crate::aggregate::sum::{Extreme, Sum};
use crate::error::CommandError;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "$sum",
        shape: Shape::Any,
        body: sum,
    },
    Function {
        name: "$avg",
        shape: Shape::Any,
        body: average,
    },
    Function {
        name: "$min",
        shape: Shape::Any,
        body: |call| extreme(call, Ordering::Less),
    },
    Function {
        name: "$max",
        shape: Shape::Any,
        body: |call| extreme(call, Ordering::Greater),
    },
];

/// What `$sum` and its like go over: the elements of the one array, or all arguments.
fn operands<'c>(call: &'c Call<'_, '_>) -> Box<dyn Iterator<Item = &'c Bson> + 'c> {
    match call.values.as_slice() {
        [Some(Bson::Array(array))] => Box::new(array.iter()),
        values => Box::new(values.iter().flatten()),
    }
}

fn sum(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let mut sum = Sum::default();
    operands(call).for_each(|value| sum.add(value));
    Ok(Some(sum.total()))
}

fn average(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let mut sum = Sum::default();
    operands(call).for_each(|value| sum.add(value));
    Ok(Some(sum.average()))
}

fn extreme(call: &mut Call<'_, '_>, wanted: Ordering) -> Result<Evaluated, CommandError> {
    let mut extreme = Extreme::new(wanted);
    operands(call).for_each(|value| extreme.add(value));
    Ok(Some(extreme.value()))
}
