//! Gates 10 and 13: limits on the path against what was in flight; one target, unchanged.

mod rooms;

use std::collections::BTreeMap;

use plimsoll_core::record::{EventKind, FaultKind, Observation, ProcessSample, Seen};
use plimsoll_core::test::Test;
use plimsoll_core::verdict::{Gate, GateId, GateState};
use plimsoll_core::{Nanos, Window};

use super::{Case, gate, with_figures, with_note};

/// Share of a limit from which it may have shaped the result (capacity-science B.6).
const NEAR: f64 = 0.8;
/// Ports of one address pair by default, and how long each rests after a close (Linux defaults).
const PORTS: f64 = 28_232.0;
const TIME_WAIT_SECONDS: f64 = 60.0;

/// Gate 10: Limits on the path that are known, against the most that was in flight.
pub(super) fn path(case: Case<'_>) -> Gate {
    let test = &case.record.header.test;
    let (what, compared) = if test.workload().is_some() {
        (
            "connections",
            "commands on the wire against the connections of all pools",
        )
    } else if test.streams().is_some() {
        ("streams", "streams open against the generator's limit")
    } else {
        (
            "connections",
            "connections open against the generator's limit",
        )
    };
    let open = most_open(test, case.windows());
    let limit = room(test);
    let open_model = case
        .load()
        .is_some_and(|load| matches!(load, plimsoll_core::step::StepLoad::Open { .. }));
    let mut notes = Vec::new();
    if let Some(limit) = limit
        && open_model
        && open as f64 >= NEAR * limit as f64
    {
        let dropped: u64 = case.windows().map(|w| w.health.dropped_target_count).sum();
        notes.push(format!(
            "{open} of the generator's {limit} {what} were open, {dropped} arrivals were dropped: waiting for one is part of the response time; allow more with -c"
        ));
    }
    notes.extend(ports(case));
    notes.extend(listeners(case));
    notes.extend(declared(case));
    let rooms = rooms::nearly_full(case);
    notes.extend(rooms.near);
    let state = if notes.is_empty() {
        GateState::Pass
    } else {
        GateState::Warning
    };
    let result = gate(GateId::Path, state, compared);
    let result = with_figures(
        result,
        open.to_string(),
        limit.map_or_else(|| "any number".to_owned(), |limit| limit.to_string()),
        "80 %",
    );
    if notes.is_empty() {
        let timeout = test.generator.timeout;
        let mut notes = rooms.unseen;
        notes.push(format!(
            "client timeout {timeout}; keep the server's own timeouts below it"
        ));
        return with_note(result, notes.join("; "));
    }
    with_note(result, notes.join("; "))
}

/// How much of the generator's room was taken at most.
pub(crate) fn most_open<'a>(test: &Test, windows: impl Iterator<Item = &'a Window>) -> u64 {
    // Pools are filled before the load.
    let on_wire = test.streams().is_some() || test.workload().is_some();
    let of_window = |window: &Window| {
        if on_wire {
            window.wire_max
        } else {
            u64::from(window.health.connections_open)
        }
    };
    windows.map(of_window).max().unwrap_or(0)
}

/// Requests or commands that the generator's connections carry at once; none where each carries any number.
pub(crate) fn room(test: &Test) -> Option<u64> {
    let Some(workload) = test.workload() else {
        return Some(test.in_flight_max().get().into());
    };
    let of_each = u64::from(workload.room()?);
    Some(of_each * workload.databases.len() as u64)
}

/// Slots that an experiment declares were nearly taken, or an accept queue was full.
pub(super) fn slots_are_near(case: Case<'_>) -> bool {
    !declared(case).is_empty() || !listeners(case).is_empty()
}

/// Connections per second that leave a port resting for a minute each.
fn ports(case: Case<'_>) -> Option<String> {
    let seconds = case.seconds();
    let connects: u64 = case.windows().map(|w| w.health.connects_count).sum();
    let resting = connects as f64 / seconds.max(1.0) * TIME_WAIT_SECONDS.min(seconds);
    (resting > NEAR * PORTS).then(|| {
        format!(
            "{connects} connections in {seconds:.0} s use most of the {PORTS:.0} local ports; keep connections alive or use several source addresses"
        )
    })
}

