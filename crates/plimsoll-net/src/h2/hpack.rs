//! Header compression (RFC 7541): a full decoder with its dynamic table, and requests encoded once for many streams.

mod table;

use std::collections::VecDeque;

use self::table::STATIC;
use super::huffman;
use crate::h1::HEAD_BYTES_MAX;

/// Bytes of dynamic table that this side offers: the default of the protocol, which peers count with.
const TABLE_BYTES: usize = 4096;
/// What the RFC adds to an entry's text for its bookkeeping (section 4.1).
const ENTRY_OVERHEAD: usize = 32;

/// Begins a header block: the sender's table has no room from now on (section 6.3).
pub(super) const TABLE_EMPTIED: u8 = 0x20;

type Result<T, E = HpackError> = std::result::Result<T, E>;

/// A header block that cannot be decoded: the connection's state is lost with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HpackError {
    #[error("the header block ends within a field")]
    Truncated,
    #[error("a header field has an index beyond the tables")]
    Index,
    #[error("a number in the header block is too large")]
    Number,
    #[error("a string in the header block is not Huffman-coded text")]
    Huffman,
    #[error("the size of the header table may not be set so")]
    TableSize,
    #[error("the head of an answer is longer than 1 MiB")]
    Long,
}

/// Where decoded fields go, name before value.
pub(crate) trait Fields {
    fn field(&mut self, name: &[u8], value: &[u8]);
}

impl<F: FnMut(&[u8], &[u8])> Fields for F {
    fn field(&mut self, name: &[u8], value: &[u8]) {
        self(name, value);
    }
}

/// Decodes the header blocks of one connection, in order.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// Newest first.
    entries: VecDeque<Entry>,
    /// Of all entries, overheads included.
    bytes: usize,
    limit: Option<usize>,
    /// Names and values of Huffman-coded literals.
    name: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    /// Name and value in one.
    text: Vec<u8>,
    name: usize,
}

impl Entry {
    fn size(&self) -> usize {
        self.text.len() + ENTRY_OVERHEAD
    }
}

impl Decoder {
    /// Decodes one whole block.
    pub(crate) fn decode(&mut self, block: &[u8], fields: &mut impl Fields) -> Result<()> {
        let mut input = Input(block);
        let (mut text, mut begun) = (0, false);
        while let Some(&first) = input.0.first() {
            if first & 0xe0 == 0x20 {
                // A new table size is only allowed before the first field (section 4.2).
                let size = input.number(5)?;
                if begun || size > TABLE_BYTES {
                    return Err(HpackError::TableSize);
                }
                self.limit = Some(size);
                self.make_room(0);
                continue;
            }
            begun = true;
            text += self.field(first, &mut input, fields)?;
            if text > HEAD_BYTES_MAX {
                return Err(HpackError::Long);
            }
        }
        Ok(())
    }

    /// What is kept in memory, bytes.
    pub(super) fn kept_bytes(&self) -> usize {
        let entries: usize = self.entries.iter().map(|one| one.text.capacity()).sum();
        entries + self.name.capacity() + self.value.capacity()
    }

    /// One field; returns the bytes of its text.
    fn field(
        &mut self,
        first: u8,
        input: &mut Input<'_>,
        fields: &mut impl Fields,
    ) -> Result<usize> {
        // The first bits say what follows (section 6): 1 a field of the tables by its index, 01 one in full that enters the
        // table, 000 one in full that does not. The other bits begin the index of the field, or of its name.
        if first & 0x80 != 0 {
            let index = input.number(7)?;
            let (name, value) = self.entry(index).ok_or(HpackError::Index)?;
            fields.field(name, value);
            return Ok(name.len() + value.len());
        }
        let is_kept = first & 0x40 != 0;
        let index = input.number(if is_kept { 6 } else { 4 })?;
        let (mut name, mut value) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.value),
        );
        let read = self.literal(index, input, (&mut name, &mut value));
        if read.is_ok() {
            fields.field(&name, &value);
            if is_kept {
                self.keep(&name, &value);
            }
        }
        let length = name.len() + value.len();
        (self.name, self.value) = (name, value);
        read.map(|()| length)
    }

    fn literal(
        &self,
        index: usize,
        input: &mut Input<'_>,
        (name, value): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<()> {
        name.clear();
        if index == 0 {
            input.string(name)?;
        } else {
            let (known, _) = self.entry(index).ok_or(HpackError::Index)?;
            name.extend_from_slice(known);
        }
        value.clear();
        input.string(value)
    }

    /// The entry of an index over both tables: 1 to 61 never change, 62 is what was added last, and every addition moves
    /// the older ones one up.
    fn entry(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let at = index.checked_sub(1)?;
        if let Some((name, value)) = STATIC.get(at) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let entry = self.entries.get(at - STATIC.len())?;
        entry.text.split_at_checked(entry.name)
    }

    /// Puts a field into the table. One larger than the table empties it (section 4.4).
    fn keep(&mut self, name: &[u8], value: &[u8]) {
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        let mut text = self.make_room(size);
        if size > self.limit.unwrap_or(TABLE_BYTES) {
            return;
        }
        text.clear();
        text.extend_from_slice(name);
        text.extend_from_slice(value);
        self.bytes += size;
        let name = name.len();
        self.entries.push_front(Entry { text, name });
    }

    /// Evicts the oldest until `size` more bytes fit; returns memory of one evicted for use again.
    fn make_room(&mut self, size: usize) -> Vec<u8> {
        let limit = self.limit.unwrap_or(TABLE_BYTES);
        let mut spare = Vec::new();
        while self.bytes + size > limit
            && let Some(oldest) = self.entries.pop_back()
        {
            self.bytes -= oldest.size();
            spare = oldest.text;
        }
        spare
    }
}

