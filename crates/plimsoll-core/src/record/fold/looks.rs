//! Neighbouring looks at the same thing become one that is true of their whole time: what was counted adds up, means weigh by time,
//! and what was read at a moment is that of the last look.

use super::super::observation::{
    CgroupSample, HostSample, ListenerSample, MetricsSample, NeighbourSample, Observation,
    ProcessSample, ProxySample, Seen, ThreadSample, WaitSample,
};

/// As many as a look has itself.
const THREADS_MAX: usize = 16;
const NEIGHBOURS_MAX: usize = 3;

/// One look at each thing that was seen at the instants of these looks, which are in order.
pub(super) fn together(looks: Vec<Observation>) -> Vec<Observation> {
    let last = looks.iter().map(|look| look.at_ns).max();
    let timed = looks.iter().filter(|look| !is_late(look));
    let (Some(at), begin) = (last, timed.map(Observation::begin_ns).min()) else {
        return looks;
    };
    let mut joined: Vec<Observation> = Vec::new();
    // Things are seen in the same order at every instant: the next one is usually the one behind the last.
    let mut next = 0;
    for look in looks {
        // Of several endpoints of one tier, which nothing tells apart, each goes on with one of an instant before.
        let is_it = |known: &Observation| known.at_ns < look.at_ns && is_same(known, &look);
        let mut places = (next..joined.len()).chain(0..next);
        let place = places.find(|place| is_it(&joined[*place]));
        match place {
            Some(place) => {
                join(&mut joined[place], look);
                next = place + 1;
            }
            None => joined.push(look),
        }
    }
    for look in &mut joined {
        // What came or went meanwhile was there for a part of the time, and is said of all of it as everything else.
        if let Some(begin) = begin.filter(|_| !is_late(look)) {
            look.length_ns = at - begin;
        }
        look.at_ns = at;
    }
    joined
}

/// An endpoint answers when it can: its counters grew over a time of their own.
fn is_late(look: &Observation) -> bool {
    matches!(look.seen, Seen::Metrics(_))
}

fn is_same(one: &Observation, other: &Observation) -> bool {
    one.tier == other.tier
        && match (&one.seen, &other.seen) {
            (Seen::Process(one), Seen::Process(other)) => one.pid == other.pid,
            (Seen::Cgroup(one), Seen::Cgroup(other)) => one.path == other.path,
            (Seen::Listener(one), Seen::Listener(other)) => one.port == other.port,
            (Seen::Host(_), Seen::Host(_))
            | (Seen::Proxy(_), Seen::Proxy(_))
            | (Seen::Metrics(_), Seen::Metrics(_)) => true,
            _ => false,
        }
}

fn join(known: &mut Observation, look: Observation) {
    let earlier = std::mem::replace(known, look);
    let (before, after) = (earlier.length_ns.0 as f64, known.length_ns.0 as f64);
    let share = if before > 0.0 {
        before / (before + after)
    } else {
        0.0
    };
    known.length_ns += earlier.length_ns;
    match (&mut known.seen, earlier.seen) {
        (Seen::Process(now), Seen::Process(then)) => process(now, then, share),
        (Seen::Host(now), Seen::Host(then)) => host(now, then, share),
        (Seen::Cgroup(now), Seen::Cgroup(then)) => group(now, &then),
        (Seen::Listener(now), Seen::Listener(then)) => listener(now, &then),
        (Seen::Proxy(now), Seen::Proxy(then)) => proxy(now, &then),
        (Seen::Metrics(now), Seen::Metrics(then)) => metrics(now, then),
        _ => {}
    }
}

fn add(now: &mut u64, then: u64) {
    *now = now.saturating_add(then);
}

/// `share` of the time is that of `then`.
fn mean(now: &mut f64, then: f64, share: f64) {
    *now = then * share + *now * (1.0 - share);
}

fn mean_if_read(now: &mut Option<f64>, then: Option<f64>, share: f64) {
    match (now.as_mut(), then) {
        (Some(now), Some(then)) => mean(now, then, share),
        (None, then) => *now = then,
        (Some(_), None) => {}
    }
}

