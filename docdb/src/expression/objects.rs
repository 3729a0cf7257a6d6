//! Documents: `$mergeObjects`, `$objectToArray`, `$getField`, `$setField`; and what values take: `$bsonSize`, `$binarySize`.

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::Evaluated;
use super::function::{Call, Function, NULL, functions, named};
use crate::error::{Code, Result};
use crate::value::display;

pub(super) const FUNCTIONS: &[Function] = functions! {
    "$mergeObjects" Any => merge;
    "$objectToArray" Exactly(1) => to_array;
    "$arrayToObject" Exactly(1) => from_array;
    "$getField" Named(&GET) => get_field;
    "$setField" Named(&SET) => set_field;
    "$unsetField" Named(&UNSET) => set_field;
    "$bsonSize" Exactly(1) => bson_size;
    "$binarySize" Exactly(1) => binary_size;
};

named! {
    GET("field"; "input") 3_041_701 3_041_701 3_041_702;
    SET("field", "input", "value") 4_161_100 4_161_101 4_161_102;
    UNSET("field", "input") 4_161_100 4_161_101 4_161_102;
}

/// Bytes of a document as it is stored.
fn bson_size(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.is_nullish(0) {
        return NULL;
    }
    let Some(Bson::Document(document)) = call.get(0) else {
        return Err(call.wrong_type(
            0,
            Code::Location(31393),
            "$bsonSize requires a document input, found: ",
        ));
    };
    let raw = RawDocumentBuf::try_from(document)?;
    Ok(Some(size(raw.as_bytes().len())))
}

/// Bytes of a string or of binary data.
fn binary_size(call: &mut Call<'_>) -> Result<Evaluated> {
    match call.get(0) {
        None | Some(Bson::Null | Bson::Undefined) => NULL,
        Some(Bson::String(text)) => Ok(Some(size(text.len()))),
        Some(Bson::Binary(binary)) => Ok(Some(size(binary.bytes.len()))),
        Some(_) => Err(call.wrong_type(
            0,
            Code::Location(51276),
            "$binarySize requires a string or BinData argument, found: ",
        )),
    }
}

fn size(bytes: usize) -> Bson {
    i32::try_from(bytes).map_or(Bson::Int64(i64::MAX), Bson::Int32)
}

fn merge(call: &mut Call<'_>) -> Result<Evaluated> {
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
                return Err(Code::Location(40400).error(format!(
                    "$mergeObjects requires object inputs, but input {} is of type {}",
                    display::value(&other),
                    display::type_name(&other)
                )));
            }
        }
    }
    Ok(Some(Bson::Document(merged)))
}

fn to_array(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.is_nullish(0) {
        return NULL;
    }
    let Some(Bson::Document(document)) = call.take(0) else {
        return Err(Code::Location(40390).error("$objectToArray requires a document input"));
    };
    let pairs = document
        .into_iter()
        .map(|(name, value)| Bson::Document(doc! { "k": name, "v": value }))
        .collect();
    call.built(pairs)
}

fn from_array(call: &mut Call<'_>) -> Result<Evaluated> {
    if call.is_nullish(0) {
        return NULL;
    }
    let kind = call.type_name(0);
    let Some(Bson::Array(array)) = call.take(0) else {
        return Err(Code::Location(40386).error(format!(
            "$arrayToObject requires an array input, found: {kind}"
        )));
    };
    let mut document = Document::new();
    for element in array {
        let (name, value) = pair(element)?;
        let Bson::String(name) = name else {
            return Err(Code::Location(40394).error(format!(
                "$arrayToObject requires an object keys of 'k' and 'v' where the value of 'k' must be of type string. Found type: {}",
                display::type_name(&name)
            )));
        };
        if name.contains('\0') {
            return Err(
                Code::Location(4_940_400).error("Key field cannot contain an embedded null byte")
            );
        }
        document.insert(name, value);
    }
    Ok(Some(Bson::Document(document)))
}

/// `[name, value]` or `{k: name, v: value}`.
fn pair(element: Bson) -> Result<(Bson, Bson)> {
    match element {
        Bson::Array(pair) => {
            let count = pair.len();
            let [name, value]: [Bson; 2] = pair.try_into().map_err(|_| {
                Code::Location(40397).error(format!(
                    "$arrayToObject requires an array of size 2 arrays,found array of size: {count}"
                ))
            })?;
            Ok((name, value))
        }
        Bson::Document(mut pair) => {
            if pair.len() != 2 {
                return Err(Code::Location(40392).error(format!(
                    "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:{}",
                    pair.len()
                )));
            }
            match (pair.remove("k"), pair.remove("v")) {
                (Some(name), Some(value)) => Ok((name, value)),
                _ => Err(Code::Location(40393).error(
                    "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys",
                )),
            }
        }
        other => Err(Code::Location(40398).error(format!(
            "Unrecognised input type format for $arrayToObject: {}",
            display::type_name(&other)
        ))),
    }
}

fn name(call: &mut Call<'_>) -> Result<String> {
    match call.take(0) {
        Some(Bson::String(name)) => Ok(name),
        other => Err(Code::Location(5_654_602).error(format!(
            "{} requires 'field' to evaluate to type String, but got {}",
            call.name,
            super::function::type_name(other.as_ref())
        ))),
    }
}

fn get_field(call: &mut Call<'_>) -> Result<Evaluated> {
    let name = name(call)?;
    match call.take(1) {
        Some(Bson::Document(mut document)) => Ok(document.remove(name)),
        Some(Bson::Null | Bson::Undefined) => NULL,
        _ => Ok(None),
    }
}

/// `$setField`, and `$unsetField`, which has no value; a missing value takes the field away.
fn set_field(call: &mut Call<'_>) -> Result<Evaluated> {
    let name = name(call)?;
    if call.is_nullish(1) {
        return NULL;
    }
    let kind = call.type_name(1);
    let Some(Bson::Document(mut document)) = call.take(1) else {
        return Err(Code::Location(4_161_105).error(format!(
            "{} requires 'input' to evaluate to type Object, but got {kind}",
            call.name
        )));
    };
    if name.contains('\0') {
        return Err(Code::Location(9_534_700).error(format!(
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
