//! The bytes of a journal segment: its header, its records, and how far they can be trusted.
//!
//! Numbers are little-endian. A segment begins with a header, in a sector of its own:
//! magic (8 bytes), format (4), zero (4), store id (8), segment number (8), first sequence number (8), sequence
//! number up to which all tables were flushed (8), XXH3 of these 48 bytes (8).
//! The next two sectors are for copies of it with a later flushed number, written in turn before older segments
//! are given up, so that a missing segment is told from one that was given up. A fourth is unused.
//!
//! Records follow, each on a multiple of eight bytes:
//! XXH3 of the rest of the record's head (8), length of the operations (4), their count (4), sequence number of
//! the first (8), sequence number known durable when it was written (8), XXH3 of the operations (8), operations.
//! Both checksums are seeded with a number made of the store and the segment, so that what an earlier use of
//! the file left behind, or a user stored in a document, is never taken for a record.
//!
//! An operation: space, plus 128 for a deletion (1), key length (2), value length (4, not in a deletion), key,
//! value.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::store::Space;

pub(super) const HEADER_BYTES: u64 = 2048;
/// What a disk writes whole or not at all.
const SECTOR: usize = 512;
pub(super) const RECORD_HEAD: usize = 40;
pub(super) const ALIGNMENT: usize = 8;
const MAGIC: u64 = u64::from_le_bytes(*b"PLIMJRNL");
/// Raised when the meaning of a byte changes.
pub(in crate::store) const FORMAT: u32 = 1;
const DELETION: u8 = 0x80;

/// What a segment says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) store: u64,
    pub(super) number: u64,
    pub(super) first: u64,
    pub(super) flushed: u64,
}

impl Header {
    pub(super) fn encode(&self) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        let words = [
            MAGIC,
            u64::from(FORMAT),
            self.store,
            self.number,
            self.first,
            self.flushed,
        ];
        for (slot, word) in bytes.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        let sum = xxh3_64(&bytes[..48]);
        bytes[48..56].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// `None`: not a whole header.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let is_whole = word(bytes, 0)? == MAGIC
            && word(bytes, 8)? == u64::from(FORMAT)
            && word(bytes, 48)? == xxh3_64(bytes.get(..48)?);
        is_whole.then_some(Self {
            store: word(bytes, 16)?,
            number: word(bytes, 24)?,
            first: word(bytes, 32)?,
            flushed: word(bytes, 40)?,
        })
    }

    /// The header of segment `number` or its latest copy, and the place for the next copy.
    pub(super) fn find(bytes: &[u8], number: u64) -> Option<(Self, u64)> {
        if (bytes.len() as u64) < HEADER_BYTES {
            return None;
        }
        let mut found = None;
        for (index, sector) in bytes.chunks_exact(SECTOR).take(3).enumerate() {
            let header = Self::decode(sector).filter(|header| header.number == number);
            if let Some(header) = header
                && found.is_none_or(|(best, _): (Self, u64)| header.flushed > best.flushed)
            {
                found = Some((header, copy_after(index as u64 * SECTOR as u64)));
            }
        }
        found
    }

    pub(super) fn seed(&self) -> u64 {
        seed(self.store, self.number)
    }
}

/// Where the copy goes that is written after the one at `offset`.
pub(super) const fn copy_after(offset: u64) -> u64 {
    if offset == SECTOR as u64 {
        2 * SECTOR as u64
    } else {
        SECTOR as u64
    }
}

/// The seed of a segment's checksums.
pub(super) fn seed(store: u64, number: u64) -> u64 {
    xxh3_64_with_seed(&number.to_le_bytes(), store)
}

fn word(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The head of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) length: usize,
    pub(super) count: u32,
    pub(super) first: u64,
    pub(super) synced: u64,
    sum: u64,
}

impl Head {
    /// A head whose own checksum is right.
    pub(super) fn decode(bytes: &[u8], seed: u64) -> Option<Self> {
        let rest = bytes.get(8..RECORD_HEAD)?;
        let head = Self::plausible(bytes)?;
        (word(bytes, 0)? == xxh3_64_with_seed(rest, seed)).then_some(head)
    }

    /// The fields without a look at the checksum.
    fn plausible(bytes: &[u8]) -> Option<Self> {
        let sizes = word(bytes, 8)?;
        Some(Self {
            length: usize::try_from(sizes & u64::from(u32::MAX)).ok()?,
            count: (sizes >> 32) as u32,
            first: word(bytes, 16)?,
            synced: word(bytes, 24)?,
            sum: word(bytes, 32)?,
        })
    }

    pub(super) fn last(&self) -> Option<u64> {
        self.first
            .checked_add(u64::from(self.count))?
            .checked_sub(1)
    }
}

/// Bytes that a record with so many bytes of operations takes.
pub(super) const fn record_bytes(operations: usize) -> usize {
    (RECORD_HEAD + operations).next_multiple_of(ALIGNMENT)
}

