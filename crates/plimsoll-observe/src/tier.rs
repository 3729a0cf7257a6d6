//! The processes, listeners and control groups of one tier, followed through restarts.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::Nanos;
use plimsoll_core::record::{ListenerSample, ProcessSample, Seen};

use crate::batch::Batch;
use crate::cgroup::CgroupCounters;
use crate::discover::{listeners, named, with_descendants};
use crate::parse::{Stat, socket_inode, stat};
use crate::process::{Looks, ProcessCounters, tick_ns};
use crate::procfs::ProcFs;
use crate::socket::Socket;
use crate::table::Sockets;
use crate::waiting::Waits;

/// Looking for new processes reads every process's descriptors: not in every sample.
const SEARCH_EVERY: u32 = 10;
/// Of more, only what they ran is read.
const PROCESSES_MAX: usize = 64;
/// A listener is opened early and has a low number.
const LINKS_MAX: usize = 4096;
/// Listening ports shown of a tier that was not named by its port.
const PORTS_MAX: usize = 4;

/// Where a tier's processes descend from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Roots {
    Pid(u32),
    Port(u16),
    Name(String),
}

#[derive(Debug, Default)]
struct Tracked {
    earlier: Option<ProcessCounters>,
    looks: Looks,
}

#[derive(Debug)]
pub(crate) struct Tier {
    name: String,
    roots: Vec<Roots>,
    processes: BTreeMap<u32, Tracked>,
    /// Those above the bound, as they were last seen.
    rest: BTreeMap<u32, Option<Stat>>,
    cgroups: BTreeMap<String, CgroupCounters>,
    /// Processes that a watch gave to another tier.
    foreign: BTreeSet<u32>,
    until_search: u32,
    /// Ports that it listened on in the last sample.
    listening: BTreeSet<u16>,
}

impl Tier {
    pub(crate) fn new(name: String, roots: Roots) -> Self {
        Self {
            name,
            roots: vec![roots],
            processes: BTreeMap::new(),
            rest: BTreeMap::new(),
            cgroups: BTreeMap::new(),
            foreign: BTreeSet::new(),
            until_search: 0,
            listening: BTreeSet::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.processes.keys().chain(self.rest.keys()).copied()
    }

    pub(crate) fn listening(&self) -> impl Iterator<Item = u16> + '_ {
        self.listening.iter().copied()
    }

    pub(crate) fn has(&self, roots: &Roots) -> bool {
        self.roots.contains(roots)
    }

    pub(crate) fn add(&mut self, roots: Roots) {
        self.roots.push(roots);
    }

    pub(crate) fn leave_out(&mut self, pid: u32) {
        if !self.has(&Roots::Pid(pid)) {
            self.foreign.insert(pid);
        }
    }

    pub(crate) fn look(&mut self, proc: &ProcFs) {
        for (pid, tracked) in &mut self.processes {
            tracked.looks.look(proc, *pid);
        }
    }

    /// Samples the tier and returns the local ports that it calls: tiers behind this one.
    pub(crate) fn sample(
        &mut self,
        proc: &ProcFs,
        cores: u32,
        sockets: &Sockets,
        waits: &Waits,
        batch: &mut Batch,
    ) -> BTreeSet<u16> {
        let mut behind = BTreeSet::new();
        if self.until_search == 0 || self.processes.is_empty() {
            behind = self.search(proc, sockets, batch);
            self.until_search = SEARCH_EVERY;
        }
        self.until_search -= 1;
        let mut inodes = BTreeSet::new();
        let pids: Vec<u32> = self.processes.keys().copied().collect();
        for pid in pids {
            if let Some(now) = self.read_process(proc, pid, batch) {
                inodes.extend(now.inodes.iter().flatten());
                self.see_process(pid, now, cores, sockets, batch);
            }
        }
        self.see_rest(proc, batch);
        self.sample_cgroups(proc, batch);
        self.sample_listeners(sockets, &inodes, waits, batch);
        behind.extend(sockets.local_ports_of(&inodes));
        behind
    }

