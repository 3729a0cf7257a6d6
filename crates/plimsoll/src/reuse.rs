//! What a second search on the same host need not measure again.

use anyhow::{Result, bail};
use plimsoll_control::search::Anchor;
use plimsoll_core::record::{AnchorFigures, EventKind, Record, SelfCheck};

#[derive(Debug, Default)]
pub(crate) struct Reused {
    pub(crate) self_check: Option<SelfCheck>,
    pub(crate) anchor: Option<Anchor>,
}

pub(crate) fn figures(anchor: Anchor) -> AnchorFigures {
    AnchorFigures {
        response_ns: anchor.response_ns,
        throughput_max_per_s: anchor.throughput_max_per_s,
    }
}

pub(crate) fn of_record(record: &Record) -> Result<Reused> {
    let mut reused = Reused::default();
    for event in &record.events {
        match &event.what {
            EventKind::SelfCheck(check) => reused.self_check = Some(*check),
            EventKind::Anchor(figures) => {
                reused.anchor = Some(Anchor {
                    response_ns: figures.response_ns,
                    throughput_max_per_s: figures.throughput_max_per_s,
                });
            }
            _ => {}
        }
    }
    if reused.self_check.is_none() && reused.anchor.is_none() {
        bail!("the record holds neither self-check nor anchor; it must be of a `find`");
    }
    Ok(reused)
}
