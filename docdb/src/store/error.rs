//! What a store can fail with; each message names the place and the fix.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{} is in use by another process{holder}; stop it or choose another data directory", directory.display())]
    Locked {
        directory: PathBuf,
        /// ` (process 123)` when it could be read.
        holder: String,
    },
    #[error(
        "the store is read-only since {reason}; every acknowledged write is safe: mend the disk and start again"
    )]
    ReadOnly { reason: String },
    #[error("no space left for {}; the batch was undone: free space and try again", path.display())]
    OutOfSpace { path: PathBuf },
    #[error("{} is damaged at byte {offset}: {problem}; {fix}", file.display())]
    Corrupted {
        file: PathBuf,
        offset: u64,
        problem: String,
        fix: &'static str,
    },
    #[error(
        "{} has format {found}, this version reads format {known}: use the version that wrote it, or export and import",
        file.display()
    )]
    UnknownFormat {
        file: PathBuf,
        found: String,
        known: u32,
    },
    #[error("{what} of {bytes} bytes cannot be stored; it may have 1 to {most}")]
    Size {
        what: &'static str,
        bytes: usize,
        most: usize,
    },
    #[error("this scan saw writes of a batch that was undone; begin it again")]
    Undone,
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

pub(super) const RESTORE: &str =
    "restore the directory from a copy, or move it away to start empty";

impl StoreError {
    /// An I/O error; a full disk becomes `OutOfSpace`.
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        if is_full(&source) {
            return Self::OutOfSpace { path };
        }
        Self::Io {
            action,
            path,
            source,
        }
    }

    pub(super) fn corrupted(file: &Path, offset: u64, problem: impl Into<String>) -> Self {
        Self::Corrupted {
            file: file.to_path_buf(),
            offset,
            problem: problem.into(),
            fix: RESTORE,
        }
    }

    pub fn is_out_of_space(&self) -> bool {
        matches!(self, Self::OutOfSpace { .. })
    }

    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::ReadOnly { .. })
    }
}

/// No space, or no quota left.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
