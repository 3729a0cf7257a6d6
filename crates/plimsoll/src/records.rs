//! Finds and opens records that earlier commands wrote.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use plimsoll_core::record::{Record, Remark};

use crate::{output, verdicts};

/// Reads a record, works its verdict out again from its windows, and says on stderr what was odd about it.
pub(crate) fn read(path: &Path) -> Result<Record> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("open record {shown}"))?;
    let mut record = Record::read(BufReader::new(file)).with_context(|| format!("read {shown}"))?;
    verdicts::evaluate(&mut record);
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
            Remark::NoVerdict => format!("{}, so it came to no verdict", verdicts::NO_END),
            // Said on the page itself, by gate 2 or among its warnings.
            Remark::SecondVerdict { .. }
            | Remark::Altered { .. }
            | Remark::Departs { .. }
            | Remark::FoundAsStored
            | Remark::Says(_) => continue,
        };
        output::progress(&format!("plimsoll: {shown}: {text}"));
    }
    Ok(record)
}

/// Every record begins with this; see `docs/formats/record-1.md`.
pub(crate) const RECORD_SCHEMA: &str = "\"plimsoll.record/";
/// The header says its schema before anything else.
const HEAD: u64 = 256;

/// The records that are meant: a file is one, and a folder has those in it and in its folders, by their names.
pub(crate) fn found(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let before = found.len();
        found.extend(files(path)?.into_iter().filter(|file| is_record(file)));
        if found.len() == before {
            bail!(
                "{} has no record, nor has a folder in it: name a record, or the folder of a run, a comparison or a lab",
                path.display()
            );
        }
    }
    Ok(found)
}

/// The files of a folder, and then those of each folder in it.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let inside = |folder: &Path| -> Result<Vec<PathBuf>> {
        let look = || format!("look into {}", folder.display());
        let entries = std::fs::read_dir(folder).with_context(look)?;
        let paths = entries.map(|entry| Ok(entry.with_context(look)?.path()));
        let mut paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
        paths.sort();
        Ok(paths)
    };
    let own = inside(folder)?;
    let mut files: Vec<PathBuf> = own.iter().filter(|path| path.is_file()).cloned().collect();
    for folder in own.iter().filter(|path| path.is_dir()) {
        files.extend(inside(folder)?.into_iter().filter(|path| path.is_file()));
    }
    Ok(files)
}

/// By its first bytes, whatever its name is.
pub(crate) fn is_record(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let text = String::from_utf8_lossy(&head);
    read.is_ok()
        && text
            .lines()
            .next()
            .unwrap_or_default()
            .contains(RECORD_SCHEMA)
}
