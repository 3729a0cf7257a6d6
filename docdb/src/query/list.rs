//! The values of a long `$in`, kept as the keys that an index has of them: about the memory that the list takes in its command,
//! all that a plan needs, and in order after any number of pieces of work.

mod sort;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use self::sort::Sorting;
use crate::value::{Fields, Value, key};

/// A list of more values is kept so. It is not below the intervals that the fields of an index may be joined to: what is kept so is
/// never joined to a second field.
pub(crate) const SHORT: usize = 1024;
/// A value takes at least so many bytes in a list: its type, its place with an end mark.
const LEAST: usize = 3;

/// Values by their keys: equal ones have the same.
#[derive(Debug, Default)]
pub(crate) struct List {
    /// Each key after its length.
    bytes: Vec<u8>,
    /// Where the values' keys begin, in their order, each once.
    values: Vec<u32>,
    /// The same for the keys under which an index has what equals a value, where they are not the values' own.
    entries: Option<Vec<u32>>,
    longest: usize,
}

/// Whether the list is one to be kept as keys.
pub(super) fn is_long(array: Fields<'_>) -> bool {
    array.bytes().len() > SHORT * LEAST && array.elements().nth(SHORT).is_some()
}

impl List {
    /// Whether a value equals `value`.
    pub(super) fn contains(&self, value: &Value<'_>) -> bool {
        let mut wanted = Vec::with_capacity(32);
        key::encode_value(value, &mut wanted);
        let order = |start: &u32| key_at(&self.bytes, *start).cmp(&wanted);
        self.values.binary_search_by(order).is_ok()
    }

    fn entries(&self) -> &[u32] {
        self.entries.as_ref().unwrap_or(&self.values)
    }

    /// How many keys an index may have of them.
    pub(super) fn len(&self) -> usize {
        self.entries().len()
    }

    /// One of these keys, in their order.
    pub(super) fn key(&self, at: usize) -> Option<&[u8]> {
        let start = self.entries().get(at)?;
        Some(key_at(&self.bytes, *start))
    }

    /// How many of them are below `bound`.
    pub(super) fn below(&self, bound: &[u8]) -> usize {
        self.entries()
            .partition_point(|start| key_at(&self.bytes, *start) < bound)
    }

    /// Whether an index has other keys too of what equals them.
    pub(super) fn has_arrays(&self) -> bool {
        self.entries.is_some()
    }

    /// Bytes of the longest key.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Bytes of memory.
    fn held(&self) -> usize {
        let places = self.values.capacity() + self.entries.as_ref().map_or(0, Vec::capacity);
        self.bytes.capacity() + places * size_of::<u32>()
    }
}

/// The key that begins at `start`, with its length before it: seven bits in each byte, the last of which is below 128.
fn key_at(bytes: &[u8], start: u32) -> &[u8] {
    let mut rest = bytes.get(start as usize..).unwrap_or_default();
    let mut length = 0;
    let mut shift = 0;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        length |= usize::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            break;
        }
        shift += 7;
    }
    rest.get(..length).unwrap_or_default()
}

/// A list that is being made: first values are added, then they are put in order.
#[derive(Debug)]
pub(super) struct Draft {
    list: List,
    /// Keys of first elements of arrays, under which an index has these.
    firsts: Vec<u32>,
    /// What came so far came in order, each once, as ids do from another query.
    is_sorted: bool,
    sorting: Option<Sorting>,
    key: Vec<u8>,
}

impl Draft {
    pub(super) fn new() -> Self {
        Self {
            list: List::default(),
            firsts: Vec::new(),
            is_sorted: true,
            sorting: None,
            key: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, value: &Value<'_>) {
        if let Value::Array(elements) = value {
            let first = elements.values().next().unwrap_or(Value::Undefined);
            let start = self.push(&first);
            self.firsts.push(start);
        }
        // A missing field is null, and undefined too; the list is not asked for either.
        if matches!(value, Value::Null) {
            self.add_key(&Value::Undefined);
        }
        self.add_key(value);
    }

    fn add_key(&mut self, value: &Value<'_>) {
        let start = self.push(value);
        let list = &mut self.list;
        if let Some(last) = list.values.last() {
            self.is_sorted &= key_at(&list.bytes, *last) < &self.key[..];
        }
        list.values.push(start);
    }

    /// Appends the key of `value` and says where.
    fn push(&mut self, value: &Value<'_>) -> u32 {
        self.key.clear();
        key::encode_value(value, &mut self.key);
        let list = &mut self.list;
        // A command has 16 MiB, and a key at most four times the bytes of its value.
        let start = u32::try_from(list.bytes.len()).unwrap_or(u32::MAX);
        let mut length = self.key.len();
        list.longest = list.longest.max(length);
        while length >= 0x80 {
            list.bytes.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        list.bytes.push(length as u8);
        list.bytes.extend_from_slice(&self.key);
        start
    }

    /// Goes on with putting them in order, for a fraction of a millisecond. True if they are.
    pub(super) fn order(&mut self) -> bool {
        let Some(sorting) = &mut self.sorting else {
            let places = std::mem::take(&mut self.list.values);
            self.sorting = Some(Sorting::new(places, self.is_sorted));
            return false;
        };
        let bytes = &self.list.bytes;
        let order = |one: u32, two: u32| -> Ordering { key_at(bytes, one).cmp(key_at(bytes, two)) };
        if !sorting.step(order) {
            return false;
        }
        let places = sorting.take();
        if self.list.values.is_empty() && !self.firsts.is_empty() {
            let all = [&places[..], &self.firsts].concat();
            self.list.values = places;
            self.sorting = Some(Sorting::new(all, false));
            return false;
        }
        if self.firsts.is_empty() {
            self.list.values = places;
        } else {
            self.list.entries = Some(places);
        }
        true
    }

    pub(super) fn finish(self) -> List {
        self.list
    }

    /// Bytes of memory.
    pub(super) fn held(&self) -> usize {
        let sorting = self.sorting.as_ref().map_or(0, Sorting::held);
        self.list.held() + sorting + self.firsts.capacity() * size_of::<u32>()
    }
}
