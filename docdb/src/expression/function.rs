//! What an operator is: its name, the arguments it takes, and one call of it.

use bson::Bson;

use super::scope::Scope;
use crate::error::{Code, CommandError, Result};
use crate::value::{Number, display};

/// What a value is, or `None` where a field is missing.
pub(crate) type Evaluated = Option<Bson>;

/// Whether MongoDB takes `value` for true: all but false, null, missing, undefined and zero.
pub(crate) fn is_true(value: Option<&Bson>) -> bool {
    match value {
        None | Some(Bson::Null | Bson::Undefined) => false,
        Some(Bson::Boolean(truth)) => *truth,
        Some(other) => Number::from_bson(other).is_none_or(|number| !number.is_zero()),
    }
}

/// What most operators make of null.
pub(super) const NULL: Result<Evaluated> = Ok(Some(Bson::Null));

/// Null, undefined or missing.
pub(super) fn is_nullish(value: Option<&Bson>) -> bool {
    matches!(value, None | Some(Bson::Null | Bson::Undefined))
}

/// An operator: its name, what arguments it takes, and what it makes of them.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) body: Body,
}

pub(super) type Body = fn(&mut Call<'_>) -> Result<Evaluated>;

/// Rows of operators: the name, how it takes its arguments, and what it makes of them.
macro_rules! functions {
    ($($name:literal $shape:ident $(($($argument:expr),*))? => $body:expr;)*) => {
        &[$($crate::expression::function::Function {
            name: $name,
            shape: $crate::expression::function::Shape::$shape $(($($argument),*))?,
            body: $body,
        }),*]
    };
}
pub(super) use functions;

/// How an operator takes its arguments.
#[derive(Debug)]
pub(super) enum Shape {
    Exactly(usize),
    Between(usize, usize),
    Any,
    /// The argument says nothing.
    None,
    Named(&'static Named),
    /// A date, alone or as `{date, timezone}`.
    DatePart,
}

/// Arguments given by name in a document.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) names: &'static [&'static str],
    /// How many of `names`, from the first, may not be left out.
    pub(super) required: usize,
    pub(super) not_an_object: Code,
    pub(super) unknown: Code,
    pub(super) missing: Code,
}

/// Rows of names: those that may not be left out, the others, and the codes of what is no object, an unknown name, a missing one.
macro_rules! named {
    ($($static:ident($($required:literal),* $(; $($optional:literal),*)?) $object:literal $unknown:literal $missing:literal;)*) => {
        $(static $static: $crate::expression::function::Named = $crate::expression::function::Named {
            names: &[$($required,)* $($($optional),*)?],
            required: [$($required),*].len(),
            not_an_object: $crate::error::Code::Location($object),
            unknown: $crate::error::Code::Location($unknown),
            missing: $crate::error::Code::Location($missing),
        };)*
    };
}
pub(super) use named;

/// One call: the values of its arguments in order.
pub(super) struct Call<'c> {
    pub(super) name: &'static str,
    pub(super) scope: &'c Scope<'c>,
    pub(super) values: Vec<Evaluated>,
}

impl Call<'_> {
    /// The argument, unless it is missing.
    pub(super) fn get(&self, index: usize) -> Option<&Bson> {
        self.values.get(index).and_then(Option::as_ref)
    }

    /// Takes the argument; another time it is missing.
    pub(super) fn take(&mut self, index: usize) -> Evaluated {
        self.values.get_mut(index).and_then(Option::take)
    }

    /// Whether the argument is null, undefined or missing.
    pub(super) fn is_nullish(&self, index: usize) -> bool {
        is_nullish(self.get(index))
    }

    pub(super) fn any_nullish(&self) -> bool {
        self.values.iter().any(|value| is_nullish(value.as_ref()))
    }

    /// The type of the argument in messages; `missing` if there is none.
    pub(super) fn type_name(&self, index: usize) -> &'static str {
        type_name(self.get(index))
    }

    pub(super) fn number(&self, index: usize) -> Option<Number> {
        self.get(index).and_then(Number::from_bson)
    }

    /// A number; `text` words the error of another type.
    pub(super) fn numeric(&self, index: usize, code: Code, text: &str) -> Result<Number> {
        self.number(index)
            .ok_or_else(|| self.wrong_type(index, code, text))
    }

    /// A whole number, whatever its type.
    pub(super) fn whole(&self, index: usize) -> Option<i64> {
        self.number(index).and_then(Number::to_i64_exact)
    }

    pub(super) fn text(&self, index: usize) -> Option<&str> {
        self.get(index).and_then(Bson::as_str)
    }

    /// The elements of an array; `text` begins the error of what is none, and its type ends it.
    pub(super) fn array(&self, index: usize, code: i32, text: &str) -> Result<&[Bson]> {
        match self.get(index) {
            Some(Bson::Array(array)) => Ok(array),
            _ => Err(self.wrong_type(index, Code::Location(code), text)),
        }
    }

    /// As [`Self::array`], and takes it.
    pub(super) fn take_array(&mut self, index: usize, code: i32, text: &str) -> Result<Vec<Bson>> {
        match self.values.get_mut(index) {
            Some(Some(Bson::Array(array))) => Ok(std::mem::take(array)),
            _ => Err(self.wrong_type(index, Code::Location(code), text)),
        }
    }

    /// The error of an argument of a wrong type, which ends `text`.
    pub(super) fn wrong_type(&self, index: usize, code: Code, text: &str) -> CommandError {
        code.error(format!("{text}{}", self.type_name(index)))
    }

    /// The argument as messages show it.
    pub(super) fn shown(&self, index: usize) -> String {
        self.get(index).map(display::value).unwrap_or_default()
    }

    /// Hands over an array that was built, and counts its memory.
    pub(super) fn built(&self, array: Vec<Bson>) -> Result<Evaluated> {
        self.scope.charge_bytes(array.len() * size_of::<Bson>())?;
        Ok(Some(Bson::Array(array)))
    }

    /// Hands over a text that was built, and counts its memory.
    pub(super) fn built_text(&self, text: String) -> Result<Evaluated> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Code::BSONObjectTooLarge.error(format!(
                "{} would make a string of {} bytes; a document holds at most {TEXT_BYTES_MAX}",
                self.name,
                text.len()
            )));
        }
        self.scope.charge_bytes(text.len())?;
        Ok(Some(Bson::String(text)))
    }
}

/// No longer string fits into a document.
const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(super) fn type_name(value: Option<&Bson>) -> &'static str {
    value.map_or("missing", display::type_name)
}
