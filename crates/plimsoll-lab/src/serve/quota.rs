//! Gives this process a CPU quota of its own: a control group of version 1 or 2, removed at the end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::LabError;

/// Length of a quota period. The usual 100 ms would add stalls of up to 80 ms to the tail.
const PERIOD_MICROS: u64 = 20_000;

/// Groups of ours carry this and the process id, so that leftovers can be told and removed.
const PREFIX: &str = "plimsoll-quota-";

/// Where new groups can be made.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// The group of this process in the hierarchy of version 1 that holds `cpu`.
    V1(PathBuf),
    /// In version 2 a group with processes has no children that are limited, so the new group
    /// goes beside that of this process; at the root, below it.
    V2 { base: PathBuf, home: PathBuf },
}

/// Membership in a group with a quota, ended when dropped.
#[derive(Debug)]
pub(crate) struct Joined {
    group: PathBuf,
    home: PathBuf,
}

/// Moves this process into a new group that may use `cores`.
pub(crate) fn join(cores: f64) -> Result<Joined, LabError> {
    let refused = |reason: String| LabError::Quota { reason };
    let read = |path: &str| {
        fs::read_to_string(path).map_err(|error| refused(format!("{path} cannot be read: {error}")))
    };
    let place = find(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)
        .ok_or_else(|| refused("no mounted control group has the cpu controller".to_owned()))?;
    let (base, home) = match &place {
        Place::V1(home) => (home, home),
        Place::V2 { base, home } => (base, home),
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

fn enter(place: &Place, group: &Path, cores: f64) -> Result<(), (PathBuf, io::Error)> {
    let at = |path: PathBuf| move |error| (path, error);
    let write = |file: &str, text: String| {
        let path = group.join(file);
        fs::write(&path, text).map_err(at(path))
    };
    let quota = (cores * PERIOD_MICROS as f64).round() as u64;
    if let Place::V2 { base, .. } = place {
        // May be on already, or only root may: the next write tells.
        drop(fs::write(base.join("cgroup.subtree_control"), "+cpu"));
    }
    fs::create_dir(group).map_err(at(group.to_owned()))?;
    match place {
        Place::V1(_) => {
            write("cpu.cfs_period_us", PERIOD_MICROS.to_string())?;
            write("cpu.cfs_quota_us", quota.to_string())?;
            // A group weighs as much as one task beside it: too little on a busy machine, where
            // the neighbours would bind before the quota does.
            drop(write("cpu.shares", "10240".to_owned()));
        }
        Place::V2 { .. } => {
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

/// Finds the group of this process from the texts of `/proc/self/cgroup` and `mountinfo`.
fn find(cgroup: &str, mountinfo: &str) -> Option<Place> {
    let v1 = cgroup.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers
            .split(',')
            .any(|name| name == "cpu")
            .then_some(path)
    });
    let v1 = v1.and_then(|path| Some(mount(mountinfo, Some("cpu"))?.folder(path)));
    if let Some(folder) = v1 {
        return Some(Place::V1(folder));
    }
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mount(mountinfo, None)?;
    let home = mount.folder(path);
    let base = if home == mount.point {
        home.clone()
    } else {
        home.parent()?.to_owned()
    };
    Some(Place::V2 { base, home })
}

struct Mount {
    root: PathBuf,
    point: PathBuf,
}

impl Mount {
    /// The folder of a group. Inside a container the group may lie outside what is mounted: then
    /// the mounted root stands for it.
    fn folder(&self, path: &str) -> PathBuf {
        match Path::new(path).strip_prefix(&self.root) {
            Ok(inside) if inside.as_os_str().is_empty() => self.point.clone(),
            Ok(inside) => self.point.join(inside),
            Err(_) => self.point.clone(),
        }
    }
}

/// The mount that holds `controller` in version 1, or the one of version 2.
fn mount(mountinfo: &str, controller: Option<&str>) -> Option<Mount> {
    mountinfo.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut file_system = file_system.split(' ');
        let kind = file_system.next()?;
        let options = file_system.nth(1)?;
        let found = match controller {
            Some(name) => kind == "cgroup" && options.split(',').any(|option| option == name),
            None => kind == "cgroup2",
        };
        found.then(|| Mount {
            root: root.into(),
            point: point.into(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "\
33 24 0:29 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw
34 24 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct
35 24 0:31 / /sys/fs/cgroup/cpuset rw,nosuid - cgroup cgroup rw,cpuset";
    const V2: &str =
        "29 23 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";

    #[test]
    fn the_place_for_a_group_is_found() {
        let v2 = |base: &str, home: &str| {
            Some(Place::V2 {
                base: base.into(),
                home: home.into(),
            })
        };
        let cases = [
            (
                "9:cpu,cpuacct:/lt\n0::/",
                V1,
                Some(Place::V1("/sys/fs/cgroup/cpu,cpuacct/lt".into())),
            ),
            (
                "9:cpu,cpuacct:/\n0::/",
                V1,
                Some(Place::V1("/sys/fs/cgroup/cpu,cpuacct".into())),
            ),
            (
                "0::/user.slice/run-1.scope",
                V2,
                v2(
                    "/sys/fs/cgroup/user.slice",
                    "/sys/fs/cgroup/user.slice/run-1.scope",
                ),
            ),
            ("0::/", V2, v2("/sys/fs/cgroup", "/sys/fs/cgroup")),
            ("0::/", "", None),
            ("", V2, None),
        ];
        for (cgroup, mountinfo, expected) in cases {
            assert_eq!(find(cgroup, mountinfo), expected, "{cgroup:?}");
        }
    }

    #[test]
    fn a_group_outside_the_mounted_part_is_the_mounted_root() {
        let inside = "1 2 0:3 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
        let expected = Some(Place::V1("/sys/fs/cgroup/cpu/x".into()));
        assert_eq!(find("9:cpu:/docker/abc/x", inside), expected);
        let expected = Some(Place::V1("/sys/fs/cgroup/cpu".into()));
        assert_eq!(find("9:cpu:/elsewhere", inside), expected);
    }
}
