//! `$push`, `$addToSet`, `$pop`, `$pull` and `$pullAll`: what they take and what they do to an array.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use bson::{Array, Bson, Document, RawDocumentBuf};

use super::limits::same_elements;
use crate::error::{Code, Result};
use crate::query::Filter;
use crate::value::display;
use crate::value::{Number, compare_owned, key};

/// What `$push` adds, and where; then how the whole array is sorted and cut.
#[derive(Debug)]
pub(super) struct Push {
    each: Vec<Bson>,
    position: Option<i64>,
    sort: Option<Sort>,
    slice: Option<i64>,
}

#[derive(Debug)]
enum Sort {
    Whole {
        descending: bool,
    },
    /// Dotted fields of the elements, each with whether it descends.
    Fields(Vec<(String, bool)>),
}

impl Push {
    pub(super) fn parse(argument: Bson) -> Result<Self> {
        let mut push = Self {
            each: Vec::new(),
            position: None,
            sort: None,
            slice: None,
        };
        match argument {
            Bson::Document(clauses) if clauses.contains_key("$each") => {
                for (name, value) in clauses {
                    push.clause(&name, value)?;
                }
            }
            value => push.each.push(value),
        }
        Ok(push)
    }

    fn clause(&mut self, name: &str, value: Bson) -> Result<()> {
        match name {
            "$each" => match value {
                Bson::Array(each) => self.each = each,
                other => {
                    return Err(Code::BadValue.error(format!(
                        "The argument to $each in $push must be an array but it was of type: {}",
                        display::type_name(&other)
                    )));
                }
            },
            "$slice" => {
                self.slice = Some(whole(&value).ok_or_else(|| {
                    Code::BadValue.error(format!(
                        "The value for $slice must be an integer value but was given type: {}",
                        display::type_name(&value)
                    ))
                })?);
            }
            "$position" => {
                self.position = Some(whole(&value).ok_or_else(|| {
                    Code::BadValue.error(format!(
                        "The value for $position must be an integer value, not of type: {}",
                        display::type_name(&value)
                    ))
                })?);
            }
            "$sort" => self.sort = Some(Sort::parse(&value)?),
            other => {
                return Err(Code::BadValue.error(format!("Unrecognized clause in $push: {other}")));
            }
        }
        Ok(())
    }

    /// Adds, sorts and cuts; says whether the array changed.
    pub(super) fn apply(&self, array: &mut Array) -> bool {
        let before = if self.each.is_empty() && (self.sort.is_some() || self.slice.is_some()) {
            Some(array.clone())
        } else {
            None
        };
        let at = place(self.position, array.len());
        array.splice(at..at, self.each.iter().cloned());
        if let Some(sort) = &self.sort {
            array.sort_by(|left, right| sort.compare(left, right));
        }
        if let Some(slice) = self.slice {
            cut(array, slice);
        }
        match before {
            Some(before) => !same_elements(array, &before),
            None => !self.each.is_empty(),
        }
    }
}

/// Where to insert: from the start, or for a negative position from the end; never beyond either.
fn place(position: Option<i64>, length: usize) -> usize {
    match position {
        None => length,
        Some(position) if position < 0 => length.saturating_sub(magnitude(position)),
        Some(position) => magnitude(position).min(length),
    }
}

/// Keeps the first `slice` elements, or for a negative one the last.
fn cut(array: &mut Array, slice: i64) {
    if slice >= 0 {
        array.truncate(magnitude(slice));
    } else {
        let gone = array.len().saturating_sub(magnitude(slice));
        array.drain(..gone);
    }
}

fn magnitude(number: i64) -> usize {
    usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX)
}

/// An integer, or a number of another type that is whole.
fn whole(value: &Bson) -> Option<i64> {
    Number::from_bson(value)?.to_i64_exact()
}

