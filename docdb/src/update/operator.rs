//! What one operator does to one field: its argument, read and checked once, before any document is seen.

use bson::{Bson, Document};

use super::array::{Pull, Push};
use super::{array, bits::Bits};
use crate::error::{Code, Result};
use crate::value::Number;
use crate::value::display;

/// What happens to the field at the end of an update path.
#[derive(Debug)]
pub(super) enum Operator {
    Set(Bson),
    SetOnInsert(Bson),
    Unset,
    Increment(Number),
    Multiply(Number),
    Minimum(Bson),
    Maximum(Bson),
    CurrentDate,
    CurrentTimestamp,
    Push(Push),
    AddToSet(Vec<Bson>),
    /// True: the first element goes, not the last.
    Pop(bool),
    Pull(Pull),
    Bit(Bits),
    /// The target of a `$rename`; the number counts the update's renames.
    RenameTo(usize),
    /// The source of a `$rename`: only there so that other operators on that path conflict.
    RenameFrom,
}

impl Operator {
    /// Reads the argument of `modifier` for the field `path`; `$rename` is read where both its paths are known.
    pub(super) fn parse(modifier: &str, path: &str, argument: Bson) -> Result<Option<Self>> {
        Ok(Some(match modifier {
            "$set" => Self::Set(argument),
            "$setOnInsert" => Self::SetOnInsert(argument),
            "$unset" => Self::Unset,
            "$inc" => Self::Increment(numeric("increment", path, &argument)?),
            "$mul" => Self::Multiply(numeric("multiply", path, &argument)?),
            "$min" => Self::Minimum(argument),
            "$max" => Self::Maximum(argument),
            "$currentDate" => current_date(&argument)?,
            "$push" => Self::Push(Push::parse(argument)?),
            "$addToSet" => Self::AddToSet(array::add_to_set_argument(argument)?),
            "$pop" => Self::Pop(array::pop_argument(path, &argument)?),
            "$pull" => Self::Pull(Pull::parse(argument)?),
            "$pullAll" => Self::Pull(Pull::parse_all(argument)?),
            "$bit" => Self::Bit(Bits::parse(&argument)?),
            _ => return Ok(None),
        }))
    }

    /// Whether a path that leads nowhere is fine: nothing is there to take away.
    pub(super) fn accepts_dead_path(&self, is_insert: bool) -> bool {
        match self {
            Self::Unset | Self::RenameFrom => true,
            Self::SetOnInsert(_) => !is_insert,
            _ => false,
        }
    }
}

fn numeric(verb: &str, path: &str, argument: &Bson) -> Result<Number> {
    if let Some(number) = Number::from_bson(argument) {
        return Ok(number);
    }
    Err(Code::TypeMismatch.error(format!(
        "Cannot {verb} with non-numeric argument: {{{}}}",
        display::element(path, argument)
    )))
}

fn current_date(argument: &Bson) -> Result<Operator> {
    let document = match argument {
        Bson::Boolean(_) => return Ok(Operator::CurrentDate),
        Bson::Document(document) => document,
        other => {
            return Err(Code::BadValue.error(format!(
                "{} is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({{$type: 'timestamp/date'}}).",
                display::type_name(other)
            )));
        }
    };
    current_date_type(document)
}

fn current_date_type(document: &Document) -> Result<Operator> {
    if let Some(other) = document.keys().find(|key| *key != "$type") {
        return Err(Code::BadValue.error(format!("Unrecognized $currentDate option: {other}")));
    }
    match document.get_str("$type") {
        Ok("date") => Ok(Operator::CurrentDate),
        Ok("timestamp") => Ok(Operator::CurrentTimestamp),
        _ => Err(Code::BadValue.error(
            "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}",
        )),
    }
}
