//! The narrow seam to the disk that the journal goes through, so that tests can slow, fail, fill and tear it.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

/// A directory tree of journal files.
pub trait Disk: Debug + Send + Sync {
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Names of the files in a directory, in any order.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;
    /// Opens for reading and writing; creates an empty file if there is none.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes created, renamed and removed names of a directory durable.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
}

/// An open journal file.
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
#[derive(Debug, Clone, Copy)]
pub struct RealDisk;

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
        Ok(Box::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }
}

/// The file system with a slower sync, to see what a batch saves on a disk that is not as fast as this one.
#[derive(Debug, Clone, Copy)]
pub struct SlowDisk {
    /// Added to every sync of a file.
    pub delay: Duration,
}

impl Disk for SlowDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_directory(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(directory)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let (file, delay) = (RealDisk.open(path)?, self.delay);
        Ok(Box::new(SlowFile { file, delay }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        RealDisk.sync_directory(directory)
    }
}

#[derive(Debug)]
struct SlowFile {
    file: Box<dyn DiskFile>,
    delay: Duration,
}

impl DiskFile for SlowFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_all(&self) -> io::Result<Vec<u8>> {
        self.file.read_all()
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.file.allocate(length)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.file.truncate(length)
    }

    fn sync(&self) -> io::Result<()> {
        std::thread::sleep(self.delay);
        self.file.sync()
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(self.length()?).map_err(io::Error::other)?];
        self.0.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.0, rustix::fs::FallocateFlags::empty(), 0, length) {
            // Some file systems cannot reserve; then a full disk shows when a record is written.
            Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            result => Ok(result?),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