    /// Finds new processes. A descendant that listens elsewhere is a tier of its own.
    fn search(&mut self, proc: &ProcFs, sockets: &Sockets, batch: &mut Batch) -> BTreeSet<u16> {
        let mut roots = BTreeSet::new();
        for root in self.roots.clone() {
            match root {
                Roots::Pid(pid) => roots.extend([pid]),
                Roots::Name(name) => roots.extend(named(proc, &name)),
                Roots::Port(port) => {
                    let mut pids = self.behind_port(proc, port, batch);
                    // Nodes that listen on the same port of different addresses: those that have a name are not this one.
                    if !pids.is_subset(&self.foreign) {
                        pids.retain(|pid| !self.foreign.contains(pid));
                    }
                    roots.extend(pids);
                }
            }
        }
        let (family, behind) = self.without_other_tiers(proc, sockets, &roots);
        if family.len() > PROCESSES_MAX {
            let reason = format!(
                "{} processes; {PROCESSES_MAX} are looked at, of the others only what they ran",
                family.len()
            );
            batch.absent(&self.name, "some processes", reason);
        }
        let mut rest = std::mem::take(&mut self.rest);
        for pid in family {
            if self.processes.contains_key(&pid) || self.processes.len() < PROCESSES_MAX {
                self.processes.entry(pid).or_default();
            } else {
                self.rest.insert(pid, rest.remove(&pid).flatten());
            }
        }
        behind
    }

    fn without_other_tiers(
        &self,
        proc: &ProcFs,
        sockets: &Sockets,
        roots: &BTreeSet<u32>,
    ) -> (BTreeSet<u32>, BTreeSet<u16>) {
        let held = |pid: u32| sockets.held_ports(&inodes_of(proc, pid));
        let mut own = self.ports();
        own.extend(roots.iter().flat_map(|pid| held(*pid)));
        let mut family = with_descendants(proc, roots);
        let mut behind = BTreeSet::new();
        for pid in family.clone() {
            let ports = held(pid);
            let elsewhere = !ports.is_empty() && ports.is_disjoint(&own);
            if !roots.contains(&pid) && (elsewhere || self.foreign.contains(&pid)) {
                behind.extend(ports);
                for below in with_descendants(proc, &BTreeSet::from([pid])) {
                    family.remove(&below);
                }
            }
        }
        (family, behind)
    }

    fn behind_port(&self, proc: &ProcFs, port: u16, batch: &mut Batch) -> BTreeSet<u32> {
        let found = listeners(proc, port).unwrap_or_default();
        if let Some(user) = found.hidden_user {
            let reason = format!(
                "a listener on port {port} belongs to user {user}, whose descriptors are hidden; \
                 name its process with --watch pid:N or name:STR, or run as that user"
            );
            batch.absent(&self.name, "process", reason);
        } else if found.sockets == 0 {
            let reason = format!(
                "nothing in this network namespace listens on port {port}; \
                 name its process with --watch pid:N"
            );
            batch.absent(&self.name, "listener", reason);
        }
        found.pids
    }

    fn read_process(
        &mut self,
        proc: &ProcFs,
        pid: u32,
        batch: &mut Batch,
    ) -> Option<ProcessCounters> {
        let Some(now) = ProcessCounters::read(proc, pid) else {
            self.processes.remove(&pid);
            self.until_search = 0;
            batch.absent(&self.name, &format!("process {pid}"), "it ended".to_owned());
            return None;
        };
        if now.without_schedstat {
            let reason = "the kernel has no schedstat: waiting for a processor is not seen";
            batch.absent(&self.name, "run-queue wait", reason.to_owned());
        }
        if now.inodes.is_none() {
            let reason = format!(
                "process {pid} belongs to another user: its open files and outgoing connections \
                 are not seen"
            );
            batch.absent(&self.name, "descriptors", reason);
        }
        Some(now)
    }

    fn see_process(
        &mut self,
        pid: u32,
        now: ProcessCounters,
        cores: u32,
        sockets: &Sockets,
        batch: &mut Batch,
    ) {
        let tracked = self.processes.entry(pid).or_default();
        let states = tracked.looks.take();
        let earlier = tracked.earlier.take().filter(|e| now.continues(e));
        if let Some(earlier) = earlier {
            let mut sample = now.since(&earlier, pid, cores);
            sample.threads_by_state = states;
            if sockets.are_not_of(now.namespace.as_deref()) {
                let reason = format!(
                    "process {pid} is in another network namespace (a container): whom it calls is not seen"
                );
                batch.absent(&self.name, "connections", reason);
            } else if let Some(mine) = &now.inodes {
                sample.connections_out = Some(sockets.out_of(mine));
                sample.connections_unnamed = sockets.unnamed_of(mine, earlier.inodes.as_ref());
            }
            batch.see(&self.name, Seen::Process(sample));
        }
        tracked.earlier = Some(now);
    }

