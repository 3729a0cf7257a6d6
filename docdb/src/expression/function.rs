//! What an operator is: its name, the arguments it takes, and one call of it.

use bson::Bson;

use super::scope::Scope;
use crate::error::{Code, CommandError};
use crate::value::{Number, display};

/// What a value is, or `None` where a field is missing.
pub(crate) type Evaluated = Option<Bson>;

/// Whether MongoDB takes `value` for true: all but false, null, missing, undefined and zero.
pub(crate) fn is_true(value: Option<&Bson>) -> bool {
    match value {
        None | Some(Bson::Null | Bson::Undefined) => false,
        Some(Bson::Boolean(truth)) => *truth,
        Some(other) => Number::of_bson(other).is_none_or(|number| !number.is_zero()),
    }
}

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

impl Function {
    pub(super) const fn new(name: &'static str, shape: Shape, body: Body) -> Self {
        Self { name, shape, body }
    }
}

pub(super) type Body = fn(&mut Call<'_, '_>) -> Result<Evaluated, CommandError>;

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

pub(super) static DATE_PART: Named = Named {
    names: &["date", "timezone"],
    required: 1,
    not_an_object: Code::Location40535,
    unknown: Code::Location40535,
    missing: Code::Location40539,
};

/// One call: the values of its arguments in order.
pub(super) struct Call<'c, 's> {
    pub(super) name: &'static str,
    pub(super) scope: &'c Scope<'s>,
    pub(super) values: Vec<Evaluated>,
}

impl Call<'_, '_> {
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

    /// Hands over an array that was built, and counts its memory.
    pub(super) fn built(&self, array: Vec<Bson>) -> Result<Evaluated, CommandError> {
        self.scope.charge_bytes(array.len() * size_of::<Bson>())?;
        Ok(Some(Bson::Array(array)))
    }

    /// Hands over a text that was built, and counts its memory.
    pub(super) fn text(&self, text: String) -> Result<Evaluated, CommandError> {
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
