//! Puts the places of keys in order piece by piece, and leaves of equal ones the first: a merge sort that can rest anywhere.

use std::cmp::Ordering;

/// So many are put in order at once.
const RUN: usize = 256;
/// So many are merged, or looked through for equal ones, at once.
const PIECE: usize = 1024;

#[derive(Debug)]
pub(super) struct Sorting {
    places: Vec<u32>,
    /// What the merge under way made so far.
    merged: Vec<u32>,
    phase: Phase,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Runs are put in order, each by itself; those before this place are.
    Runs(usize),
    /// Two neighbours of `width`, the first of which begins at `start`, become one; `left` and `right` are next of them.
    Merge {
        width: usize,
        start: usize,
        left: usize,
        right: usize,
    },
    /// Equal ones go: of those before `seen`, `kept` are left.
    Thin {
        seen: usize,
        kept: usize,
    },
    Done,
}

impl Sorting {
    pub(super) fn new(places: Vec<u32>, is_sorted: bool) -> Self {
        Self {
            places,
            merged: Vec::new(),
            phase: if is_sorted {
                Phase::Done
            } else {
                Phase::Runs(0)
            },
        }
    }

    /// Goes on for a piece. True if that was the last.
    pub(super) fn step(&mut self, order: impl Fn(u32, u32) -> Ordering) -> bool {
        let count = self.places.len();
        match self.phase {
            Phase::Runs(at) => {
                let end = count.min(at + RUN);
                if let Some(run) = self.places.get_mut(at..end) {
                    run.sort_unstable_by(|one, two| order(*one, *two));
                }
                self.phase = if end < count {
                    Phase::Runs(end)
                } else {
                    self.begin_merge(RUN, 0)
                };
            }
            Phase::Merge { .. } => self.merge(order),
            Phase::Thin { seen, kept } => self.thin(seen, kept, order),
            Phase::Done => {}
        }
        matches!(self.phase, Phase::Done)
    }

    /// The merge of the two runs that begin at `at`, or what comes after all of this width.
    fn begin_merge(&mut self, width: usize, at: usize) -> Phase {
        let count = self.places.len();
        if width >= count {
            self.merged = Vec::new();
            return Phase::Thin { seen: 0, kept: 0 };
        }
        if at < count {
            return Phase::Merge {
                width,
                start: at,
                left: at,
                right: count.min(at + width),
            };
        }
        std::mem::swap(&mut self.places, &mut self.merged);
        self.merged.clear();
        self.begin_merge(width * 2, 0)
    }

    fn merge(&mut self, order: impl Fn(u32, u32) -> Ordering) {
        let Phase::Merge {
            width,
            start,
            mut left,
            mut right,
        } = self.phase
        else {
            return;
        };
        let count = self.places.len();
        let (middle, end) = (count.min(start + width), count.min(start + 2 * width));
        self.merged
            .reserve_exact(if self.merged.is_empty() { count } else { 0 });
        for _ in 0..PIECE {
            let one = self.places.get(left).filter(|_| left < middle);
            let two = self.places.get(right).filter(|_| right < end);
            let next = match (one, two) {
                (None, None) => break,
                (Some(one), Some(two)) if order(*one, *two).is_gt() => two,
                (Some(one), _) => one,
                (None, Some(two)) => two,
            };
            self.merged.push(*next);
            if one.is_some_and(|one| std::ptr::eq(one, next)) {
                left += 1;
            } else {
                right += 1;
            }
        }
        self.phase = if left < middle || right < end {
            Phase::Merge {
                width,
                start,
                left,
                right,
            }
        } else {
            self.begin_merge(width, end)
        };
    }

    fn thin(&mut self, mut seen: usize, mut kept: usize, order: impl Fn(u32, u32) -> Ordering) {
        for _ in 0..PIECE {
            let Some(place) = self.places.get(seen).copied() else {
                self.places.truncate(kept);
                self.phase = Phase::Done;
                return;
            };
            seen += 1;
            let last = kept.checked_sub(1).and_then(|last| self.places.get(last));
            if last.is_none_or(|last| order(*last, place).is_ne())
                && let Some(next) = self.places.get_mut(kept)
            {
                *next = place;
                kept += 1;
            }
        }
        self.phase = Phase::Thin { seen, kept };
    }

    /// The places, in order.
    pub(super) fn take(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.places)
    }

    /// Bytes of memory.
    pub(super) fn held(&self) -> usize {
        (self.places.capacity() + self.merged.capacity()) * size_of::<u32>()
    }
}