    /// What the processes above the bound ran, as one. Workers of a tier are alike: whom they call the others tell.
    fn see_rest(&mut self, proc: &ProcFs, batch: &mut Batch) {
        let Some(pid) = self.rest.keys().next().copied() else {
            return;
        };
        let mut sum = ProcessSample {
            pid,
            name: format!("{} more processes", self.rest.len()),
            connections_out: Some(BTreeMap::new()),
            ..ProcessSample::default()
        };
        self.rest.retain(|pid, before| {
            let text = proc.process_file(*pid, "stat").ok();
            let read = text.and_then(|text| stat(&text));
            let Some(now) = read.filter(|now| !matches!(now.state, 'Z' | 'X')) else {
                return false;
            };
            let began = |before: &&Stat| before.start_ticks == now.start_ticks;
            if let Some(before) = before.as_ref().filter(began) {
                let ticks = now.run_ticks.saturating_sub(before.run_ticks);
                sum.others.run_ns += Nanos(ticks.saturating_mul(tick_ns()));
                sum.major_faults += now.major_faults.saturating_sub(before.major_faults);
            }
            sum.resident_bytes += now.resident_pages * rustix::param::page_size() as u64;
            // One at least.
            sum.threads_count += 1;
            *before = Some(now);
            true
        });
        batch.see(&self.name, Seen::Process(sum));
    }

    /// One sample per distinct group: workers of a tier usually share theirs.
    fn sample_cgroups(&mut self, proc: &ProcFs, batch: &mut Batch) {
        let mut seen = BTreeMap::new();
        for pid in self.processes.keys() {
            if let Some(now) = CgroupCounters::read(proc, *pid) {
                seen.entry(now.path.clone()).or_insert(now);
            }
        }
        if seen.is_empty() && !self.processes.is_empty() {
            let reason = "no control group of the processes can be read".to_owned();
            batch.absent(&self.name, "control group", reason);
        }
        for (path, now) in &seen {
            if let Some(earlier) = self.cgroups.get(path) {
                batch.see(&self.name, Seen::Cgroup(now.since(earlier)));
            }
        }
        self.cgroups = seen;
    }

    fn sample_listeners(
        &mut self,
        sockets: &Sockets,
        inodes: &BTreeSet<u64>,
        waits: &Waits,
        batch: &mut Batch,
    ) {
        self.listening.clear();
        let mut ports = self.ports();
        ports.extend(sockets.held_ports(inodes).into_iter().take(PORTS_MAX));
        for port in ports {
            let queues: Vec<&Socket> = sockets.listening_on(port).collect();
            if queues.is_empty() {
                continue;
            }
            self.listening.insert(port);
            let sample = ListenerSample {
                port,
                accept_queue: queues.iter().map(|socket| socket.queue).sum(),
                accept_queue_max: queues.iter().map(|socket| socket.queue_max).sum(),
                was_full: false,
                // Connections without an owner wait in the accept queue and are counted there.
                established: sockets.accepted_on(port).count() as u32,
                unread: sockets.accepted_on(port).filter(|s| s.queue > 0).count() as u32,
                waits: waits.of(port),
            };
            batch.see(&self.name, Seen::Listener(sample));
        }
    }

    fn ports(&self) -> BTreeSet<u16> {
        let port = |root: &Roots| match root {
            Roots::Port(port) => Some(*port),
            Roots::Pid(_) | Roots::Name(_) => None,
        };
        self.roots.iter().filter_map(port).collect()
    }
}

fn inodes_of(proc: &ProcFs, pid: u32) -> BTreeSet<u64> {
    let links = proc.links(pid, LINKS_MAX).map(|(links, _)| links);
    let links = links.unwrap_or_default();
    links.iter().filter_map(|link| socket_inode(link)).collect()
}

#[cfg(test)]
mod tests;
