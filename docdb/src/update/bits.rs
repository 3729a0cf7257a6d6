//! `$bit`: and, or, xor on integers.

use bson::Bson;

use crate::error::{Code, Result};
use crate::value::display;

#[derive(Debug, Clone, Copy)]
enum Gate {
    And,
    Or,
    Xor,
}

/// The operations of one `$bit`, in the order in which they are written.
#[derive(Debug)]
pub(super) struct Bits(Vec<(Gate, Bson)>);

impl Bits {
    pub(super) fn parse(argument: &Bson) -> Result<Self> {
        let Bson::Document(document) = argument else {
            return Err(Code::BadValue.error(format!(
                "The $bit modifier is not compatible with a {}. You must pass in an embedded document: {{$bit: {{field: {{and/or/xor: #}}}}",
                display::type_name(argument)
            )));
        };
        let mut gates = Vec::new();
        for (name, operand) in document {
            let gate = match name.as_str() {
                "and" => Gate::And,
                "or" => Gate::Or,
                "xor" => Gate::Xor,
                other => {
                    return Err(Code::BadValue.error(format!(
                        "The $bit modifier only supports 'and', 'or', and 'xor', not '{other}' which is an unknown operator: {{{}}}",
                        display::element(other, operand)
                    )));
                }
            };
            if !matches!(operand, Bson::Int32(_) | Bson::Int64(_)) {
                return Err(Code::BadValue.error(format!(
                    "The $bit modifier field must be an Integer(32/64 bit); a '{}' is not supported here: {{{}}}",
                    display::type_name(operand),
                    display::element(name, operand)
                )));
            }
            gates.push((gate, operand.clone()));
        }
        if gates.is_empty() {
            return Err(Code::BadValue.error(
                "You must pass in at least one bitwise operation. The expected format is: {$bit: {field: {and/or/xor: #}}",
            ));
        }
        Ok(Self(gates))
    }

    /// The value after all operations; `None` if `value` is no integer.
    pub(super) fn apply(&self, value: &Bson) -> Option<Bson> {
        let mut result = value.clone();
        if !matches!(result, Bson::Int32(_) | Bson::Int64(_)) {
            return None;
        }
        for (gate, operand) in &self.0 {
            result = match (&result, operand) {
                (Bson::Int32(left), Bson::Int32(right)) => Bson::Int32(gate.of32(*left, *right)),
                (left, right) => Bson::Int64(gate.of64(wide(left)?, wide(right)?)),
            };
        }
        Some(result)
    }
}

impl Gate {
    fn of32(self, left: i32, right: i32) -> i32 {
        match self {
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
        }
    }

    fn of64(self, left: i64, right: i64) -> i64 {
        match self {
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
        }
    }
}

fn wide(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        _ => None,
    }
}
