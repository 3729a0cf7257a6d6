//! What each operator does to the one value at the end of its path.

use std::cmp::Ordering;

use bson::{Bson, Timestamp};

use super::array;
use super::limits::identical;
use super::operator::Operator;
use super::walk::{Outcome, Walk};
use crate::error::{Code, CommandError, Result};
use crate::value::display;
use crate::value::{Decimal, Number, compare_owned};

impl Walk<'_> {
    /// Changes the value that exists at the path.
    pub(super) fn modify(&mut self, operator: &Operator, value: &mut Bson) -> Result<Outcome> {
        match operator {
            Operator::SetOnInsert(_) if !self.is_insert => Ok(Outcome::Unchanged),
            Operator::Set(new) | Operator::SetOnInsert(new) => self.replace(value, new),
            Operator::RenameTo(number) => match self.taken(*number) {
                Some(new) => self.replace(value, &new),
                None => Ok(Outcome::Unchanged),
            },
            // The source is gone before the walk; what stands there now is no business of the rename.
            Operator::RenameFrom => Ok(Outcome::Unchanged),
            Operator::Unset => Ok(Outcome::Removed),
            Operator::Increment(by) => self.calculate("$inc", value, *by, Number::checked_add),
            Operator::Multiply(by) => self.calculate("$mul", value, *by, Number::checked_multiply),
            Operator::Minimum(new) => self.replace_if(value, new, Ordering::Less),
            Operator::Maximum(new) => self.replace_if(value, new, Ordering::Greater),
            Operator::CurrentDate | Operator::CurrentTimestamp => {
                *value = self.moment(operator);
                Ok(Outcome::Changed)
            }
            Operator::Bit(bits) => self.bits(bits, value),
            Operator::Push(_) | Operator::AddToSet(_) | Operator::Pop(_) | Operator::Pull(_) => {
                self.modify_array(operator, value)
            }
        }
    }

    /// The value for a path that does not exist; `None` if the operator then does nothing.
    pub(super) fn create_leaf(&mut self, operator: &Operator) -> Result<Option<Bson>> {
        let value = match operator {
            Operator::SetOnInsert(_) if !self.is_insert => return Ok(None),
            Operator::Set(new)
            | Operator::SetOnInsert(new)
            | Operator::Minimum(new)
            | Operator::Maximum(new) => new.clone(),
            Operator::Increment(by) => by.to_bson(),
            Operator::Multiply(by) => zero(*by),
            Operator::CurrentDate | Operator::CurrentTimestamp => self.moment(operator),
            Operator::Push(push) => {
                let mut array = Vec::new();
                push.apply(&mut array);
                Bson::Array(array)
            }
            Operator::AddToSet(values) => {
                let mut array = Vec::new();
                array::add_to_set(&mut array, values);
                Bson::Array(array)
            }
            Operator::Bit(bits) => match bits.apply(&Bson::Int32(0)) {
                Some(value) => value,
                None => return Ok(None),
            },
            Operator::RenameTo(number) => match self.taken(*number) {
                Some(value) => value,
                None => return Ok(None),
            },
            Operator::Unset | Operator::RenameFrom | Operator::Pop(_) | Operator::Pull(_) => {
                return Ok(None);
            }
        };
        self.charge(&value)?;
        Ok(Some(value))
    }

    fn taken(&mut self, number: usize) -> Option<Bson> {
        self.renamed.get_mut(number).and_then(Option::take)
    }

    fn replace(&mut self, value: &mut Bson, new: &Bson) -> Result<Outcome> {
        self.charge(new)?;
        if identical(value, new) {
            return Ok(Outcome::Unchanged);
        }
        value.clone_from(new);
        Ok(Outcome::Changed)
    }

    fn replace_if(&mut self, value: &mut Bson, new: &Bson, wanted: Ordering) -> Result<Outcome> {
        if compare_owned(new, value) == wanted {
            self.replace(value, new)
        } else {
            Ok(Outcome::Unchanged)
        }
    }

    fn moment(&self, operator: &Operator) -> Bson {
        if matches!(operator, Operator::CurrentDate) {
            return Bson::DateTime(self.now);
        }
        let seconds = self.now.timestamp_millis().div_euclid(1000);
        Bson::Timestamp(Timestamp {
            time: u32::try_from(seconds).unwrap_or_default(),
            increment: 1,
        })
    }

    /// `$inc` and `$mul`; `combine` gives nothing if the integers overflow.
    fn calculate(
        &self,
        modifier: &str,
        value: &mut Bson,
        by: Number,
        combine: impl FnOnce(Number, Number) -> Option<Number>,
    ) -> Result<Outcome> {
        let Some(old) = Number::from_bson(value) else {
            return Err(Code::TypeMismatch.error(format!(
                "Cannot apply {modifier} to a value of non-numeric type. {} has the field '{}' of non-numeric type {}",
                self.document_text(),
                self.field(),
                display::type_name(value)
            )));
        };
        let Some(result) = combine(old, by) else {
            return Err(Code::BadValue.error(format!(
                "Failed to apply {modifier} operations to current value (({}){}) for document {}",
                display::number_type_name(value),
                display::value(value),
                self.document_text()
            )));
        };
        let result = result.to_bson();
        if identical(value, &result) {
            return Ok(Outcome::Unchanged);
        }
        *value = result;
        Ok(Outcome::Changed)
    }

    fn bits(&self, bits: &super::bits::Bits, value: &mut Bson) -> Result<Outcome> {
        let Some(result) = bits.apply(value) else {
            return Err(Code::BadValue.error(format!(
                "Cannot apply $bit to a value of non-integral type.{} has the field {} of non-integer type {}",
                self.document_text(),
                self.field(),
                display::type_name(value)
            )));
        };
        let changed = !identical(value, &result);
        *value = result;
        Ok(Outcome::from_changed(changed))
    }

    fn modify_array(&mut self, operator: &Operator, value: &mut Bson) -> Result<Outcome> {
        let Bson::Array(array) = value else {
            return Err(self.not_an_array(operator, value));
        };
        let before = array.len();
        let changed = match operator {
            Operator::Push(push) => push.apply(array),
            Operator::AddToSet(values) => array::add_to_set(array, values),
            Operator::Pull(pull) => pull.apply(array)?,
            Operator::Pop(first) => {
                if array.is_empty() {
                    false
                } else if *first {
                    array.remove(0);
                    true
                } else {
                    array.pop();
                    true
                }
            }
            _ => false,
        };
        // What was added stays, so it counts; a sorted or cut array is counted whole.
        if changed && matches!(operator, Operator::Push(_) | Operator::AddToSet(_)) {
            let kept = if array.len() > before { before } else { 0 };
            let added = array.get(kept..).unwrap_or_default().to_vec();
            self.charge(&Bson::Array(added))?;
        }
        Ok(Outcome::from_changed(changed))
    }

    fn not_an_array(&self, operator: &Operator, value: &Bson) -> CommandError {
        let kind = display::type_name(value);
        match operator {
            Operator::Push(_) => Code::BadValue.error(format!(
                "The field '{}' must be an array but is of type {kind} in document {}",
                self.path(),
                self.document_text()
            )),
            Operator::AddToSet(_) => Code::BadValue.error(format!(
                "Cannot apply $addToSet to non-array field. Field named '{}' has non-array type {kind}",
                self.field()
            )),
            Operator::Pop(_) => Code::TypeMismatch.error(format!(
                "Path '{}' contains an element of non-array type '{kind}'",
                self.path()
            )),
            _ => Code::BadValue.error("Cannot apply $pull to a non-array value"),
        }
    }
}

/// What `$mul` makes of a missing field: zero of the argument's type.
fn zero(by: Number) -> Bson {
    match by {
        Number::Int(_) => Bson::Int32(0),
        Number::Long(_) => Bson::Int64(0),
        Number::Double(_) => Bson::Double(0.0),
        Number::Decimal(_) => Number::Decimal(Decimal::ZERO).to_bson(),
    }
}
