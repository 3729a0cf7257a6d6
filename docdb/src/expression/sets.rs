//! Arrays as sets: their elements without order and repetition.

use std::collections::{BTreeMap, BTreeSet};

use bson::Bson;

use super::Evaluated;
use super::function::{Call, Function, NULL, functions};
use crate::error::{Code, CommandError, Result};
use crate::value::key;

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$setUnion" Any => union;
    "$setIntersection" Any => intersection;
    "$setDifference" Exactly(2) => difference;
    "$setEquals" Any => equals;
    "$setIsSubset" Exactly(2) => is_subset;
    "$allElementsTrue" Exactly(1) => all_true;
    "$anyElementTrue" Exactly(1) => any_true;
};

/// Elements by their sort key: equal ones once, in MongoDB's order.
type Set = BTreeMap<Vec<u8>, Bson>;

fn set_of(array: Vec<Bson>) -> Set {
    let mut set = Set::new();
    for element in array {
        set.entry(key_of(&element)).or_insert(element);
    }
    set
}

fn key_of(value: &Bson) -> Vec<u8> {
    let mut bytes = Vec::new();
    key::encode_owned(value, &mut bytes);
    bytes
}

fn keys(array: &[Bson]) -> BTreeSet<Vec<u8>> {
    array.iter().map(key_of).collect()
}

fn not_an_array(call: &Call<'_>, index: usize, code: Code) -> CommandError {
    code.error(format!(
        "All operands of {} must be arrays. One argument is of type: {}",
        call.name,
        call.type_name(index)
    ))
}

fn take_array(call: &mut Call<'_>, index: usize, code: Code) -> Result<Vec<Bson>> {
    match call.take(index) {
        Some(Bson::Array(array)) => Ok(array),
        other => {
            if let Some(place) = call.values.get_mut(index) {
                *place = other;
            }
            Err(not_an_array(call, index, code))
        }
    }
}

fn union(call: &mut Call<'_>) -> Result<Evaluated> {
    let mut set = Set::new();
    for index in 0..call.values.len() {
        if call.is_nullish(index) {
            return NULL;
        }
        for (key, value) in set_of(take_array(call, index, Code::Location(17043))?) {
            set.entry(key).or_insert(value);
        }
    }
    call.built(set.into_values().collect())
}

fn intersection(call: &mut Call<'_>) -> Result<Evaluated> {
    let mut set: Option<Set> = None;
    for index in 0..call.values.len() {
        if call.is_nullish(index) {
            return NULL;
        }
        let next = set_of(take_array(call, index, Code::Location(17047))?);
        set = Some(match set {
            None => next,
            Some(mut set) => {
                set.retain(|key, _| next.contains_key(key));
                set
            }
        });
    }
    call.built(set.unwrap_or_default().into_values().collect())
}

/// The first array's elements that the second lacks, in their order.
fn difference(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.any_nullish() {
        return NULL;
    }
    let operand = |call: &Call<'_>, index: usize, place: &str, code: Code| {
        code.error(format!(
            "both operands of $setDifference must be arrays. {place} argument is of type: {}",
            call.type_name(index)
        ))
    };
    let Some(Bson::Array(second)) = call.get(1) else {
        return Err(operand(call, 1, "Second", Code::Location(17049)));
    };
    let mut gone = keys(second);
    let Some(Bson::Array(first)) = call.get(0) else {
        return Err(operand(call, 0, "First", Code::Location(17048)));
    };
    let kept: Vec<Bson> = first
        .iter()
        .filter(|element| gone.insert(key_of(element)))
        .cloned()
        .collect();
    call.built(kept)
}

fn equals(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.values.len() < 2 {
        return Err(Code::Location(17045).error(format!(
            "$setEquals needs at least two arguments had: {}",
            call.values.len()
        )));
    }
    let mut first: Option<BTreeSet<Vec<u8>>> = None;
    let mut equal = true;
    for index in 0..call.values.len() {
        let Some(Bson::Array(array)) = call.get(index) else {
            return Err(not_an_array(call, index, Code::Location(17044)));
        };
        let set = keys(array);
        match &first {
            None => first = Some(set),
            Some(first) => equal &= *first == set,
        }
    }
    Ok(Some(Bson::Boolean(equal)))
}

fn is_subset(call: &mut Call<'_>) -> Result<Evaluated> {
    let operand = |index: usize, place: &str, code: Code| {
        code.error(format!(
            "both operands of $setIsSubset must be arrays. {place} argument is of type: {}",
            call.type_name(index)
        ))
    };
    let Some(Bson::Array(first)) = call.get(0) else {
        return Err(operand(0, "First", Code::Location(17046)));
    };
    let Some(Bson::Array(second)) = call.get(1) else {
        return Err(operand(1, "Second", Code::Location(17042)));
    };
    Ok(Some(Bson::Boolean(keys(first).is_subset(&keys(second)))))
}

fn elements<'c>(call: &'c Call<'_>, code: Code) -> Result<&'c [Bson]> {
    match call.get(0) {
        Some(Bson::Array(array)) => Ok(array),
        _ => Err(code.error(format!(
            "{}'s argument must be an array, but is {}",
            call.name,
            call.type_name(0)
        ))),
    }
}

fn all_true(call: &mut Call<'_>) -> Result<Evaluated> {
    let elements = elements(call, Code::Location(17040))?;
    let all = elements.iter().all(|element| super::is_true(Some(element)));
    Ok(Some(Bson::Boolean(all)))
}

fn any_true(call: &mut Call<'_>) -> Result<Evaluated> {
    let elements = elements(call, Code::Location(17041))?;
    let any = elements.iter().any(|element| super::is_true(Some(element)));
    Ok(Some(Bson::Boolean(any)))
}
