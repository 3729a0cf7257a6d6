//! What a second search on the same host need not measure again.

use anyhow::{Result, bail};
use plimsoll_core::record::{Anchor, EventKind, Record, SelfCheck};

#[derive(Debug, Default)]
pub(crate) struct Reused {
    pub(crate) self_check: Option<SelfCheck>,
    pub(crate) anchor: Option<Anchor>,
}

pub(crate) fn of_record(record: &Record) -> Result<Reused> {
    let mut reused = Reused::default();
    for event in &record.events {
        match &event.what {
            EventKind::SelfCheck(check) => reused.self_check = Some(*check),
            EventKind::Anchor(anchor) => reused.anchor = Some(*anchor),
            _ => {}
        }
    }
    if reused.self_check.is_none() && reused.anchor.is_none() {
        bail!(
            "the record has no self-check and no first level of a search: give one that `plimsoll find` wrote"
        );
    }
    Ok(reused)
}
