//! Observations of one tier over a set of levels, as medians over the seconds.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::Nanos;
use plimsoll_core::record::{
    CgroupSample, HostSample, ListenerSample, Observation, ProcessSample, ProxySample, Record,
    Seen, ThreadState, WaitSample,
};
use plimsoll_core::statistics::{median, ratio};

use super::level::Level;

/// A thread, or a tier's whole share, this busy is full (D.3 4b); the median over saturated seconds.
pub(crate) const FULL: f64 = 0.93;

/// What was seen of one tier in one interval.
#[derive(Debug, Clone, Default)]
pub(crate) struct TierTick<'a> {
    pub(crate) processes: Vec<&'a ProcessSample>,
    pub(crate) cgroups: Vec<&'a CgroupSample>,
    pub(crate) listeners: Vec<&'a ListenerSample>,
    pub(crate) proxies: Vec<&'a ProxySample>,
    pub(crate) metrics: Vec<Scraped<'a>>,
}

/// What an endpoint said, and the time since it last did: its counters grew over that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scraped<'a> {
    pub(crate) values: &'a BTreeMap<String, f64>,
    pub(crate) seconds: f64,
}

/// One interval of sampling that lies within a level.
#[derive(Debug, Clone)]
pub(crate) struct Tick<'a> {
    pub(crate) level: usize,
    pub(crate) end: Nanos,
    pub(crate) seconds: f64,
    /// Answers in the interval, from the level's rate.
    pub(crate) answers: f64,
    pub(crate) host: Option<&'a HostSample>,
    pub(crate) tiers: BTreeMap<&'a str, TierTick<'a>>,
}

/// Groups observations by interval and finds each one's level: at least half of it must lie within.
pub(crate) fn ticks<'a>(record: &'a Record, levels: &[Level]) -> Vec<Tick<'a>> {
    let mut by_time: BTreeMap<Nanos, Vec<&Observation>> = BTreeMap::new();
    for observation in &record.observations {
        by_time
            .entry(observation.at_ns)
            .or_default()
            .push(observation);
    }
    by_time
        .into_values()
        .filter_map(|together| tick(&together, levels))
        .collect()
}

fn tick<'a>(together: &[&'a Observation], levels: &[Level]) -> Option<Tick<'a>> {
    // An endpoint that answered late has a longer time behind it than what was read beside it, and one that went missing in a
    // row of looks that were folded into one a shorter time; what could not be seen has that of its own second.
    let is_timed = |look: &&&Observation| !matches!(look.seen, Seen::Metrics(_) | Seen::Absent(_));
    let timed = together.iter().filter(is_timed);
    let shortest = timed.min_by_key(|look| look.length_ns);
    let any = || together.iter().min_by_key(|look| look.length_ns);
    let shortest = shortest.or_else(any)?;
    let (start, end) = (shortest.at_ns - shortest.length_ns, shortest.at_ns);
    let inside = |level: &Level| {
        let overlap = level.end.min(end) - level.start.max(start);
        2 * overlap.0 >= shortest.length_ns.0
    };
    let index = levels.iter().position(inside)?;
    let seconds = shortest.length_ns.as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    let mut tick = Tick {
        level: index,
        end,
        seconds,
        answers: levels.get(index)?.answered * seconds,
        host: None,
        tiers: BTreeMap::new(),
    };
    for observation in together {
        let tier = tick.tiers.entry(observation.tier.as_str());
        match &observation.seen {
            Seen::Host(host) => tick.host = Some(host),
            Seen::Absent(_) => {}
            Seen::Process(sample) => tier.or_default().processes.push(sample),
            Seen::Cgroup(sample) => tier.or_default().cgroups.push(sample),
            Seen::Listener(sample) => tier.or_default().listeners.push(sample),
            Seen::Proxy(sample) => tier.or_default().proxies.push(sample),
            Seen::Metrics(sample) => tier.or_default().metrics.push(Scraped {
                values: &sample.values,
                seconds: observation.length_ns.as_secs_f64(),
            }),
        }
    }
    Some(tick)
}

