//! Memory and disk: what a processor's idleness hides.

use plimsoll_core::record::ThreadState;
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Signal};

use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::facts::gauges::Gauge;

/// Collecting for this share of the time is more than any service needs.
const GC_SHARE: f64 = 0.25;
/// Threads found waiting for a disk, on average: one that always does is a full disk queue of one.
const DISK_THREADS: f64 = 0.6;
const FSYNC_SHARE: f64 = 0.75;

/// D.3 4g.
pub(super) fn memory(case: &Case, tier: &Tier) -> Option<Finding> {
    let mut finding = Finding::new(Cause::Memory, tier);
    let gc = tier.gauges.value(Gauge::GcSeconds);
    if let Some(share) = gc.filter(|share| *share >= GC_SHARE) {
        finding.signal(
            Signal::Collector,
            format!("garbage collection takes {} of the time", percent(share)),
        );
        let per_answer = share / case.saturation.peak.max(1.0);
        let turns = tier.high.run;
        let thread = tier.high.thread.as_ref();
        // While the world stands still the working threads do not run: they take turns.
        if thread.is_some_and(|t| t.demand() < 0.95) && (0.8..1.2).contains(&turns) {
            finding.signal(
                Signal::Turns,
                format!(
                    "threads take turns: {} cores in all, none above {}",
                    three_digits(turns),
                    percent(tier.high.busiest())
                ),
            );
        }
        finding.ceiling = (per_answer > 0.0).then(|| case.shown_peak());
    }
    let (high, low) = (&case.host_high, &case.host_low);
    let faults = tier.high.major_faults_per_s;
    let pressure = high.psi_memory.unwrap_or(0.0);
    let presses = pressure >= 0.1 && low.psi_memory.is_some_and(|low| pressure >= 2.0 * low);
    let faulted = tier.before(|low| low.major_faults_per_s);
    let rises = faults >= 20.0 && faulted.is_some_and(|low| faults >= 2.0 * low);
    if presses && rises {
        let text = format!("memory pressure {} of the time", percent(pressure));
        finding.signal(Signal::Pressure, text);
        let text = format!("{} major faults per second", three_digits(faults));
        finding.signal(Signal::Faults, text);
    }
    if finding.evidence.is_empty() {
        return None;
    }
    if let Some(share) = tier.high.memory_share.filter(|share| *share >= 0.95) {
        let text = format!("{} of the group's memory bound in use", percent(share));
        finding.signal(Signal::Bound, text);
    }
    Some(finding)
}

/// D.3 4f.
pub(super) fn disk(case: &Case, tier: &Tier) -> Option<Finding> {
    let mut finding = Finding::new(Cause::Disk, tier);
    let waiting = tier.high.state(ThreadState::Disk);
    let waited = tier.before(|low| low.state(ThreadState::Disk));
    let waits = waiting >= DISK_THREADS && waited.is_none_or(|low| waiting >= 1.3 * low);
    if waits && tier.high.has_idle_processor() {
        finding.signal(
            Signal::DiskState,
            format!(
                "{} threads wait for the disk at any time{}",
                three_digits(waiting),
                at_low_load(waited.map(three_digits))
            ),
        );
    }
    let fsync = tier.gauges.value(Gauge::FsyncSeconds);
    if let Some(share) = fsync.filter(|share| *share >= FSYNC_SHARE) {
        let text = format!("fsync takes {} of the time", percent(share));
        finding.signal(Signal::Fsync, text);
    }
    if finding.evidence.is_empty() {
        return None;
    }
    if let Some((high, low)) = disk_pressure(case) {
        finding.signal(
            Signal::Pressure,
            format!(
                "disk pressure {} of the time{}",
                percent(high),
                at_low_load(low.map(percent))
            ),
        );
    }
    if let Some(written) = writes(tier) {
        finding.signal(Signal::Writes, format!("{written} written per answer"));
    }
    Some(finding)
}

/// The share of the time in which somebody waits for a disk, and that at low load, where the load makes it more.
fn disk_pressure(case: &Case) -> Option<(f64, Option<f64>)> {
    let high = case.host_high.psi_io.unwrap_or(0.0);
    let low = case.host_low.psi_io;
    let rises = high >= 0.2 && low.is_none_or(|low| high >= 1.3 * low);
    rises.then_some((high, low))
}

/// How much is written per answer, if anything is.
fn writes(tier: &Tier) -> Option<String> {
    let written = tier.high.written_per_answer;
    let bytes = written.filter(|bytes| *bytes >= 1.0)?;
    Some(if bytes < 1e4 {
        format!("{} bytes", three_digits(bytes))
    } else {
        format!("{} kB", three_digits(bytes / 1e3))
    })
}

/// Writes while somebody waits for a disk: requests that are served one at a time may wait for that, in writes too short to be
/// found in the disk's queue.
pub(super) fn short_writes(case: &Case, tier: &Tier) -> Option<String> {
    let (written, (pressure, _)) = (writes(tier)?, disk_pressure(case)?);
    Some(format!(
        "it writes {written} per answer, and for {} of the time somebody waits for a disk",
        percent(pressure)
    ))
}

/// ` (3 % at low load)`, where it was looked at then.
pub(super) fn at_low_load(figure: Option<String>) -> String {
    figure.map_or(String::new(), |low| format!(" ({low} at low load)"))
}
