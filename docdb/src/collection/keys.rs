//! Which keys a document has in an index: every combination of values at the pattern's paths, arrays element by element.
//!
//! The rules are MongoDB's: a missing field is null, an empty array is undefined, of all paths at most one may lead into
//! an array per level, and paths that share an array take their values from the same element of it.

use bson::raw::{RawArray, RawBsonRef, RawDocument};

use super::index::{Field, Index, IndexSpec};
use crate::error::{Code, CommandError, Result};
use crate::value::{Fields, Value, key};

/// The entries of one document in all indexes of its collection. One buffer is used again and again.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    list: Vec<Entry>,
    /// Which indexes saw an array.
    multikey: Vec<usize>,
}

/// One entry: its key is `index id | values | encoded _id` (without `_id` if unique).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Position of the index within its collection.
    pub index: usize,
    start: usize,
    end: usize,
}

impl Entries {
    pub(crate) fn list(&self) -> &[Entry] {
        &self.list
    }

    /// Indexes that this document makes multikey, by position.
    pub(crate) fn multikey(&self) -> &[usize] {
        &self.multikey
    }

    /// The key as stored.
    pub(crate) fn key(&self, entry: Entry) -> &[u8] {
        self.bytes.get(entry.start..entry.end).unwrap_or_default()
    }

    pub(crate) fn contains(&self, other: &[u8]) -> bool {
        self.list.iter().any(|entry| self.key(*entry) == other)
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
        self.multikey.clear();
    }

    /// Replaces what was in the buffer by the entries of `document` in one index.
    pub(crate) fn collect_index(
        &mut self,
        position: usize,
        indexes: &[Index],
        document: &RawDocument,
        id: &[u8],
    ) -> Result<()> {
        self.clear();
        match indexes.get(position) {
            Some(index) => self.collect_one(position, index, document, id),
            None => Ok(()),
        }
    }

    /// Replaces what was in the buffer by the entries of `document`, whose encoded `_id` is `id`.
    pub(crate) fn collect(
        &mut self,
        indexes: &[Index],
        document: &RawDocument,
        id: &[u8],
    ) -> Result<()> {
        self.clear();
        for (position, index) in indexes.iter().enumerate() {
            self.collect_one(position, index, document, id)?;
        }
        Ok(())
    }

    /// The fast path: one field at the top, no array in it, nothing conditional. False if the index or value is not so.
    fn collect_plain(
        &mut self,
        position: usize,
        index: &Index,
        document: &RawDocument,
        id: &[u8],
    ) -> bool {
        let spec = &index.spec;
        let ([field], None, false) = (spec.fields.as_slice(), &spec.partial, spec.sparse) else {
            return false;
        };
        let [name] = field.parts.as_slice() else {
            return false;
        };
        let found = Fields::of(document).find(name.as_bytes());
        let value = found.map_or(Value::Null, |element| element.value());
        if matches!(value, Value::Array(_)) {
            return false;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&index.id.to_be_bytes());
        if field.descending {
            key::encode_value_descending(&value, &mut self.bytes);
        } else {
            key::encode_value(&value, &mut self.bytes);
        }
        if !spec.unique {
            self.bytes.extend_from_slice(id);
        }
        self.list.push(Entry {
            index: position,
            start,
            end: self.bytes.len(),
        });
        true
    }

    fn collect_one(
        &mut self,
        position: usize,
        index: &Index,
        document: &RawDocument,
        id: &[u8],
    ) -> Result<()> {
        if self.collect_plain(position, index, document, id) {
            return Ok(());
        }
        let first = self.list.len();
        let (bytes, list) = (&mut self.bytes, &mut self.list);
        let multikey = each_key(&index.spec, document, &mut |values| {
            let start = bytes.len();
            bytes.extend_from_slice(&index.id.to_be_bytes());
            encode(&index.spec.fields, values, bytes);
            if !index.spec.unique {
                bytes.extend_from_slice(id);
            }
            list.push(Entry {
                index: position,
                start,
                end: bytes.len(),
            });
        })?;
        if multikey {
            self.multikey.push(position);
            let (bytes, added) = (&self.bytes, self.list.get_mut(first..).unwrap_or_default());
            added.sort_unstable_by(|left, right| {
                bytes
                    .get(left.start..left.end)
                    .cmp(&bytes.get(right.start..right.end))
            });
            let mut kept = first;
            for at in first..self.list.len() {
                let entry = self.list[at];
                if at == first || self.key(entry) != self.key(self.list[kept - 1]) {
                    self.list[kept] = entry;
                    kept += 1;
                }
            }
            self.list.truncate(kept);
        }
        Ok(())
    }
}

/// Appends the values of one key in the pattern's directions.
pub(crate) fn encode(fields: &[Field], values: &[Option<RawBsonRef<'_>>], out: &mut Vec<u8>) {
    for (field, value) in fields.iter().zip(values) {
        let value = value.unwrap_or(RawBsonRef::Null);
        if field.descending {
            key::encode_descending(value, out);
        } else {
            key::encode(value, out);
        }
    }
}

/// Calls `emit` with the values of each key (`None` where the field is missing). Returns whether an array was met.
pub(crate) fn each_key<'a>(
    spec: &IndexSpec,
    document: &'a RawDocument,
    emit: &mut dyn FnMut(&[Option<RawBsonRef<'a>>]),
) -> Result<bool> {
    if let Some(partial) = &spec.partial
        && !partial.filter.matches(document)
    {
        return Ok(false);
    }
    let mut state = Walk {
        sparse: spec.sparse,
        multikey: false,
        emit,
    };
    if let [field] = spec.fields.as_slice()
        && let [name] = field.parts.as_slice()
    {
        let value = document.get(name).map_err(invalid)?;
        if !matches!(value, Some(RawBsonRef::Array(_))) {
            state.give(&[value]);
            return Ok(false);
        }
    }
    let rest: Vec<Option<&[String]>> = spec
        .fields
        .iter()
        .map(|field| Some(field.parts.as_slice()))
        .collect();
    state.walk(document, &rest, &vec![None; rest.len()])?;
    Ok(state.multikey)
}

struct Walk<'e, 'a> {
    sparse: bool,
    multikey: bool,
    emit: &'e mut dyn FnMut(&[Option<RawBsonRef<'a>>]),
}

