//! Walks a range of one space from both ends, as it was when the scan began.
//!
//! The sources are the memtables, newest first, and the table files, oldest; a key is taken from the newest
//! source that has it. The scan holds the memtables and files it began with, so flushing, compaction and later
//! writes do not reach it.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Bound;

use lsm_tree::{Guard as _, IterGuardImpl};

use super::memtable::{self, Entry, SharedMemtable};
use super::snapshot::Snapshot;
use super::tables::Tables;
use super::{Slice, StoreError};

/// Entries fetched from a memtable at first, and at most at once later.
const FIRST_CHUNK: usize = 4;
const LAST_CHUNK: usize = 64;

type Range = (Bound<Slice>, Bound<Slice>);
type Pair = Result<(Slice, Slice), StoreError>;

/// Pairs of a range in key order; both ends can be taken from.
pub struct Scan {
    sources: Vec<Ends>,
    /// Keeps the versions that this scan sees from being pruned.
    snapshot: Option<Snapshot>,
}

impl fmt::Debug for Scan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Scan")
            .field("sources", &self.sources.len())
            .finish_non_exhaustive()
    }
}

impl Scan {
    pub(super) fn empty() -> Self {
        Self {
            sources: Vec::new(),
            snapshot: None,
        }
    }

    /// `memtables` from the newest to the oldest.
    pub(super) fn new(
        memtables: Vec<SharedMemtable>,
        tables: &Tables,
        range: Range,
        snapshot: Snapshot,
    ) -> Self {
        let mut sources: Vec<Ends> = Vec::with_capacity(memtables.len() + 1);
        for memtable in memtables {
            sources.push(Ends::new(Source::Memory(MemoryCursor {
                memtable,
                range: Some(range.clone()),
                snapshot: snapshot.sequence(),
                chunk: FIRST_CHUNK,
                front: VecDeque::new(),
                back: VecDeque::new(),
            })));
        }
        let pairs = tables.scan(&range);
        let path = tables.path().to_path_buf();
        sources.push(Ends::new(Source::Files { pairs, path }));
        Self {
            sources,
            snapshot: Some(snapshot),
        }
    }

    /// The next key from one end with its value; without one if the key was deleted, so that who looks at many of those can
    /// give way between them.
    pub(crate) fn entry(&mut self, is_backwards: bool) -> Option<Result<Entry, StoreError>> {
        if self.snapshot.as_ref().is_some_and(Snapshot::is_undone) {
            self.snapshot = None;
            self.sources.clear();
            return Some(Err(StoreError::Undone));
        }
        let entry = self.pop(is_backwards);
        if entry.is_err() {
            // A range with a hole would pass for complete: nothing more comes after an error.
            self.sources.clear();
        }
        entry.transpose()
    }

