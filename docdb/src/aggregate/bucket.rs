//! `$bucket`: a group by the range that a value falls into.

use std::cmp::Ordering;

use bson::{Bson, Document, doc};

use super::group::Group;
use crate::error::{Code, Result};
use crate::expression::{Expression, Variables};
use crate::value::compare_owned;
use crate::value::display;

/// A group whose `_id` is the lower boundary of the value's bucket, or the default.
pub(super) fn parse(argument: &Bson, variables: &Variables) -> Result<Group> {
    let Bson::Document(options) = argument else {
        return Err(Code::Location(40201).error(format!(
            "Argument to $bucket stage must be an object, but found type: {}.",
            display::type_name(argument)
        )));
    };
    let known = ["groupBy", "boundaries", "default", "output"];
    if let Some(other) = options.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(
            Code::Location(40197).error(format!("Unrecognized option to $bucket: {other}."))
        );
    }
    let (Some(by), Some(boundaries)) = (options.get("groupBy"), options.get("boundaries")) else {
        return Err(Code::Location(40198)
            .error("$bucket requires 'groupBy' and 'boundaries' to be specified."));
    };
    let boundaries = boundaries_of(boundaries, variables)?;
    let id = bucket_of(by, &boundaries, options.get("default"), variables)?;
    let output = match options.get("output") {
        None => doc! {"count": {"$sum": 1}},
        Some(Bson::Document(output)) => output.clone(),
        Some(other) => {
            return Err(Code::Location(40196).error(format!(
                "The $bucket 'output' field must be an object, but found type: {}.",
                display::type_name(other)
            )));
        }
    };
    Group::new(id, &output, variables)
}

fn boundaries_of(argument: &Bson, variables: &Variables) -> Result<Vec<Bson>> {
    let Bson::Array(boundaries) = argument else {
        return Err(Code::Location(40200).error(format!(
            "The $bucket 'boundaries' field must be an array, but found type: {}.",
            display::type_name(argument)
        )));
    };
    if boundaries.len() < 2 {
        return Err(Code::Location(40192).error(format!(
            "The $bucket 'boundaries' field must have at least 2 values, but found {} value(s).",
            boundaries.len()
        )));
    }
    let mut values: Vec<Bson> = Vec::with_capacity(boundaries.len());
    for boundary in boundaries {
        let expression = Expression::parse_bson(boundary, variables)?;
        let Some(Some(value)) = expression.as_constant() else {
            return Err(Code::Location(40191).error(format!(
                "The $bucket 'boundaries' field must be an array of constant values, but found value: {}.",
                display::value(boundary)
            )));
        };
        if let Some(last) = values.last()
            && compare_owned(last, value) != Ordering::Less
        {
            return Err(Code::Location(40194).error(format!(
                "The 'boundaries' option to $bucket must be sorted, but elements {} and {} are not in ascending order ({} is not less than {}).",
                values.len() - 1,
                values.len(),
                display::value(last),
                display::value(value)
            )));
        }
        values.push(value.clone());
    }
    Ok(values)
}

/// As MongoDB does it: a `$switch` over the boundaries, which fails where no bucket and no default is.
fn bucket_of(
    by: &Bson,
    boundaries: &[Bson],
    default: Option<&Bson>,
    variables: &Variables,
) -> Result<Expression> {
    let literal = |value: &Bson| doc! {"$literal": value.clone()};
    let mut branches = Vec::with_capacity(boundaries.len());
    for pair in boundaries.windows(2) {
        let [low, high] = pair else { continue };
        branches.push(Bson::Document(doc! {
            "case": {"$and": [
                {"$gte": [by.clone(), literal(low)]},
                {"$lt": [by.clone(), literal(high)]},
            ]},
            "then": literal(low),
        }));
    }
    let mut switch: Document = doc! {"branches": branches};
    if let Some(default) = default {
        switch.insert("default", default.clone());
    }
    Expression::parse_bson(&Bson::Document(doc! {"$switch": switch}), variables)
}
