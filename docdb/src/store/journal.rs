//! The write-ahead journal of a shard: one record per batch, synced once, in segments of fixed size.
//!
//! Segments are numbered without gaps. A segment is synced before the next one is begun, so only the last can
//! end in a torn record. When everything in a segment has been flushed to tables, the file is kept as a spare
//! for the next segment: writing over blocks that exist costs a sync less work than growing a file.

mod record;
mod replay;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) use record::{FORMAT, Operations};
pub use replay::replay_hostile;
pub(super) use replay::{Replayed, open};

use record::{HEADER_BYTES, Header, RECORD_HEAD};

use super::disk::{Disk, DiskFile};
use super::{Space, StoreError};

/// Whether a journal directory holds no more than a creation that was interrupted leaves: a first segment without
/// records.
pub(super) fn is_unfinished(disk: &dyn Disk, directory: &Path) -> Result<bool, StoreError> {
    replay::is_unfinished(disk, directory)
}

/// The name of the file that waits to become a segment.
const SPARE: &str = "spare";

/// The operations of the current batch, as the body of a record.
#[derive(Debug, Default)]
pub(super) struct Batch {
    record: Vec<u8>,
    count: u32,
}

impl Batch {
    /// Kept from one batch to the next; a larger buffer is given back.
    const KEPT_BYTES: usize = 4 << 20;

    /// A record says its length in four bytes.
    const MOST_BYTES: usize = u32::MAX as usize - 64;

    pub(super) fn push(
        &mut self,
        space: Space,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), StoreError> {
        let bytes = self.record.len() + key.len() + value.map_or(0, <[u8]>::len);
        if bytes > Self::MOST_BYTES {
            return Err(StoreError::Size {
                what: "a batch",
                bytes,
                most: Self::MOST_BYTES,
            });
        }
        if self.record.is_empty() {
            self.record.resize(RECORD_HEAD, 0);
        }
        record::push(&mut self.record, space, key, value);
        self.count += 1;
        Ok(())
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The operations pushed so far; padding after `Journal::append` may look like one more, of an empty key.
    pub(super) fn operations(&self) -> Operations<'_> {
        Operations(self.record.get(RECORD_HEAD..).unwrap_or_default())
    }

    pub(super) fn clear(&mut self) {
        self.record.clear();
        self.record.shrink_to(Self::KEPT_BYTES);
        self.count = 0;
    }
}

#[derive(Debug)]
pub(super) struct Journal {
    disk: Arc<dyn Disk>,
    directory: PathBuf,
    store: u64,
    segment_bytes: u64,
    /// Numbers of the segments on disk; the last is written to.
    segments: VecDeque<u64>,
    has_spare: bool,
    file: Box<dyn DiskFile>,
    /// Of the segment that is written to, and where its next copy goes.
    header: Header,
    copy_at: u64,
    /// Where the next record goes, and how far space is reserved.
    offset: u64,
    capacity: u64,
    /// Last sequence number written, and last known durable.
    written: u64,
    synced: u64,
}

impl Journal {
    /// Begins the journal of a new store.
    pub(super) fn create(
        disk: Arc<dyn Disk>,
        directory: &Path,
        store: u64,
        segment_bytes: u64,
        first: u64,
    ) -> Result<Self, StoreError> {
        disk.create_directory(directory)
            .map_err(|error| StoreError::io("create", directory, error))?;
        let number = 1;
        let header = Header {
            store,
            number,
            first,
            flushed: first - 1,
        };
        let (file, capacity) = begin_segment(&*disk, directory, header, segment_bytes, false)?;
        Ok(Self {
            disk,
            directory: directory.to_path_buf(),
            store,
            segment_bytes,
            segments: VecDeque::from([number]),
            has_spare: false,
            file,
            header,
            copy_at: record::copy_after(0),
            offset: HEADER_BYTES,
            capacity,
            written: first - 1,
            synced: first - 1,
        })
    }

    /// Appends a batch as one record whose first operation has the sequence number after `written`. On a full
    /// disk nothing of it stays, and the next append may succeed.
    pub(super) fn append(&mut self, batch: &mut Batch, flushed: u64) -> Result<u64, StoreError> {
        let length = record::record_bytes(batch.record.len() - RECORD_HEAD) as u64;
        if self.offset + length > self.capacity.max(self.segment_bytes) {
            self.begin_next(length, flushed)?;
        }
        let first = self.written + 1;
        record::seal(
            &mut batch.record,
            batch.count,
            first,
            self.synced,
            self.header.seed(),
        );
        if let Err(error) = self.file.write_at(self.offset, &batch.record) {
            let error = StoreError::io("write", &self.path(), error);
            return Err(self.undo_partial(error));
        }
        self.offset += length;
        self.written += u64::from(batch.count);
        Ok(length)
    }

