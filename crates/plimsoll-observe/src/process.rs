//! One process: what its threads demand of processors, what they wait for, what it holds.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::Nanos;
use plimsoll_core::record::{ProcessSample, ThreadSample, ThreadState};

use crate::parse::{
    core_numbers, field, number_field, open_files_max, schedstat, socket_inode, stat, thread_state,
};
use crate::procfs::ProcFs;

/// Threads read one by one; of a process with more, the oldest.
const THREADS_MAX: usize = 512;
/// Threads whose state is looked at; of more, every n-th counts for n.
const LOOKED_AT_MAX: usize = 128;
const SHOWN_MAX: usize = 16;
/// Descriptors resolved to sockets; above, only their number is kept.
const LINKS_MAX: usize = 8192;

#[derive(Debug, Clone, Default)]
struct ThreadCounters {
    name: String,
    run_ns: u64,
    wait_ns: u64,
    voluntary: u64,
    involuntary: u64,
}

/// Cumulative counters of a process at one instant.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessCounters {
    name: String,
    start_ticks: u64,
    threads: BTreeMap<u32, ThreadCounters>,
    threads_count: u32,
    run_ticks: u64,
    major_faults: u64,
    resident_bytes: u64,
    /// All that one of its threads may use; empty where that cannot be read.
    cores: BTreeSet<u32>,
    written_bytes: Option<u64>,
    open_files: Option<u64>,
    open_files_max: Option<u64>,
    /// Socket inodes; `None` where its descriptors are hidden.
    pub(crate) inodes: Option<BTreeSet<u64>>,
    /// Its network namespace; `None` where that is hidden.
    pub(crate) namespace: Option<String>,
    /// The kernel has no `schedstat`: run time comes from ticks and there is no wait.
    pub(crate) without_schedstat: bool,
}

impl ProcessCounters {
    /// `None` when the process is gone.
    pub(crate) fn read(proc: &ProcFs, pid: u32) -> Option<Self> {
        let read = stat(&proc.process_file(pid, "stat").ok()?)?;
        if matches!(read.state, 'Z' | 'X') {
            return None;
        }
        let tids = proc.numbers(&format!("{pid}/task")).ok()?;
        let mut counters = Self {
            name: read.name,
            start_ticks: read.start_ticks,
            threads_count: tids.len() as u32,
            run_ticks: read.run_ticks,
            major_faults: read.major_faults,
            resident_bytes: read.resident_pages * rustix::param::page_size() as u64,
            ..Self::default()
        };
        let mut masks = BTreeSet::new();
        for tid in tids.into_iter().take(THREADS_MAX) {
            if let Some(read) = thread(proc, pid, tid) {
                counters.without_schedstat |= !read.is_exact;
                counters.threads.insert(tid, read.counters);
                masks.extend(read.cores);
            }
        }
        // Nearly always the same for all threads; one that is pinned alone says nothing of the others.
        let cores = masks.iter().filter_map(|mask| core_numbers(mask));
        counters.cores = cores.flatten().collect();
        counters.read_optional(proc, pid);
        Some(counters)
    }

    fn read_optional(&mut self, proc: &ProcFs, pid: u32) {
        let text = |file: &str| proc.process_file(pid, file).unwrap_or_default();
        self.written_bytes = number_field(&text("io"), "write_bytes");
        self.open_files_max = open_files_max(&text("limits"));
        self.namespace = proc.link(&pid.to_string(), "ns/net");
        if let Ok((links, count)) = proc.links(pid, LINKS_MAX) {
            self.open_files = Some(count);
            self.inodes = Some(links.iter().filter_map(|link| socket_inode(link)).collect());
        }
    }

    /// The same process, or another one that got its number?
    pub(crate) fn continues(&self, earlier: &Self) -> bool {
        self.start_ticks == earlier.start_ticks
    }