/// Limits that an experiment declares, against the most requests that were on the wire at once.
fn declared(case: Case<'_>) -> Vec<String> {
    let mut tiers: BTreeMap<&str, (f64, &str)> = BTreeMap::new();
    let setup = case.record.header.lab.iter().flat_map(|lab| &lab.tiers);
    for tier in setup {
        if let Some((name, bound)) = tier.in_flight_max() {
            tiers.entry(&tier.tier).or_insert((0.0, name)).0 += bound;
        }
    }
    let most = case.windows().map(|w| w.wire_max).max().unwrap_or(0);
    let near = tiers
        .into_iter()
        .filter(|(_, (bound, _))| most as f64 >= NEAR * bound);
    near.map(|(tier, (bound, name))| {
        format!("{most} requests were under way at once, and the {name} of {tier} carry {bound:.0}")
    })
    .collect()
}

/// Accept queues that were full, or overflowed.
fn listeners(case: Case<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut overflows = 0;
    for observation in &case.record.observations {
        match &observation.seen {
            Seen::Listener(l) if l.is_full() || l.was_full => {
                let text = format!(
                    "the accept queue of port {} ({}) was full at {}",
                    l.port, observation.tier, l.accept_queue_max
                );
                if !notes.contains(&text) {
                    notes.push(text);
                }
            }
            Seen::Host(host) => overflows += host.listen_overflows,
            _ => {}
        }
    }
    if overflows > 0 {
        notes.push(format!(
            "{overflows} connections overflowed an accept queue of this host"
        ));
    }
    notes
}

/// Gate 13: One change at a time, clean state: within one record, the target stays the same process.
pub(super) fn one_change(case: Case<'_>) -> Gate {
    let compared = "processes of the target at the beginning and at the end";
    let looks = pids(case);
    let (Some(first), Some(last)) = (looks.values().next(), looks.values().next_back()) else {
        let result = gate(GateId::OneChange, GateState::Unknown, compared);
        return with_note(
            result,
            "the target's process was not observed; --watch pid:N would decide",
        );
    };
    // A server may add workers; losing one of the first means that something restarted.
    let lost: Vec<String> = first
        .iter()
        .filter(|pid| !last.contains(pid) || has_ended(case, **pid))
        .map(u32::to_string)
        .collect();
    let state = if lost.is_empty() {
        GateState::Pass
    } else {
        GateState::Fail
    };
    let text = |pids: &[u32]| {
        pids.iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let result = with_figures(
        gate(GateId::OneChange, state, compared),
        text(first),
        text(last),
        "same",
    );
    if lost.is_empty() {
        return result;
    }
    with_note(
        result,
        format!(
            "process {} ended during the run: find out why, then run again",
            lost.join(", ")
        ),
    )
}

/// The target's processes, look by look.
fn pids(case: Case<'_>) -> BTreeMap<Nanos, Vec<u32>> {
    let mut looks: BTreeMap<Nanos, Vec<u32>> = BTreeMap::new();
    for (look, process) in samples(case) {
        looks.entry(look.at_ns).or_default().push(process.pid);
    }
    looks
}

fn samples(case: Case<'_>) -> impl Iterator<Item = (&Observation, &ProcessSample)> {
    let target = case.target();
    let looks = case.record.observations.iter();
    looks
        .filter(move |look| look.tier == target)
        .filter_map(|look| match &look.seen {
            Seen::Process(process) => Some((look, process)),
            _ => None,
        })
}

/// The last look that saw a process may be the last one that saw any: where it ended alone, only the sampler's word says so.
/// Its end after the load is no change, what an experiment ended itself is none to look into, and a process that is seen again
/// could only not be read.
fn has_ended(case: Case<'_>, pid: u32) -> bool {
    let end = case.record.windows.iter().map(Window::end_ns).max();
    let is_seen_after = |ended: Nanos| {
        samples(case).any(|(look, process)| process.pid == pid && look.begin_ns() >= ended)
    };
    let mut ends = ends(case, pid).filter(|at| Some(*at) <= end);
    ends.any(|ended| !is_seen_after(ended) && !was_ended_on_purpose(case, ended))
}

/// When the sampler found a process of the target gone.
fn ends(case: Case<'_>, pid: u32) -> impl Iterator<Item = Nanos> {
    let (target, what) = (case.target(), format!("process {pid}"));
    let looks = case.record.observations.iter();
    let gone = looks.filter(move |look| match &look.seen {
        Seen::Absent(absent) => look.tier == target && absent.what == what,
        _ => false,
    });
    gone.map(|look| look.at_ns)
}

fn was_ended_on_purpose(case: Case<'_>, before: Nanos) -> bool {
    let target = case.target();
    let mut events = case.record.events.iter();
    events.any(|event| match &event.what {
        EventKind::Fault(fault) => {
            let kills = matches!(fault.what, FaultKind::Ended | FaultKind::Restarted);
            kills && fault.instance == target && event.at_ns <= before
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests;
