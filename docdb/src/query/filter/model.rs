//! A second, plain implementation of the core of filters over owned values, to hold the first one against.

use std::cmp::Ordering;

use bson::{Bson, Document, doc};
use proptest::prelude::*;
use proptest::sample::select;

use super::Filter;
use crate::value::compare_owned;
use crate::value::samples::{self, raw};

/// All that `path` leads to; `None` where nothing is. At the end, elements of arrays and the array itself.
fn values(value: &Bson, path: &[&str], is_array_seen: bool) -> Vec<Option<Bson>> {
    let Some((name, rest)) = path.split_first() else {
        return match value {
            Bson::Array(elements) if !is_array_seen => {
                let mut all: Vec<_> = elements.iter().cloned().map(Some).collect();
                all.push(Some(value.clone()));
                all
            }
            value => vec![Some(value.clone())],
        };
    };
    match value {
        Bson::Document(fields) => match fields.get(name) {
            Some(inner) => values(inner, rest, false),
            None => vec![None],
        },
        Bson::Array(elements) => {
            let position = name.parse::<usize>().ok();
            let mut found = Vec::new();
            for (index, element) in elements.iter().enumerate() {
                if matches!(element, Bson::Document(_)) {
                    found.extend(values(element, path, false));
                }
                let is_container = matches!(element, Bson::Document(_) | Bson::Array(_));
                if position == Some(index) && (rest.is_empty() || is_container) {
                    // What a number names is not gone through again at the path's end.
                    found.extend(values(element, rest, true));
                }
            }
            found
        }
        _ => vec![None],
    }
}

fn class(value: &Bson) -> u8 {
    crate::value::kind::rank(value.element_type() as u8)
}

fn is_nan(value: &Bson) -> bool {
    value.as_f64().is_some_and(f64::is_nan)
}

fn compares(operator: &str, value: Option<&Bson>, constant: &Bson) -> bool {
    let is_nothing = matches!(value, None | Some(Bson::Null | Bson::Undefined));
    if *constant == Bson::Null {
        return is_nothing && matches!(operator, "$eq" | "$gte" | "$lte");
    }
    let Some(value) = value else { return false };
    if class(value) != class(constant) {
        return false;
    }
    if is_nan(value) || is_nan(constant) {
        return is_nan(value) && is_nan(constant) && matches!(operator, "$eq" | "$gte" | "$lte");
    }
    matches!(
        (operator, compare_owned(value, constant)),
        ("$eq" | "$gte" | "$lte", Ordering::Equal)
            | ("$lt" | "$lte", Ordering::Less)
            | ("$gt" | "$gte", Ordering::Greater)
    )
}

fn holds(document: &Document, path: &str, operator: &str, argument: &Bson) -> bool {
    let parts: Vec<&str> = path.split('.').collect();
    let all = values(&Bson::Document(document.clone()), &parts, false);
    let any = |operator: &str, argument: &Bson| {
        all.iter()
            .any(|value| compares(operator, value.as_ref(), argument))
    };
    match (operator, argument) {
        ("$ne", _) => !any("$eq", argument),
        ("$in", Bson::Array(list)) => list.iter().any(|one| any("$eq", one)),
        ("$nin", Bson::Array(list)) => !list.iter().any(|one| any("$eq", one)),
        ("$all", Bson::Array(list)) => !list.is_empty() && list.iter().all(|one| any("$eq", one)),
        ("$exists", Bson::Boolean(exists)) => all.iter().any(Option::is_some) == *exists,
        ("$not", Bson::Document(inner)) => !inner
            .iter()
            .all(|(operator, argument)| holds(document, path, operator, argument)),
        _ => any(operator, argument),
    }
}

fn matches(document: &Document, filter: &Document) -> bool {
    let all = |list: &Bson, wanted: bool| {
        let clauses = list
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Bson::as_document);
        clauses
            .filter(|clause| matches(document, clause) == wanted)
            .count()
    };
    filter
        .iter()
        .all(|(name, value)| match (name.as_str(), value) {
            ("$and", list) => all(list, false) == 0,
            ("$or", list) => all(list, true) > 0,
            ("$nor", list) => all(list, true) == 0,
            (path, Bson::Document(operators)) => operators
                .iter()
                .all(|(operator, argument)| holds(document, path, operator, argument)),
            (path, value) => holds(document, path, "$eq", value),
        })
}

fn scalar() -> impl Strategy<Value = Bson> + Clone {
    select(vec![
        Bson::Int32(0),
        Bson::Int32(1),
        Bson::Int64(1),
        Bson::Double(1.5),
        Bson::Double(f64::NAN),
        Bson::Null,
        Bson::Boolean(true),
        Bson::String("x".into()),
    ])
}

fn value() -> impl Strategy<Value = Bson> + Clone {
    let leaf = scalar().boxed();
    leaf.prop_recursive(3, 12, 3, |inner| {
        let field = (select(&["a", "b", "0", "1"][..]), inner.clone());
        let field = field.prop_map(|(name, value)| (name.to_owned(), value));
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Bson::Array),
            prop::collection::vec(field, 0..3)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    })
    .boxed()
}

fn clause() -> impl Strategy<Value = Document> {
    let path = select(&["a", "b", "a.b", "a.0", "a.0.b", "a.b.0", "a.a.b", "a.0.1"][..]);
    let compare = select(&["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"][..]);
    let constant = prop_oneof![3 => scalar(), 1 => prop::collection::vec(scalar(), 0..3).prop_map(Bson::Array)];
    let list = prop::collection::vec(constant.clone(), 0..3).prop_map(Bson::Array);
    let operators = prop_oneof![
        4 => (compare, constant).prop_map(|(operator, value)| doc! {operator: value}),
        1 => (select(&["$in", "$nin", "$all"][..]), list).prop_map(|(operator, list)| doc! {operator: list}),
        1 => any::<bool>().prop_map(|exists| doc! {"$exists": exists}),
    ];
    let negated = any::<bool>();
    (path, operators, negated).prop_map(|(path, operators, negated)| {
        let operators = if negated {
            doc! {"$not": operators}
        } else {
            operators
        };
        doc! {path: operators}
    })
}

fn filter() -> impl Strategy<Value = Document> {
    let clauses = prop::collection::vec(clause(), 1..3);
    prop_oneof![
        3 => clause(),
        1 => (select(&["$and", "$or", "$nor"][..]), clauses).prop_map(|(operator, clauses)| doc! {operator: clauses}),
    ]
}

proptest! {
    #![proptest_config(samples::config(3000))]

    #[test]
    fn filters_answer_as_the_model_does(
        documents in prop::collection::vec((value(), value()), 8),
        filter in filter(),
    ) {
        let parsed = Filter::parse(&raw(&filter)).unwrap();
        for (a, b) in documents {
            let document = doc! {"a": a, "b": b};
            prop_assert_eq!(parsed.matches(&raw(&document)), matches(&document, &filter), "{} on {}", filter, document);
        }
    }
}
