//! Everything that the tests for single causes look at, gathered once.

use std::collections::BTreeSet;

use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{EventKind, HostSample, Observation, Record, Seen, TierSetup};
use plimsoll_core::statistics::{Line, median, ratio};
use plimsoll_core::units::{is_alike, three_digits};
use plimsoll_core::verdict::SearchResult;

use super::saturation::Saturation;
use crate::facts::client::{ClientPool, client_pool, filled_room};
use crate::facts::gauges::{Gauges, gauges};
use crate::facts::level::{Level, WindowFacts};
use crate::facts::tick::{ThreadFacts, Tick, TierFacts, TierTick, tier_facts};
use crate::{gates, neighbours};

/// Share of a process' time from which one thread is all of it; medians of the two are compared, hence the room.
const ALONE: f64 = 0.85;
/// Two figures of the peak this close to each other are one.
const ONE_PEAK: f64 = 0.1;
/// Levels up to this share of the peak are quiet: a thread whose work is the requests is no busier there than this.
const QUIET: f64 = 0.7;
/// Share of a thread's demand under load that it has without load, and of a second, from which on it spins.
const SPINS: f64 = 0.85;

/// A tier where the system had given way, and where it had room.
#[derive(Debug, Clone, Default)]
pub(super) struct Tier {
    pub(super) name: String,
    pub(super) high: TierFacts,
    pub(super) low: TierFacts,
    pub(super) gauges: Gauges,
    pub(super) low_gauges: Gauges,
    /// The ports it listens on.
    pub(super) ports: Vec<u16>,
    /// Requests that it takes at once, as the experiment declares it.
    pub(super) slots: Option<f64>,
}

impl Tier {
    /// A figure without load; `None` where it was not looked at then: an absent figure is not zero.
    pub(super) fn before(&self, of: impl Fn(&TierFacts) -> f64) -> Option<f64> {
        (self.low.ticks > 0).then(|| of(&self.low))
    }

    /// It was looked at where the system had given way, and had no processor to spare.
    pub(super) fn is_filled(&self) -> bool {
        self.high.ticks > 0 && !self.high.has_idle_processor()
    }

    /// The busiest thread, if it is as busy without load: it works for no request.
    pub(super) fn spinning(&self, case: &Case) -> Option<&ThreadFacts> {
        let (high, low) = (self.high.thread.as_ref()?, self.low.thread.as_ref()?);
        let most = case.low().map(|level| level.served).fold(0.0, f64::max);
        let is_quiet = self.low.ticks >= 2 && most <= QUIET * case.saturation.peak;
        let same = high.pid == low.pid && high.thread == low.thread;
        // It wants all of its time, of which a neighbour may take a part, and gets no more under load.
        let spins = low.demand() >= SPINS * SPINS && low.run >= SPINS * high.run;
        (is_quiet && same && spins).then_some(high)
    }

    /// One thread does the tier's work.
    pub(super) fn works_alone(&self, thread: &ThreadFacts) -> bool {
        self.high.run > 0.0 && thread.run >= ALONE * self.high.run
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct HostFacts {
    pub(super) cores: f64,
    pub(super) busy: f64,
    /// Absent where the kernel does not tell.
    pub(super) psi_io: Option<f64>,
    pub(super) psi_memory: Option<f64>,
    pub(super) steal: f64,
    pub(super) drops_per_s: f64,
    pub(super) retransmits_per_answer: f64,
    /// Who else ran there.
    pub(super) neighbour: Option<String>,
}

#[derive(Debug)]
pub(super) struct Case<'a> {
    pub(super) levels: &'a [Level],
    pub(super) ticks: &'a [Tick<'a>],
    /// The tiers as an experiment set them up; none outside of one.
    setup: &'a [TierSetup],
    pub(super) saturation: &'a Saturation,
    pub(super) found: &'a SearchResult,
    /// A gate says that connection slots or an accept queue were near their end.
    pub(super) slots_are_near: bool,
    /// Most of what was refused had been refused by a guard, which is the first tier then.
    pub(super) is_guarded: bool,
    /// Tiers of which a watched process was gone at some time.
    ended: BTreeSet<&'a str>,
    /// How the pool of a workload's client was used.
    pub(super) client: Option<ClientPool>,
    /// What the generator has room for at once, where that was filled.
    pub(super) client_room: Option<f64>,
    /// The tier that the load goes to first.
    pub(super) tiers: Vec<Tier>,
    pub(super) host_high: HostFacts,
    pub(super) host_low: HostFacts,
}

