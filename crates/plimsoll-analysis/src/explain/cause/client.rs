//! The client's own pool of connections: operations that wait inside of it while the store has nothing to do.

use plimsoll_core::Nanos;
use plimsoll_core::record::Record;
use plimsoll_core::statistics::{median, ratio};
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Signal};

use super::refusal::idle_line;
use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::facts::level::{Level, NO_ANSWER};

/// Where the connections of a workload wait that a finding names: no tier, but the generator that plays the application.
pub(in crate::explain) const CLIENT: &str = "the client";
/// Share of the pool's connections below which it is short of them. Pools are filled before the load.
const SHORT: f64 = 0.5;
/// Operations that wait for a connection, at least; fewer are between two commands.
const WAITING: f64 = 4.0;

/// How a workload's client used its connections where the system had given way.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::explain) struct Pool {
    connections: u32,
    /// Medians over windows: connections that were open, and commands on the wire in the mean.
    open: f64,
    on_wire: f64,
    closes_given_up: bool,
}

/// `None` where no workload with a pool was played, or nothing was counted.
pub(in crate::explain) fn pool_of(record: &Record, levels: &[&Level]) -> Option<Pool> {
    let workload = record.header.test.workload()?;
    // Where a connection carries many, few connections are no shortage.
    workload
        .room()
        .filter(|_| !workload.client.shares_connections)?;
    let inside = |start: Nanos, end: Nanos| {
        levels
            .iter()
            .any(|level| start >= level.start && end <= level.end)
    };
    let windows = record
        .windows
        .iter()
        .filter(|window| inside(window.start_ns, window.end_ns()))
        .filter(|window| !window.databases.is_empty());
    let (mut open, mut on_wire) = (Vec::new(), Vec::new());
    for window in windows {
        let busy: f64 = window.databases.iter().map(|each| each.wire_seconds).sum();
        open.push(f64::from(window.health.connections_open));
        on_wire.push(ratio(busy, window.length_ns.as_secs_f64()));
    }
    Some(Pool {
        connections: workload.connections_max().get(),
        open: median(open)?,
        on_wire: median(on_wire)?,
        closes_given_up: workload.client.closes_given_up,
    })
}

/// Most of the pool's connections are gone, operations wait for one, and the store neither refuses any nor is busy: what
/// fails fails in the client. Seen with a driver that closes the connection of what its caller gives up, and opens two at a
/// time (MongoDB's for Rust, 3.9).
pub(super) fn pool(case: &Case, entry: &Tier) -> Option<Finding> {
    let pool = case.client.as_ref()?;
    let (_, under_way) = case.in_flight();
    let is_short = pool.open <= SHORT * f64::from(pool.connections);
    if !is_short || under_way - pool.open < WAITING || entry.is_filled() {
        return None;
    }
    let refused = case.high().map(|level| level.share(&NO_ANSWER));
    let failed = case.high().map(Level::failed_share);
    // A store that turns connections away is the reason that there are few.
    if refused.fold(0.0, f64::max) > 0.1 * failed.fold(0.0, f64::max) {
        return None;
    }
    let mut finding = Finding::new(Cause::Pool, entry);
    (finding.tier, finding.process) = (Some(CLIENT.to_owned()), None);
    let text = format!(
        "{:.0} of its {} connections were open, while {} operations were under way: {} commands were on the wire in the mean",
        pool.open,
        pool.connections,
        three_digits(under_way),
        three_digits(pool.on_wire)
    );
    finding.signal(Signal::Connections, text);
    if entry.high.ticks > 0 {
        let text = format!("{} had room: {}", entry.name, idle_line(&entry.high));
        finding.signal(Signal::IdleBehind, text);
    }
    if pool.closes_given_up {
        let failed =
            |level: &Level| ratio(level.tally.failures() as f64, level.tally.decided() as f64);
        let text = format!(
            "{} of the attempts failed, and each try that was given up closed its connection",
            percent(case.high().map(failed).fold(0.0, f64::max))
        );
        finding.signal(Signal::None, text);
    }
    Some(finding)
}
