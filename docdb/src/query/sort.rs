//! Sort orders: for each document a key whose bytes sort as the order says.

#[cfg(test)]
mod tests;

use bson::raw::RawDocument;

use super::field_path;
use super::keys::{self, Direction, Purpose, SortField, encode_key};
use crate::error::{Code, Result};
use crate::value::path::Path;
use crate::value::{Element, Fields, Number, Value};

/// Fields of one sort order or index (MongoDB's limit).
const FIELDS_MAX: usize = 32;

/// `sort` of a command.
#[derive(Debug, Clone)]
pub(crate) struct SortOrder {
    fields: Vec<SortField>,
    natural: Option<Direction>,
}

impl SortOrder {
    pub(crate) fn parse(sort: &RawDocument) -> Result<Self> {
        let mut order = Self {
            fields: Vec::new(),
            natural: None,
        };
        for element in Fields::new(sort).elements() {
            let name = std::str::from_utf8(element.name).unwrap_or_default();
            if name == "$natural" {
                order.natural = Some(direction(name, &element)?);
                continue;
            }
            field_path::check(name)?;
            let direction = direction(name, &element)?;
            let path = Path::parse(name)?;
            order.fields.push(SortField { path, direction });
        }
        if order.natural.is_some() && !order.fields.is_empty() {
            return Err(Code::BadValue.error("Cannot include '$natural' in compound sort"));
        }
        if order.fields.len() > FIELDS_MAX {
            let text = format!(
                "too many sort keys: {} are more than {FIELDS_MAX}",
                order.fields.len()
            );
            return Err(Code::BadValue.error(text));
        }
        Ok(order)
    }

    pub(crate) fn fields(&self) -> &[SortField] {
        &self.fields
    }

    /// `{$natural: ±1}`: the order in which documents are stored, or its reverse.
    pub(crate) const fn natural(&self) -> Option<Direction> {
        self.natural
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Bytes that sort as the documents do. Of an array counts its least element, for a descending field its greatest.
    pub(crate) fn key(&self, document: &RawDocument) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.fields.len() * 16);
        self.append_key(document, &mut out);
        out
    }

    /// As [`Self::key`], appended to `out`.
    pub(crate) fn append_key(&self, document: &RawDocument, out: &mut Vec<u8>) {
        let start = out.len();
        let document = Fields::new(document);
        for field in &self.fields {
            if let Some(value) = plain(document, &field.path) {
                field.encode(&value, out);
            } else {
                out.truncate(start);
                let alone = |field| least_key(std::slice::from_ref(field), document);
                out.extend(least_key(&self.fields, document).unwrap_or_else(|| {
                    // MongoDB refuses to sort by two arrays; here each field counts for itself.
                    self.fields.iter().filter_map(alone).flatten().collect()
                }));
                return;
            }
        }
    }
}

/// `None` of arrays at two paths.
fn least_key(fields: &[SortField], document: Fields<'_>) -> Option<Vec<u8>> {
    let mut least: Option<Vec<u8>> = None;
    let walked = keys::each(Purpose::Sort, fields, document, &mut |values| {
        let mut key = Vec::new();
        encode_key(fields, values, &mut key);
        if least.as_ref().is_none_or(|least| key < *least) {
            least = Some(key);
        }
    });
    walked.ok().and(least)
}

/// The value at `path` where no array is met; missing is null.
fn plain<'a>(document: Fields<'a>, path: &Path) -> Option<Value<'a>> {
    let mut value = Value::Document(document);
    for part in path.parts() {
        value = match value {
            Value::Document(fields) => match fields.find(&part.name) {
                Some(element) => element.value(),
                None => return Some(Value::Null),
            },
            Value::Array(_) => return None,
            _ => return Some(Value::Null),
        };
    }
    match value {
        Value::Array(_) => None,
        value => Some(value),
    }
}

fn direction(name: &str, element: &Element<'_>) -> Result<Direction> {
    let value = element.value();
    if let Value::Document(fields) = value
        && fields.find(b"$meta").is_some()
    {
        let text = "query requires text score metadata, but it is not available";
        return Err(Code::Location(40218).error(text));
    }
    let Some(number) = Number::from_value(&value) else {
        let text = format!(
            "Illegal key in $sort specification: {name}: {}",
            value.to_bson()
        );
        return Err(Code::Location(15974).error(text));
    };
    match number.to_i64_exact() {
        Some(1) => Ok(Direction::Ascending),
        Some(-1) => Ok(Direction::Descending),
        _ => Err(Code::Location(15975)
            .error("$sort key ordering must be 1 (for ascending) or -1 (for descending)")),
    }
}