    /// Cuts off what a failed write may have left. If that fails too, the disk is not merely full.
    fn undo_partial(&mut self, error: StoreError) -> StoreError {
        match self.file.truncate(self.offset) {
            Ok(()) => {
                self.capacity = self.offset;
                error
            }
            Err(source) => StoreError::Io {
                action: "undo a failed write to",
                path: self.path(),
                source,
            },
        }
    }

    /// Returns when all that was appended is on the disk. After an error the journal must not be used again:
    /// the kernel may have dropped the pages and would report success the next time.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync().map_err(|source| StoreError::Io {
            action: "sync",
            path: self.path(),
            source,
        })?;
        self.synced = self.written;
        Ok(())
    }

    fn begin_next(&mut self, record: u64, flushed: u64) -> Result<(), StoreError> {
        if self.synced < self.written {
            self.sync()?;
        }
        let number = self.number() + 1;
        let header = Header {
            store: self.store,
            number,
            first: self.written + 1,
            flushed,
        };
        let size = self.segment_bytes.max(HEADER_BYTES + record);
        let (disk, directory) = (&*self.disk, &self.directory);
        let has_spare = std::mem::take(&mut self.has_spare);
        let (file, capacity) = begin_segment(disk, directory, header, size, has_spare)?;
        self.file = file;
        self.capacity = capacity;
        self.header = header;
        self.copy_at = record::copy_after(0);
        self.offset = HEADER_BYTES;
        self.segments.push_back(number);
        Ok(())
    }

    /// Gives up the segments before `number`: everything up to `flushed`, which includes them, is in tables.
    pub(super) fn release_before(&mut self, number: u64, flushed: u64) -> Result<(), StoreError> {
        if self.segments.front().is_none_or(|front| *front >= number) {
            return Ok(());
        }
        self.header.flushed = flushed;
        self.file
            .write_at(self.copy_at, &self.header.encode())
            .map_err(|error| StoreError::io("write", &self.path(), error))?;
        self.copy_at = record::copy_after(self.copy_at);
        self.sync()?;
        while let Some(front) = self
            .segments
            .front()
            .copied()
            .filter(|front| *front < number)
        {
            let path = segment_path(&self.directory, front);
            let result = if self.has_spare {
                self.disk.remove(&path)
            } else {
                self.disk.rename(&path, &self.directory.join(SPARE))
            };
            result.map_err(|error| StoreError::io("release", &path, error))?;
            self.has_spare = true;
            self.segments.pop_front();
        }
        self.disk
            .sync_directory(&self.directory)
            .map_err(|error| StoreError::io("sync", &self.directory, error))
    }

    /// The segment that is written to.
    pub(super) fn number(&self) -> u64 {
        self.segments.back().copied().unwrap_or_default()
    }

    pub(super) fn path(&self) -> PathBuf {
        segment_path(&self.directory, self.number())
    }

    /// Where the next record goes in the last segment.
    pub(super) fn end(&self) -> u64 {
        self.offset
    }

    pub(super) fn segments(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn synced(&self) -> u64 {
        self.synced
    }
}

fn segment_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:020}"))
}

/// Makes the file of a segment, from the spare if there is one, with a durable name and header.
fn begin_segment(
    disk: &dyn Disk,
    directory: &Path,
    header: Header,
    size: u64,
    has_spare: bool,
) -> Result<(Box<dyn DiskFile>, u64), StoreError> {
    let path = segment_path(directory, header.number);
    let fail = |error| StoreError::io("begin", &path, error);
    if has_spare {
        disk.rename(&directory.join(SPARE), &path).map_err(fail)?;
    }
    let file = disk.open(&path).map_err(fail)?;
    let begin = || {
        // The name first: were it lost, the header and the records would stand in a file of another name.
        disk.sync_directory(directory)?;
        file.allocate(size)?;
        let mut bytes = header.encode().to_vec();
        bytes.resize(HEADER_BYTES as usize, 0);
        file.write_at(0, &bytes)?;
        file.sync()?;
        file.length()
    };
    match begin() {
        Ok(length) => Ok((file, length.max(size))),
        Err(error) => {
            // A segment that was not begun would otherwise be found at the next start; that is harmless too.
            drop(disk.remove(&path));
            Err(fail(error))
        }
    }
}
