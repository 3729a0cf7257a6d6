//! Counts at rest: the occupied counters alone, for histograms that are kept but rarely read.
//!
//! A window of 5,000 requests/s needs about 300 KiB while it is counted and about 15 KiB packed; a
//! record in memory holds one window per second of the run.

use super::Histogram;
use super::hdr_v2::{read_zigzag, write_zigzag, zigzag_bytes};

impl Histogram {
    /// Gives the memory of empty counters back and returns the bytes that the others take. Reading stays
    /// possible; recording unpacks.
    pub(crate) fn pack(&mut self) -> usize {
        if self.packed.is_none() && !self.counts.is_empty() {
            self.pack_counts();
        }
        self.packed.as_ref().map_or(0, |bytes| bytes.len())
    }

    fn pack_counts(&mut self) {
        self.packed = Some(packed(self.occupied()));
        self.counts = Vec::new();
    }

    pub(super) fn unpack(&mut self) {
        let Some(packed) = self.packed.take() else {
            return;
        };
        let occupied = Occupied {
            dense: &[],
            packed: &packed,
            next: 0,
        };
        for (index, n) in occupied {
            self.make_room(index);
            self.counts[index] = n;
        }
    }

    /// Index and count of every counter that is not zero, smallest first.
    pub(super) fn occupied(&self) -> Occupied<'_> {
        Occupied {
            dense: &self.counts,
            packed: self.packed.as_deref().unwrap_or_default(),
            next: 0,
        }
    }
}

/// The packed form of counters in ascending order, in a block of just its size: one that grew and was cut
/// would leave its rest as a hole in the heap, every second.
fn packed(occupied: impl Iterator<Item = (usize, u64)> + Clone) -> Box<[u8]> {
    let mut length = 0;
    for_each_number(occupied.clone(), |number| length += zigzag_bytes(number));
    let mut bytes = Vec::with_capacity(length);
    for_each_number(occupied, |number| write_zigzag(&mut bytes, number));
    bytes.into_boxed_slice()
}

/// Gap and count of every counter.
fn for_each_number(occupied: impl Iterator<Item = (usize, u64)>, mut take: impl FnMut(i64)) {
    let mut next = 0;
    for (index, n) in occupied {
        take(((index - next) as u64).cast_signed());
        take(n.cast_signed());
        next = index + 1;
    }
}

/// The packed form of both together, counter by counter, without the memory of a counter per value: a run
/// adds up windows every second, and blocks of 160 KiB that come and go leave holes in the heap.
pub(super) fn sum(one: Occupied<'_>, other: Occupied<'_>) -> Box<[u8]> {
    let (mut one, mut other) = (one.peekable(), other.peekable());
    packed(std::iter::from_fn(move || {
        match (one.peek().copied(), other.peek().copied()) {
            (Some((at, n)), Some((other_at, m))) if at == other_at => {
                one.next();
                other.next().map(|_| (at, n + m))
            }
            (Some((at, _)), Some((other_at, _))) if other_at < at => other.next(),
            (Some(_), _) => one.next(),
            (None, _) => other.next(),
        }
    }))
}

/// Walks either form; one of the two slices is empty.
#[derive(Debug, Clone)]
pub(super) struct Occupied<'a> {
    dense: &'a [u64],
    packed: &'a [u8],
    /// The first index not yet looked at.
    next: usize,
}

impl Iterator for Occupied<'_> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(gap) = read_zigzag(&mut self.packed) {
            let index = self.next + gap.unsigned_abs() as usize;
            let n = read_zigzag(&mut self.packed)?;
            self.next = index + 1;
            return Some((index, n.unsigned_abs()));
        }
        let rest = self.dense.get(self.next..)?;
        let skipped = rest.iter().position(|&n| n > 0)?;
        let index = self.next + skipped;
        self.next = index + 1;
        Some((index, self.dense[index]))
    }
}
