//! Counts that nothing could have counted: refused at reading, so that no sum over a record overflows.

use super::{After, Line, Observation, Seen};
use crate::histogram::WINDOW_COUNT_MAX;
use crate::verdict::Verdict;

/// Attempts of a run: a hundred million per second for a year, and exact as a double.
const RUN_COUNT_MAX: u64 = 1 << 52;
/// Connections of a listener: more than all ports of a thousand clients.
const CONNECTIONS_MAX: u64 = 1 << 28;

/// Why a line cannot be true; `None` where it can.
pub(super) fn implausible(line: &Line) -> Option<String> {
    let (counts, most) = match line {
        Line::Window(window) if !window.is_plausible() => {
            return Some("a count is larger than a window can hold".to_owned());
        }
        Line::Observation(observation) => of_observation(observation),
        Line::After(after) => (of_after(after), RUN_COUNT_MAX),
        Line::Script(script) => (script.counts(), RUN_COUNT_MAX),
        Line::Verdict(verdict) => (of_verdict(verdict), RUN_COUNT_MAX),
        _ => return None,
    };
    let (name, count) = counts.into_iter().find(|(_, count)| *count > most)?;
    Some(format!(
        "`{name}` is {count}: nobody can have counted so many"
    ))
}

type Counts = Vec<(&'static str, u64)>;

fn of_verdict(verdict: &Verdict) -> Counts {
    let outcomes = verdict.outcomes.values();
    let mut counts: Counts = outcomes.map(|count| ("outcomes", *count)).collect();
    counts.push(("attempts_count", verdict.attempts_count));
    counts
}

fn of_after(after: &After) -> Counts {
    let counts = [
        ("taken_count", after.taken_count),
        ("backlog_count", after.backlog_count),
        ("backlog_left_count", after.backlog_left_count),
        ("stored_at_end_count", after.stored_at_end_count),
        ("stored_count", after.stored_count),
    ];
    let verified = after.verified.unwrap_or_default();
    let verified = [
        ("expected_count", verified.expected_count),
        ("intact_count", verified.intact_count),
        ("missing_count", verified.missing_count),
        ("stale_count", verified.stale_count),
        ("undead_count", verified.undead_count),
        ("unasked_count", verified.unasked_count),
        ("unknown_count", verified.unknown_count),
    ];
    let given = counts.into_iter();
    let given = given.filter_map(|(name, count)| Some((name, count?)));
    given.chain(verified).collect()
}

/// What is added up or multiplied; other figures are only ever used as numbers with a fraction.
fn of_observation(observation: &Observation) -> (Counts, u64) {
    let counts = match &observation.seen {
        Seen::Host(host) => vec![
            ("listen_overflows", host.listen_overflows),
            ("listen_drops", host.listen_drops),
        ],
        Seen::Cgroup(group) => vec![
            ("periods", group.periods),
            ("throttled_periods", group.throttled_periods),
        ],
        Seen::Listener(listener) => {
            let counts = vec![
                ("accept_queue", u64::from(listener.accept_queue)),
                ("accept_queue_max", u64::from(listener.accept_queue_max)),
                ("established", u64::from(listener.established)),
            ];
            return (counts, CONNECTIONS_MAX);
        }
        Seen::Proxy(proxy) => {
            let status = proxy.status.values().map(|count| ("status", *count));
            let requests = [
                ("requests", proxy.requests),
                ("upstream_unreached", proxy.upstream_unreached),
            ];
            requests.into_iter().chain(status).collect()
        }
        Seen::Process(_) | Seen::Metrics(_) | Seen::Absent(_) => Vec::new(),
    };
    (counts, WINDOW_COUNT_MAX)
}