/// What lies at the end of a path, or the array on the way to it with the path that is left.
enum Found<'a, 'p> {
    Missing,
    Value(RawBsonRef<'a>),
    Array(&'a RawArray, &'p [String]),
}

/// Arrays met at one level: which field, and the path that is left inside.
struct Arrays<'a, 'p> {
    array: &'a RawArray,
    fields: Vec<(usize, &'p [String])>,
}

impl<'a> Walk<'_, 'a> {
    fn give(&mut self, values: &[Option<RawBsonRef<'a>>]) {
        if !(self.sparse && values.iter().all(Option::is_none)) {
            (self.emit)(values);
        }
    }

    /// `rest[i]` is the path that is still to be walked for field i, `None` once its value is in `values`.
    /// Recursion is bounded by the longest path: each level takes a component off every path it passes on.
    fn walk(
        &mut self,
        document: &'a RawDocument,
        rest: &[Option<&[String]>],
        values: &[Option<RawBsonRef<'a>>],
    ) -> Result<()> {
        let mut values = values.to_vec();
        let mut arrays: Option<Arrays<'a, '_>> = None;
        for (at, path) in rest.iter().enumerate() {
            let Some(path) = path else { continue };
            match find(document, path)? {
                Found::Missing => values[at] = None,
                Found::Value(value) => values[at] = Some(value),
                Found::Array(array, left) => match &mut arrays {
                    None => {
                        arrays = Some(Arrays {
                            array,
                            fields: vec![(at, left)],
                        });
                    }
                    Some(same) if same.array.as_bytes().as_ptr() == array.as_bytes().as_ptr() => {
                        same.fields.push((at, left));
                    }
                    Some(_) => {
                        return Err(
                            Code::CannotIndexParallelArrays.error("cannot index parallel arrays")
                        );
                    }
                },
            }
        }
        match arrays {
            None => self.give(&values),
            Some(arrays) => self.walk_array(&arrays, &mut values)?,
        }
        Ok(())
    }

    fn walk_array(
        &mut self,
        arrays: &Arrays<'a, '_>,
        values: &mut [Option<RawBsonRef<'a>>],
    ) -> Result<()> {
        self.multikey = true;
        if arrays.array.is_empty() {
            for (at, left) in &arrays.fields {
                values[*at] = left.is_empty().then_some(RawBsonRef::Undefined);
            }
            self.give(values);
            return Ok(());
        }
        for element in arrays.array {
            let element = element.map_err(invalid)?;
            let inner = element.as_document();
            let mut rest = vec![None; values.len()];
            for (at, left) in &arrays.fields {
                values[*at] = left.is_empty().then_some(element);
                if !left.is_empty() && inner.is_some() {
                    rest[*at] = Some(*left);
                }
            }
            match inner {
                Some(document) => self.walk(document, &rest, values)?,
                None => self.give(values),
            }
        }
        Ok(())
    }
}

/// Follows `path` until it ends, leads nowhere, or meets an array that it has no position in.
fn find<'a, 'p>(document: &'a RawDocument, path: &'p [String]) -> Result<Found<'a, 'p>> {
    let Some((name, mut left)) = path.split_first() else {
        return Ok(Found::Missing);
    };
    let mut value = document.get(name).map_err(invalid)?;
    loop {
        value = match (value, left.split_first()) {
            (Some(RawBsonRef::Document(inner)), Some((name, rest))) => {
                left = rest;
                inner.get(name).map_err(invalid)?
            }
            (Some(RawBsonRef::Array(array)), Some((name, rest))) => {
                let Some(element) = at_position(array, name)? else {
                    return Ok(Found::Array(array, left));
                };
                left = rest;
                Some(element)
            }
            (Some(RawBsonRef::Array(array)), None) => return Ok(Found::Array(array, left)),
            (Some(value), None) => return Ok(Found::Value(value)),
            (None, _) | (Some(_), Some(_)) => return Ok(Found::Missing),
        };
    }
}

/// The element that a numeric path component names. That a document in the array has a field of that name too is
/// ambiguous, and refused as MongoDB does.
fn at_position<'a>(array: &'a RawArray, name: &str) -> Result<Option<RawBsonRef<'a>>> {
    let Ok(position) = name.parse::<usize>() else {
        return Ok(None);
    };
    let Some(element) = array.get(position).map_err(invalid)? else {
        return Ok(None);
    };
    for other in array {
        let inner = other.map_err(invalid)?;
        if let RawBsonRef::Document(inner) = inner
            && inner.get(name).map_err(invalid)?.is_some()
        {
            return Err(Code::Location(16746).error(format!(
                "Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), field: '{name}'"
            )));
        }
    }
    Ok(Some(element))
}

fn invalid(error: impl std::fmt::Display) -> CommandError {
    Code::InvalidBSON.error(error.to_string())
}
