//! Rows in the order of their keys, though memory may not hold them: what is beyond a share goes to sorted runs in a file
//! without a name, and is merged when it is read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::error::{Code, CommandError, Result};
use crate::memory::{Claim, Room};

/// A row costs about so much beside its bytes: 56 in a node of the tree that is two thirds full, and what the allocator adds to
/// two pieces.
const ROW_BYTES: usize = 120;
/// No run is begun for less, though others took the memory: a thousand tiny runs would be read a thousand times slower.
const RUN_BYTES_MIN: usize = 1 << 20;
/// Unless so many do so that it would be too much together.
const RUN_BYTES_LEAST: usize = 64 << 10;
/// Read or written at once, unless many runs share what a sort may hold.
const CHUNK_BYTES: usize = 64 << 10;
/// What is read of a run first: the runs are opened within one slice.
const FIRST_BYTES: usize = 4 << 10;
/// Runs of one sort. With a share of 32 MiB they hold 16 GiB.
const RUNS_MAX: usize = 512;
/// Key length, number and payload length before a row.
const HEAD_BYTES: usize = 16;

/// Rows on their way into order.
#[derive(Debug)]
pub(crate) struct Sorted {
    room: Room,
    /// By key, then by arrival: equal keys keep their order.
    rows: BTreeMap<(Vec<u8>, u64), Vec<u8>>,
    bytes: usize,
    arrived: u64,
    /// Only so many are asked for.
    keep: Option<usize>,
    runs: Option<Runs>,
    /// The rows in memory are being written.
    spilling: bool,
    /// The last row came: the first of each run, least on top.
    merge: Option<BinaryHeap<Reverse<Head>>>,
    claim: Claim,
}

/// The next row of a run; of the rows in memory the run is `usize::MAX`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: Vec<u8>,
    number: u64,
    run: usize,
    payload: Payload,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Payload {
    Here(Vec<u8>),
    /// So many bytes, which come next in the file: a head for each run, each with a large document, would be the whole memory.
    OnDisk(usize),
}

#[derive(Debug)]
struct Runs {
    file: File,
    folder: Arc<Path>,
    /// Bytes written.
    length: u64,
    list: Vec<Run>,
    /// The end of the last run, not written yet.
    pending: Vec<u8>,
    /// Bytes that are read of a run at once.
    chunk: usize,
}

/// A part of the file, read from its start to its end.
#[derive(Debug)]
struct Run {
    at: u64,
    end: u64,
    /// Read and not used.
    chunk: Vec<u8>,
    used: usize,
}

/// What the next row came to.
#[derive(Debug)]
pub(crate) enum Next {
    Row(Vec<u8>, Vec<u8>),
    End,
}

impl Sorted {
    /// `keep`: only so many of the least rows will be asked for.
    pub(crate) fn new(room: Room, keep: Option<usize>) -> Self {
        let claim = room.memory.claim_for_pieces();
        Self {
            room,
            claim,
            rows: BTreeMap::new(),
            bytes: 0,
            arrived: 0,
            keep,
            runs: None,
            spilling: false,
            merge: None,
        }
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.runs.is_none()
    }

    /// Whether the last row has come and been taken.
    pub(crate) fn is_done(&self) -> bool {
        self.merge.as_ref().is_some_and(BinaryHeap::is_empty) && self.rows.is_empty()
    }

    /// Whether [`Self::work`] has to be called before the next row.
    pub(crate) fn has_work(&self) -> bool {
        self.spilling
    }

    /// Takes a row. `refusal` says what it is too much for, where it may not go to the disk.
    pub(crate) fn add(
        &mut self,
        key: Vec<u8>,
        payload: impl FnOnce() -> Vec<u8>,
        refusal: impl FnOnce(usize) -> CommandError,
    ) -> Result<()> {
        let full = self.keep.is_some_and(|keep| self.rows.len() >= keep);
        if full
            && self
                .rows
                .last_key_value()
                .is_none_or(|((last, _), _)| key >= *last)
        {
            return Ok(());
        }
        let mut payload = payload();
        // A document that was built grew by doubling; what it has to spare would be held with it, and counted by nobody.
        payload.shrink_to_fit();
        self.bytes += key.len() + payload.len() + ROW_BYTES;
        self.rows.insert((key, self.arrived), payload);
        self.arrived += 1;
        if full && let Some(((key, _), payload)) = self.rows.pop_last() {
            self.bytes -= key.len() + payload.len() + ROW_BYTES;
        }
        let share = self.room.limit();
        let fits = self.claim.hold(self.bytes);
        let least = if self.room.memory.is_far_over() {
            RUN_BYTES_LEAST
        } else {
            RUN_BYTES_MIN
        };
        if self.bytes <= share && (fits || self.bytes < least) {
            return Ok(());
        }
        match &self.room.folder {
            None if self.bytes > share => Err(refusal(share)),
            None => Err(self.room.memory.exceeded("a sort or a group")),
            Some(folder) => {
                let runs = match &mut self.runs {
                    Some(runs) => runs,
                    none => none.insert(Runs::new(folder)?),
                };
                runs.begin()?;
                self.room.memory.note_spilled(self.bytes);
                self.spilling = true;
                Ok(())
            }
        }
    }