/// One thread, as shares of an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ThreadFacts {
    pub(crate) pid: u32,
    pub(crate) process: String,
    pub(crate) thread: String,
    pub(crate) run: f64,
    pub(crate) wait: f64,
    /// Taken by the hypervisor while it ran: the kernel counts it neither as running nor as waiting.
    pub(crate) stolen: f64,
    /// The next busiest thread of the same process, its demand.
    pub(crate) next: f64,
    /// The busiest thread of the tier's other processes, its demand.
    pub(crate) elsewhere: f64,
}

impl ThreadFacts {
    pub(crate) fn demand(&self) -> f64 {
        self.run + self.wait + self.stolen
    }

    /// Run, wait and stolen of the median second, in place of the whole time's where that second asks for more. The thread was
    /// seen in `each` of `ticks` seconds and did next to nothing in the others; of two in the middle the lower one counts.
    fn take_median(&mut self, each: &mut [[f64; 3]], ticks: usize) {
        let demand = |parts: &[f64; 3]| parts.iter().sum::<f64>();
        each.sort_by(|a, b| demand(a).total_cmp(&demand(b)));
        let unseen = ticks.saturating_sub(each.len());
        let middle = (ticks.saturating_sub(1) / 2).checked_sub(unseen);
        if let Some(parts) = middle.and_then(|index| each.get(index))
            && demand(parts) > self.demand()
        {
            [self.run, self.wait, self.stolen] = *parts;
        }
    }
}

/// A tier over a set of ticks. Absent sources stay `None`.
#[derive(Debug, Clone, Default)]
pub(crate) struct TierFacts {
    /// Ticks with process samples.
    pub(crate) ticks: usize,
    pub(crate) thread: Option<ThreadFacts>,
    /// Cores in use, cores waited for, and cores that the hypervisor took meanwhile; all threads.
    pub(crate) run: f64,
    pub(crate) wait: f64,
    pub(crate) stolen: f64,
    /// Cores that the processes may use: affinity, within the host.
    pub(crate) cores: f64,
    pub(crate) quota: Option<f64>,
    /// A control group of its processes could be read: no quota is none then.
    pub(crate) has_group: bool,
    /// Share of the quota's periods that were throttled.
    pub(crate) throttled: f64,
    pub(crate) memory_share: Option<f64>,
    /// Voluntary switches per answer.
    pub(crate) switches: Option<f64>,
    pub(crate) states: BTreeMap<ThreadState, f64>,
    pub(crate) major_faults_per_s: f64,
    pub(crate) written_per_answer: Option<f64>,
    pub(crate) established: Option<f64>,
    pub(crate) unread: Option<f64>,
    /// Share of ticks in which connections waited to be accepted; and in which the queue was full.
    pub(crate) accept_waits: f64,
    pub(crate) accept_full: f64,
    /// Absent where no listener was seen.
    pub(crate) accept_queue: Option<f64>,
    pub(crate) files_share: Option<f64>,
    /// Where the requests of its connections were, all its ports together; `None` where the kernel does not tell.
    pub(crate) waits: Option<WaitSample>,
    /// Outgoing connections by remote port; `None` where descriptors are hidden.
    pub(crate) out: Option<BTreeMap<u16, f64>>,
    /// Connections to somebody whom no port names.
    pub(crate) unnamed: f64,
    pub(crate) proxy: Option<ProxySample>,
}

impl TierFacts {
    /// Cores the tier can get: the quota where there is one.
    pub(crate) fn capacity(&self) -> f64 {
        self.quota.map_or(self.cores, |quota| quota.min(self.cores))
    }

    pub(crate) fn cpu_share(&self) -> f64 {
        // A quota pays for what was run alone.
        let of_quota = self.quota.map_or(0.0, |quota| ratio(self.run, quota));
        of_quota.max(ratio(self.run + self.stolen, self.cores))
    }

    /// Demand of the busiest thread; zero where none was seen.
    pub(crate) fn busiest(&self) -> f64 {
        self.thread.as_ref().map_or(0.0, ThreadFacts::demand)
    }

    /// It holds connections to somebody.
    pub(crate) fn calls_out(&self) -> bool {
        let mut counts = self.out.iter().flat_map(BTreeMap::values);
        counts.any(|count| *count >= 1.0)
    }

    pub(crate) fn state(&self, state: ThreadState) -> f64 {
        self.states.get(&state).copied().unwrap_or(0.0)
    }

