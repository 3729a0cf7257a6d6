//! Processor time that the hypervisor gave to others while something was measured.

use plimsoll_core::Nanos;
use plimsoll_core::record::{Record, Seen};

/// Share of time that may be taken before figures of a host are doubtful.
pub const TOLERATED: f64 = 0.02;

/// What the worst interval of the record between two moments lost, in words; `None` where it was tolerable or not seen.
pub(crate) fn worst(record: &Record, from: Nanos, to: Nanos) -> Option<String> {
    let there = record
        .observations
        .iter()
        .filter(|seen| seen.at_ns > from && seen.at_ns.saturating_sub(seen.length_ns) < to);
    let shares = there.filter_map(|observation| match &observation.seen {
        Seen::Host(host) => Some(host.steal_ratio),
        _ => None,
    });
    let most = shares.fold(0.0, f64::max);
    (most > TOLERATED).then(|| {
        format!(
            "the hypervisor gave up to {:.0} % of this machine's processor time to others",
            most * 100.0
        )
    })
}
