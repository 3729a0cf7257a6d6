//! Gives this process a CPU quota of its own: a control group of version 1 or 2, removed at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::cgroup::{Hierarchy, PERIOD_MICROS, own};

/// Groups of ours carry this and the process id, so that leftovers can be told and removed.
const PREFIX: &str = "plimsoll-quota-";

/// Membership in a group with a quota, ended when dropped.
#[derive(Debug)]
pub(crate) struct Joined {
    group: PathBuf,
    home: PathBuf,
}

/// Moves this process into a new group that may use `cores`.
pub(crate) fn join(cores: f64) -> Result<Joined, LabError> {
    let refused = |reason: String| LabError::Quota { reason };
    let place = own("cpu")
        .ok_or_else(|| refused("no mounted control group has the cpu controller".to_owned()))?;
    let (base, home) = match &place {
        Hierarchy::V1(home) => (home, home),
        Hierarchy::V2 { base, home } => (base, home),
    };
    remove_leftovers(base);
    let group = base.join(format!("{PREFIX}{}", std::process::id()));
    let joined = Joined {
        group: group.clone(),
        home: home.clone(),
    };
    // Dropping `joined` on failure removes what was made so far.
    enter(&place, &group, cores)
        .map_err(|(path, error)| refused(format!("{} refused it: {error}", path.display())))?;
    Ok(joined)
}

fn enter(place: &Hierarchy, group: &Path, cores: f64) -> Result<(), (PathBuf, io::Error)> {
    let at = |path: PathBuf| move |error| (path, error);
    let write = |file: &str, text: String| {
        let path = group.join(file);
        fs::write(&path, text).map_err(at(path))
    };
    let quota = (cores * PERIOD_MICROS as f64).round() as u64;
    if let Hierarchy::V2 { base, .. } = place {
        // May be on already, or only root may: the next write tells.
        drop(fs::write(base.join("cgroup.subtree_control"), "+cpu"));
    }
    fs::create_dir(group).map_err(at(group.to_owned()))?;
    match place {
        Hierarchy::V1(_) => {
            write("cpu.cfs_period_us", PERIOD_MICROS.to_string())?;
            write("cpu.cfs_quota_us", quota.to_string())?;
            // A group weighs as much as one task beside it: too little on a busy machine, where
            // the neighbours would bind before the quota does.
            drop(write("cpu.shares", "10240".to_owned()));
        }
        Hierarchy::V2 { .. } => {
            write("cpu.max", format!("{quota} {PERIOD_MICROS}"))?;
            drop(write("cpu.weight", "1000".to_owned()));
        }
    }
    write("cgroup.procs", std::process::id().to_string())
}

impl Drop for Joined {
    fn drop(&mut self) {
        // Nothing better can be done at the end than to try; the next start removes leftovers.
        drop(fs::write(
            self.home.join("cgroup.procs"),
            std::process::id().to_string(),
        ));
        drop(fs::remove_dir(&self.group));
    }
}

/// Removes groups whose process is gone, as after a SIGKILL.
fn remove_leftovers(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            drop(fs::remove_dir(entry.path()));
        }
    }
}
