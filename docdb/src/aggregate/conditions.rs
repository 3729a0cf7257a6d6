//! The `$expr` of a `$match`, apart from its filter: an expression may use variables, which a filter cannot.

use bson::{Bson, Document};

/// Takes `$expr` out of a filter and out of its `$and`; elsewhere it stays with the filter.
pub(super) fn without_conditions(filter: &Document, conditions: &mut Vec<Bson>) -> Document {
    let mut plain = Document::new();
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$expr", condition) => conditions.push(condition.clone()),
            ("$and", Bson::Array(clauses)) if clauses.iter().any(has_condition) => {
                let rest: Vec<Bson> = clauses
                    .iter()
                    .map(|clause| match clause {
                        Bson::Document(inner) => {
                            Bson::Document(without_conditions(inner, conditions))
                        }
                        other => other.clone(),
                    })
                    .collect();
                plain.insert(name.clone(), rest);
            }
            _ => {
                plain.insert(name.clone(), value.clone());
            }
        }
    }
    plain
}

fn has_condition(clause: &Bson) -> bool {
    clause
        .as_document()
        .is_some_and(|clause| clause.contains_key("$expr"))
}
