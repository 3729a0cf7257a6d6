//! A disk whose every sync takes longer, to see on a fast machine what a slower disk would do.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::disk::{Disk, DiskFile, RealDisk};

/// The file system, with this much added to each sync.
#[derive(Debug, Clone, Copy)]
pub struct SlowDisk(pub Duration);

impl Disk for SlowDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_directory(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(directory)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(SlowFile {
            file: RealDisk.open(path)?,
            added: self.0,
        }))
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
    added: Duration,
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
        self.file.sync()?;
        std::thread::sleep(self.added);
        Ok(())
    }
}