/// Whether the refusals are those of a guard, by their own word.
fn is_guarded(record: &Record, levels: &[Level]) -> bool {
    let by_guard = record.events.iter().map(|event| match event.what {
        EventKind::Guarded(guarded) => guarded.refused_count,
        _ => 0,
    });
    let refused = levels
        .iter()
        .map(|level| level.tally.class(Outcome::Shed).count);
    let (by_guard, refused) = (by_guard.sum::<u64>(), refused.sum::<u64>());
    // Some of the refusals belong to no level.
    by_guard > 0 && 2 * by_guard >= refused
}

impl<'a> Case<'a> {
    pub(super) fn new(
        record: &'a Record,
        levels: &'a [Level],
        ticks: &'a [Tick<'a>],
        saturation: &'a Saturation,
        found: &'a SearchResult,
    ) -> Self {
        let of = |indexes: &[usize]| -> Vec<&Tick> {
            let inside = ticks.iter().filter(|tick| indexes.contains(&tick.level));
            inside.collect()
        };
        let (high, low) = (of(&saturation.high), of(&saturation.low));
        let names = tier_names(record, ticks);
        let tiers = names.iter().map(|name| Tier {
            name: name.clone(),
            high: tier_facts(&high, name),
            low: tier_facts(&low, name),
            gauges: gauges(&high, name),
            low_gauges: gauges(&low, name),
            ports: ports_of(ticks, name),
            slots: declared_slots(record, name),
        });
        let given_way: Vec<&Level> = saturation
            .high
            .iter()
            .filter_map(|i| levels.get(*i))
            .collect();
        Self {
            levels,
            ticks,
            client: client_pool(record, &given_way),
            client_room: filled_room(record, &given_way),
            setup: record.header.lab.as_ref().map_or(&[], |lab| &lab.tiers),
            saturation,
            found,
            slots_are_near: gates::slots_are_near(record),
            is_guarded: is_guarded(record, levels),
            ended: record
                .observations
                .iter()
                .filter(|observation| is_end(observation))
                .map(|observation| observation.tier.as_str())
                .collect(),
            tiers: tiers.collect(),
            host_high: host_facts(&high),
            host_low: host_facts(&low),
        }
    }

    /// The tier that the load goes to; one without any figure where nothing was observed.
    pub(super) fn entry(&self) -> Tier {
        self.tiers.first().cloned().unwrap_or_default()
    }

    pub(super) fn behind(&self) -> &[Tier] {
        self.tiers.get(1..).unwrap_or_default()
    }

    /// The tiers that one calls, directly or through others; its own other instances aside.
    pub(super) fn behind_of(&self, tier: &Tier) -> Vec<&Tier> {
        let mut found: Vec<&Tier> = Vec::new();
        let mut from = vec![tier];
        while let Some(caller) = from.pop() {
            for (at, other) in self.tiers.iter().enumerate() {
                let is_own = self.are_of_one_tier(Some(&tier.name), Some(&other.name));
                let is_known = found.iter().any(|known| known.name == other.name);
                // The load goes to the first: nobody calls that.
                if at > 0 && !is_own && !is_known && self.calls(caller, other) {
                    found.push(other);
                    from.push(other);
                }
            }
        }
        found
    }

    /// The tiers that one calls itself.
    pub(super) fn called_by(&self, tier: &Tier) -> impl Iterator<Item = &Tier> {
        let behind = self.behind().iter();
        behind.filter(move |other| {
            !self.are_of_one_tier(Some(&tier.name), Some(&other.name)) && self.calls(tier, other)
        })
    }

    /// By the caller's connections; by the order of the tiers where those or the other's ports are hidden.
    fn calls(&self, caller: &Tier, other: &Tier) -> bool {
        let place = |tier: &Tier| self.tiers.iter().position(|known| known.name == tier.name);
        let out: Vec<_> = [&caller.high.out, &caller.low.out]
            .into_iter()
            .flatten()
            .collect();
        if out.is_empty() || other.ports.is_empty() {
            return place(caller) < place(other);
        }
        let mut ports = out.iter().flat_map(|out| out.keys());
        ports.any(|port| other.ports.contains(port))
    }

    /// The tier that an observed name is an instance of; the name itself where no experiment declared it.
    pub(super) fn declared<'n>(&'n self, name: &'n str) -> &'n str {
        let setup = self.setup.iter().find(|setup| setup.name == name);
        setup.map_or(name, |setup| setup.tier.as_str())
    }

    /// How many instances of a tier were declared.
    pub(super) fn instances_of(&self, tier: &str) -> usize {
        self.setup.iter().filter(|setup| setup.tier == tier).count()
    }

    /// What a tier showed while one level was played.
    pub(super) fn at_level(&self, level: &Level, tier: &Tier) -> TierFacts {
        let index = self
            .levels
            .iter()
            .position(|known| std::ptr::eq(known, level));
        let ticks = self.ticks.iter().filter(|tick| Some(tick.level) == index);
        tier_facts(&ticks.collect::<Vec<_>>(), &tier.name)
    }

    /// The seconds in which the first attempts failed of those that `failed` counts, while users became more and more;
    /// `None` where the load came in levels: there each level has its own figures.
    pub(super) fn onset(&self, failed: fn(&WindowFacts) -> u64) -> Option<Vec<&Tick<'a>>> {
        if self.high().any(|level| level.closed.is_none()) || self.saturation.high.len() < 2 {
            return None;
        }
        let mut windows = self.high().flat_map(|level| &level.windows);
        let onset = windows.find(|w| failed(w) * 100 >= w.attempts && failed(w) > 0)?;
        // Sampling is not aligned with windows, which are of several seconds in a long record.
        let from = onset.start.saturating_sub(Nanos::from_secs(1));
        let to = onset.end + Nanos((onset.end - onset.start).0 / 2);
        let ticks = self.ticks.iter();
        Some(ticks.filter(|t| t.end > from && t.end <= to).collect())
    }

    /// What a tier showed there, if it was looked at.
    pub(super) fn at_onset(
        &self,
        tier: &Tier,
        failed: fn(&WindowFacts) -> u64,
    ) -> Option<TierFacts> {
        let there = tier_facts(&self.onset(failed)?, &tier.name);
        (there.ticks > 0).then_some(there)
    }

    /// A process of the tier was gone at some time.
    pub(super) fn has_ended(&self, tier: &Tier) -> bool {
        self.ended.contains(tier.name.as_str())
    }

    /// Instances of one tier of an experiment, or the same one.
    pub(super) fn are_of_one_tier(&self, one: Option<&str>, other: Option<&str>) -> bool {
        one.map(|name| self.declared(name)) == other.map(|name| self.declared(name))
    }

    pub(super) fn high(&self) -> impl Iterator<Item = &Level> {
        self.saturation
            .high
            .iter()
            .filter_map(|i| self.levels.get(*i))
    }

    pub(super) fn low(&self) -> impl Iterator<Item = &Level> {
        self.saturation
            .low
            .iter()
            .filter_map(|i| self.levels.get(*i))
    }

    /// The peak as the page shows it: that of the search, which counts answers in time, where it is the same one.
    pub(super) fn shown_peak(&self) -> f64 {
        let peak = self.saturation.peak;
        let searched = self.found.peak_goodput_per_s.map(|bounds| bounds.estimate);
        let same = |searched: &f64| (ratio(*searched, peak) - 1.0).abs() <= ONE_PEAK;
        searched.filter(same).unwrap_or(peak)
    }

    /// That peak in words; where much more was answered than was in time, it is called what it is.
    pub(super) fn peak_words(&self) -> String {
        let peak = self.shown_peak();
        let searched = self.found.peak_goodput_per_s.map(|bounds| bounds.estimate);
        match searched {
            Some(searched) if !is_alike(searched, peak) => {
                format!(
                    "at most {}/s were answered, in time or late",
                    three_digits(peak)
                )
            }
            _ => format!("measured peak {}/s", three_digits(peak)),
        }
    }

    pub(super) fn in_flight(&self) -> (f64, f64) {
        let middle = |levels: Vec<f64>| median(levels).unwrap_or(0.0);
        (
            middle(self.low().map(|level| level.in_flight).collect()),
            middle(self.high().map(|level| level.in_flight).collect()),
        )
    }

    /// Seconds of a resource per answer by the utilisation law: the slope over levels that kept up
    /// (an idle floor such as a timer is no demand), or the plain ratio at the highest of them.
    ///
    /// U = D·X + c by least squares over the levels; worked number in the tests.
    pub(super) fn demand(&self, busy: &dyn Fn(&Tick) -> Option<f64>) -> Option<f64> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (index, level) in self.levels.iter().enumerate() {
            if self.saturation.high.contains(&index) || level.answered < 0.05 * self.saturation.peak
            {
                continue;
            }
            let inside = self.ticks.iter().filter(|tick| tick.level == index);
            let shares: Vec<f64> = inside.filter_map(|t| Some(busy(t)? / t.seconds)).collect();
            if shares.len() < 2 {
                continue;
            }
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            points.push((level.answered, mean));
        }
        demand_of(&points)
    }

    /// Processor seconds per answer, all threads of the tier together.
    pub(super) fn processor_demand(&self, tier: &Tier) -> Option<f64> {
        let run = |at: &TierTick| -> f64 {
            let each = at.processes.iter().map(|process| {
                let threads = process.threads.iter().map(|t| t.run_ns.as_secs_f64());
                threads.sum::<f64>() + process.others.run_ns.as_secs_f64()
            });
            each.sum()
        };
        self.demand(&|tick| {
            let at = tick.tiers.get(tier.name.as_str())?;
            (!at.processes.is_empty()).then(|| run(at))
        })
    }

    /// Seconds of one thread per answer.
    pub(super) fn thread_demand(&self, tier: &Tier, thread: &ThreadFacts) -> Option<f64> {
        self.demand(&|tick| {
            let at = tick.tiers.get(tier.name.as_str())?;
            let process = at.processes.iter().find(|p| p.pid == thread.pid)?;
            // By name: a record keeps no thread number in its summary, and a pool's threads share one.
            let same = process.threads.iter().filter(|t| t.name == thread.thread);
            same.map(|t| t.run_ns.as_secs_f64()).reduce(f64::max)
        })
    }

    /// A closed loop below its knee measures the pure service time; else the lowest level does.
    pub(super) fn base_service(&self) -> Option<f64> {
        let times = self.low().filter_map(Level::served_service);
        times.map(Nanos::as_secs_f64).reduce(f64::min)
    }

    /// The same by the clients' clock, with the wait for a connection.
    pub(super) fn base_response(&self) -> Option<f64> {
        let times = self.low().filter_map(Level::served_response);
        times.map(Nanos::as_secs_f64).reduce(f64::min)
    }
}

