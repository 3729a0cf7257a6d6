//! Reads the fields of a command: typed, generic arguments accepted, unknown ones refused as MongoDB does.

use bson::raw::{RawBsonRef, RawDocument};
use bson::{Bson, RawDocumentBuf};

use crate::catalog::check_collection;
use crate::error::{Code, CommandError, Result};
use crate::expression::Expression;
use crate::expression::Variables;
use crate::value::display;
use crate::wire::Request;

/// Calls `known` with each field after the command's own, generic arguments left out; it says whether the command has
/// such a field.
pub(super) fn each<'a>(
    request: &'a Request,
    mut known: impl FnMut(&'a str, RawBsonRef<'a>) -> Result<bool>,
) -> Result<()> {
    for element in request.body().iter_elements().skip(1) {
        let element = element?;
        let (name, value) = (element.key().as_str(), element.value()?);
        if !generic(request, name, value)? && !known(name, value)? {
            return Err(unknown(request.name(), name));
        }
    }
    Ok(())
}

/// Calls `known` with each field of a part of a command, such as one of its `updates`, which `place` names.
pub(super) fn each_of<'a>(
    place: &str,
    part: &'a RawDocument,
    mut known: impl FnMut(&'a str, RawBsonRef<'a>) -> Result<bool>,
) -> Result<()> {
    for element in part.iter_elements() {
        let element = element?;
        let (name, value) = (element.key().as_str(), element.value()?);
        if !known(name, value)? {
            return Err(unknown(place, name));
        }
    }
    Ok(())
}

fn unknown(place: &str, field: &str) -> CommandError {
    Code::Location(40415).error(format!("BSON field '{place}.{field}' is an unknown field."))
}

/// A required field that is not there.
pub(super) fn missing(place: &str, field: &str) -> CommandError {
    Code::Location(40414).error(format!(
        "BSON field '{place}.{field}' is missing but a required field"
    ))
}

/// Database and collection of a command whose first field names the collection.
pub(super) fn namespace(request: &Request) -> Result<(&str, &str)> {
    let database = request.database();
    let first = request.body().iter_elements().next();
    let value = match first {
        Some(Ok(element)) => element.value()?,
        _ => return Err(Code::InvalidBSON.error("the command is empty")),
    };
    let Some(collection) = value.as_str() else {
        return Err(Code::InvalidNamespace.error(format!(
            "collection name has invalid type {}",
            display::raw_type_name(value)
        )));
    };
    check_collection(database, collection)?;
    Ok((database, collection))
}

/// Arguments that every command takes. True if `name` is one of them.
fn generic(request: &Request, name: &str, value: RawBsonRef<'_>) -> Result<bool> {
    match name {
        "$db"
        | "lsid"
        | "comment"
        | "$clusterTime"
        | "$readPreference"
        | "apiVersion"
        | "apiStrict"
        | "apiDeprecationErrors"
        | "maxTimeMSOpOnly"
        | "$audit"
        | "$client"
        | "$configServerState"
        | "$oplogQueryData"
        | "$queryOptions"
        | "help" => Ok(true),
        "maxTimeMS" => {
            let limit = integer(request.name(), name, value)?;
            if i32::try_from(limit).is_ok_and(|limit| limit >= 0) {
                return Ok(true);
            }
            Err(Code::BadValue.error(format!(
                "{limit} value for maxTimeMS is out of range [0, {}]",
                i32::MAX
            )))
        }
        "readConcern" => read_concern(request.name(), value).map(|()| true),
        "writeConcern" => write_concern(request.name(), value).map(|()| true),
        "txnNumber" | "startTransaction" | "autocommit" | "stmtId" | "stmtIds" => {
            Err(Code::IllegalOperation
                .error("Transaction numbers are only allowed on a replica set member or mongos"))
        }
        _ => Ok(false),
    }
}

fn read_concern(command: &str, value: RawBsonRef<'_>) -> Result<()> {
    let concern = object(command, "readConcern", value)?;
    each_of("readConcern", concern, |name, value| {
        match name {
            "level" => match text("readConcern", name, value)? {
                "local" | "available" | "majority" => {}
                level @ ("snapshot" | "linearizable") => {
                    return Err(Code::NotAReplicaSet.error(format!(
                        "node needs to be a replica set member to use readConcern: {level}"
                    )));
                }
                other => {
                    return Err(Code::BadValue.error(format!(
                        "Enumeration value '{other}' for field 'readConcern.level' is not a valid value."
                    )));
                }
            },
            "provenance" => {}
            "afterClusterTime" | "atClusterTime" | "afterOpTime" => {
                return Err(Code::NotAReplicaSet
                    .error("node needs to be a replica set member to use read concern"));
            }
            _ => return Ok(false),
        }
        Ok(true)
    })
}

fn write_concern(command: &str, value: RawBsonRef<'_>) -> Result<()> {
    let concern = object(command, "writeConcern", value)?;
    match concern.get("w")? {
        Some(RawBsonRef::String("majority")) | None => Ok(()),
        Some(value) => match number(value) {
            Some(0.0 | 1.0) => Ok(()),
            _ => Err(Code::BadValue.error("cannot use 'w' > 1 when a host is not replicated")),
        },
    }
}

pub(super) fn object<'a>(
    place: &str,
    field: &str,
    value: RawBsonRef<'a>,
) -> Result<&'a RawDocument> {
    value
        .as_document()
        .ok_or_else(|| wrong_type(place, field, value, "'object'"))
}

