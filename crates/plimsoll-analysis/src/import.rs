//! Results of other load generators, read as far as their fields go, and audited by the same gates.

mod ab;
mod autocannon;
mod csv;
mod docdb;
mod figures;
mod formats;
mod gates;
mod gatling;
mod hyperfoil;
mod json;
mod jtl;
mod k6;
mod k6_dashboard;
mod k6_load;
mod k6_points;
mod locust;
mod nosqlbench;
mod plain;
mod samples;
mod text;
mod ycsb;

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use thiserror::Error;

pub use figures::{Arrivals, Failures, Figures, Part, Times, Tool};
pub use formats::known;
pub(crate) use gates::grouped;
pub use gates::{Audit, Declared, audit};

/// A file that cannot be read as anybody's result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    #[error(
        "it is no result of {} either; `plimsoll audit --help` says which files of each are read",
        formats::names()
    )]
    Unknown,
    #[error("{tool}: `{field}` is missing or no number; was the file cut off?")]
    Missing {
        tool: &'static str,
        field: &'static str,
    },
    #[error("{tool}, line {line}: {problem}")]
    Line {
        tool: &'static str,
        line: usize,
        problem: String,
    },
    #[error("{tool}: {problem}")]
    Refused { tool: &'static str, problem: String },
}

/// More than any tool writes; what unpacks to more is not read to its end.
const BYTES_MAX: u64 = 1 << 30;

/// Reads a result, whoever wrote it; also one that was packed by gzip.
pub fn read(bytes: &[u8]) -> Result<Figures, ImportError> {
    if gatling::is_binary_log(bytes) {
        return Err(gatling::binary());
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        let mut unpacking = MultiGzDecoder::new(bytes).take(BYTES_MAX);
        let whole = unpacking.read_to_end(&mut unpacked);
        whole.map_err(|_| ImportError::Unknown)?;
        return of_text(&unpacked);
    }
    of_text(bytes)
}

fn of_text(bytes: &[u8]) -> Result<Figures, ImportError> {
    let text = String::from_utf8_lossy(bytes);
    formats::read(text.trim_start_matches('\u{feff}').trim())
}

#[cfg(test)]
mod tests;