impl Sort {
    fn parse(value: &Bson) -> Result<Self> {
        const INVALID: &str = "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields";
        const ELEMENT: &str = "The $sort element value must be either 1 or -1";
        let Bson::Document(fields) = value else {
            return match whole(value) {
                Some(1) => Ok(Self::Whole { descending: false }),
                Some(-1) => Ok(Self::Whole { descending: true }),
                _ if Number::from_bson(value).is_some() => Err(Code::BadValue.error(ELEMENT)),
                _ => Err(Code::BadValue.error(INVALID)),
            };
        };
        if fields.is_empty() {
            return Err(Code::BadValue
                .error("The $sort pattern is empty when it should be a set of fields."));
        }
        let mut keys = Vec::with_capacity(fields.len());
        for (field, direction) in fields {
            if field.is_empty() {
                return Err(Code::BadValue.error("The $sort field cannot be empty"));
            }
            if field.split('.').any(str::is_empty) {
                return Err(Code::BadValue.error(format!(
                    "The $sort field is a dotted field but has an empty part: {field}"
                )));
            }
            match whole(direction) {
                Some(1) => keys.push((field.clone(), false)),
                Some(-1) => keys.push((field.clone(), true)),
                _ => return Err(Code::BadValue.error(ELEMENT)),
            }
        }
        Ok(Self::Fields(keys))
    }

    fn compare(&self, left: &Bson, right: &Bson) -> Ordering {
        match self {
            Self::Whole { descending } => directed(compare_owned(left, right), *descending),
            Self::Fields(keys) => {
                for (field, descending) in keys {
                    let order = compare_owned(at_path(left, field), at_path(right, field));
                    if order != Ordering::Equal {
                        return directed(order, *descending);
                    }
                }
                Ordering::Equal
            }
        }
    }
}

fn directed(order: Ordering, descending: bool) -> Ordering {
    if descending { order.reverse() } else { order }
}

/// The value at a dotted path through documents alone; null where the path ends early.
fn at_path<'a>(value: &'a Bson, path: &str) -> &'a Bson {
    let mut value = value;
    for name in path.split('.') {
        match value {
            Bson::Document(document) => match document.get(name) {
                Some(inner) => value = inner,
                None => return &Bson::Null,
            },
            _ => return &Bson::Null,
        }
    }
    value
}

/// The values of `$addToSet`, with or without `$each`.
pub(super) fn add_to_set_argument(argument: Bson) -> Result<Vec<Bson>> {
    let Bson::Document(document) = &argument else {
        return Ok(vec![argument]);
    };
    if document.keys().next().map(String::as_str) != Some("$each") {
        return Ok(vec![argument]);
    }
    if document.len() > 1 {
        return Err(Code::BadValue.error(format!(
            "Found unexpected fields after $each in $addToSet: {}",
            display::value(&argument)
        )));
    }
    match document.get("$each") {
        Some(Bson::Array(each)) => Ok(each.clone()),
        other => Err(Code::TypeMismatch.error(format!(
            "The argument to $each in $addToSet must be an array but it was of type {}",
            display::type_name(other.unwrap_or(&Bson::Null))
        ))),
    }
}

/// So many values are compared one by one with every element; more are looked up by their sort keys.
const FEW: usize = 8;

/// Adds what is not there yet; says whether anything was added.
pub(super) fn add_to_set(array: &mut Array, values: &[Bson]) -> bool {
    let before = array.len();
    if values.len() <= FEW {
        for value in values {
            if !contains(array, value) {
                array.push(value.clone());
            }
        }
    } else {
        let mut seen: BTreeSet<Vec<u8>> = array.iter().map(sort_key).collect();
        let new = values.iter().filter(|value| seen.insert(sort_key(value)));
        array.extend(new.cloned());
    }
    array.len() > before
}

/// Equal values have the same, other values another: also documents, whose fields have an order.
fn sort_key(value: &Bson) -> Vec<u8> {
    let mut encoded = Vec::new();
    key::encode_owned(value, &mut encoded);
    encoded
}