/// What is left of a block.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.0.split_first().ok_or(HpackError::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(HpackError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A number that begins in the low `prefix` bits (section 5.1); nothing here needs more than 28 bits. All ones mean
    /// that the rest follows in sevens, the lowest first: with a prefix of 5, 1337 = 31 + 26 + 10·128 is 31, 0x80 | 26, 10.
    fn number(&mut self, prefix: u32) -> Result<usize> {
        let most = (1_usize << prefix) - 1;
        let mut number = usize::from(self.byte()?) & most;
        if number < most {
            return Ok(number);
        }
        for shift in [0, 7, 14, 21] {
            let byte = usize::from(self.byte()?);
            number += (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(HpackError::Number)
    }

    fn string(&mut self, text: &mut Vec<u8>) -> Result<()> {
        let is_coded = self.0.first().is_some_and(|byte| byte & 0x80 != 0);
        let length = self.number(7)?;
        let bytes = self.take(length)?;
        if is_coded {
            return huffman::decode(bytes, text).ok_or(HpackError::Huffman);
        }
        text.extend_from_slice(bytes);
        Ok(())
    }
}

/// The header block of a request that is sent many times, in the forms that a connection needs of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// Puts the fields into the peer's table.
    pub first: Vec<u8>,
    /// Names them from there, a byte or two each.
    pub next: Vec<u8>,
    /// Leaves no trace; for peers whose table is too small, and for requests that differ each time.
    pub plain: Vec<u8>,
    /// The same, behind the word that the table is not used any more.
    pub(crate) emptied: Vec<u8>,
}

impl Block {
    pub(crate) fn new(fields: &[(&str, &str)]) -> Self {
        let (mut first, mut next, mut plain) = (Vec::new(), Vec::new(), Vec::new());
        let is_static = |field: &(&str, &str)| STATIC.iter().position(|known| known == field);
        let kept: Vec<_> = fields
            .iter()
            .filter(|one| is_static(one).is_none())
            .collect();
        let (mut added, mut size) = (0, 0);
        for field in fields {
            if let Some(at) = is_static(field) {
                for form in [&mut first, &mut next, &mut plain] {
                    number(at + 1, 7, 0x80, form);
                }
                continue;
            }
            literal(field, (6, 0x40), &mut first);
            literal(field, (4, 0), &mut plain);
            added += 1;
            size += field.0.len() + field.1.len() + ENTRY_OVERHEAD;
            // Once all are in, the newest has the lowest index: of three, the first is at 61 + 3 and the last at 61 + 1.
            number(STATIC.len() + 1 + kept.len() - added, 7, 0x80, &mut next);
        }
        if size > TABLE_BYTES {
            (first, next) = (plain.clone(), plain.clone());
        }
        let emptied = [&[TABLE_EMPTIED], plain.as_slice()].concat();
        Self {
            first,
            next,
            plain,
            emptied,
        }
    }
}

/// A field with a name of the static table if it is there.
fn literal((name, value): &(&str, &str), (prefix, pattern): (u32, u8), out: &mut Vec<u8>) {
    let known = STATIC.iter().position(|(known, _)| known == name);
    number(known.map_or(0, |at| at + 1), prefix, pattern, out);
    if known.is_none() {
        string(name, out);
    }
    string(value, out);
}

/// Appends a field to a header block, for requests that differ each time: it leaves no trace in the peer's table. The name
/// may be in any case.
pub fn write_field(name: &str, value: &str, out: &mut Vec<u8>) {
    let is_known = |(known, _): &(&str, &str)| known.eq_ignore_ascii_case(name);
    let Some(first) = STATIC.iter().position(is_known) else {
        number(0, 4, 0, out);
        number(name.len(), 7, 0, out);
        out.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
        return string(value, out);
    };
    let mut same = STATIC
        .iter()
        .skip(first)
        .take_while(|field| is_known(field));
    if let Some(at) = same.position(|(_, known)| *known == value) {
        number(first + at + 1, 7, 0x80, out);
    } else {
        number(first + 1, 4, 0, out);
        string(value, out);
    }
}

/// Not Huffman-coded: what is sent once per connection is not worth it.
fn string(text: &str, out: &mut Vec<u8>) {
    number(text.len(), 7, 0, out);
    out.extend_from_slice(text.as_bytes());
}

fn number(value: usize, prefix: u32, pattern: u8, out: &mut Vec<u8>) {
    let most = (1_usize << prefix) - 1;
    if value < most {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests;
