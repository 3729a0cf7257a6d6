//! What a second search on the same host need not measure again.

use anyhow::{Result, bail};
use plimsoll_control::search::Anchor;
use plimsoll_core::Nanos;
use plimsoll_core::record::Record;
use serde::{Deserialize, Serialize};

use crate::selfcheck::SelfCheck;

/// Names of the events that carry the figures as JSON.
pub(crate) const SELF_CHECK: &str = "self_check";
pub(crate) const ANCHOR: &str = "anchor";

#[derive(Debug, Default)]
pub(crate) struct Reused {
    pub(crate) self_check: Option<SelfCheck>,
    pub(crate) anchor: Option<Anchor>,
}

#[derive(Serialize, Deserialize)]
struct AnchorText {
    response_ns: Nanos,
    throughput_max_per_s: f64,
}

pub(crate) fn anchor_text(anchor: Anchor) -> String {
    let text = AnchorText {
        response_ns: anchor.response_ns,
        throughput_max_per_s: anchor.throughput_max_per_s,
    };
    serde_json::to_string(&text).unwrap_or_default()
}

pub(crate) fn of_record(record: &Record) -> Result<Reused> {
    let detail = |name: &str| {
        let event = record.events.iter().rev().find(|event| event.event == name);
        event.map(|event| event.detail.as_str())
    };
    let self_check = detail(SELF_CHECK).map(serde_json::from_str).transpose()?;
    let anchor: Option<AnchorText> = detail(ANCHOR).map(serde_json::from_str).transpose()?;
    if self_check.is_none() && anchor.is_none() {
        bail!("the record holds neither self-check nor anchor; it must be of a `find`");
    }
    let anchor = anchor.map(|text| Anchor {
        response_ns: text.response_ns,
        throughput_max_per_s: text.throughput_max_per_s,
    });
    Ok(Reused { self_check, anchor })
}
