//! How the client used its connections, or a workload its pool of them.

use plimsoll_core::Nanos;
use plimsoll_core::record::Record;
use plimsoll_core::statistics::{median, ratio};

use super::level::Level;
use crate::gates;

/// From this share of its connections on the generator may have had none left for a moment.
const FILLED: f64 = 0.9;

/// How a workload's client used its connections where the system had given way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ClientPool {
    pub(crate) connections: u32,
    /// Medians over windows: connections that were open, and commands on the wire in the mean.
    pub(crate) open: f64,
    pub(crate) on_wire: f64,
    pub(crate) closes_given_up: bool,
}

/// Requests that the generator has room for at once, where arrivals, or more users than that, filled it.
pub(crate) fn filled_room(record: &Record, levels: &[&Level]) -> Option<f64> {
    let test = &record.header.test;
    let room = gates::room(test)?;
    let waits = |level: &&&Level| level.closed.is_none_or(|users| u64::from(users) > room);
    let inside = |start: Nanos| {
        let mut waiting = levels.iter().filter(waits);
        waiting.any(|level| start >= level.start && start < level.end)
    };
    let windows = record.windows.iter();
    let open = gates::most_open(test, windows.filter(|window| inside(window.start_ns)));
    (open as f64 >= FILLED * room as f64).then_some(room as f64)
}

/// `None` where no workload with a pool was played, or nothing was counted.
pub(crate) fn client_pool(record: &Record, levels: &[&Level]) -> Option<ClientPool> {
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
    Some(ClientPool {
        connections: workload.connections_max().get(),
        open: median(open)?,
        on_wire: median(on_wire)?,
        closes_given_up: workload.client.closes_given_up,
    })
}