    /// Writes rows for as long as `take` grants them; true if all are out.
    pub(crate) fn work(&mut self, take: &mut dyn FnMut() -> bool) -> Result<bool> {
        while self.spilling {
            let (Some(runs), Some(((key, number), payload))) =
                (&mut self.runs, self.rows.pop_first())
            else {
                self.spilling = false;
                self.bytes = 0;
                self.claim.hold(0);
                // The rows that come after the last run may be few, and hold few of these pages.
                plimsoll_base::heap::return_free_pages();
                break;
            };
            self.bytes = self
                .bytes
                .saturating_sub(key.len() + payload.len() + ROW_BYTES);
            runs.push(&key, number, &payload)?;
            if !take() && !self.rows.is_empty() {
                self.claim.hold(self.bytes);
                return Ok(false);
            }
        }
        if let Some(runs) = &mut self.runs {
            runs.flush(0)?;
        }
        Ok(true)
    }

    /// The next row in order. The first call says that all rows have come; [`Self::work`] must be done.
    pub(crate) fn next(&mut self) -> Result<Next> {
        let mut heads = match self.merge.take() {
            Some(heads) => heads,
            None => self.begin_merge()?,
        };
        if let Some(Reverse(head)) = heads.pop() {
            let payload = match (head.payload, &mut self.runs) {
                (Payload::Here(payload), _) => payload,
                (Payload::OnDisk(bytes), Some(runs)) => runs.payload(head.run, bytes)?,
                (Payload::OnDisk(_), None) => return Err(cut()),
            };
            heads.extend(self.head_of(head.run)?.map(Reverse));
            self.merge = Some(heads);
            return Ok(Next::Row(head.key, payload));
        }
        if let Some(((key, _), payload)) = self.rows.pop_first() {
            // Without runs the rows come straight from memory.
            self.bytes = self
                .bytes
                .saturating_sub(key.len() + payload.len() + ROW_BYTES);
            self.claim.hold(self.bytes);
            self.merge = Some(heads);
            return Ok(Next::Row(key, payload));
        }
        self.merge = Some(heads);
        Ok(Next::End)
    }

    fn begin_merge(&mut self) -> Result<BinaryHeap<Reverse<Head>>> {
        let mut heads = BinaryHeap::new();
        let Some(runs) = &mut self.runs else {
            return Ok(heads);
        };
        let count = runs.list.len();
        let each = self.room.limit() / 4 / count.max(1);
        runs.chunk = each.clamp(FIRST_BYTES, CHUNK_BYTES);
        // The rows in memory are not counted down while they are merged: what was held stays the upper bound.
        let mut held = self.bytes + count * runs.chunk;
        for run in (0..count).chain([usize::MAX]) {
            let head = self.head_of(run)?;
            held += head.as_ref().map_or(0, |head| head.key.len());
            heads.extend(head.map(Reverse));
        }
        if !self.claim.hold(held) && self.room.memory.is_far_over() {
            return Err(self.room.memory.exceeded("a sort or a group"));
        }
        Ok(heads)
    }

    fn head_of(&mut self, run: usize) -> Result<Option<Head>> {
        if run == usize::MAX {
            let row = self.rows.pop_first();
            return Ok(row.map(|((key, number), payload)| Head {
                key,
                number,
                run,
                payload: Payload::Here(payload),
            }));
        }
        match &mut self.runs {
            Some(runs) => runs.next(run),
            None => Ok(None),
        }
    }
}

impl Runs {
    fn new(folder: &Arc<Path>) -> Result<Self> {
        let file = nameless(folder).map_err(|error| failed(folder, &error))?;
        Ok(Self {
            file,
            folder: Arc::clone(folder),
            length: 0,
            list: Vec::new(),
            pending: Vec::with_capacity(CHUNK_BYTES),
            chunk: CHUNK_BYTES,
        })
    }

    fn begin(&mut self) -> Result<()> {
        if self.list.len() >= RUNS_MAX {
            return Err(Code::ExceededMemoryLimit.error(format!(
                "a sort or a group of {} MiB is more than fits on the disk in {RUNS_MAX} parts; start with a larger --memory",
                self.length >> 20
            )));
        }
        self.list.push(Run {
            at: self.length,
            end: self.length,
            chunk: Vec::new(),
            used: 0,
        });
        Ok(())
    }