    /// Neither one thread nor all of them are near their limit. A quota's periods do not count: bursts of a second that is
    /// half idle are throttled, too.
    pub(crate) fn had_room(&self) -> bool {
        self.ticks > 0 && self.busiest() < 0.8 && self.cpu_share() < 0.75
    }

    /// The same, and a quota hardly ever stops it.
    pub(crate) fn has_idle_processor(&self) -> bool {
        self.had_room() && self.throttled < 0.2
    }

    /// One thread or all of them have nothing to spare.
    pub(crate) fn is_full(&self) -> bool {
        self.busiest() >= FULL || self.cpu_share() >= FULL
    }
}

pub(crate) fn tier_facts(ticks: &[&Tick], tier: &str) -> TierFacts {
    let seen: Vec<(&&Tick, &TierTick)> = ticks
        .iter()
        .filter_map(|tick| Some((tick, tick.tiers.get(tier)?)))
        .collect();
    let with_processes: Vec<_> = seen
        .iter()
        .filter(|(_, at)| !at.processes.is_empty())
        .collect();
    let per_tick = |value: &dyn Fn(&Tick, &TierTick) -> Option<f64>| {
        median(
            with_processes
                .iter()
                .filter_map(|(tick, at)| value(tick, at))
                .collect(),
        )
    };
    let sum = |at: &TierTick, of: &dyn Fn(&ProcessSample) -> f64| -> f64 {
        at.processes.iter().map(|process| of(process)).sum()
    };
    let mut facts = TierFacts {
        ticks: with_processes.len(),
        run: per_tick(&|tick, at| Some(sum(at, &run_seconds) / tick.seconds)).unwrap_or(0.0),
        wait: per_tick(&|tick, at| Some(sum(at, &wait_seconds) / tick.seconds)).unwrap_or(0.0),
        stolen: per_tick(&|tick, at| {
            Some(sum(at, &run_seconds) / tick.seconds * stolen_per_run(tick))
        })
        .unwrap_or(0.0),
        cores: per_tick(&|_, at| Some(cores(at))).unwrap_or(0.0),
        unnamed: per_tick(&|_, at| Some(sum(at, &|p| f64::from(p.connections_unnamed))))
            .unwrap_or(0.0),
        switches: per_tick(&|tick, at| {
            let switches = sum(at, &|p| p.voluntary_switches as f64);
            (tick.answers >= 1.0).then(|| switches / tick.answers)
        }),
        major_faults_per_s: per_tick(&|tick, at| {
            Some(sum(at, &|p| p.major_faults as f64) / tick.seconds)
        })
        .unwrap_or(0.0),
        written_per_answer: per_tick(&|tick, at| {
            let each = at.processes.iter().map(|p| p.written_bytes);
            let written: f64 = each.map(|n| Some(n? as f64)).sum::<Option<f64>>()?;
            (tick.answers >= 1.0).then(|| written / tick.answers)
        }),
        files_share: per_tick(&|_, at| {
            let shares = at.processes.iter().filter_map(|p| {
                let (open, max) = (p.open_files? as f64, p.open_files_max? as f64);
                (max > 0.0).then(|| open / max)
            });
            shares.reduce(f64::max)
        }),
        ..TierFacts::default()
    };
    let processes: Vec<(&Tick, &TierTick)> = with_processes
        .iter()
        .map(|(tick, at)| (**tick, *at))
        .collect();
    facts.thread = busiest(&processes);
    facts.states = states(&processes);
    facts.out = out(&processes);
    add_group(&mut facts, &seen);
    add_listener(&mut facts, &seen);
    facts.waits = waits(&seen);
    add_proxy(&mut facts, &seen);
    facts
}

/// Those of the process with most, or all that are named: workers may be pinned to a core each.
fn cores(at: &TierTick) -> f64 {
    let allowed = at.processes.iter().map(|p| p.cores_allowed).max();
    let named = at.processes.iter().flat_map(|p| &p.cores_named);
    let named: BTreeSet<&u32> = named.collect();
    f64::from(allowed.unwrap_or(0)).max(named.len() as f64)
}

fn run_seconds(process: &ProcessSample) -> f64 {
    let threads = process.threads.iter().map(|t| t.run_ns.as_secs_f64());
    threads.sum::<f64>() + process.others.run_ns.as_secs_f64()
}

