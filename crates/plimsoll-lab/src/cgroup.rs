//! Where control groups can be made: the groups of this process, version 1 or 2.

use std::fs;
use std::path::{Path, PathBuf};

/// Length of a quota period. The usual 100 ms would add stalls of up to 80 ms to the tail.
pub(crate) const PERIOD_MICROS: u64 = 20_000;
/// The kernel takes no quota below a millisecond of a period.
pub(crate) const QUOTA_MICROS_LEAST: u64 = 1_000;
/// Of a core: the smallest share that such a quota gives.
pub const SHARE_LEAST: f64 = QUOTA_MICROS_LEAST as f64 / PERIOD_MICROS as f64;

/// Where new groups can be made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hierarchy {
    /// The group of this process in the hierarchy of version 1 that holds the controller.
    V1(PathBuf),
    /// In version 2 a group with processes has no children that are limited, so the new group
    /// goes beside that of this process; at the root, below it.
    V2 { base: PathBuf, home: PathBuf },
}

impl Hierarchy {
    /// The folder that a new group goes into.
    pub(crate) fn base(&self) -> &Path {
        match self {
            Self::V1(base) | Self::V2 { base, .. } => base,
        }
    }

    pub(crate) fn version(&self) -> u8 {
        match self {
            Self::V1(_) => 1,
            Self::V2 { .. } => 2,
        }
    }
}

/// The place for a group with a controller such as `cpu`.
pub(crate) fn own(controller: &str) -> Option<Hierarchy> {
    let read = |path: &str| fs::read_to_string(path).ok();
    find(
        controller,
        &read("/proc/self/cgroup")?,
        &read("/proc/self/mountinfo")?,
    )
}

/// The same in version 1 only.
pub(crate) fn folder_v1(controller: &str) -> Option<PathBuf> {
    match own(controller)? {
        Hierarchy::V1(folder) => Some(folder),
        Hierarchy::V2 { .. } => None,
    }
}

/// Finds the group of this process from the texts of `/proc/self/cgroup` and `mountinfo`.
fn find(controller: &str, cgroup: &str, mountinfo: &str) -> Option<Hierarchy> {
    let v1 = cgroup.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        controllers
            .split(',')
            .any(|name| name == controller)
            .then_some(path)
    });
    let v1 = v1.and_then(|path| Some(mount(mountinfo, Some(controller))?.folder(path)));
    if let Some(folder) = v1 {
        return Some(Hierarchy::V1(folder));
    }
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mount(mountinfo, None)?;
    let home = mount.folder(path);
    let base = if home == mount.point {
        home.clone()
    } else {
        home.parent()?.to_owned()
    };
    Some(Hierarchy::V2 { base, home })
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
            Some(Hierarchy::V2 {
                base: base.into(),
                home: home.into(),
            })
        };
        let cases = [
            (
                "9:cpu,cpuacct:/lt\n0::/",
                V1,
                Some(Hierarchy::V1("/sys/fs/cgroup/cpu,cpuacct/lt".into())),
            ),
            (
                "9:cpu,cpuacct:/\n0::/",
                V1,
                Some(Hierarchy::V1("/sys/fs/cgroup/cpu,cpuacct".into())),
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
            assert_eq!(find("cpu", cgroup, mountinfo), expected, "{cgroup:?}");
        }
    }

    #[test]
    fn a_group_outside_the_mounted_part_is_the_mounted_root() {
        let inside = "1 2 0:3 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
        let expected = Some(Hierarchy::V1("/sys/fs/cgroup/cpu/x".into()));
        assert_eq!(find("cpu", "9:cpu:/docker/abc/x", inside), expected);
        let expected = Some(Hierarchy::V1("/sys/fs/cgroup/cpu".into()));
        assert_eq!(find("cpu", "9:cpu:/elsewhere", inside), expected);
    }
}
