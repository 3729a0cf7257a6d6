//! The rules for paths in projections and sort orders, which are stricter than a filter's.

use crate::error::{Code, Result};

/// No empty component, none that begins with `$`.
pub(super) fn check(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(
            Code::Location(40352).error("FieldPath cannot be constructed with empty string")
        );
    }
    if path.ends_with('.') {
        return Err(Code::Location(40353).error("FieldPath must not end with a '.'."));
    }
    for part in path.split('.') {
        if part.is_empty() {
            let text = "FieldPath field names may not be empty strings.";
            return Err(Code::Location(15998).error(text));
        }
        if part.starts_with('$') {
            return Err(Code::Location(16410).error(
                "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
            ));
        }
    }
    Ok(())
}
