//! The host: busy cores, stolen time, pressure, listener drops and retransmits.

use plimsoll_core::record::HostSample;

use crate::parse::{CoreTicks, core_ticks, paired_counter, pressure_total};
use crate::procfs::ProcFs;

/// Cumulative counters at one instant; `None` where the kernel has no such file.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostCounters {
    cores: Vec<CoreTicks>,
    cpu_some: Option<u64>,
    io_some: Option<u64>,
    io_full: Option<u64>,
    memory_some: Option<u64>,
    listen_overflows: Option<u64>,
    listen_drops: Option<u64>,
    retransmits: Option<u64>,
}

impl HostCounters {
    pub(crate) fn read(proc: &ProcFs) -> Self {
        let pressure = |file: &str, kind: &str| {
            let text = proc.read(&format!("pressure/{file}")).ok()?;
            pressure_total(&text, kind)
        };
        let netstat = proc.read("net/netstat").unwrap_or_default();
        let snmp = proc.read("net/snmp").unwrap_or_default();
        Self {
            cores: core_ticks(&proc.read("stat").unwrap_or_default()),
            cpu_some: pressure("cpu", "some"),
            io_some: pressure("io", "some"),
            io_full: pressure("io", "full"),
            memory_some: pressure("memory", "some"),
            listen_overflows: paired_counter(&netstat, "TcpExt", "ListenOverflows"),
            listen_drops: paired_counter(&netstat, "TcpExt", "ListenDrops"),
            retransmits: paired_counter(&snmp, "Tcp", "RetransSegs"),
        }
    }

    pub(crate) fn cores(&self) -> u32 {
        self.cores.len() as u32
    }

    /// Files that are not there, with the reason.
    pub(crate) fn absent(&self) -> Vec<(&'static str, &'static str)> {
        let mut absent = Vec::new();
        if self.cores.is_empty() {
            absent.push(("cores", "/proc/stat has no per-core lines"));
        }
        if self.cpu_some.is_none() && self.io_full.is_none() {
            absent.push((
                "pressure",
                "/proc/pressure is not there; the kernel lacks it or it is off (psi=1)",
            ));
        }
        if self.listen_overflows.is_none() {
            absent.push(("listener drops", "/proc/net/netstat cannot be read"));
        }
        absent
    }

    /// What happened between `earlier` and now, over `seconds`.
    pub(crate) fn since(&self, earlier: &Self, seconds: f64) -> HostSample {
        let stalled = |now: Option<u64>, then: Option<u64>| {
            let micros = now?.checked_sub(then?)? as f64;
            Some((micros / 1e6 / seconds).min(1.0))
        };
        let counted = |now: Option<u64>, then: Option<u64>| {
            now.zip(then)
                .map_or(0, |(now, then)| now.saturating_sub(then))
        };
        let cores = self.cores.iter().zip(&earlier.cores);
        HostSample {
            cores: self.cores.len() as u32,
            core_busy_ratio: cores.clone().map(|(now, then)| busy(*now, *then)).collect(),
            steal_ratio: steal(cores),
            psi_cpu_some_ratio: stalled(self.cpu_some, earlier.cpu_some),
            psi_io_some_ratio: stalled(self.io_some, earlier.io_some),
            psi_io_full_ratio: stalled(self.io_full, earlier.io_full),
            psi_memory_some_ratio: stalled(self.memory_some, earlier.memory_some),
            listen_overflows: counted(self.listen_overflows, earlier.listen_overflows),
            listen_drops: counted(self.listen_drops, earlier.listen_drops),
            retransmits: counted(self.retransmits, earlier.retransmits),
            neighbours: Vec::new(),
        }
    }
}

fn busy(now: CoreTicks, then: CoreTicks) -> f64 {
    let total = now.total.saturating_sub(then.total);
    // Idle time may step back by a tick between reads; then the core counts as busy.
    let idle = now.idle.saturating_sub(then.idle);
    ratio(total.saturating_sub(idle), total)
}

fn steal<'a>(cores: impl Iterator<Item = (&'a CoreTicks, &'a CoreTicks)>) -> f64 {
    let (steal, total) = cores.fold((0, 0), |(steal, total), (now, then)| {
        (
            steal + now.steal.saturating_sub(then.steal),
            total + now.total.saturating_sub(then.total),
        )
    });
    ratio(steal, total)
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        (part as f64 / whole as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(idle: u64, total: u64, io: Option<u64>) -> HostCounters {
        HostCounters {
            cores: vec![CoreTicks {
                idle,
                steal: 0,
                total,
            }],
            io_full: io,
            ..HostCounters::default()
        }
    }

    #[test]
    fn shares_are_of_the_interval() {
        let sample =
            counters(130, 200, Some(700_000)).since(&counters(100, 100, Some(200_000)), 1.0);
        assert!((sample.core_busy_ratio[0] - 0.7).abs() < 1e-9);
        assert_eq!(sample.psi_io_full_ratio, Some(0.5));
        assert_eq!(sample.psi_cpu_some_ratio, None, "absent stays absent");
    }

    #[test]
    fn a_counter_that_steps_back_does_not_wrap() {
        let sample = counters(90, 100, Some(1)).since(&counters(100, 100, Some(2)), 1.0);
        assert!(sample.core_busy_ratio[0].abs() < 1e-9);
        assert_eq!(sample.psi_io_full_ratio, None);
        assert_eq!(sample.retransmits, 0);
    }

    #[test]
    fn an_empty_proc_is_absent_and_not_an_error() {
        let counters = HostCounters::read(&ProcFs::at("/nonexistent"));
        assert_eq!(counters.absent().len(), 3);
        assert_eq!(counters.since(&counters, 1.0).cores, 0);
    }
}
