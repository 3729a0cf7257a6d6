//! All processes that descend from one.

use std::collections::BTreeMap;

use rustix::process::Pid;

/// Living descendants of `of`. What has ended and waits to be reaped does not count.
pub(super) fn descendants(of: Pid) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let Some(pid) = pid else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some((state, parent)) = state_and_parent(&stat)
            && state != "Z"
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut family = Vec::new();
    let mut open = vec![of.as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            family.extend(Pid::from_raw(pid));
            open.push(pid);
        }
    }
    family
}

/// From `/proc/PID/stat`; the name in brackets may hold anything.
fn state_and_parent(stat: &str) -> Option<(&str, i32)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    Some((fields.next()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_hides_nothing() {
        let stat = "7 (a) b (c) S 3 7 7 0";
        assert_eq!(state_and_parent(stat), Some(("S", 3)));
        assert_eq!(state_and_parent(""), None);
    }

    #[test]
    fn a_child_is_a_descendant_until_it_ends() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        assert!(descendants(rustix::process::getpid()).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!descendants(rustix::process::getpid()).contains(&pid));
    }
}
