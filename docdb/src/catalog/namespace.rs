//! Which names a database and a collection may have.

use crate::error::{Code, Result};

/// Longest database name in bytes (MongoDB's limit).
const LONGEST_DATABASE: usize = 63;
/// Longest `database.collection` in bytes (MongoDB's limit).
const LONGEST_NAMESPACE: usize = 255;
/// What a database name may not contain on any of MongoDB's platforms but Windows, and a zero byte.
const FORBIDDEN_IN_DATABASE: [char; 7] = ['/', '\\', '.', ' ', '"', '$', '\0'];

/// Refuses what cannot be the name of a database.
pub(crate) fn check_database(database: &str) -> Result<()> {
    let valid = !database.is_empty()
        && database.len() <= LONGEST_DATABASE
        && !database.contains(FORBIDDEN_IN_DATABASE);
    if valid {
        return Ok(());
    }
    Err(Code::InvalidNamespace.error(format!("Invalid database name: '{database}'")))
}

/// Refuses what cannot name a collection in any command.
pub(crate) fn check_collection(database: &str, collection: &str) -> Result<()> {
    check_database(database)?;
    if collection.is_empty() || collection.starts_with('.') {
        return Err(Code::InvalidNamespace.error(format!(
            "Invalid namespace specified '{database}.{collection}'"
        )));
    }
    if collection.contains('\0') {
        return Err(Code::InvalidNamespace.error("namespaces cannot have embedded null characters"));
    }
    Ok(())
}

/// Refuses what a new collection may not be called.
pub(crate) fn check_new_collection(database: &str, collection: &str) -> Result<()> {
    check_collection(database, collection)?;
    if collection.contains('$') || collection.ends_with('.') || collection.contains("..") {
        return Err(Code::InvalidNamespace.error(format!("Invalid collection name: {collection}")));
    }
    if collection.starts_with("system.") {
        return Err(Code::InvalidNamespace
            .error(format!("Invalid system namespace: {database}.{collection}")));
    }
    let length = database.len() + 1 + collection.len();
    if length > LONGEST_NAMESPACE {
        return Err(Code::InvalidNamespace.error(format!(
            "Fully qualified namespace is too long. Namespace: {database}.{collection} Max: {LONGEST_NAMESPACE}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mongodb_refuses_are_refused() {
        for database in [
            "",
            "a.b",
            "a b",
            "a/b",
            "a\\b",
            "a$",
            "a\"",
            "a\0",
            &"x".repeat(64),
        ] {
            assert!(check_database(database).is_err(), "{database:?}");
        }
        for collection in ["", ".a", "a\0b"] {
            assert!(
                check_collection("db", collection).is_err(),
                "{collection:?}"
            );
        }
        for collection in ["a$b", "a.", "a..b", "system.users", &"x".repeat(253)] {
            let error = check_new_collection("db", collection).unwrap_err();
            assert_eq!(error.code, Code::InvalidNamespace, "{collection:?}");
        }
        for collection in ["a", "a.b", "été", &"x".repeat(252)] {
            assert_eq!(
                check_new_collection("db", collection),
                Ok(()),
                "{collection:?}"
            );
        }
    }
}
