//! The verdict of a record: as recorded, or computed when the run was interrupted before it.

use plimsoll_analysis::summary;
use plimsoll_core::record::Record;
use plimsoll_core::verdict::{Found, Verdict};

use crate::explained;

pub(crate) fn of(record: &Record) -> Verdict {
    if let Some(verdict) = &record.verdict {
        return verdict.clone();
    }
    let mut verdict = if record.header.test.is_search() {
        summary::of_search(record, Found::default())
    } else {
        summary::of_run(record)
    };
    explained::add(record, &mut verdict);
    verdict
}
