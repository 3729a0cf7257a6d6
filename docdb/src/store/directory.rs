//! The directory of a store: its lock and the file that says what wrote it. The lock alone is taken past the disk's seam.
//!
//! `LOCK` is locked while a process has the store open, `FORMAT` names format and store, `journal/` holds the
//! segments, `catalog/`, `documents/` and `indexes/` the table files.

use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::StoreError;
use super::disk::{self, Disk};
use super::journal::{self, FORMAT};

const TITLE: &str = "plimsoll docdb store";

/// Holds the lock as long as it lives.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    lock: File,
}

impl Directory {
    /// Creates the directory if needed and locks it.
    pub(super) fn lock(path: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(path).map_err(|error| StoreError::io("create", path, error))?;
        let lock_path = path.join("LOCK");
        let fail = |error| StoreError::io("lock", &lock_path, error);
        let mut lock = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(fail)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked {
                    directory: path.to_path_buf(),
                    holder: holder(&mut lock),
                });
            }
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        // Only a help for the message above: a full disk does not keep the store from opening.
        let pid = format!("{}\n", std::process::id());
        drop(
            lock.set_len(0)
                .and_then(|()| lock.write_all(pid.as_bytes())),
        );
        Ok(Self {
            path: path.to_path_buf(),
            lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn format_path(&self) -> PathBuf {
        self.path.join("FORMAT")
    }

    /// The id of the store in this directory; `None` if none was made yet.
    pub(super) fn read_format(&self, disk: &dyn Disk) -> Result<Option<u64>, StoreError> {
        let path = self.format_path();
        let found =
            disk::read(disk, &path).map_err(|error| StoreError::io("read", &path, error))?;
        let Some(bytes) = found else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut lines = text.lines();
        let problem = "it is not the format file of a store";
        let damaged = || StoreError::corrupted(&path, 0, problem);
        if lines.next() != Some(TITLE) {
            return Err(damaged());
        }
        let field = |line: Option<&str>, name: &str| {
            let value = line?.strip_prefix(name)?.strip_prefix(' ')?;
            Some(value.to_owned())
        };
        let found = field(lines.next(), "format").ok_or_else(damaged)?;
        if found != FORMAT.to_string() {
            return Err(StoreError::UnknownFormat {
                file: path,
                found,
                known: FORMAT,
            });
        }
        let store = field(lines.next(), "store").and_then(|id| u64::from_str_radix(&id, 16).ok());
        store.map(Some).ok_or_else(damaged)
    }

    /// Declares the directory to be a store; the last step of making one.
    pub(super) fn write_format(&self, disk: &dyn Disk, store: u64) -> Result<(), StoreError> {
        let path = self.format_path();
        let text = format!("{TITLE}\nformat {FORMAT}\nstore {store:016x}\n");
        let write = || {
            let draft = self.path.join("FORMAT.new");
            let file = disk.open(&draft)?;
            file.truncate(0)?;
            file.write_at(0, text.as_bytes())?;
            file.sync()?;
            disk.rename(&draft, &path)?;
            disk.sync_directory(&self.path)
        };
        write().map_err(|error| StoreError::io("write", &path, error))
    }

    /// Makes the directory's own name durable: without it all that it holds is lost. Past the disk's seam, as its creation is.
    pub(super) fn sync_above(&self) -> Result<(), StoreError> {
        let above = self.path.parent();
        let above = above.filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let sync = File::open(above).and_then(|directory| directory.sync_all());
        sync.map_err(|error| StoreError::io("sync", above, error))
    }

    /// Removes what an interrupted creation left. Whatever else is found shows that a format file is missing.
    pub(super) fn clear_unfinished(
        &self,
        disk: &dyn Disk,
        journal: &Path,
        spaces: &[&str],
    ) -> Result<(), StoreError> {
        let mut is_unfinished = journal::is_unfinished(disk, journal)?;
        for space in spaces {
            let tables = self.path.join(space).join("tables");
            let files = disk::names(disk, &tables);
            is_unfinished &= files
                .map_err(|error| StoreError::io("list", &tables, error))?
                .is_empty();
        }
        if !is_unfinished {
            let problem = "it is missing, but there is data beside it";
            return Err(StoreError::corrupted(&self.format_path(), 0, problem));
        }
        for space in spaces {
            let path = self.path.join(space);
            match disk.remove_directory(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StoreError::io("remove", &path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closing alone would leave the lock to a child process that was forked and has not begun its program.
        drop(self.lock.unlock());
    }
}

/// A number that no other store has.
pub(super) fn new_store_id() -> u64 {
    // The hasher's keys come from the operating system's random numbers.
    RandomState::new().hash_one(TITLE)
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    let read = lock.take(20).read_to_string(&mut text);
    match (read, text.trim().parse::<u32>()) {
        (Ok(_), Ok(pid)) => format!(" (process {pid})"),
        _ => String::new(),
    }
}