    fn push(&mut self, key: &[u8], number: u64, payload: &[u8]) -> Result<()> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
        self.pending.extend_from_slice(&length(key));
        self.pending.extend_from_slice(&number.to_le_bytes());
        self.pending.extend_from_slice(&length(payload));
        self.append(key)?;
        self.append(payload)
    }

    /// Long bytes are not copied, so that what is pending stays small.
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() < CHUNK_BYTES {
            self.pending.extend_from_slice(bytes);
            return self.flush(CHUNK_BYTES);
        }
        self.flush(0)?;
        self.write(bytes)
    }

    /// Writes what is pending if it is more than `kept` bytes.
    fn flush(&mut self, kept: usize) -> Result<()> {
        if self.pending.len() <= kept {
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        let written = self.write(&pending);
        pending.clear();
        self.pending = pending;
        written
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all_at(bytes, self.length);
        written.map_err(|error| failed(&self.folder, &error))?;
        self.length += bytes.len() as u64;
        if let Some(run) = self.list.last_mut() {
            run.end = self.length;
        }
        Ok(())
    }

    /// The bytes of a run that come next; `None` at its end.
    fn read(&mut self, run: usize, bytes: usize) -> Result<Option<Vec<u8>>> {
        let Some(place) = self.list.get_mut(run) else {
            return Ok(None);
        };
        let read = place.read(&self.file, bytes, self.chunk);
        read.map_err(|error| failed(&self.folder, &error))
    }

    /// The payload of the head that [`Self::next`] gave last for this run.
    fn payload(&mut self, run: usize, bytes: usize) -> Result<Vec<u8>> {
        self.read(run, bytes)?.ok_or_else(cut)
    }

    fn next(&mut self, run: usize) -> Result<Option<Head>> {
        let Some(head) = self.read(run, HEAD_BYTES)? else {
            return Ok(None);
        };
        let number = |at: usize| {
            let four = head.get(at..).and_then(|rest| rest.first_chunk::<4>());
            four.map_or(0, |four| u32::from_le_bytes(*four))
        };
        let (key, payload) = (number(0) as usize, number(12) as usize);
        let number = u64::from(number(4)) | u64::from(number(8)) << 32;
        Ok(Some(Head {
            key: self.read(run, key)?.ok_or_else(cut)?,
            number,
            run,
            payload: Payload::OnDisk(payload),
        }))
    }
}

fn cut() -> CommandError {
    Code::InternalError.error("a sort's file is shorter than what was written to it")
}

impl Run {
    /// The next bytes; `None` at the end. What is longer than a chunk goes past it.
    fn read(&mut self, file: &File, bytes: usize, chunk: usize) -> io::Result<Option<Vec<u8>>> {
        let mut found = Vec::with_capacity(bytes);
        self.take(&mut found, bytes);
        let missing = bytes - found.len();
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        if missing > left {
            return Ok(None);
        }
        if missing >= chunk {
            let have = found.len();
            found.resize(bytes, 0);
            file.read_exact_at(found.get_mut(have..).unwrap_or_default(), self.at)?;
            self.at += missing as u64;
        } else if missing > 0 {
            let first = self.chunk.capacity() == 0;
            let wanted = if first {
                FIRST_BYTES.max(missing)
            } else {
                chunk
            };
            self.chunk.resize(wanted.min(left), 0);
            file.read_exact_at(&mut self.chunk, self.at)?;
            self.at += self.chunk.len() as u64;
            self.used = 0;
            self.take(&mut found, missing);
        }
        Ok(Some(found))
    }

    /// Moves up to `bytes` of what was read before.
    fn take(&mut self, into: &mut Vec<u8>, bytes: usize) {
        let end = self.chunk.len().min(self.used + bytes);
        into.extend_from_slice(self.chunk.get(self.used..end).unwrap_or_default());
        self.used = end;
    }
}

/// A file that is gone when it is closed, whatever ends the process.
fn nameless(folder: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        return Ok(file.into());
    }
    // Not every file system has such files; a name that goes at once is nearly the same.
    let path = folder.join(format!("sorting-{}", bson::Uuid::new()));
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    let file = options.open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn failed(folder: &Path, error: &io::Error) -> CommandError {
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::OutOfDiskSpace,
        _ => Code::InternalError,
    };
    code.error(format!(
        "cannot keep a sort or a group in {}: {error}; free space, or sort and group less at once",
        folder.display()
    ))
}

#[cfg(test)]
mod tests;
