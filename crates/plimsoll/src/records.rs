//! Opens records that earlier commands wrote.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, Result};
use plimsoll_core::record::{Record, Remark};

use crate::output;

/// Reads a record and says on stderr what was odd about it.
pub(crate) fn read(path: &Path) -> Result<Record> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("open record {shown}"))?;
    let record = Record::read(BufReader::new(file)).with_context(|| format!("read {shown}"))?;
    for remark in &record.remarks {
        let text = match remark {
            Remark::TornLastLine { line } => {
                format!(
                    "line {line} is cut off and was skipped: the run was stopped while writing it"
                )
            }
            Remark::UnknownKind { line, kind } => {
                format!(
                    "line {line} is of kind `{kind}`, which this version does not know: skipped"
                )
            }
            Remark::NoVerdict => "the run came to no verdict: it was interrupted".to_owned(),
        };
        output::progress(&format!("plimsoll: {shown}: {text}"));
    }
    Ok(record)
}
