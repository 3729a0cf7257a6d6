//! Documents: `$mergeObjects`, `$objectToArray`, `$getField`, `$setField`.

use bson::{Bson, Document, doc};

use super::Evaluated;
use super::function::{Call, Function, Named, Shape};
use crate::error::{Code, CommandError};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("$mergeObjects", Shape::Any, merge),
    Function::new("$objectToArray", Shape::Exactly(1), to_array),
    Function::new("$arrayToObject", Shape::Exactly(1), of_array),
    Function::new("$getField", Shape::Named(&GET), get_field),
    Function::new("$setField", Shape::Named(&SET), set_field),
    Function::new("$unsetField", Shape::Named(&UNSET), set_field),
];

static GET: Named = Named {
    names: &["field", "input"],
    required: 1,
    not_an_object: Code::Location3041701,
    unknown: Code::Location3041701,
    missing: Code::Location3041702,
};
static SET: Named = Named {
    names: &["field", "input", "value"],
    required: 3,
    not_an_object: Code::Location4161100,
    unknown: Code::Location4161101,
    missing: Code::Location4161102,
};
static UNSET: Named = Named {
    names: &["field", "input"],
    required: 2,
    not_an_object: Code::Location4161100,
    unknown: Code::Location4161101,
    missing: Code::Location4161102,
};

fn merge(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let values = match call.values.as_mut_slice() {
        // One array stands for its elements.
        [Some(Bson::Array(array))] => std::mem::take(array),
        values => values.iter_mut().filter_map(Option::take).collect(),
    };
    let mut merged = Document::new();
    for value in values {
        match value {
            Bson::Document(document) => merged.extend(document),
            Bson::Null | Bson::Undefined => {}
            other => {
                return Err(Code::Location40400.error(format!(
                    "$mergeObjects requires object inputs, but input {} is of type {}",
                    crate::value::display::value(&other),
                    crate::value::display::type_name(&other)
                )));
            }
        }
    }
    Ok(Some(Bson::Document(merged)))
}

fn to_array(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    if call.is_nullish(0) {
        return Ok(Some(Bson::Null));
    }
    let Some(Bson::Document(document)) = call.take(0) else {
        return Err(Code::Location40390.error("$objectToArray requires a document input"));
    };
    let pairs = document
        .into_iter()
        .map(|(name, value)| Bson::Document(doc! { "k": name, "v": value }))
        .collect();
    call.built(pairs)
}

fn of_array(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    if call.is_nullish(0) {
        return Ok(Some(Bson::Null));
    }
    let kind = call.type_name(0);
    let Some(Bson::Array(array)) = call.take(0) else {
        return Err(Code::Location40386.error(format!(
            "$arrayToObject requires an array input, found: {kind}"
        )));
    };
    let mut document = Document::new();
    for element in array {
        let (name, value) = pair(element)?;
        let Bson::String(name) = name else {
            return Err(Code::Location40394.error(format!(
                "$arrayToObject requires an object keys of 'k' and 'v' where the value of 'k' must be of type string. Found type: {}",
                crate::value::display::type_name(&name)
            )));
        };
        if name.contains('\0') {
            return Err(
                Code::Location4940400.error("Key field cannot contain an embedded null byte")
            );
        }
        document.insert(name, value);
    }
    Ok(Some(Bson::Document(document)))
}

/// `[name, value]` or `{k: name, v: value}`.
fn pair(element: Bson) -> Result<(Bson, Bson), CommandError> {
    match element {
        Bson::Array(pair) => {
            let count = pair.len();
            let [name, value]: [Bson; 2] = pair.try_into().map_err(|_| {
                Code::Location40397.error(format!(
                    "$arrayToObject requires an array of size 2 arrays,found array of size: {count}"
                ))
            })?;
            Ok((name, value))
        }
        Bson::Document(mut pair) => {
            if pair.len() != 2 {
                return Err(Code::Location40392.error(format!(
                    "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:{}",
                    pair.len()
                )));
            }
            match (pair.remove("k"), pair.remove("v")) {
                (Some(name), Some(value)) => Ok((name, value)),
                _ => Err(Code::Location40393.error(
                    "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys",
                )),
            }
        }
        other => Err(Code::Location40398.error(format!(
            "Unrecognised input type format for $arrayToObject: {}",
            crate::value::display::type_name(&other)
        ))),
    }
}

fn name(call: &mut Call<'_, '_>) -> Result<String, CommandError> {
    match call.take(0) {
        Some(Bson::String(name)) => Ok(name),
        other => Err(Code::Location5654602.error(format!(
            "{} requires 'field' to evaluate to type String, but got {}",
            call.name,
            super::function::type_name(other.as_ref())
        ))),
    }
}

fn get_field(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let name = name(call)?;
    match call.take(1) {
        Some(Bson::Document(mut document)) => Ok(document.remove(name)),
        Some(Bson::Null | Bson::Undefined) => Ok(Some(Bson::Null)),
        _ => Ok(None),
    }
}

/// `$setField`, and `$unsetField`, which has no value; a missing value takes the field away.
fn set_field(call: &mut Call<'_, '_>) -> Result<Evaluated, CommandError> {
    let name = name(call)?;
    if call.is_nullish(1) {
        return Ok(Some(Bson::Null));
    }
    let kind = call.type_name(1);
    let Some(Bson::Document(mut document)) = call.take(1) else {
        return Err(Code::Location4161105.error(format!(
            "{} requires 'input' to evaluate to type Object, but got {kind}",
            call.name
        )));
    };
    if name.contains('\0') {
        return Err(Code::Location9534700.error(format!(
            "{}'s 'field' must not contain an embedded null byte",
            call.name
        )));
    }
    match call.take(2) {
        Some(value) => document.insert(name, value),
        None => document.remove(name),
    };
    Ok(Some(Bson::Document(document)))
}