fn contains(array: &[Bson], value: &Bson) -> bool {
    array
        .iter()
        .any(|element| compare_owned(element, value) == Ordering::Equal)
}

/// Whether `$pop` takes the first element (-1) or the last (1).
pub(super) fn pop_argument(path: &str, argument: &Bson) -> Result<bool> {
    if Number::from_bson(argument).is_none() {
        return Err(Code::FailedToParse.error(format!(
            "Expected a number in: {}",
            display::element(path, argument)
        )));
    }
    match whole(argument) {
        Some(-1) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(Code::FailedToParse.error(format!(
            "$pop expects 1 or -1, found: {}",
            display::value(argument)
        ))),
    }
}

/// Which elements `$pull` or `$pullAll` takes away.
#[derive(Debug)]
pub(super) enum Pull {
    Values(Vec<Bson>),
    /// Many values, by their sort keys: an array and a list of ten thousands would be hundreds of millions of comparisons.
    Keys(BTreeSet<Vec<u8>>),
    /// A condition on the element itself, kept as one on the field [`ELEMENT`].
    Condition(Box<Filter>),
    /// A condition on elements that are documents.
    Fields(Box<Filter>),
}

/// The field that an element is wrapped in for a condition on the element itself.
const ELEMENT: &str = "element";

impl Pull {
    pub(super) fn parse(argument: Bson) -> Result<Self> {
        match argument {
            Bson::Document(condition) => {
                let first = condition.keys().next().map_or("", String::as_str);
                let logical = matches!(first, "$and" | "$or" | "$nor" | "$expr");
                if first.starts_with('$') && !logical {
                    let wrapped = bson::doc! { ELEMENT: condition };
                    return Ok(Self::Condition(Box::new(parse_filter(&wrapped)?)));
                }
                Ok(Self::Fields(Box::new(parse_filter(&condition)?)))
            }
            Bson::RegularExpression(regex) => {
                let wrapped = bson::doc! { ELEMENT: regex };
                Ok(Self::Condition(Box::new(parse_filter(&wrapped)?)))
            }
            value => Ok(Self::Values(vec![value])),
        }
    }

    pub(super) fn parse_all(argument: Bson) -> Result<Self> {
        match argument {
            Bson::Array(values) if values.len() > FEW => {
                Ok(Self::Keys(values.iter().map(sort_key).collect()))
            }
            Bson::Array(values) => Ok(Self::Values(values)),
            other => Err(Code::BadValue.error(format!(
                "$pullAll requires an array argument but was given a {}",
                display::type_name(&other)
            ))),
        }
    }

    /// Takes away what matches; says whether anything did.
    pub(super) fn apply(&self, array: &mut Array) -> Result<bool> {
        let before = array.len();
        let mut failure = None;
        array.retain(|element| match self.takes(element) {
            _ if failure.is_some() => true,
            Ok(takes) => !takes,
            Err(error) => {
                failure = Some(error);
                true
            }
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(array.len() < before),
        }
    }

    fn takes(&self, element: &Bson) -> Result<bool> {
        match self {
            Self::Values(values) => Ok(contains(values, element)),
            Self::Keys(keys) => Ok(keys.contains(&sort_key(element))),
            Self::Condition(filter) => {
                let wrapped = bson::doc! { ELEMENT: element.clone() };
                matches(filter, &wrapped)
            }
            Self::Fields(filter) => match element {
                Bson::Document(document) => matches(filter, document),
                _ => Ok(false),
            },
        }
    }
}

fn parse_filter(condition: &Document) -> Result<Filter> {
    let raw = RawDocumentBuf::try_from(condition)?;
    Filter::parse(&raw)
}

fn matches(filter: &Filter, document: &Document) -> Result<bool> {
    filter.try_matches(&RawDocumentBuf::try_from(document)?)
}