    /// What happened between `earlier` and now.
    pub(crate) fn since(&self, earlier: &Self, pid: u32, cores: u32) -> ProcessSample {
        let none = ThreadCounters::default();
        let mut threads = Vec::new();
        let (mut voluntary, mut involuntary) = (0, 0);
        // One that was not read then may be one of those above the bound: what it did before is not of this interval.
        let is_cut = earlier.threads_count as usize > THREADS_MAX;
        for (tid, now) in &self.threads {
            // A thread born in the interval has done all it did within it.
            let unread = if is_cut { now } else { &none };
            let then = earlier.threads.get(tid).unwrap_or(unread);
            voluntary += now.voluntary.saturating_sub(then.voluntary);
            involuntary += now.involuntary.saturating_sub(then.involuntary);
            threads.push(ThreadSample {
                tid: *tid,
                name: now.name.clone(),
                run_ns: Nanos(now.run_ns.saturating_sub(then.run_ns)),
                wait_ns: Nanos(now.wait_ns.saturating_sub(then.wait_ns)),
            });
        }
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.run_ns + thread.wait_ns));
        let mut others = sum(threads.get(SHOWN_MAX..).unwrap_or_default());
        threads.truncate(SHOWN_MAX);
        threads.retain(|thread| thread.run_ns + thread.wait_ns > Nanos::ZERO);
        others.run_ns += self.ended_threads(earlier, sum(&threads).run_ns + others.run_ns);
        ProcessSample {
            pid,
            name: self.name.clone(),
            cores_allowed: self.cores_allowed(cores),
            cores_named: self.cores_named(cores),
            threads,
            others,
            threads_count: self.threads_count,
            voluntary_switches: voluntary,
            involuntary_switches: involuntary,
            resident_bytes: self.resident_bytes,
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            open_files: self.open_files,
            open_files_max: self.open_files_max,
            written_bytes: self
                .written_bytes
                .zip(earlier.written_bytes)
                .map(|(now, then)| now.saturating_sub(then)),
            threads_by_state: BTreeMap::new(),
            connections_out: None,
            connections_unnamed: 0,
        }
    }

    fn cores_allowed(&self, of_host: u32) -> u32 {
        match self.cores.len() as u32 {
            0 => of_host,
            allowed => allowed.min(of_host),
        }
    }

    /// Which they are; none where it may use all.
    fn cores_named(&self, of_host: u32) -> Vec<u32> {
        if self.cores.len() >= of_host as usize {
            return Vec::new();
        }
        self.cores.iter().copied().collect()
    }

    /// Run time of threads that ended in the interval: in the process's ticks, in no thread's count.
    fn ended_threads(&self, earlier: &Self, counted: Nanos) -> Nanos {
        let ticks = self.run_ticks.saturating_sub(earlier.run_ticks);
        let tick = tick_ns();
        // Ticks are coarse: a difference of two is rounding, not a thread.
        let missing = Nanos(ticks.saturating_mul(tick)).saturating_sub(counted);
        if missing.0 > 2 * tick {
            missing
        } else {
            Nanos::ZERO
        }
    }
}

pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

fn sum(threads: &[ThreadSample]) -> ThreadSample {
    let mut sum = ThreadSample::default();
    for thread in threads {
        sum.run_ns += thread.run_ns;
        sum.wait_ns += thread.wait_ns;
    }
    sum
}

struct ThreadRead {
    counters: ThreadCounters,
    /// Of the scheduler's own count, and not of ticks.
    is_exact: bool,
    /// The cores that it may use, as the kernel lists them.
    cores: Option<String>,
}

fn thread(proc: &ProcFs, pid: u32, tid: u32) -> Option<ThreadRead> {
    let file = |name: &str| proc.process_file(pid, &format!("task/{tid}/{name}"));
    let read = stat(&file("stat").ok()?)?;
    let exact = file("schedstat").ok().and_then(|text| schedstat(&text));
    let (run_ns, wait_ns) = exact.unwrap_or((read.run_ticks.saturating_mul(tick_ns()), 0));
    let status = file("status").unwrap_or_default();
    let switches = |name| number_field(&status, name).unwrap_or(0);
    let counters = ThreadCounters {
        name: read.name,
        run_ns,
        wait_ns,
        voluntary: switches("voluntary_ctxt_switches"),
        involuntary: switches("nonvoluntary_ctxt_switches"),
    };
    Some(ThreadRead {
        counters,
        is_exact: exact.is_some(),
        cores: field(&status, "Cpus_allowed_list").map(str::to_owned),
    })
}

/// Looks at what the threads of a process are doing, gathered over an interval.
#[derive(Debug, Clone, Default)]
pub(crate) struct Looks {
    count: u32,
    found: BTreeMap<ThreadState, usize>,
}

impl Looks {
    pub(crate) fn look(&mut self, proc: &ProcFs, pid: u32) {
        let Ok(tids) = proc.numbers(&format!("{pid}/task")) else {
            return;
        };
        self.count += 1;
        let each_counts = tids.len().div_ceil(LOOKED_AT_MAX).max(1);
        for tid in tids.into_iter().step_by(each_counts) {
            let Ok(text) = proc.process_file(pid, &format!("task/{tid}/stat")) else {
                continue;
            };
            let Some(read) = stat(&text) else { continue };
            let wchan = proc
                .process_file(pid, &format!("task/{tid}/wchan"))
                .unwrap_or_default();
            *self
                .found
                .entry(thread_state(read.state, &wchan))
                .or_default() += each_counts;
        }
    }

    /// Mean number of threads per state; empties itself.
    pub(crate) fn take(&mut self) -> BTreeMap<ThreadState, f64> {
        let looks = f64::from(self.count.max(1));
        let found = std::mem::take(&mut self.found);
        self.count = 0;
        found
            .into_iter()
            .map(|(state, count)| (state, count as f64 / looks))
            .collect()
    }
}

#[cfg(test)]
mod tests;
