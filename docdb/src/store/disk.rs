//! The narrow seam to the disk under the whole store, so that tests can slow, fail, fill and tear it.
//!
//! Everything that the store reads and writes itself goes through it. The table crate opens and writes its files without it,
//! so the seam is asked before each step of the crate instead: a simulated disk can be cut off or fail there, not inside.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

/// What the table crate is about to do with the files of a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableStep {
    /// To write a memtable to new files, each synced before it returns.
    Write,
    /// To make written files part of the tree, durably.
    List,
    /// To merge files, if that is due.
    Merge,
}

/// A directory tree.
pub trait Disk: Debug + Send + Sync {
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Names of the files in a directory, in any order.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;
    /// Opens for reading and writing; creates an empty file if there is none.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory with all that is in it.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes created, renamed and removed names of a directory durable.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
    /// Asked before the table crate works on the files of a space; an error keeps it from that.
    fn before_tables(&self, _step: TableStep, _space: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// An open file.
pub trait DiskFile: Debug + Send {
    fn length(&self) -> io::Result<u64>;
    fn read_all(&self) -> io::Result<Vec<u8>>;
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Reserves space up to `length` and makes the file at least as long; new bytes read as zeros.
    fn allocate(&self, length: u64) -> io::Result<()>;
    fn truncate(&self, length: u64) -> io::Result<()>;
    /// Returns when what was written is on the disk.
    fn sync(&self) -> io::Result<()>;
}

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk {
    /// Added to every sync of a file, to see what a batch saves on a disk that is not as fast as this one.
    pub sync_delay: Duration,
}

impl Disk for RealDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(directory)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        Ok(Box::new(RealFile {
            file,
            sync_delay: self.sync_delay,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }
}

#[derive(Debug)]
struct RealFile {
    file: File,
    sync_delay: Duration,
}

impl DiskFile for RealFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length()?).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), 0, length) {
            // Some file systems cannot reserve; then a full disk shows when a record is written.
            Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            result => Ok(result?),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        if !self.sync_delay.is_zero() {
            std::thread::sleep(self.sync_delay);
        }
        self.file.sync_data()
    }
}

/// The names of the files in a directory; none if it does not exist.
pub(super) fn names(disk: &dyn Disk, directory: &Path) -> io::Result<Vec<String>> {
    match disk.list(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        result => result,
    }
}

/// The bytes of a file; `None` if there is none.
pub(super) fn read(disk: &dyn Disk, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    // Opening would make the file.
    if !names(disk, directory)?.iter().any(|one| **one == *name) {
        return Ok(None);
    }
    disk.open(path)?.read_all().map(Some)
}
