//! `arrayFilters`: which elements the identifiers of `$[id]` stand for.

use std::collections::BTreeMap;

use bson::raw::{RawBsonRef, RawDocument};

use crate::error::{Code, Result};
use crate::query::Filter;

/// The filter of each identifier, written on a document with the one field of that name.
pub(super) fn parse(array_filters: &[&RawDocument]) -> Result<BTreeMap<String, Filter>> {
    let mut filters = BTreeMap::new();
    for filter in array_filters {
        let Some(identifier) = identifier(filter, 0)? else {
            return Err(Code::FailedToParse
                .error("Cannot use an expression without a top-level field name in arrayFilters"));
        };
        check_identifier(&identifier)?;
        if filters.contains_key(&identifier) {
            return Err(Code::FailedToParse.error(format!(
                "Found multiple array filters with the same top-level field name {identifier}"
            )));
        }
        filters.insert(identifier, Filter::parse(filter)?);
    }
    Ok(filters)
}

/// Logical operators may nest; the request was checked to be no deeper than this.
const DEPTH_MAX: usize = 180;

/// The one top-level name that all conditions share, also inside `$and`, `$or` and `$nor`.
fn identifier(filter: &RawDocument, depth: usize) -> Result<Option<String>> {
    let mut found: Option<String> = None;
    for element in filter {
        let (key, value) = element?;
        let key = key.as_str();
        if matches!(key, "$and" | "$or" | "$nor") && depth < DEPTH_MAX {
            let RawBsonRef::Array(clauses) = value else {
                continue;
            };
            for clause in clauses {
                if let Ok(RawBsonRef::Document(clause)) = clause {
                    merge(&mut found, identifier(clause, depth + 1)?)?;
                }
            }
        } else if !key.starts_with('$') {
            let name = key.split('.').next().unwrap_or_default();
            merge(&mut found, Some(name.to_owned()))?;
        }
    }
    Ok(found)
}

fn merge(found: &mut Option<String>, other: Option<String>) -> Result<()> {
    let Some(other) = other else { return Ok(()) };
    match found {
        Some(name) if *name != other => Err(Code::FailedToParse.error(format!(
            "Error parsing array filter :: caused by :: Expected a single top-level field name, found '{name}' and '{other}'"
        ))),
        _ => {
            *found = Some(other);
            Ok(())
        }
    }
}

fn check_identifier(name: &str) -> Result<()> {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
    if first && name.chars().all(|c| c.is_ascii_alphanumeric()) {
        return Ok(());
    }
    Err(Code::BadValue.error(format!(
        "Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '{name}'"
    )))
}