/// An object, or null for none.
pub(super) fn optional_object<'a>(
    place: &str,
    field: &str,
    value: RawBsonRef<'a>,
) -> Result<Option<&'a RawDocument>> {
    match value {
        RawBsonRef::Null => Ok(None),
        value => object(place, field, value).map(Some),
    }
}

pub(super) fn text<'a>(place: &str, field: &str, value: RawBsonRef<'a>) -> Result<&'a str> {
    value
        .as_str()
        .ok_or_else(|| wrong_type(place, field, value, "'string'"))
}

/// A boolean, or a number that is zero or not.
pub(super) fn truth(place: &str, field: &str, value: RawBsonRef<'_>) -> Result<bool> {
    match value {
        RawBsonRef::Boolean(truth) => Ok(truth),
        RawBsonRef::Null | RawBsonRef::Undefined => Ok(false),
        value => match number(value) {
            Some(number) => Ok(number != 0.0),
            None => Err(wrong_type(
                place,
                field,
                value,
                "types '[bool, long, int, decimal, double']",
            )),
        },
    }
}

/// A number without a fraction; null counts as absent elsewhere and is refused here.
pub(super) fn integer(place: &str, field: &str, value: RawBsonRef<'_>) -> Result<i64> {
    match value {
        RawBsonRef::Int32(number) => Ok(i64::from(number)),
        RawBsonRef::Int64(number) => Ok(number),
        value => match number(value) {
            // Doubles beyond 2^63 saturate; NaN becomes 0, as MongoDB's `safeNumberLong` has it.
            Some(number) if number.fract() == 0.0 || !number.is_finite() => Ok(number as i64),
            Some(number) => Err(Code::FailedToParse.error(format!(
                "Expected an integer, but found a number with a fraction in field '{field}': {number}"
            ))),
            None => Err(wrong_type(
                place,
                field,
                value,
                "types '[long, int, decimal, double']",
            )),
        },
    }
}

/// A count that may not be negative, such as `limit`.
pub(super) fn count(place: &str, field: &str, value: RawBsonRef<'_>) -> Result<u64> {
    let number = integer(place, field, value)?;
    u64::try_from(number).map_err(|_| {
        Code::Location(51024).error(format!(
            "BSON field '{field}' value must be >= 0, actual value '{number}'"
        ))
    })
}

fn number(value: RawBsonRef<'_>) -> Option<f64> {
    match value {
        RawBsonRef::Int32(number) => Some(f64::from(number)),
        RawBsonRef::Int64(number) => Some(number as f64),
        RawBsonRef::Double(number) => Some(number),
        RawBsonRef::Decimal128(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

/// The values of `let`: variables of expressions.
pub(super) fn variables(
    place: &str,
    value: RawBsonRef<'_>,
    variables: &mut Variables,
) -> Result<()> {
    let nothing = RawDocumentBuf::new();
    for entry in object(place, "let", value)? {
        let (name, value) = entry?;
        let value = Expression::parse_with(value, variables)?.evaluate(&nothing, variables)?;
        variables.set(name.as_str(), value.unwrap_or(Bson::Null));
    }
    Ok(())
}

/// The values of `c` in an update, which are taken as they are.
pub(super) fn constants(
    place: &str,
    value: RawBsonRef<'_>,
    variables: &mut Variables,
) -> Result<()> {
    for entry in object(place, "c", value)? {
        let (name, value) = entry?;
        variables.set(name.as_str(), Bson::try_from(value)?);
    }
    Ok(())
}

/// Refuses a field that must not be there, unless its value asks for nothing (`false`, `null`, an empty object).
pub(super) fn refuse_unless_off(command: &str, field: &str, value: RawBsonRef<'_>) -> Result<()> {
    let off = match value {
        RawBsonRef::Boolean(truth) => !truth,
        RawBsonRef::Null | RawBsonRef::Undefined => true,
        RawBsonRef::Document(inner) => inner.is_empty(),
        value => number(value) == Some(0.0),
    };
    if off {
        return Ok(());
    }
    Err(unsupported(command, field))
}

/// An option of MongoDB that is not implemented.
pub(super) fn unsupported(command: &str, field: &str) -> CommandError {
    Code::CommandNotSupported.error(format!(
        "option '{field}' of command '{command}' is not supported"
    ))
}

/// Only the simple collation is supported.
pub(super) fn collation(command: &str, value: RawBsonRef<'_>) -> Result<()> {
    let empty = value.as_document().is_some_and(RawDocument::is_empty);
    if empty || matches!(value, RawBsonRef::Null) || crate::collection::is_simple_collation(value) {
        return Ok(());
    }
    Err(unsupported(command, "collation"))
}

pub(super) fn wrong_type(
    place: &str,
    field: &str,
    value: RawBsonRef<'_>,
    expected: &str,
) -> CommandError {
    let expected = if expected.starts_with('\'') {
        format!("type {expected}")
    } else {
        expected.to_owned()
    };
    Code::TypeMismatch.error(format!(
        "BSON field '{place}.{field}' is the wrong type '{}', expected {expected}",
        display::raw_type_name(value)
    ))
}

/// An array of documents, such as `arrayFilters`.
pub(super) fn documents<'a>(
    place: &str,
    name: &str,
    value: RawBsonRef<'a>,
) -> Result<Vec<&'a RawDocument>> {
    let array = match value {
        RawBsonRef::Array(array) => array,
        RawBsonRef::Null => return Ok(Vec::new()),
        other => return Err(wrong_type(place, name, other, "'array'")),
    };
    array
        .into_iter()
        .enumerate()
        .map(|(at, element)| {
            let element = element?;
            object(place, &format!("{name}.{at}"), element)
        })
        .collect()
}