fn wait_seconds(process: &ProcessSample) -> f64 {
    let threads = process.threads.iter().map(|t| t.wait_ns.as_secs_f64());
    threads.sum::<f64>() + process.others.wait_ns.as_secs_f64()
}

/// What the hypervisor took for each second that something ran. Idle cores lose nothing, so those that run share it.
fn stolen_per_run(tick: &Tick) -> f64 {
    tick.host.map_or(0.0, |host| {
        let stolen = host.steal_ratio * f64::from(host.cores);
        let busy: f64 = host.core_busy_ratio.iter().sum();
        ratio(stolen, busy - stolen)
    })
}

/// Run and wait of every thread over all ticks, as a share of their whole time: sums, because the kernel books a wait only
/// when it ends. The median second counts instead where it asks for more, as it does of the tier: seconds in which everything
/// stood still, or a level that a pause spoilt, do not make a full thread one with room.
fn busiest(ticks: &[(&Tick, &TierTick)]) -> Option<ThreadFacts> {
    let seconds: f64 = ticks.iter().map(|(tick, _)| tick.seconds).sum();
    let mut threads: BTreeMap<(u32, u32), ThreadFacts> = BTreeMap::new();
    let mut shares: BTreeMap<(u32, u32), Vec<[f64; 3]>> = BTreeMap::new();
    for (tick, process) in ticks
        .iter()
        .flat_map(|(tick, at)| at.processes.iter().map(move |process| (tick, process)))
    {
        let per_run = stolen_per_run(tick);
        for thread in &process.threads {
            let key = (process.pid, thread.tid);
            let facts = threads.entry(key).or_default();
            facts.pid = process.pid;
            facts.process.clone_from(&process.name);
            facts.thread.clone_from(&thread.name);
            let (run, wait) = (thread.run_ns.as_secs_f64(), thread.wait_ns.as_secs_f64());
            facts.run += run / seconds;
            facts.stolen += run * per_run / seconds;
            facts.wait += wait / seconds;
            let parts = [run, wait, run * per_run].map(|part| part / tick.seconds);
            shares.entry(key).or_default().push(parts);
        }
    }
    for (facts, each) in threads.values_mut().zip(shares.values_mut()) {
        facts.take_median(each, ticks.len());
    }
    let demand = |facts: &&ThreadFacts| facts.demand();
    let highest = |found: &mut dyn Iterator<Item = &ThreadFacts>| {
        found.map(ThreadFacts::demand).fold(0.0, f64::max)
    };
    let (key, first) = threads
        .iter()
        .max_by(|(_, a), (_, b)| demand(a).total_cmp(&demand(b)))?;
    let rest = || threads.iter().filter(|(other, _)| *other != key);
    Some(ThreadFacts {
        next: highest(&mut rest().filter(|(o, _)| o.0 == key.0).map(|(_, f)| f)),
        elsewhere: highest(&mut rest().filter(|(o, _)| o.0 != key.0).map(|(_, f)| f)),
        ..first.clone()
    })
}

fn states(ticks: &[(&Tick, &TierTick)]) -> BTreeMap<ThreadState, f64> {
    let mut states = BTreeMap::new();
    for process in ticks.iter().flat_map(|(_, at)| &at.processes) {
        for (state, count) in &process.threads_by_state {
            *states.entry(*state).or_insert(0.0) += count / ticks.len() as f64;
        }
    }
    states
}

fn out(ticks: &[(&Tick, &TierTick)]) -> Option<BTreeMap<u16, f64>> {
    let mut ports = BTreeSet::new();
    let mut per_tick = Vec::new();
    for (_, at) in ticks {
        let mut counts: BTreeMap<u16, f64> = BTreeMap::new();
        for process in &at.processes {
            for (port, count) in process.connections_out.as_ref()? {
                *counts.entry(*port).or_default() += f64::from(*count);
            }
        }
        ports.extend(counts.keys().copied());
        per_tick.push(counts);
    }
    if per_tick.is_empty() {
        return None;
    }
    let count = |port: u16| {
        let each = per_tick.iter();
        median(each.map(|c| c.get(&port).copied().unwrap_or(0.0)).collect()).unwrap_or(0.0)
    };
    Some(ports.into_iter().map(|port| (port, count(port))).collect())
}