fn process(now: &mut ProcessSample, then: ProcessSample, share: f64) {
    add_thread(&mut now.others, &then.others);
    for thread in then.threads {
        match now.threads.iter_mut().find(|it| it.tid == thread.tid) {
            Some(known) => add_thread(known, &thread),
            None => now.threads.push(thread),
        }
    }
    now.threads
        .sort_by_key(|it| (std::cmp::Reverse(it.run_ns + it.wait_ns), it.tid));
    while now.threads.len() > THREADS_MAX {
        let least = now.threads.pop().unwrap_or_default();
        add_thread(&mut now.others, &least);
    }
    add(&mut now.voluntary_switches, then.voluntary_switches);
    add(&mut now.involuntary_switches, then.involuntary_switches);
    add(&mut now.major_faults, then.major_faults);
    if let Some(written) = &mut now.written_bytes {
        add(written, then.written_bytes.unwrap_or(0));
    }
    for count in now.threads_by_state.values_mut() {
        *count *= 1.0 - share;
    }
    for (state, count) in then.threads_by_state {
        *now.threads_by_state.entry(state).or_default() += count * share;
    }
}

fn add_thread(now: &mut ThreadSample, then: &ThreadSample) {
    now.run_ns += then.run_ns;
    now.wait_ns += then.wait_ns;
}

fn host(now: &mut HostSample, then: HostSample, share: f64) {
    if now.core_busy_ratio.len() == then.core_busy_ratio.len() {
        for (now, then) in now.core_busy_ratio.iter_mut().zip(then.core_busy_ratio) {
            mean(now, then, share);
        }
    }
    mean(&mut now.steal_ratio, then.steal_ratio, share);
    for (now, then) in [
        (&mut now.psi_cpu_some_ratio, then.psi_cpu_some_ratio),
        (&mut now.psi_io_full_ratio, then.psi_io_full_ratio),
        (&mut now.psi_io_some_ratio, then.psi_io_some_ratio),
        (&mut now.psi_memory_some_ratio, then.psi_memory_some_ratio),
    ] {
        mean_if_read(now, then, share);
    }
    add(&mut now.listen_overflows, then.listen_overflows);
    add(&mut now.listen_drops, then.listen_drops);
    add(&mut now.retransmits, then.retransmits);
    neighbours(&mut now.neighbours, then.neighbours, share);
}

/// Who was not among the busiest of a look ran on no core in it, as far as that look says.
fn neighbours(now: &mut Vec<NeighbourSample>, then: Vec<NeighbourSample>, share: f64) {
    for neighbour in now.iter_mut() {
        neighbour.cores *= 1.0 - share;
    }
    for mut neighbour in then {
        neighbour.cores *= share;
        let mut known = now.iter_mut();
        match known.find(|it| it.pid == neighbour.pid && it.name == neighbour.name) {
            Some(known) => known.cores += neighbour.cores,
            None => now.push(neighbour),
        }
    }
    now.sort_by(|a, b| b.cores.total_cmp(&a.cores));
    now.truncate(NEIGHBOURS_MAX);
}

fn group(now: &mut CgroupSample, then: &CgroupSample) {
    now.run_ns += then.run_ns;
    now.throttled_ns += then.throttled_ns;
    add(&mut now.periods, then.periods);
    add(&mut now.throttled_periods, then.throttled_periods);
}

fn listener(now: &mut ListenerSample, then: &ListenerSample) {
    now.was_full |= then.is_full() || then.was_full;
    now.waits = match (now.waits, then.waits) {
        (Some(now), Some(then)) => Some(waits(now, then)),
        (now, then) => now.or(then),
    };
}

/// Means over looks weigh by their number.
fn waits(now: WaitSample, then: WaitSample) -> WaitSample {
    let looks = now.looks.saturating_add(then.looks);
    let share = f64::from(then.looks) / f64::from(looks.max(1));
    let of = |now: f64, then: f64| then * share + now * (1.0 - share);
    WaitSample {
        looks,
        inside: of(now.inside, then.inside),
        unread: of(now.unread, then.unread),
        not_accepted: of(now.not_accepted, then.not_accepted),
        held: of(now.held, then.held),
        answers_unread: of(now.answers_unread, then.answers_unread),
    }
}

fn proxy(now: &mut ProxySample, then: &ProxySample) {
    add(&mut now.requests, then.requests);
    add(&mut now.upstream_unreached, then.upstream_unreached);
    for (class, count) in &then.status {
        add(now.status.entry(*class).or_default(), *count);
    }
    now.request_time.merge(&then.request_time);
    now.upstream_time.merge(&then.upstream_time);
    now.upstream_connect_time.merge(&then.upstream_connect_time);
}

fn metrics(now: &mut MetricsSample, then: MetricsSample) {
    let is_counter = |series: &str| {
        let name = series.split('{').next().unwrap_or(series);
        name.ends_with("_total")
    };
    for (series, value) in then.values {
        if is_counter(&series) {
            *now.values.entry(series).or_default() += value;
        }
    }
}
