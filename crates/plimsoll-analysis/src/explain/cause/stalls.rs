//! Services that stand still for moments, and those that neighbours hold up.

use plimsoll_core::Nanos;
use plimsoll_core::record::HostSample;
use plimsoll_core::statistics::{carrying_share, median, ratio};
use plimsoll_core::units::{percent, three_digits};
use plimsoll_core::verdict::{Cause, Signal};

use super::refusal::idle_line;
use crate::explain::case::{Case, Tier};
use crate::explain::finding::Finding;
use crate::explain::saturation::Sign;
use crate::facts::level::WindowFacts;
use crate::facts::tick::{FULL, Tick, tier_facts};
use crate::neighbours;

/// Cores that the tier waits for in bursts beyond what it waits for between them: neighbours hold it up. A twentieth of a
/// second without a processor makes as many late as a pause of its own.
const WAITED: f64 = 0.05;

/// Late attempts come in bursts at rates that are otherwise carried with ease.
pub(super) fn finding(case: &Case, tier: &Tier) -> Option<Finding> {
    in_bursts(case, tier).or_else(|| at_low_load(case, tier))
}

/// The search saw bursts of late attempts at loads that explain none.
fn at_low_load(case: &Case, tier: &Tier) -> Option<Finding> {
    let stalls = case.found.rare_stalls?;
    let mut finding = Finding::new(Cause::Stalls, tier);
    let text = format!(
        "also at low load attempts are late in bursts, one about every {}: {} of the seconds carry four fifths of them",
        Nanos::from_secs_f64(stalls.interval_seconds),
        percent(stalls.bad_seconds_ratio)
    );
    finding.signal(Signal::Bursts, text);
    Some(finding)
}

/// Seconds in which attempts are late, between others in which none is.
fn in_bursts(case: &Case, tier: &Tier) -> Option<Finding> {
    if case.saturation.sign != Sign::ResponseTime {
        return None;
    }
    let windows: Vec<&WindowFacts> = case.high().flat_map(|level| &level.windows).collect();
    let bad: u64 = windows.iter().map(|window| window.bad).sum();
    let counts: Vec<u64> = windows.iter().map(|window| window.bad).collect();
    let share = carrying_share(&counts);
    let calm: Vec<f64> = windows
        .iter()
        .filter(|window| window.bad == 0)
        .map(|window| window.median.as_secs_f64())
        .collect();
    let usual = median(calm)?;
    let is_burst = |w: &&WindowFacts| w.bad * 50 >= w.attempts && w.bad > 0;
    let bursts: Vec<&WindowFacts> = windows.iter().copied().filter(is_burst).collect();
    let longest = median(bursts.iter().map(|w| w.longest.as_secs_f64()).collect())?;
    let bursty = share <= 0.5 && bursts.len() >= 2 && longest >= 10.0 * usual;
    if bad < 20 || !bursty || queues_at_a_thread(case) {
        return None;
    }
    let mut finding = Finding::new(Cause::Stalls, tier);
    finding.signal(
        Signal::Bursts,
        format!(
            "four fifths of the late attempts fall into {} of the seconds; the longest there takes \
             {}, the median elsewhere {}",
            percent(share),
            Nanos::from_secs_f64(longest),
            Nanos::from_secs_f64(usual)
        ),
    );
    let spikes = bursts
        .iter()
        .filter(|w| w.in_flight_max >= 4.0 * w.in_flight_mean + 4.0);
    let kept_up = case
        .high()
        .all(|level| level.served >= 0.93 * level.offered);
    if spikes.count() * 2 >= bursts.len() && kept_up {
        let text = "throughput follows the arrivals; in-flight leaps and falls back".to_owned();
        finding.signal(Signal::Bursts, text);
    }
    if tier.high.ticks > 0 && tier.high.has_idle_processor() {
        finding.signal(Signal::Idle, idle_line(&tier.high));
    }
    // What holds a service up from outside is none of its own pauses, and passes with who does it.
    if let Some(text) = held_up(case, tier, &bursts) {
        finding.unsure = true;
        finding.signal(Signal::ProcessorTime, text);
    }
    Some(finding)
}

/// Who took the processor in those seconds and not between them, while the tier waited for it or the host had no more.
fn held_up(case: &Case, tier: &Tier, bursts: &[&WindowFacts]) -> Option<String> {
    let ticks = case.ticks.iter();
    let high = ticks.filter(|tick| case.saturation.high.contains(&tick.level));
    let (within, between): (Vec<&Tick>, Vec<&Tick>) = high.partition(|tick| {
        let middle = tick
            .end
            .saturating_sub(Nanos::from_secs_f64(tick.seconds / 2.0));
        bursts.iter().any(|w| w.start <= middle && middle < w.end)
    });
    let (then, otherwise) = (taken(&within), taken(&between));
    let waits = |ticks: &[&Tick]| {
        let facts = tier_facts(ticks, &tier.name);
        facts.wait + facts.stolen
    };
    let waited = waits(&within) >= waits(&between) + WAITED;
    if then.cores < otherwise.cores + neighbours::WORTH_A_WORD || !(waited || then.is_full) {
        return None;
    }
    let who = neighbours::busiest(within.iter().filter_map(|tick| tick.host))
        .unwrap_or_else(|| format!("others took {} of its cores", three_digits(then.cores)));
    Some(format!(
        "in those seconds the host was not the service's alone: {who}; between them others took {} cores",
        three_digits(otherwise.cores)
    ))
}

/// What others took of a host.
struct Taken {
    /// Cores, neighbours and other guests of the hypervisor together.
    cores: f64,
    /// Nothing was left.
    is_full: bool,
}

fn taken(ticks: &[&Tick]) -> Taken {
    let hosts: Vec<&HostSample> = ticks.iter().filter_map(|tick| tick.host).collect();
    let mean = |of: &dyn Fn(&HostSample) -> f64| {
        let all: f64 = hosts.iter().map(|host| of(host)).sum();
        ratio(all, hosts.len() as f64)
    };
    let cores = |host: &HostSample| f64::from(host.cores);
    let by_neighbours =
        |host: &HostSample| host.neighbours.iter().map(|one| one.cores).sum::<f64>();
    let by_guests = |host: &HostSample| host.steal_ratio * cores(host);
    let busy = |host: &HostSample| host.core_busy_ratio.iter().sum::<f64>();
    Taken {
        cores: mean(&by_neighbours) + mean(&by_guests),
        is_full: !hosts.is_empty() && mean(&busy) + mean(&by_guests) >= FULL * mean(&cores),
    }
}

/// A thread of some tier ran or waited for a processor most of the time: requests queue there in bursts without any stall. Two
/// thirds: at that the wait of a single server is as long as its service, and half a second more of a neighbour fills it.
fn queues_at_a_thread(case: &Case) -> bool {
    const BUSY: f64 = 0.66;
    let mut threads = case
        .tiers
        .iter()
        .filter_map(|tier| tier.high.thread.as_ref());
    threads.any(|thread| thread.demand() >= BUSY)
}