fn add_group(facts: &mut TierFacts, seen: &[(&&Tick, &TierTick)]) {
    let groups = || seen.iter().flat_map(|(_, at)| &at.cgroups);
    facts.has_group = groups().next().is_some();
    let is_old = groups().any(|g| g.quota_cores.is_some() && g.quota_path.is_none());
    facts.quota = if is_old {
        // Whose quota it is was not recorded: of several, nobody knows whether they add up.
        groups().filter_map(|g| g.quota_cores).reduce(f64::min)
    } else {
        median(seen.iter().filter_map(|(_, at)| quota(at)).collect())
    };
    let periods: u64 = groups().map(|g| g.periods).sum();
    let throttled: u64 = groups().map(|g| g.throttled_periods).sum();
    facts.throttled = ratio(throttled as f64, periods as f64);
    facts.memory_share = groups()
        .filter_map(|g| Some(g.memory_bytes? as f64 / g.memory_max_bytes? as f64))
        .reduce(f64::max);
}

/// Of all groups together; one that several processes share counts once.
fn quota(at: &TierTick) -> Option<f64> {
    let groups = at.cgroups.iter();
    let each: BTreeMap<&str, f64> = groups
        .filter_map(|group| Some((group.quota_path.as_deref()?, group.quota_cores?)))
        .collect();
    (!each.is_empty()).then(|| each.values().sum())
}

/// Of several listeners the one with most connections: an admin port beside it has few.
fn add_listener(facts: &mut TierFacts, seen: &[(&&Tick, &TierTick)]) {
    let busiest: Vec<&&ListenerSample> = seen
        .iter()
        .filter_map(|(_, at)| {
            let listeners = at.listeners.iter();
            listeners.max_by_key(|l| l.established + l.accept_queue)
        })
        .collect();
    if busiest.is_empty() {
        return;
    }
    let all = busiest.len() as f64;
    let share = |of: &dyn Fn(&ListenerSample) -> bool| {
        busiest.iter().filter(|listener| of(listener)).count() as f64 / all
    };
    let middle = |of: &dyn Fn(&ListenerSample) -> u32| {
        median(busiest.iter().map(|l| f64::from(of(l))).collect())
    };
    facts.established = middle(&|l| l.established);
    facts.unread = middle(&|l| l.unread);
    facts.accept_queue = middle(&|l| l.accept_queue);
    facts.accept_waits = share(&|l| l.accept_queue > 0);
    facts.accept_full =
        share(&|l| l.accept_queue_max > 0 && l.accept_queue * 10 >= l.accept_queue_max * 9);
}

/// Means over all looks: what a port adds in an interval counts by the looks of that.
fn waits(seen: &[(&&Tick, &TierTick)]) -> Option<WaitSample> {
    let mut sum = WaitSample::default();
    for (_, at) in seen {
        let ports: Vec<&WaitSample> = at
            .listeners
            .iter()
            .filter_map(|l| l.waits.as_ref())
            .collect();
        // All ports of a tier are looked at together.
        sum.looks += ports.iter().map(|port| port.looks).max().unwrap_or(0);
        for port in ports {
            let looks = f64::from(port.looks);
            sum.inside += port.inside * looks;
            sum.unread += port.unread * looks;
            sum.not_accepted += port.not_accepted * looks;
            sum.held += port.held * looks;
            sum.answers_unread += port.answers_unread * looks;
        }
    }
    let mean = |count: f64| count / f64::from(sum.looks);
    (sum.looks > 0).then(|| WaitSample {
        looks: sum.looks,
        inside: mean(sum.inside),
        unread: mean(sum.unread),
        not_accepted: mean(sum.not_accepted),
        held: mean(sum.held),
        answers_unread: mean(sum.answers_unread),
    })
}

fn add_proxy(facts: &mut TierFacts, seen: &[(&&Tick, &TierTick)]) {
    for proxy in seen.iter().flat_map(|(_, at)| &at.proxies) {
        let sum = facts.proxy.get_or_insert_default();
        sum.requests += proxy.requests;
        sum.upstream_unreached += proxy.upstream_unreached;
        for (class, count) in &proxy.status {
            *sum.status.entry(*class).or_default() += count;
        }
        sum.request_time.merge(&proxy.request_time);
        sum.upstream_time.merge(&proxy.upstream_time);
        sum.upstream_connect_time
            .merge(&proxy.upstream_connect_time);
    }
}

#[cfg(test)]
mod tests;
