//! Checks on names in expressions.

use crate::error::{Code, CommandError};

pub(super) fn check_path_part(name: &str) -> Result<(), CommandError> {
    if name.starts_with('$') {
        return Err(Code::Location16410.error(
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ));
    }
    if name.contains('\0') {
        return Err(Code::Location16411.error("FieldPath field names may not contain '\\0'."));
    }
    Ok(())
}

/// User variables begin with a small letter (or a letter beyond ASCII) and go on with word characters.
pub(super) fn check_variable(name: &str) -> Result<(), CommandError> {
    let Some(first) = name.chars().next() else {
        return Err(Code::FailedToParse.error("empty variable names are not allowed"));
    };
    if first.is_ascii() && !first.is_ascii_lowercase() {
        return Err(Code::FailedToParse.error(format!(
            "'{name}' starts with an invalid character for a user variable name"
        )));
    }
    match name
        .chars()
        .find(|c| c.is_ascii() && !c.is_ascii_alphanumeric() && *c != '_')
    {
        Some(other) => Err(Code::FailedToParse.error(format!(
            "'{name}' contains an invalid character for a variable name: '{other}'"
        ))),
        None => Ok(()),
    }
}
