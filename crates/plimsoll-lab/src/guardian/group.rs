//! A control group for one instance of a tier, version 1 or 2: its CPU quota and its memory.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

use crate::cgroup::{Hierarchy, PERIOD_MICROS, QUOTA_MICROS_LEAST, folder_v1, own};

/// Groups carry this and the guardian's process id, so that leftovers can be told and removed.
const PREFIX: &str = "plimsoll-lab-";
/// Weights beside what runs without a quota: the quota alone shall bind.
const SHARES_V1: &str = "200000";
const WEIGHT_V2: &str = "10000";

/// Removed when dropped; empty by then.
#[derive(Debug)]
pub(super) struct Group {
    /// One folder in version 2, one for each controller in version 1; the one with the quota first.
    folders: Vec<PathBuf>,
    version: u8,
    cpu: Option<f64>,
    memory_bytes: Option<u64>,
}

impl Group {
    /// The error says why there is none, as half a sentence.
    pub(super) fn create(
        instance: &str,
        cpu: Option<f64>,
        memory_bytes: Option<u64>,
    ) -> Result<Self, String> {
        let name = format!("{PREFIX}{}-{instance}", std::process::id());
        let place = own("cpu").ok_or("no mounted control group has the cpu controller")?;
        let mut group = Self {
            folders: Vec::new(),
            version: place.version(),
            cpu,
            memory_bytes,
        };
        // Dropped on failure, which removes what was made so far.
        group.make(&place, &name)?;
        Ok(group)
    }

    fn make(&mut self, place: &Hierarchy, name: &str) -> Result<(), String> {
        match place {
            Hierarchy::V1(home) => {
                let folder = self.folder(home, name)?;
                if let Some(cpu) = self.cpu {
                    write(&folder, "cpu.cfs_period_us", &PERIOD_MICROS.to_string())?;
                    write(&folder, "cpu.cfs_quota_us", &quota(cpu).to_string())?;
                    write(&folder, "cpu.shares", SHARES_V1)?;
                }
                // Where accounting is a hierarchy of its own, it would otherwise count the whole machine.
                if let Some(accounting) = folder_v1("cpuacct").filter(|other| other != home) {
                    self.folder(&accounting, name)?;
                }
                if let Some(bytes) = self.memory_bytes {
                    let home = folder_v1("memory").ok_or("no memory controller is mounted")?;
                    let folder = self.folder(&home, name)?;
                    write(&folder, "memory.limit_in_bytes", &bytes.to_string())?;
                }
            }
            Hierarchy::V2 { base, .. } => {
                // May be on already, or only root may: the writes below tell.
                for controller in ["+cpu", "+memory"] {
                    drop(fs::write(base.join("cgroup.subtree_control"), controller));
                }
                let folder = self.folder(base, name)?;
                if let Some(cpu) = self.cpu {
                    write(
                        &folder,
                        "cpu.max",
                        &format!("{} {PERIOD_MICROS}", quota(cpu)),
                    )?;
                    drop(fs::write(folder.join("cpu.weight"), WEIGHT_V2));
                }
                if let Some(bytes) = self.memory_bytes {
                    write(&folder, "memory.max", &bytes.to_string())?;
                }
            }
        }
        Ok(())
    }

    fn folder(&mut self, home: &Path, name: &str) -> Result<PathBuf, String> {
        let folder = home.join(name);
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        self.folders.push(folder.clone());
        Ok(folder)
    }

    /// Files that take a process into the group when its number is written to them.
    pub(super) fn joins(&self) -> Vec<PathBuf> {
        let folders = self.folders.iter();
        folders.map(|folder| folder.join("cgroup.procs")).collect()
    }
}

/// `quota of 0.5 cores (control group v1)`
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(cpu) = self.cpu {
            let cores = if cpu > 1.0 { "cores" } else { "core" };
            write!(f, "quota of {cpu} {cores}")?;
        }
        if let Some(bytes) = self.memory_bytes {
            let and = if self.cpu.is_some() { " and " } else { "" };
            write!(f, "{and}{} MiB of memory", bytes >> 20)?;
        }
        write!(f, " (control group v{})", self.version)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in self.folders.iter().rev() {
            remove(folder);
        }
    }
}

/// Processes that have just ended may keep a group for a moment.
fn remove(folder: &Path) {
    for _ in 0..50 {
        if fs::remove_dir(folder).is_ok() || !folder.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Ends what is left in groups whose guardian is gone, and removes them.
pub(super) fn remove_leftovers() {
    let cpu = own("cpu").map(|place| place.base().to_owned());
    let homes = [cpu, folder_v1("cpuacct"), folder_v1("memory")];
    for home in homes.into_iter().flatten() {
        let entries = fs::read_dir(home).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let guardian = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
            let guardian = guardian.and_then(|rest| rest.split('-').next());
            if guardian.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
                empty(&entry.path());
                remove(&entry.path());
            }
        }
    }
}

fn empty(folder: &Path) {
    let pids = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    for pid in pids.lines() {
        let pid = pid.parse().ok().and_then(Pid::from_raw);
        // It may have ended in the meantime.
        pid.map(|pid| kill_process(pid, Signal::KILL));
    }
}

fn write(folder: &Path, file: &str, text: &str) -> Result<(), String> {
    let path = folder.join(file);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Microseconds of each period.
fn quota(cpu: f64) -> u64 {
    ((cpu * PERIOD_MICROS as f64).round() as u64).max(QUOTA_MICROS_LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_binds_is_said_in_words() {
        let group = |cpu, memory_bytes| Group {
            folders: Vec::new(),
            version: 1,
            cpu,
            memory_bytes,
        };
        assert_eq!(
            group(Some(0.5), None).to_string(),
            "quota of 0.5 core (control group v1)"
        );
        let both = group(Some(2.0), Some(256 << 20)).to_string();
        assert_eq!(
            both,
            "quota of 2 cores and 256 MiB of memory (control group v1)"
        );
        assert_eq!(quota(0.5), 10_000);
        let least = crate::cgroup::SHARE_LEAST;
        assert_eq!(
            quota(least),
            QUOTA_MICROS_LEAST,
            "what is taken is what binds"
        );
    }
}
