//! Both versions of control groups in folders made for the test.

use super::*;
use crate::tree::Tree;

#[test]
fn version_1_with_a_quota() {
    let tree = Tree::new(
        "cg1",
        &[
            ("proc/7/cgroup", "5:cpu,cpuacct:/lt/app\n8:memory:/m\n"),
            (
                "proc/self/mountinfo",
                "1 0 0:1 / ROOT/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                 2 0 0:2 / ROOT/mem rw - cgroup cgroup rw,memory\n",
            ),
            ("cpu/lt/app/cpu.cfs_quota_us", "8000\n"),
            ("cpu/lt/app/cpu.cfs_period_us", "20000\n"),
            (
                "cpu/lt/app/cpu.stat",
                "nr_periods 50\nnr_throttled 40\nthrottled_time 9000\n",
            ),
            ("cpu/lt/app/cpuacct.usage", "123456\n"),
            ("mem/m/memory.usage_in_bytes", "1000\n"),
            ("mem/m/memory.limit_in_bytes", "9223372036854771712\n"),
        ],
    );
    let read = CgroupCounters::read(&ProcFs::at(tree.0.join("proc")), 7).unwrap();
    assert_eq!(read.quota_cores, Some(0.4));
    assert_eq!(read.quota_path.as_deref(), Some("/lt/app"));
    assert_eq!(
        (read.periods, read.throttled_periods, read.throttled_ns),
        (50, 40, 9000)
    );
    assert_eq!((read.run_ns, read.memory_bytes), (123_456, Some(1000)));
    assert_eq!(
        read.memory_max_bytes, None,
        "no bound is shown as a huge one"
    );
}

#[test]
fn version_2_inside_a_container_takes_the_tightest_ancestor() {
    let tree = Tree::new(
        "cg2",
        &[
            ("proc/7/cgroup", "0::/box/pod/app\n"),
            (
                "proc/self/mountinfo",
                "1 0 0:1 /box ROOT/fs rw - cgroup2 cgroup2 rw\n",
            ),
            ("fs/pod/app/cpu.max", "max 100000\n"),
            ("fs/pod/app/cpu.stat", "usage_usec 77\n"),
            ("fs/pod/cpu.max", "50000 100000\n"),
            (
                "fs/pod/cpu.stat",
                "usage_usec 99\nnr_periods 9\nnr_throttled 3\nthrottled_usec 4\n",
            ),
        ],
    );
    let read = CgroupCounters::read(&ProcFs::at(tree.0.join("proc")), 7).unwrap();
    assert_eq!(read.quota_cores, Some(0.5));
    assert_eq!(
        (read.run_ns, read.throttled_periods, read.throttled_ns),
        (77_000, 3, 4000)
    );
    let sample = read.since(&CgroupCounters::default());
    assert_eq!(sample.throttled_ns, Nanos(4000));
    assert_eq!(sample.path, "/box/pod/app");
    assert_eq!(
        sample.quota_path.as_deref(),
        Some("/box/pod"),
        "others may share it"
    );
}

#[test]
fn no_group_is_none() {
    let tree = Tree::new(
        "cg0",
        &[("proc/7/cgroup", "0::/x\n"), ("proc/self/mountinfo", "")],
    );
    assert_eq!(
        CgroupCounters::read(&ProcFs::at(tree.0.join("proc")), 7),
        None
    );
    assert_eq!(quota_of("max 100000"), None);
    assert_eq!(quota_of("0 0"), None);
}
