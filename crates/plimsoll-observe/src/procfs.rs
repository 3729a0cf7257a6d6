//! Reads small files below `/proc` and `/sys`; the root can be another folder in tests.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

/// Enough for every file read here but the socket tables; stops an endless file.
const FILE_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, Clone)]
pub(crate) struct ProcFs {
    root: PathBuf,
}

impl ProcFs {
    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Text of `/proc/PATH`.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        read_text(self.root.join(path))
    }

    /// Text of a file of a process.
    pub(crate) fn process_file(&self, pid: u32, file: &str) -> io::Result<String> {
        self.read(&format!("{pid}/{file}"))
    }

    /// Where a link of a process points, such as the namespace `ns/net`; `self` is this process.
    pub(crate) fn link(&self, process: &str, name: &str) -> Option<String> {
        let link = fs::read_link(self.root.join(process).join(name)).ok()?;
        Some(link.to_string_lossy().into_owned())
    }

    /// The numeric entries of a folder: processes of `/proc`, threads of `PID/task`.
    pub(crate) fn numbers(&self, folder: &str) -> io::Result<Vec<u32>> {
        let entries = fs::read_dir(self.root.join(folder))?;
        let mut numbers: Vec<u32> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Where the descriptors of a process point, at most `count_max`; and how many there are.
    pub(crate) fn links(&self, pid: u32, count_max: usize) -> io::Result<(Vec<String>, u64)> {
        let mut links = Vec::new();
        let mut count = 0;
        for entry in fs::read_dir(self.root.join(format!("{pid}/fd")))? {
            let Ok(entry) = entry else { continue };
            count += 1;
            if links.len() < count_max
                && let Ok(link) = fs::read_link(entry.path())
            {
                links.push(link.to_string_lossy().into_owned());
            }
        }
        Ok((links, count))
    }
}

/// Text of any file; bytes that are not UTF-8 (a process may name itself so) are replaced.
pub(crate) fn read_text(path: impl Into<PathBuf>) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path.into())?
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}
