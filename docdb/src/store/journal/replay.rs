//! Reads a journal back: which batches count, where the next one goes, and when to refuse.
//!
//! Only the last segment may end in a bad record, because a segment is synced before the next is begun. The first
//! bad record ends it. But when a later record says that the bad one had been synced before, acknowledged data
//! is damaged, and the store does not open.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::record::{self, HEADER_BYTES, Header, Record, Tail};
use super::{Journal, SPARE, segment_path};
use crate::store::StoreError;
use crate::store::disk::{Disk, DiskFile};

/// A segment larger than this was not written by this store: the largest batch is far smaller.
const LARGEST_SEGMENT: u64 = 4 << 30;

/// The journal, ready to append to, and what was read.
#[derive(Debug)]
pub(in crate::store) struct Replayed {
    pub(in crate::store) journal: Journal,
    pub(in crate::store) batches: u64,
    pub(in crate::store) operations: u64,
    /// Everything up to here was in tables when the last segment was begun, or before.
    pub(in crate::store) flushed: u64,
}

/// Reads all segments in order and hands each whole record to `apply`.
pub(in crate::store) fn open(
    disk: Arc<dyn Disk>,
    directory: &Path,
    store: u64,
    segment_bytes: u64,
    mut apply: impl FnMut(&Record<'_>),
) -> Result<Replayed, StoreError> {
    let (mut segments, has_spare) = list(&*disk, directory)?;
    drop_unstarted(&*disk, directory, store, &mut segments)?;
    let mut reader = Reader::new(store);
    for (index, number) in segments.iter().enumerate() {
        let path = segment_path(directory, *number);
        let bytes = read_file(&*disk, &path)?;
        reader.segment(path, *number, &bytes)?;
        reader.records(&bytes, index + 1 == segments.len(), &mut apply)?;
    }
    reader.check_beginning(directory)?;
    let file = reader.open_last(&*disk)?;
    let capacity = file
        .length()
        .map_err(|error| StoreError::io("open", &reader.path, error))?;
    let (header, copy_at) = reader.header.ok_or_else(|| no_segments(directory))?;
    let last = reader.expected.saturating_sub(1);
    Ok(Replayed {
        batches: reader.batches,
        operations: reader.operations,
        flushed: reader.flushed,
        journal: Journal {
            disk,
            directory: directory.to_path_buf(),
            store,
            segment_bytes,
            segments,
            has_spare,
            file,
            header,
            copy_at,
            offset: reader.offset as u64,
            capacity,
            written: last,
            synced: last,
        },
    })
}

/// The numbers of the segments without gaps up to the newest, and whether there is a spare file. Older segments
/// behind a gap had been released: a crash brought the name of one back.
fn list(disk: &dyn Disk, directory: &Path) -> Result<(VecDeque<u64>, bool), StoreError> {
    let names = disk
        .list(directory)
        .map_err(|error| StoreError::io("list", directory, error))?;
    let numbers: BTreeSet<u64> = names.iter().filter_map(|name| name.parse().ok()).collect();
    let mut segments = VecDeque::new();
    for number in numbers.into_iter().rev() {
        if segments.front().is_none_or(|next| number + 1 == *next) {
            segments.push_front(number);
        } else {
            let path = segment_path(directory, number);
            disk.remove(&path)
                .map_err(|error| StoreError::io("remove", &path, error))?;
        }
    }
    if segments.is_empty() {
        return Err(no_segments(directory));
    }
    Ok((segments, names.iter().any(|name| name == SPARE)))
}

fn no_segments(directory: &Path) -> StoreError {
    StoreError::corrupted(directory, 0, "the journal has no segments")
}

/// Removes a last segment whose header never became durable: nothing was acknowledged from it.
fn drop_unstarted(
    disk: &dyn Disk,
    directory: &Path,
    store: u64,
    segments: &mut VecDeque<u64>,
) -> Result<(), StoreError> {
    let Some(number) = segments.back().copied() else {
        return Ok(());
    };
    let path = segment_path(directory, number);
    let bytes = read_file(disk, &path)?;
    if Header::find(&bytes, number).is_some() {
        return Ok(());
    }
    let seed = record::seed(store, number);
    let is_empty = record::look_behind(&bytes, HEADER_BYTES as usize, 0, seed) == Tail::Nothing;
    if segments.len() == 1 || !is_empty {
        let problem = "the header of the segment does not match its checksum";
        return Err(StoreError::corrupted(&path, 0, problem));
    }
    segments.pop_back();
    disk.remove(&path)
        .map_err(|error| StoreError::io("remove", &path, error))
}

/// See `journal::is_unfinished`.
pub(super) fn is_unfinished(disk: &dyn Disk, directory: &Path) -> Result<bool, StoreError> {
    let names = match disk.list(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        result => result.map_err(|error| StoreError::io("list", directory, error))?,
    };
    let first = segment_path(directory, 1);
    for name in names {
        let path = directory.join(name);
        if path != first {
            return Ok(false);
        }
        let bytes = read_file(disk, &path)?;
        let has_records = |(header, _): (Header, u64)| {
            record::read(&bytes, HEADER_BYTES as usize, header.seed()).is_ok()
        };
        if Header::find(&bytes, 1).is_some_and(has_records) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read_file(disk: &dyn Disk, path: &Path) -> Result<Vec<u8>, StoreError> {
    let fail = |error| StoreError::io("read", path, error);
    let file = disk.open(path).map_err(fail)?;
    let length = file.length().map_err(fail)?;
    if length > LARGEST_SEGMENT {
        let problem = format!("{length} bytes are too many for a segment");
        return Err(StoreError::corrupted(path, 0, problem));
    }
    file.read_all().map_err(fail)
}

/// Goes through the segments; its position is that of the segment read last.
struct Reader {
    store: u64,
    path: PathBuf,
    header: Option<(Header, u64)>,
    seed: u64,
    offset: usize,
    /// Sequence number that the next record begins with.
    expected: u64,
    first: Option<u64>,
    flushed: u64,
    must_cut: bool,
    batches: u64,
    operations: u64,
}

impl Reader {
    fn new(store: u64) -> Self {
        Self {
            store,
            path: PathBuf::new(),
            header: None,
            seed: 0,
            offset: 0,
            expected: 0,
            first: None,
            flushed: 0,
            must_cut: false,
            batches: 0,
            operations: 0,
        }
    }

    /// Reads a header and checks that the segment continues the one before.
    fn segment(&mut self, path: PathBuf, number: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let (header, copy_at) = Header::find(bytes, number)
            .filter(|(header, _)| header.store == self.store)
            .ok_or_else(|| {
                let problem = "the header of the segment is not that of this store and segment";
                StoreError::corrupted(&path, 0, problem)
            })?;
        if self.first.is_some() && header.first != self.expected {
            let problem = format!(
                "records {} to {} are missing here, and the next segment shows that they were acknowledged",
                self.expected,
                header.first.saturating_sub(1)
            );
            return Err(StoreError::corrupted(
                &self.path,
                self.offset as u64,
                problem,
            ));
        }
        self.first = self.first.or(Some(header.first));
        self.flushed = self.flushed.max(header.flushed);
        self.expected = header.first;
        self.seed = header.seed();
        self.header = Some((header, copy_at));
        self.path = path;
        Ok(())
    }

    fn records(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        apply: &mut impl FnMut(&Record<'_>),
    ) -> Result<(), StoreError> {
        self.offset = HEADER_BYTES as usize;
        let problem = loop {
            match record::read(bytes, self.offset, self.seed) {
                Ok(record) if record.first == self.expected => {
                    apply(&record);
                    self.batches += 1;
                    self.operations += record.last - record.first + 1;
                    self.expected = record.last + 1;
                    self.offset = record.end;
                }
                Ok(_) => break "the record is not the next in order",
                Err(problem) => break problem,
            }
        };
        if !is_last {
            return Ok(());
        }
        match record::look_behind(bytes, self.offset, self.expected, self.seed) {
            Tail::Nothing => Ok(()),
            Tail::Unsynced => {
                self.must_cut = true;
                Ok(())
            }
            Tail::Acknowledged(at) => {
                let problem = format!(
                    "{problem}, and the record at byte {at} was written after this one was acknowledged"
                );
                let offset = self.offset as u64;
                Err(StoreError::corrupted(&self.path, offset, problem))
            }
        }
    }

    /// The oldest segment must reach back to what the tables hold.
    fn check_beginning(&self, directory: &Path) -> Result<(), StoreError> {
        if self.first.is_some_and(|first| first > self.flushed + 1) {
            let problem = format!("records after {} are missing", self.flushed);
            return Err(StoreError::corrupted(directory, 0, problem));
        }
        Ok(())
    }

    /// Opens the last segment for writing. Unsynced records behind the end are cut off: a record written over
    /// the first of them could end exactly where another begins.
    fn open_last(&self, disk: &dyn Disk) -> Result<Box<dyn DiskFile>, StoreError> {
        let fail = |error| StoreError::io("open", &self.path, error);
        let file = disk.open(&self.path).map_err(fail)?;
        if self.must_cut {
            file.truncate(self.offset as u64).map_err(fail)?;
        }
        // What was read may still be in the page cache only, left by a process that died before its sync.
        file.sync().map_err(fail)?;
        Ok(file)
    }
}

/// Reads hostile bytes as a segment, as recovery does; returns how many records were taken. For fuzzing.
pub fn replay_hostile(bytes: &[u8]) -> u64 {
    let path = PathBuf::from("segment");
    let number = 1;
    let store = Header::find(bytes, number).map_or(1, |(header, _)| header.store);
    let mut reader = Reader::new(store);
    if reader.segment(path, number, bytes).is_err() {
        // Without a header that matches, the records behind it are still worth reading.
        reader.seed = record::seed(store, number);
        reader.expected = 1;
    }
    let mut taken = 0;
    let mut apply = |record: &Record<'_>| taken += u64::from(record.operations.clone().count() > 0);
    drop(reader.records(bytes, true, &mut apply));
    taken
}