    fn step(&mut self, is_backwards: bool) -> Option<Pair> {
        loop {
            match self.entry(is_backwards)? {
                Ok((_, None)) => {}
                Ok((key, Some(value))) => return Some(Ok((key, value))),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// The next key from one end, from the newest source that has it.
    fn pop(&mut self, is_backwards: bool) -> Result<Option<Entry>, StoreError> {
        let mut best: Option<Slice> = None;
        for source in &mut self.sources {
            let Some(key) = source.peek(is_backwards)? else {
                continue;
            };
            let is_first = best
                .as_ref()
                .is_none_or(|best| if is_backwards { key > best } else { key < best });
            if is_first {
                best = Some(key.clone());
            }
        }
        let Some(best) = best else {
            return Ok(None);
        };
        let mut found = None;
        for source in &mut self.sources {
            if source.peek(is_backwards)? == Some(&best) {
                let entry = source.take(is_backwards);
                found = found.or(entry);
            }
        }
        Ok(found)
    }
}

impl Iterator for Scan {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        self.step(false)
    }
}

impl DoubleEndedIterator for Scan {
    fn next_back(&mut self) -> Option<Pair> {
        self.step(true)
    }
}

enum Source {
    Memory(MemoryCursor),
    Files {
        pairs: Box<dyn DoubleEndedIterator<Item = IterGuardImpl> + Send>,
        path: std::path::PathBuf,
    },
}

impl Source {
    fn next(&mut self, is_backwards: bool) -> Option<Result<Entry, StoreError>> {
        match self {
            Self::Memory(cursor) => cursor.next(is_backwards).map(Ok),
            Self::Files { pairs, path } => {
                let guard = if is_backwards {
                    pairs.next_back()
                } else {
                    pairs.next()
                }?;
                Some(match guard.into_inner() {
                    Ok((key, value)) => Ok((Slice(key), Some(Slice(value)))),
                    Err(error) => Err(super::tables::error("read", path, error)),
                })
            }
        }
    }
}

/// A source that can be looked into at both ends.
struct Ends {
    source: Source,
    front: Option<Entry>,
    back: Option<Entry>,
}

impl Ends {
    fn new(source: Source) -> Self {
        Self {
            source,
            front: None,
            back: None,
        }
    }

    fn peek(&mut self, is_backwards: bool) -> Result<Option<&Slice>, StoreError> {
        let (near, far) = if is_backwards {
            (&mut self.back, &self.front)
        } else {
            (&mut self.front, &self.back)
        };
        if near.is_none() {
            *near = self.source.next(is_backwards).transpose()?;
        }
        // When the source is exhausted, what the other end has looked at is the last one.
        Ok(near.as_ref().or(far.as_ref()).map(|(key, _)| key))
    }

    fn take(&mut self, is_backwards: bool) -> Option<Entry> {
        if is_backwards {
            self.back.take().or_else(|| self.front.take())
        } else {
            self.front.take().or_else(|| self.back.take())
        }
    }
}

/// Walks a memtable in chunks, so that the executor may write to it between two of them.
struct MemoryCursor {
    memtable: SharedMemtable,
    /// What neither end has fetched yet.
    range: Option<Range>,
    snapshot: u64,
    chunk: usize,
    /// Fetched from the low end, ascending; from the high end, descending.
    front: VecDeque<Entry>,
    back: VecDeque<Entry>,
}

impl MemoryCursor {
    fn next(&mut self, is_backwards: bool) -> Option<Entry> {
        let near = if is_backwards {
            &self.back
        } else {
            &self.front
        };
        if near.is_empty() {
            self.fetch(is_backwards);
        }
        if is_backwards {
            self.back.pop_front().or_else(|| self.front.pop_back())
        } else {
            self.front.pop_front().or_else(|| self.back.pop_back())
        }
    }

    fn fetch(&mut self, is_backwards: bool) {
        let Some(range) = self.range.take().filter(|range| !is_reversed(range)) else {
            return;
        };
        let (found, is_full) =
            memtable::read(&self.memtable).chunk(&range, self.snapshot, self.chunk, is_backwards);
        self.chunk = (self.chunk * 2).min(LAST_CHUNK);
        let last = found.last().map(|(key, _)| Bound::Excluded(key.clone()));
        self.range = match (is_full, last) {
            (true, Some(last)) if is_backwards => Some((range.0, last)),
            (true, Some(last)) => Some((last, range.1)),
            _ => None,
        };
        if is_backwards {
            self.back.extend(found);
        } else {
            self.front.extend(found);
        }
    }
}

/// Whether no key can be in a range; a B-tree panics when asked for such a one.
pub(super) fn is_reversed<K: AsRef<[u8]>>(range: &(Bound<K>, Bound<K>)) -> bool {
    use Bound::{Excluded, Included, Unbounded};
    match range {
        (Unbounded, _) | (_, Unbounded) => false,
        (Included(low), Included(high)) => low.as_ref() > high.as_ref(),
        (Included(low) | Excluded(low), Included(high) | Excluded(high)) => {
            low.as_ref() >= high.as_ref()
        }
    }
}
