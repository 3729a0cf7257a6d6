//! Tiers of several processes and pages of several libraries: what is theirs together, and what is one thing seen twice.

use plimsoll_core::Nanos;
use plimsoll_core::record::{
    CgroupSample, HostSample, MetricsSample, Observation, ProcessSample, Record, Seen,
};
use plimsoll_core::verdict::{Cause, Confidence};

use super::build::ThreadLoad;
use super::{explained, idle, is, metrics, pool_service, service, sick};
use crate::facts::gauges::{Gauge, gauges};
use crate::facts::level::levels;
use crate::facts::tick::{Tick, ticks};

/// Each process of the target becomes `count` of the same.
fn several(record: &mut Record, count: u32, change: impl Fn(u32, &mut ProcessSample)) {
    let mut all = Vec::new();
    for observation in std::mem::take(&mut record.observations) {
        if let Seen::Process(process) = &observation.seen
            && observation.tier == "target"
        {
            for index in 0..count {
                let mut process = process.clone();
                process.pid += index;
                change(index, &mut process);
                all.push(Observation {
                    seen: Seen::Process(process),
                    ..observation.clone()
                });
            }
        } else {
            all.push(observation);
        }
    }
    record.observations = all;
}

/// Four workers of a port, each pinned to its core and a quarter busy, have four cores and not one.
#[test]
fn cores_that_workers_are_pinned_to_add_up() {
    let quarter = |rate: f64| vec![ThreadLoad::new("main", 0.27 * rate / 400.0, 0.0)];
    let pinned_to = |core: fn(u32) -> u32| {
        let mut record = sick(&service(quarter));
        several(&mut record, 4, |index, process| {
            process.cores_allowed = 1;
            process.cores_named = vec![core(index)];
        });
        for observation in &mut record.observations {
            if let Seen::Host(host) = &mut observation.seen {
                *host = HostSample {
                    cores: 4,
                    core_busy_ratio: vec![0.3; 4],
                    ..host.clone()
                };
            }
        }
        explained(&record).limit.cause
    };
    assert_ne!(pinned_to(|index| index), Cause::Cpu);
    assert_eq!(pinned_to(|_| 2), Cause::Cpu, "all on one core");
}

/// Three containers with half a core each, of which each uses 0.2 in bursts, are not at their quota; the same processes in
/// three groups below one that has half a core are.
#[test]
fn quotas_of_several_groups_add_up_and_a_shared_one_counts_once() {
    let bursts = |rate: f64| vec![ThreadLoad::new("main", 0.2 * rate / 400.0, 0.0)];
    let with = |quota_path: fn(u32) -> Option<String>| {
        let mut record = sick(&service(bursts));
        several(&mut record, 3, |_, _| {});
        let mut groups = Vec::new();
        for observation in &record.observations {
            for index in 0..3 {
                let is_one = matches!(&observation.seen, Seen::Process(p) if p.pid == 10 + index);
                let group = CgroupSample {
                    path: format!("/box/{index}"),
                    quota_cores: Some(0.5),
                    quota_path: quota_path(index),
                    periods: 100,
                    throttled_periods: 25,
                    ..CgroupSample::default()
                };
                groups.extend(is_one.then(|| Observation {
                    seen: Seen::Cgroup(group),
                    ..observation.clone()
                }));
            }
        }
        record.observations.extend(groups);
        explained(&record).limit.cause
    };
    assert_ne!(with(|index| Some(format!("/box/{index}"))), Cause::CpuQuota);
    assert_eq!(with(|_| Some("/box".to_owned())), Cause::CpuQuota);
    assert_eq!(
        with(|_| None),
        Cause::CpuQuota,
        "as earlier versions wrote it"
    );
}

/// A default page of Spring Boot: one pool of ten under two names beside pools of threads and of memory.
#[test]
fn a_full_pool_is_found_on_a_page_with_other_pools() {
    let mut service = pool_service();
    service.extra = |share, _| {
        let used = (share * 10.0).min(10.0).floor();
        vec![metrics(&[
            ("executor_pool_max_threads", 2_147_483_647.0),
            ("hikaricp_connections_active", used),
            ("hikaricp_connections_max", 10.0),
            (
                "hikaricp_connections_pending",
                if share >= 1.0 { 3.0 } else { 0.0 },
            ),
            ("jdbc_connections_active", used),
            ("jdbc_connections_max", 10.0),
            ("jvm_memory_pool_bytes_used", 5e7),
            ("jvm_memory_pool_bytes_max", 1e9),
        ])]
    };
    let explanation = is(&sick(&service), Cause::Pool, Confidence::Supported);
    let shown = format!("{:?}", explanation.limit.evidence);
    assert!(
        shown.contains("pool in use 10.0 of 10.0 in 100 % of samples, 3.00 waiting"),
        "{shown}"
    );
}

/// Thirty seconds of waiting in an answer that was late by two intervals are ten in each.
#[test]
fn counters_of_a_late_page_grew_over_all_its_time() {
    let mut record = sick(&service(idle));
    let at_ns = record.observations[20].at_ns;
    let late = MetricsSample {
        values: [("pool_wait_seconds_total".to_owned(), 30.0)].into(),
    };
    let late = Observation {
        at_ns,
        length_ns: Nanos::from_secs(3),
        tier: "target".to_owned(),
        seen: Seen::Metrics(late),
    };
    record.observations.insert(0, late);
    let levels = levels(&record);
    let ticks = ticks(&record, &levels);
    let there: Vec<&Tick> = ticks.iter().filter(|tick| tick.end == at_ns).collect();
    assert!((there[0].seconds - 1.0).abs() < 1e-9);
    let gauges = gauges(&there, "target");
    assert_eq!(gauges.value(Gauge::PoolWaitSeconds), Some(10.0));
}
