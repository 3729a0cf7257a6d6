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

/// A row costs about so much beside its bytes: two vectors and a share of a tree's node.
const ROW_BYTES: usize = 100;
/// No run is begun for less, however little memory is left: a thousand tiny runs would be read a thousand times slower.
const RUN_BYTES_MIN: usize = 1 << 20;
/// Read or written at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Runs of one sort. With a share of 32 MiB they hold 16 GiB.
const RUNS_MAX: usize = 512;
/// Key length, number and payload length before a row.
const HEAD_BYTES: usize = 16;

/// Rows on their way into order.
#[derive(Debug)]
pub(crate) struct Sorted {
    room: Room,
    claim: Claim,
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
}

/// The next row of a run; of the rows in memory the run is `usize::MAX`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: Vec<u8>,
    number: u64,
    run: usize,
    payload: Vec<u8>,
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
        let claim = room.memory.claim();
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
        let payload = payload();
        self.bytes += key.len() + payload.len() + ROW_BYTES;
        self.rows.insert((key, self.arrived), payload);
        self.arrived += 1;
        if full && let Some(((key, _), payload)) = self.rows.pop_last() {
            self.bytes -= key.len() + payload.len() + ROW_BYTES;
        }
        let share = self.room.limit();
        let fits = self.claim.hold(self.bytes);
        if self.bytes <= share && (fits || self.bytes < RUN_BYTES_MIN) {
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
        let next = heads.pop();
        if let Some(Reverse(head)) = &next {
            heads.extend(self.head_of(head.run)?.map(Reverse));
        } else if let Some(((key, _), payload)) = self.rows.pop_first() {
            // Without runs the rows come straight from memory.
            self.bytes = self
                .bytes
                .saturating_sub(key.len() + payload.len() + ROW_BYTES);
            self.claim.hold(self.bytes);
            self.merge = Some(heads);
            return Ok(Next::Row(key, payload));
        }
        self.merge = Some(heads);
        Ok(next.map_or(Next::End, |Reverse(head)| Next::Row(head.key, head.payload)))
    }

    fn begin_merge(&mut self) -> Result<BinaryHeap<Reverse<Head>>> {
        let mut heads = BinaryHeap::new();
        let count = self.runs.as_ref().map_or(0, |runs| runs.list.len());
        if count > 0 {
            for run in (0..count).chain([usize::MAX]) {
                heads.extend(self.head_of(run)?.map(Reverse));
            }
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
                payload,
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
        self.pending.extend_from_slice(key);
        self.pending.extend_from_slice(payload);
        self.flush(CHUNK_BYTES)
    }

    /// Writes what is pending if it is more than `kept` bytes.
    fn flush(&mut self, kept: usize) -> Result<()> {
        if self.pending.len() <= kept {
            return Ok(());
        }
        let written = self.file.write_all_at(&self.pending, self.length);
        written.map_err(|error| failed(&self.folder, &error))?;
        self.length += self.pending.len() as u64;
        self.pending.clear();
        if let Some(run) = self.list.last_mut() {
            run.end = self.length;
        }
        Ok(())
    }

    fn next(&mut self, run: usize) -> Result<Option<Head>> {
        let (file, folder) = (&self.file, &self.folder);
        let Some(place) = self.list.get_mut(run) else {
            return Ok(None);
        };
        let mut read = |bytes: usize| {
            let read = place.read(file, bytes);
            read.map_err(|error| failed(folder, &error))
        };
        let Some(head) = read(HEAD_BYTES)? else {
            return Ok(None);
        };
        let number = |at: usize| {
            let four = head.get(at..).and_then(|rest| rest.first_chunk::<4>());
            four.map_or(0, |four| u32::from_le_bytes(*four))
        };
        let (key, payload) = (number(0) as usize, number(12) as usize);
        let number = u64::from(number(4)) | u64::from(number(8)) << 32;
        let cut =
            || Code::InternalError.error("a sort's file is shorter than what was written to it");
        Ok(Some(Head {
            key: read(key)?.ok_or_else(cut)?,
            number,
            run,
            payload: read(payload)?.ok_or_else(cut)?,
        }))
    }
}

impl Run {
    /// The next bytes; `None` at the end.
    fn read(&mut self, file: &File, bytes: usize) -> io::Result<Option<Vec<u8>>> {
        while self.chunk.len() - self.used < bytes {
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            if left == 0 {
                return Ok(None);
            }
            self.chunk.drain(..self.used);
            self.used = 0;
            let have = self.chunk.len();
            let wanted = left.min(CHUNK_BYTES.max(bytes - have));
            self.chunk.resize(have + wanted, 0);
            let into = self.chunk.get_mut(have..).unwrap_or_default();
            file.read_exact_at(into, self.at)?;
            self.at += wanted as u64;
        }
        let found = self.chunk.get(self.used..self.used + bytes);
        let found = found.unwrap_or_default().to_vec();
        self.used += bytes;
        Ok(Some(found))
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