/// Fills in the head of a record whose operations stand behind it, and pads it.
pub(super) fn seal(record: &mut Vec<u8>, count: u32, first: u64, synced: u64, seed: u64) {
    let operations = record.len() - RECORD_HEAD;
    let sizes = operations as u64 | u64::from(count) << 32;
    let sum = xxh3_64_with_seed(&record[RECORD_HEAD..], seed);
    for (slot, word) in record[8..RECORD_HEAD]
        .chunks_exact_mut(8)
        .zip([sizes, first, synced, sum])
    {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    let head = xxh3_64_with_seed(&record[8..RECORD_HEAD], seed);
    record[..8].copy_from_slice(&head.to_le_bytes());
    record.resize(record_bytes(operations), 0);
}

/// Appends one operation.
pub(super) fn push(record: &mut Vec<u8>, space: Space, key: &[u8], value: Option<&[u8]>) {
    let tag = space as u8;
    record.push(if value.is_some() { tag } else { tag | DELETION });
    record.extend_from_slice(&(key.len() as u16).to_le_bytes());
    if let Some(value) = value {
        record.extend_from_slice(&(value.len() as u32).to_le_bytes());
    }
    record.extend_from_slice(key);
    record.extend_from_slice(value.unwrap_or_default());
}

/// One write: where, and the value or `None` for a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Operation<'a> {
    pub(in crate::store) space: Space,
    pub(in crate::store) key: &'a [u8],
    pub(in crate::store) value: Option<&'a [u8]>,
}

/// The operations of a record; ends at the first that is not whole.
#[derive(Debug, Clone)]
pub(in crate::store) struct Operations<'a>(pub(super) &'a [u8]);

impl<'a> Operations<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn operation(&mut self) -> Option<Operation<'a>> {
        let tag = *self.take(1)?.first()?;
        let space = Space::from_index(tag & !DELETION)?;
        let key_length = u16::from_le_bytes(self.take(2)?.try_into().ok()?);
        let value_length = if tag & DELETION == 0 {
            let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
            Some(usize::try_from(length).ok()?)
        } else {
            None
        };
        Some(Operation {
            space,
            key: self.take(usize::from(key_length))?,
            value: match value_length {
                Some(length) => Some(self.take(length)?),
                None => None,
            },
        })
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Operation<'a>;

    fn next(&mut self) -> Option<Operation<'a>> {
        let operation = self.operation();
        if operation.is_none() {
            self.0 = &[];
        }
        operation
    }
}

/// A whole record: its checksums are right and its operations are well formed.
#[derive(Debug, Clone)]
pub(in crate::store) struct Record<'a> {
    pub(in crate::store) first: u64,
    pub(in crate::store) last: u64,
    pub(super) end: usize,
    pub(in crate::store) operations: Operations<'a>,
}

/// The record at `offset`, or what is wrong with it.
pub(super) fn read(bytes: &[u8], offset: usize, seed: u64) -> Result<Record<'_>, &'static str> {
    let here = bytes.get(offset..).unwrap_or_default();
    let head = Head::decode(here, seed).ok_or("no record begins here")?;
    let operations = RECORD_HEAD
        .checked_add(head.length)
        .and_then(|end| here.get(RECORD_HEAD..end))
        .ok_or("the record is cut off")?;
    if xxh3_64_with_seed(operations, seed) != head.sum {
        return Err("the checksum of the record does not match");
    }
    let operations = Operations(operations);
    let count = operations.clone().count() as u64;
    if count != u64::from(head.count) || count == 0 {
        return Err("the record is not well formed");
    }
    Ok(Record {
        first: head.first,
        last: head.last().ok_or("the record is not well formed")?,
        end: offset + record_bytes(head.length),
        operations,
    })
}

/// What stands behind the place where the records end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// No record of this segment: a clean end, or one torn record.
    Nothing,
    /// Later records that were not synced either; they must be cut off before new ones are written.
    Unsynced,
    /// A record at this offset was written after what is missing had been synced.
    Acknowledged(usize),
}

/// Looks for heads of later records behind `offset`, where the record `expected` should be.
pub(super) fn look_behind(bytes: &[u8], offset: usize, expected: u64, seed: u64) -> Tail {
    let mut tail = Tail::Nothing;
    let mut at = offset.next_multiple_of(ALIGNMENT);
    while let Some(here) = bytes.get(at..).filter(|here| here.len() >= RECORD_HEAD) {
        let is_later = Head::plausible(here).is_some_and(|head| {
            head.first >= expected && head.synced < head.first && head.first >> 60 == 0
        });
        if let Some(head) = is_later.then(|| Head::decode(here, seed)).flatten() {
            if head.synced >= expected {
                return Tail::Acknowledged(at);
            }
            if at > offset {
                tail = Tail::Unsynced;
            }
        }
        at += ALIGNMENT;
    }
    tail
}
