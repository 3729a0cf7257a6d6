//! The operators that are functions of their arguments' values, in one table.

use super::function::Function;
use super::{
    arithmetic, arrays, convert, dates, folds, logic, objects, patterns, reals, sets, strings,
};

const TABLES: &[&[Function]] = &[
    arithmetic::FUNCTIONS,
    arrays::FUNCTIONS,
    convert::FUNCTIONS,
    dates::FUNCTIONS,
    folds::FUNCTIONS,
    reals::FUNCTIONS,
    logic::FUNCTIONS,
    objects::FUNCTIONS,
    patterns::FUNCTIONS,
    sets::FUNCTIONS,
    strings::FUNCTIONS,
];

pub(super) fn find(name: &str) -> Option<&'static Function> {
    TABLES
        .iter()
        .flat_map(|table| table.iter())
        .find(|function| function.name == name)
}

/// The names of all functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let functions = TABLES.iter().flat_map(|table| table.iter());
    functions.map(|function| function.name)
}
