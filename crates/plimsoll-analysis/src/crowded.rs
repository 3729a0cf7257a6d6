//! Whether a service on this host was late because others held the processors that it needed.

use std::collections::BTreeMap;

use plimsoll_core::Nanos;
use plimsoll_core::record::{HostSample, ProcessSample, Record, Seen};
use plimsoll_core::units::three_digits;

use crate::neighbours;

/// A thread that waits for a processor for less of the time is not held up: what the generator is allowed itself
/// (capacity-science B.6).
const WAITED_LEAST: f64 = 0.05;
/// It waits for others rather than for itself if it waits so much for what it runs. A thread that is full waits too, beside
/// any other load, and its limit is its own.
const WAITED_PER_RUN: f64 = 0.5;
/// Share of the machine that service and generator may need themselves: above, they are in each other's way.
const OWN_MOST: f64 = 0.8;

/// How the processes of a tier fared, over all samples.
#[derive(Debug, Default)]
struct Fared {
    length: Nanos,
    /// Of the thread that waited most.
    run: Nanos,
    wait: Nanos,
    all_run: Nanos,
    calls_others: bool,
}

/// In words, with the figures; `None` where the service was not held up, was not looked at, or calls others on its part,
/// which may be the ones that held the processors.
pub(crate) fn by_others(record: &Record, level: u32) -> Option<String> {
    let mut windows = record.judged_windows(level);
    let first = windows.next()?;
    let from = first.start_ns;
    let to = windows.last().unwrap_or(first).end_ns();
    let mut fared: BTreeMap<u32, Fared> = BTreeMap::new();
    let mut hosts: Vec<&HostSample> = Vec::new();
    for seen in &record.observations {
        if seen.at_ns <= from || seen.at_ns.saturating_sub(seen.length_ns) >= to {
            continue;
        }
        match &seen.seen {
            Seen::Process(process) => {
                let fared = fared.entry(process.pid).or_default();
                fared.add(process, seen.length_ns);
            }
            Seen::Host(host) => hosts.push(host),
            _ => {}
        }
    }
    if fared.values().any(|process| process.calls_others) {
        return None;
    }
    let cores = hosts.iter().map(|host| host.cores).max()?;
    let own: f64 = fared.values().map(Fared::cores).sum::<f64>() + generator(record, level);
    let worst = fared
        .values()
        .filter(|process| process.is_held_up())
        .max_by(|a, b| a.waited().total_cmp(&b.waited()))?;
    if own > OWN_MOST * f64::from(cores) {
        return None;
    }
    let who = neighbours::busiest(hosts.into_iter())?;
    Some(format!(
        "a thread of the service waited {} % of the time for a processor, and ran {} %, while {who}",
        three_digits(worst.waited() * 100.0),
        three_digits(share(worst.run, worst.length) * 100.0),
    ))
}

impl Fared {
    fn add(&mut self, process: &ProcessSample, length: Nanos) {
        self.length += length;
        let threads = process.threads.iter();
        for thread in threads.clone() {
            self.all_run += thread.run_ns;
        }
        // Only the busiest sixteen are in the list.
        self.all_run += process.others.run_ns;
        if let Some(most) = threads.max_by_key(|thread| thread.wait_ns) {
            self.run += most.run_ns;
            self.wait += most.wait_ns;
        }
        let out = process.connections_out.as_ref();
        self.calls_others |= out.is_some_and(|out| out.values().any(|count| *count > 0));
    }

    fn waited(&self) -> f64 {
        share(self.wait, self.length)
    }

    fn cores(&self) -> f64 {
        share(self.all_run, self.length)
    }

    fn is_held_up(&self) -> bool {
        self.waited() >= WAITED_LEAST && self.wait.0 as f64 >= WAITED_PER_RUN * self.run.0 as f64
    }
}

fn share(time: Nanos, of: Nanos) -> f64 {
    time.0 as f64 / of.0.max(1) as f64
}

/// Cores that the generator's threads used.
fn generator(record: &Record, level: u32) -> f64 {
    let (mut run, mut length) = (Nanos::ZERO, Nanos::ZERO);
    for window in record.judged_windows(level) {
        for worker in &window.health.worker_run_ns {
            run += *worker;
        }
        length += window.length_ns;
    }
    share(run, length)
}

#[cfg(test)]
mod tests;
