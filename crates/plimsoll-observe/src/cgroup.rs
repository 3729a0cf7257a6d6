//! The control group of a process, version 1 or 2: quota, throttling, memory bound.

use plimsoll_core::Nanos;
use plimsoll_core::record::CgroupSample;

use crate::parse::{cgroup_mounts, cgroup_paths, keyed};
use crate::procfs::{ProcFs, read_text};

/// Where the files of one process's group are, and its cumulative counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CgroupCounters {
    /// As the kernel names it, for the record.
    pub(crate) path: String,
    quota_cores: Option<f64>,
    /// The group that has the quota: this one or one above it.
    quota_path: Option<String>,
    run_ns: u64,
    periods: u64,
    throttled_periods: u64,
    throttled_ns: u64,
    memory_bytes: Option<u64>,
    memory_max_bytes: Option<u64>,
}

impl CgroupCounters {
    /// `None` where the group's files cannot be found or read.
    pub(crate) fn read(proc: &ProcFs, pid: u32) -> Option<Self> {
        let groups = proc.process_file(pid, "cgroup").ok()?;
        let mounts = proc.read("self/mountinfo").ok()?;
        let folder = |controller: Option<&str>| folder_of(&groups, &mounts, controller);
        let cpu1 = folder(Some("cpu")).and_then(|place| version_1(&place));
        let cpu2 = || folder(None).and_then(|place| version_2(&place));
        let mut read = cpu1.or_else(cpu2)?;
        if read.memory_bytes.is_none()
            && let Some(place) = folder(Some("memory"))
        {
            let number = |file| number_in(&place.folder, file);
            read.memory_bytes = number("memory.usage_in_bytes");
            read.memory_max_bytes = number("memory.limit_in_bytes").filter(|max| *max < NO_BOUND);
        }
        if let Some(place) = folder(Some("cpuacct"))
            && let Some(run) = number_in(&place.folder, "cpuacct.usage")
        {
            read.run_ns = run;
        }
        Some(read)
    }

    pub(crate) fn since(&self, earlier: &Self) -> CgroupSample {
        CgroupSample {
            path: self.path.clone(),
            quota_cores: self.quota_cores,
            quota_path: self.quota_path.clone(),
            run_ns: Nanos(self.run_ns.saturating_sub(earlier.run_ns)),
            throttled_periods: self
                .throttled_periods
                .saturating_sub(earlier.throttled_periods),
            periods: self.periods.saturating_sub(earlier.periods),
            throttled_ns: Nanos(self.throttled_ns.saturating_sub(earlier.throttled_ns)),
            memory_bytes: self.memory_bytes,
            memory_max_bytes: self.memory_max_bytes,
        }
    }
}

/// Version 1 shows "no bound" as the largest page-aligned number.
const NO_BOUND: u64 = 1 << 62;

struct CgroupFolder {
    path: String,
    folder: String,
    /// The mount point: the walk towards the root ends there.
    top: String,
}

fn folder_of(groups: &str, mounts: &str, controller: Option<&str>) -> Option<CgroupFolder> {
    let wanted = |controllers: &[&str]| match controller {
        Some(name) => controllers.contains(&name),
        None => controllers.is_empty(),
    };
    let (_, path) = cgroup_paths(groups)
        .into_iter()
        .find(|(controllers, _)| wanted(controllers))?;
    let mount = cgroup_mounts(mounts).into_iter().find(|mount| {
        let names: Vec<&str> = mount.controllers.iter().map(String::as_str).collect();
        wanted(&names)
    })?;
    // A container mounts its own part only: the path in front of it is not visible.
    let inside = path.strip_prefix(mount.root.trim_end_matches('/'))?;
    Some(CgroupFolder {
        path: path.to_owned(),
        folder: format!("{}{}", mount.point, inside.trim_end_matches('/')),
        top: mount.point,
    })
}

fn version_1(place: &CgroupFolder) -> Option<CgroupCounters> {
    tightest(place, |folder| {
        let text = read_text(format!("{folder}/cpu.stat")).ok()?;
        let quota = signed_in(folder, "cpu.cfs_quota_us").filter(|quota| *quota > 0.0);
        let period = signed_in(folder, "cpu.cfs_period_us").filter(|period| *period > 0.0);
        Some(CgroupCounters {
            path: place.path.clone(),
            quota_cores: quota.zip(period).map(|(quota, period)| quota / period),
            periods: keyed(&text, "nr_periods").unwrap_or(0),
            throttled_periods: keyed(&text, "nr_throttled").unwrap_or(0),
            throttled_ns: keyed(&text, "throttled_time").unwrap_or(0),
            ..CgroupCounters::default()
        })
    })
}

fn version_2(place: &CgroupFolder) -> Option<CgroupCounters> {
    tightest(place, |folder| {
        let text = read_text(format!("{folder}/cpu.stat")).ok()?;
        Some(CgroupCounters {
            path: place.path.clone(),
            quota_cores: read_text(format!("{folder}/cpu.max"))
                .ok()
                .and_then(|text| quota_of(&text)),
            run_ns: keyed(&text, "usage_usec")?.saturating_mul(1000),
            periods: keyed(&text, "nr_periods").unwrap_or(0),
            throttled_periods: keyed(&text, "nr_throttled").unwrap_or(0),
            throttled_ns: keyed(&text, "throttled_usec")
                .unwrap_or(0)
                .saturating_mul(1000),
            memory_bytes: number_in(folder, "memory.current"),
            memory_max_bytes: number_in(folder, "memory.max"),
            quota_path: None,
        })
    })
}

/// The group itself or the ancestor with the smallest quota: that one throttles.
fn tightest(
    place: &CgroupFolder,
    read: impl Fn(&str) -> Option<CgroupCounters>,
) -> Option<CgroupCounters> {
    let read = |folder: &str| {
        let read = read(folder)?;
        let quota_path = read.quota_cores.and_then(|_| path_of(place, folder));
        Some(CgroupCounters { quota_path, ..read })
    };
    let mut best = read(&place.folder)?;
    let mut folder = place.folder.as_str();
    while let Some((parent, _)) = folder.rsplit_once('/') {
        if parent.len() < place.top.len() {
            break;
        }
        folder = parent;
        let Some(above) = read(folder) else { continue };
        let tighter = match (above.quota_cores, best.quota_cores) {
            (Some(above), Some(best)) => above < best,
            (above, None) => above.is_some(),
            (None, Some(_)) => false,
        };
        if tighter {
            best = CgroupCounters {
                run_ns: best.run_ns,
                memory_bytes: best.memory_bytes,
                memory_max_bytes: best.memory_max_bytes,
                ..above
            };
        }
    }
    Some(best)
}

/// The path of the group itself or of an ancestor, as the kernel names it.
fn path_of(place: &CgroupFolder, folder: &str) -> Option<String> {
    let below = place.folder.strip_prefix(folder)?;
    let path = place.path.trim_end_matches('/').strip_suffix(below)?;
    Some(if path.is_empty() { "/" } else { path }.to_owned())
}

/// `cpu.max` of version 2: `40000 100000`, or `max 100000` without a quota.
fn quota_of(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn number_in(folder: &str, file: &str) -> Option<u64> {
    read_text(format!("{folder}/{file}"))
        .ok()?
        .trim()
        .parse()
        .ok()
}

fn signed_in(folder: &str, file: &str) -> Option<f64> {
    let text = read_text(format!("{folder}/{file}")).ok()?;
    text.trim().parse::<i64>().ok().map(|number| number as f64)
}

#[cfg(test)]
mod tests;
