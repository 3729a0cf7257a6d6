//! Results of other load generators, read as far as their fields go, and audited by the same gates.

mod docdb;
mod figures;
mod gates;
mod json;
mod k6;
mod k6_points;
mod plain;

use serde_json::Value;
use thiserror::Error;

pub use figures::{Failures, Figures, Part, Times, Tool};
pub use gates::{Audit, Declared, audit};

/// A file that cannot be read as anybody's result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    #[error(
        "no known result: neither a plimsoll record nor one of k6 (summary export, handleSummary \
         data, --out json), oha, vegeta, hey, wrk, latte or the DocDB load tool"
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
}

/// Reads a result, whoever wrote it.
pub fn read(text: &str) -> Result<Figures, ImportError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.starts_with('{') {
        return match serde_json::from_str::<Value>(text) {
            Ok(value) => of_json(&value),
            Err(_) => k6_points::read(text),
        };
    }
    if text.contains("Thread Stats") {
        return plain::wrk(text);
    }
    if text.contains("Summary:") && text.contains("Requests/sec:") {
        return plain::hey(text);
    }
    Err(ImportError::Unknown)
}

fn of_json(value: &Value) -> Result<Figures, ImportError> {
    let has = |key: &str| value.get(key).is_some();
    if has("root_group") || (has("metrics") && has("state")) {
        k6::summary(value)
    } else if has("summary") && (has("latencyPercentiles") || has("statusCodeDistribution")) {
        json::oha(value)
    } else if has("latencies") && has("status_codes") {
        json::vegeta(value)
    } else if has("conf") && has("result") {
        json::latte(value)
    } else if has("Databases") && has("TotalOperations") {
        docdb::read(value)
    } else if has("type") && has("metric") {
        // A file of a single line.
        k6_points::read(&value.to_string())
    } else {
        Err(ImportError::Unknown)
    }
}

#[cfg(test)]
mod tests;
