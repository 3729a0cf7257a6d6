//! Where script files come from: the one seam to the file system.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Reads the files that a script names: the script itself, its imports and what it `open`s.
pub trait Sources {
    /// The whole content of the file at an absolute, normalised path.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// The file system of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Sources for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }
}

/// Files held in memory, for tests and for a script that came from standard input.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Memory {
    #[must_use]
    pub fn with(mut self, path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }
}

impl Sources for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.files.get(path);
        file.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