/// Slope of a line through the points where their rates differ enough, else the ratio of the last.
fn demand_of(points: &[(f64, f64)]) -> Option<f64> {
    let highest = points.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let lowest = points.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let plain = ratio(highest.1, highest.0);
    if points.len() < 3 || lowest > 0.6 * highest.0 {
        return (plain > 0.0).then_some(plain);
    }
    let slope = Line::through(points.iter().copied()).map_or(0.0, |line| line.slope);
    // An intercept explains an idle floor, not half of the work.
    let sane = slope > 0.5 * plain && slope < 1.5 * plain;
    let best = if sane { slope } else { plain };
    (best > 0.0).then_some(best)
}

/// The sampler's words for it are `process N`.
fn is_end(observation: &Observation) -> bool {
    match &observation.seen {
        Seen::Absent(absent) => absent.what.starts_with("process "),
        _ => false,
    }
}

fn tier_names(record: &Record, ticks: &[Tick]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let has_tick: BTreeSet<&str> = ticks
        .iter()
        .flat_map(|tick| tick.tiers.keys().copied())
        .collect();
    // In the order first recorded: the sampler puts the address under test first.
    for observation in &record.observations {
        let name = observation.tier.as_str();
        if has_tick.contains(name) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn declared_slots(record: &Record, tier: &str) -> Option<f64> {
    let mut setup = record.header.lab.iter().flat_map(|lab| &lab.tiers);
    let found = setup.find(|setup| setup.name == tier)?;
    found.in_flight_max().map(|(_, bound)| bound)
}

fn ports_of(ticks: &[Tick], tier: &str) -> Vec<u16> {
    let at = ticks.iter().filter_map(|tick| tick.tiers.get(tier));
    let mut ports: Vec<u16> = at
        .flat_map(|at| at.listeners.iter().map(|listener| listener.port))
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn host_facts(ticks: &[&Tick]) -> HostFacts {
    let hosts: Vec<(&&Tick, &HostSample)> = ticks
        .iter()
        .filter_map(|tick| Some((tick, tick.host?)))
        .collect();
    let told = |of: &dyn Fn(&Tick, &HostSample) -> Option<f64>| {
        let each = hosts.iter().filter_map(|(tick, host)| of(tick, host));
        median(each.collect())
    };
    let middle = |of: &dyn Fn(&Tick, &HostSample) -> Option<f64>| told(of).unwrap_or(0.0);
    HostFacts {
        cores: middle(&|_, host| Some(f64::from(host.cores))),
        busy: middle(&|_, host| Some(host.core_busy_ratio.iter().sum())),
        psi_io: told(&|_, host| host.psi_io_some_ratio.or(host.psi_io_full_ratio)),
        psi_memory: told(&|_, host| host.psi_memory_some_ratio),
        steal: middle(&|_, host| Some(host.steal_ratio)),
        neighbour: neighbours::busiest(hosts.iter().map(|(_, host)| *host)),
        drops_per_s: middle(&|tick, host| {
            // The kernel counts each overflow as a drop, too.
            let drops = host.listen_drops.max(host.listen_overflows);
            Some(drops as f64 / tick.seconds)
        }),
        retransmits_per_answer: middle(&|tick, host| {
            (tick.answers >= 1.0).then(|| host.retransmits as f64 / tick.answers)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::demand_of;

    #[test]
    fn demand_is_the_slope_over_levels() {
        // 2 ms per request above an idle floor of 4 %: 0.24, 0.44, 0.84 at 100, 200, 400 per second.
        let points = [(100.0, 0.24), (200.0, 0.44), (400.0, 0.84)];
        assert!((demand_of(&points).unwrap() - 0.002).abs() < 1e-9);
        // Two levels: the plain ratio at the higher one.
        assert!((demand_of(&points[1..]).unwrap() - 0.0021).abs() < 1e-9);
        assert_eq!(demand_of(&[]), None);
        assert_eq!(demand_of(&[(100.0, 0.0)]), None);
    }
}
