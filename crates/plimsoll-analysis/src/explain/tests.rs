//! One synthetic service per cause and its healthy twin, and what must not be said.

mod absent;
pub(super) mod build;
mod client;
mod concurrency;
mod contradictions;
mod guarded;
mod neighbours;
mod refusals;
mod several;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use build::{OkTime, Service, ThreadLoad, search};
use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{
    AbsentSample, CgroupSample, LabSetup, MetricsSample, Observation, ProxySample, Record, Seen,
    ThreadState, TierSetup,
};
use plimsoll_core::step::StepLoad;
use plimsoll_core::test::{How, Load};
use plimsoll_core::verdict::{Bounds, Cause, Confidence, SearchResult, Signal};

use super::{Explanation, explain};

fn explained(record: &Record) -> Explanation {
    explain(record, &SearchResult::default())
}

fn is(record: &Record, cause: Cause, confidence: Confidence) -> Explanation {
    let explanation = explained(record);
    assert_eq!(
        (explanation.limit.cause, explanation.limit.confidence),
        (cause, confidence),
        "{:#?}",
        explanation.limit
    );
    explanation
}

/// The same service, offered only what it carries: nothing gave way, whatever the figures look like.
fn twin_is_not_reached(service: &Service) {
    let record = search(service, &[0.1, 0.2, 0.4, 0.6], false);
    let explanation = explained(&record);
    assert_eq!(
        explanation.limit.cause,
        Cause::NotReached,
        "{:#?}",
        explanation.limit
    );
}

fn sick(service: &Service) -> Record {
    search(service, &[0.1, 0.2, 0.4, 0.8, 1.6, 1.2, 1.5], true)
}

/// A service of 400 per second whose threads follow `threads` of the answered rate.
fn service(threads: fn(f64) -> Vec<ThreadLoad>) -> Service {
    Service {
        capacity: 400.0,
        base: Nanos::from_micros(2500),
        threads,
        ..Service::default()
    }
}

fn pinned(rate: f64) -> Vec<ThreadLoad> {
    vec![
        ThreadLoad::new("main", rate * 0.0025, 0.01),
        ThreadLoad::new("helper", 0.02, 0.0),
    ]
}

fn idle(rate: f64) -> Vec<ThreadLoad> {
    vec![ThreadLoad::new("main", rate * 0.0002, 0.01)]
}

#[test]
fn a_pinned_thread_and_its_twin() {
    let service = service(pinned);
    let explanation = is(&sick(&service), Cause::PinnedThread, Confidence::Supported);
    let ceiling = explanation.limit.ceiling_per_s.unwrap();
    assert!((ceiling / 400.0 - 1.0).abs() < 0.05, "{ceiling}");
    assert_eq!(explanation.limit.tier.as_deref(), Some("target"));
    assert_eq!(explanation.limit.process.as_deref(), Some("app (pid 10)"));
    let thread = &explanation.resources[0];
    assert!((thread.demand_seconds.unwrap() - 0.0025).abs() < 1e-4);
    let next = explanation.next_limit.unwrap();
    assert_eq!(next.resource, "processors", "both cores of it come next");
    assert!((700.0..900.0).contains(&next.full_at_per_s));
    let advice: Vec<_> = explanation
        .advice
        .iter()
        .map(|a| a.action.as_str())
        .collect();
    assert!(advice[0].contains("second process"), "{advice:?}");
    assert!(
        advice
            .iter()
            .any(|a| a.starts_with("let at most 1 to 2 requests")),
        "{advice:?}"
    );
    twin_is_not_reached(&service);
}

#[test]
fn what_the_hypervisor_takes_of_a_full_thread_is_not_its_leisure() {
    let on_a_shared_host = |steal: f64, threads: fn(f64) -> Vec<ThreadLoad>| {
        let mut service = service(threads);
        service.steal = steal;
        explained(&sick(&service)).limit
    };
    let limit = on_a_shared_host(0.15, |rate| {
        vec![ThreadLoad::new("main", 0.85 * rate * 0.0025, 0.0)]
    });
    assert_eq!(limit.cause, Cause::PinnedThread, "{limit:#?}");
    let told = "thread main 100 % busy (85 % running, 0 % waiting, 15 % taken by the hypervisor)";
    assert!(limit.evidence[0].text.starts_with(told), "{limit:#?}");
    // Idle cores lose nothing: what the others lost is not this thread's.
    let limit = on_a_shared_host(0.15, |rate| {
        vec![ThreadLoad::new("main", 0.6 * rate * 0.0025, 0.0)]
    });
    assert_ne!(limit.cause, Cause::PinnedThread, "{limit:#?}");
    // Where most is taken the host is the limit, not the thread.
    let limit = on_a_shared_host(0.4, |rate| {
        let each = 0.6 * rate * 0.0025;
        vec![
            ThreadLoad::new("main", each, 0.0),
            ThreadLoad::new("other", each, 0.0),
        ]
    });
    assert_eq!(limit.cause, Cause::Cpu, "{limit:#?}");
    let told = "other guests of the hypervisor hold the cores that it may use";
    assert!(limit.evidence.iter().any(|e| e.text == told), "{limit:#?}");
}

#[test]
fn a_processor_quota_and_its_twin() {
    let worker = |rate: f64| {
        let each = rate * 0.000_5;
        vec![
            ThreadLoad::new("w1", each, 0.3),
            ThreadLoad::new("w2", each, 0.3),
        ]
    };
    let mut service = service(worker);
    service.extra = |share, _| {
        vec![Seen::Cgroup(CgroupSample {
            path: "/x".to_owned(),
            quota_cores: Some(0.4),
            periods: 50,
            throttled_periods: if share >= 1.0 { 48 } else { 2 },
            ..CgroupSample::default()
        })]
    };
    let explanation = is(&sick(&service), Cause::CpuQuota, Confidence::Supported);
    assert!((explanation.limit.ceiling_per_s.unwrap() / 400.0 - 1.0).abs() < 0.1);
    twin_is_not_reached(&service);
}

#[test]
fn all_cores_and_its_twin() {
    let workers = |rate: f64| {
        let each = rate * 0.0025;
        vec![
            ThreadLoad::new("w1", each, 0.3),
            ThreadLoad::new("w2", each, 0.3),
        ]
    };
    let service = service(workers);
    is(&sick(&service), Cause::Cpu, Confidence::Supported);
    twin_is_not_reached(&service);
}

#[test]
fn connection_slots_and_their_twin() {
    let service = Service {
        capacity: 400.0,
        base: Nanos::from_millis(80),
        threads: idle,
        excess: Outcome::Eof,
        ok_time: OkTime::Unchanged,
        ..Service::default()
    };
    is(
        &sick(&service),
        Cause::ConnectionSlots,
        Confidence::Supported,
    );
    twin_is_not_reached(&service);
}

#[test]
fn connection_slots_seen_in_the_proxys_log() {
    let mut service = Service {
        capacity: 400.0,
        base: Nanos::from_millis(80),
        threads: idle,
        excess: Outcome::Http5xx,
        ok_time: OkTime::Unchanged,
        ..Service::default()
    };
    service.extra = |share, rate| {
        let requests = rate as u64;
        vec![Seen::Proxy(ProxySample {
            requests,
            upstream_unreached: if share > 1.0 { requests / 5 } else { 0 },
            ..ProxySample::default()
        })]
    };
    let explanation = explained(&sick(&service));
    assert_eq!(explanation.limit.cause, Cause::ConnectionSlots);
}

#[test]
fn resets_of_a_full_processor_are_not_slots() {
    let mut service = service(pinned);
    service.excess = Outcome::Reset;
    is(&sick(&service), Cause::PinnedThread, Confidence::Supported);
}

fn pool_service() -> Service {
    let mut service = Service {
        capacity: 500.0,
        base: Nanos::from_millis(20),
        threads: idle,
        excess: Outcome::Shed,
        excess_time: Nanos::from_millis(500),
        ..Service::default()
    };
    service.extra = |share, _| {
        let used = (share * 10.0).min(10.0);
        let values = [
            ("pool_in_use", used.floor()),
            ("pool_max", 10.0),
            ("pool_waiters", if share >= 1.0 { 40.0 } else { 0.0 }),
            (
                "pool_wait_seconds_sum_total",
                if share >= 1.0 { 40.0 } else { 0.0 },
            ),
        ];
        vec![metrics(&values)]
    };
    service
}

fn metrics(values: &[(&str, f64)]) -> Seen {
    let named = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value));
    Seen::Metrics(MetricsSample {
        values: named.collect(),
    })
}

#[test]
fn a_small_pool_and_its_twin() {
    let service = pool_service();
    let explanation = is(&sick(&service), Cause::Pool, Confidence::Supported);
    assert!((explanation.limit.ceiling_per_s.unwrap() / 500.0 - 1.0).abs() < 0.1);
    let signals: Vec<_> = explanation
        .limit
        .evidence
        .iter()
        .map(|e| &e.signal)
        .collect();
    assert!(
        signals.contains(&&Signal::WaitTimeout) && signals.contains(&&Signal::Little),
        "{signals:?}"
    );
    // 1.5 × 500/s × 20 ms = 15 in use, plus √15.
    assert!(
        explanation.advice[0]
            .action
            .contains("a pool of 19 connections"),
        "{:?}",
        explanation.advice
    );
    twin_is_not_reached(&service);
}

#[test]
fn a_small_pool_behind_a_proxy_keeps_its_own_name() {
    let mut service = pool_service();
    service.behind = Some(|rate| vec![ThreadLoad::new("worker", rate * 0.0005, 0.01)]);
    let mut record = sick(&service);
    put_pool_behind(&mut record);
    add_proxy_log(&mut record);
    let explanation = is(&record, Cause::Pool, Confidence::Supported);
    assert_eq!(explanation.limit.tier.as_deref(), Some("behind"));
}

/// The gauges are those of the tier behind.
fn put_pool_behind(record: &mut Record) {
    for observation in &mut record.observations {
        if matches!(observation.seen, Seen::Metrics(_)) {
            "behind".clone_into(&mut observation.tier);
        }
    }
}

/// What a proxy's log says when all requests pass through it.
fn add_proxy_log(record: &mut Record) {
    let sample = ProxySample {
        requests: 100,
        ..ProxySample::default()
    };
    add_to_target(record, &Seen::Proxy(sample));
}

/// Seen of the tier that the load goes to, in every interval.
fn add_to_target(record: &mut Record, seen: &Seen) {
    let of_target = |o: &&Observation| o.tier == "target" && matches!(o.seen, Seen::Listener(_));
    let at = record.observations.iter().filter(of_target);
    let more = at.map(|o| Observation {
        seen: seen.clone(),
        ..o.clone()
    });
    let more: Vec<_> = more.collect();
    record.observations.extend(more);
}

/// More and more users, and from the fourth level on a thread that does nothing but work.
fn filled_by_failures(service: &Service) -> Record {
    let shares = [0.3, 0.6, 1.1, 1.4, 1.4, 1.4, 1.4, 1.4, 1.4];
    let mut record = search(service, &shares, false);
    for (level, in_flight) in record.levels.iter_mut().zip((1..).map(|n| n * 10)) {
        level.step.load = StepLoad::Closed { in_flight };
    }
    let from = record.levels[3].start_ns;
    fill(&mut record, from, 1.0);
    record
}

/// One thread works that share of every second from then on.
fn fill(record: &mut Record, from: Nanos, share: f64) {
    for observation in record.observations.iter_mut().filter(|o| o.at_ns > from) {
        if let Seen::Process(process) = &mut observation.seen {
            let run = observation.length_ns.as_secs_f64() * share;
            process.threads[0].run_ns = Nanos::from_secs_f64(run);
        }
    }
}

#[test]
fn a_pool_that_ends_requests_comes_before_the_processor_that_their_clients_fill() {
    let mut record = filled_by_failures(&pool_service());
    let limit = is(&record, Cause::Pool, Confidence::Supported).limit;
    let then = &limit.evidence[1].text;
    assert!(then.contains("when the first requests failed"), "{then}");
    // Errors that come at once are no waits that were given up, whatever the pool shows later.
    let mut at_once = pool_service();
    at_once.excess_time = Nanos::from_millis(3);
    assert_ne!(
        explained(&filled_by_failures(&at_once)).limit.cause,
        Cause::Pool
    );
    // Full before anything failed: it is the processor that keeps connections taken.
    fill(&mut record, Nanos::ZERO, 1.0);
    assert_ne!(explained(&record).limit.cause, Cause::Pool);
}

#[test]
fn a_pool_that_ends_requests_comes_before_the_proxy_that_their_clients_fill() {
    let mut service = pool_service();
    service.behind = Some(|rate| vec![ThreadLoad::new("worker", rate * 0.0005, 0.01)]);
    let mut record = filled_by_failures(&service);
    put_pool_behind(&mut record);
    add_proxy_log(&mut record);
    let quota = CgroupSample {
        path: "/x".to_owned(),
        quota_cores: Some(1.0),
        periods: 50,
        throttled_periods: 15,
        ..CgroupSample::default()
    };
    add_to_target(&mut record, &Seen::Cgroup(quota));
    let explanation = is(&record, Cause::Pool, Confidence::Supported);
    assert_eq!(explanation.limit.tier.as_deref(), Some("behind"));
    // Full before anything failed.
    fill(&mut record, Nanos::ZERO, 1.0);
    assert_ne!(explained(&record).limit.cause, Cause::Pool);
}

/// Slots of an experiment for as many requests; failures fill the processor, which was this busy when they began.
fn declared_slots(requests: f64, busy: f64) -> Record {
    let service = Service {
        base: Nanos::from_millis(80),
        threads: idle,
        excess: Outcome::Eof,
        ok_time: OkTime::Unchanged,
        ..Service::default()
    };
    let mut record = filled_by_failures(&service);
    let (first, full) = (record.levels[2].start_ns, record.levels[3].start_ns);
    fill(&mut record, first, busy);
    fill(&mut record, full, 1.0);
    record.header.lab = Some(LabSetup {
        tiers: vec![TierSetup {
            name: "target".to_owned(),
            limits: BTreeMap::from([("slots".to_owned(), requests)]),
            ..TierSetup::default()
        }],
        ..LabSetup::default()
    });
    record
}

#[test]
fn declared_slots_that_are_all_taken_need_no_idle_processor_only_one_that_is_not_full() {
    // 400 per second of 80 ms each are 32 at once.
    let busy = declared_slots(32.0, 0.85);
    let named = is(&busy, Cause::ConnectionSlots, Confidence::Supported);
    let evidence = format!("{:?}", named.limit.evidence);
    assert!(evidence.contains("processor not full"), "{evidence}");
    for (slots, busy) in [(1_000.0, 0.85), (32.0, 1.0)] {
        let cause = explained(&declared_slots(slots, busy)).limit.cause;
        assert_ne!(cause, Cause::ConnectionSlots, "{slots} slots, {busy} busy");
    }
}

#[test]
fn a_full_pool_before_a_full_downstream_is_the_downstream() {
    let mut service = pool_service();
    service.behind = Some(|rate| vec![ThreadLoad::new("db", rate * 0.002, 0.01)]);
    let explanation = is(&sick(&service), Cause::Downstream, Confidence::Supported);
    assert_eq!(explanation.limit.tier.as_deref(), Some("behind"));
}

#[test]
fn a_slow_downstream_and_its_twin() {
    let mut service = service(idle);
    service.behind = Some(|rate| vec![ThreadLoad::new("worker", rate * 0.0025, 0.01)]);
    let explanation = is(&sick(&service), Cause::Downstream, Confidence::Supported);
    assert_eq!(explanation.limit.tier.as_deref(), Some("behind"));
    assert!((explanation.limit.ceiling_per_s.unwrap() / 400.0 - 1.0).abs() < 0.05);
    twin_is_not_reached(&service);
}

#[test]
fn a_full_tier_behind_an_unseen_one_may_be_the_service_itself() {
    let mut service = service(idle);
    service.behind = Some(|rate| vec![ThreadLoad::new("worker", rate * 0.0025, 0.01)]);
    let mut record = sick(&service);
    record.observations.retain(|observation| {
        observation.tier != "target" || matches!(observation.seen, Seen::Listener(_))
    });
    is(&record, Cause::PinnedThread, Confidence::Supported);
}

#[test]
fn behind_a_proxy_the_cause_keeps_its_own_name() {
    let mut service = service(idle);
    service.behind = Some(|rate| vec![ThreadLoad::new("worker", rate * 0.0025, 0.01)]);
    service.extra = |share, rate| {
        let mut proxy = ProxySample {
            requests: rate as u64,
            ..ProxySample::default()
        };
        let time = Nanos::from_millis(if share > 1.0 { 500 } else { 3 });
        proxy.request_time.record_n(time, 10);
        proxy.upstream_time.record_n(time, 10);
        vec![Seen::Proxy(proxy)]
    };
    let explanation = is(&sick(&service), Cause::PinnedThread, Confidence::Supported);
    assert_eq!(explanation.limit.tier.as_deref(), Some("behind"));
    assert!(
        explanation
            .limit
            .evidence
            .iter()
            .any(|e| e.signal == Signal::ProxyLog)
    );
}

#[test]
fn a_lock_and_its_twin() {
    let mut service = service(idle);
    service.states = |share| {
        let waiting = if share >= 1.0 { 30.0 } else { share };
        BTreeMap::from([
            (ThreadState::Futex, waiting),
            (ThreadState::Timer, share.min(1.0)),
        ])
    };
    service.switches = |share| if share >= 1.0 { 3.0 } else { 2.0 };
    is(&sick(&service), Cause::Lock, Confidence::Supported);
    twin_is_not_reached(&service);
}

#[test]
fn idle_workers_in_a_futex_are_no_lock() {
    let mut service = service(idle);
    service.states = |share| BTreeMap::from([(ThreadState::Futex, (8.0 - 4.0 * share).max(0.0))]);
    // One at a time it is, by Little's law alone.
    let explanation = is(&sick(&service), Cause::Lock, Confidence::Supported);
    let evidence = &explanation.limit.evidence;
    assert!(
        evidence.iter().all(|e| e.signal != Signal::Futex),
        "{evidence:#?}"
    );
}

#[test]
fn a_lock_is_only_suspected_where_descriptors_are_hidden() {
    let mut service = service(idle);
    service.switches = |share| if share >= 1.0 { 3.0 } else { 2.0 };
    service.descriptors = false;
    is(&sick(&service), Cause::Lock, Confidence::Suspected);
}

#[test]
fn a_disk_and_its_twin() {
    let mut service = service(idle);
    service.states = |share| {
        BTreeMap::from([
            (ThreadState::Disk, share.min(1.0) * 0.95),
            (ThreadState::Futex, 20.0 * share),
        ])
    };
    service.disk_pressure = |share| share.min(0.9);
    is(&sick(&service), Cause::Disk, Confidence::Supported);
    twin_is_not_reached(&service);
}

#[test]
fn a_neighbours_disk_pressure_is_not_ours() {
    let mut service = service(idle);
    service.disk_pressure = |share| share.min(0.9);
    is(&sick(&service), Cause::Lock, Confidence::Supported);
}

#[test]
fn an_event_loop_that_takes_in_everything() {
    let mut service = service(pinned);
    service.overload_ok = |share| if share > 1.0 { 0.4 } else { 1.0 };
    service.unread = 0;
    let explanation = is(&sick(&service), Cause::EventLoop, Confidence::Supported);
    assert!(
        explanation.advice[0].action.contains("refuse"),
        "{:?}",
        explanation.advice
    );
    twin_is_not_reached(&service);
    // A little beyond its limit, or for a moment, everything is still answered, and only late.
    service.overload_ok = |_| 1.0;
    service.excess = Outcome::Interrupted;
    let record = search(&service, &[0.3, 0.6, 0.9, 1.15, 1.3], true);
    is(&record, Cause::PinnedThread, Confidence::Suspected);
}

#[test]
fn a_full_thread_with_its_queue_in_the_sockets_is_a_pinned_thread() {
    let mut service = service(pinned);
    service.overload_ok = |share| if share > 1.0 { 0.4 } else { 1.0 };
    service.unread = 10_000;
    is(&sick(&service), Cause::PinnedThread, Confidence::Supported);
}

#[test]
fn garbage_collection_and_its_twin() {
    let threads = |rate: f64| {
        vec![
            ThreadLoad::new("main", rate * 0.0005, 0.0),
            ThreadLoad::new("collector", rate * 0.002, 0.0),
        ]
    };
    let mut service = service(threads);
    service.extra = |share, _| vec![metrics(&[("gc_seconds_total", share.min(1.0) * 0.8)])];
    is(&sick(&service), Cause::Memory, Confidence::Supported);
    twin_is_not_reached(&service);
}

#[test]
fn shedding_by_a_full_processor_is_no_rule() {
    let mut service = service(pinned);
    service.excess = Outcome::Shed;
    service.excess_time = Nanos::from_micros(500);
    service.ok_time = OkTime::Unchanged;
    is(&sick(&service), Cause::PinnedThread, Confidence::Supported);
}

/// Attempts are late in one second of four, and its thread is idle.
fn stalling() -> Service {
    Service {
        capacity: 5000.0,
        base: Nanos::from_millis(1),
        threads: |_| vec![ThreadLoad::new("main", 0.1, 0.0)],
        stalls: true,
        ..Service::default()
    }
}

#[test]
fn stalls_and_their_twin() {
    let service = stalling();
    let record = search(&service, &[0.02, 0.05, 0.1, 0.2], true);
    is(&record, Cause::Stalls, Confidence::Supported);
    // Three levels of a service that was too fast for the generator passed, as their late seconds were taken for spells.
    let passed = search(&service, &[0.02, 0.05, 0.1, 0.2], false);
    is(&passed, Cause::Stalls, Confidence::Supported);
    let calm = Service {
        stalls: false,
        ..service
    };
    twin_is_not_reached(&calm);
    // A thread that ran and waited for a processor most of the time: bursts of a queue, whose cause others are.
    let crowded = Service {
        threads: |_| vec![ThreadLoad::new("main", 0.45, 0.36)],
        stalls: true,
        ..calm
    };
    let limit = explained(&search(&crowded, &[0.02, 0.05, 0.1, 0.2], true)).limit;
    assert_ne!(limit.cause, Cause::Stalls, "{limit:#?}");
}

#[test]
fn a_remote_target_is_suspected_at_most() {
    for excess in [Outcome::Eof, Outcome::Shed] {
        let service = Service {
            capacity: 400.0,
            base: Nanos::from_millis(1),
            excess,
            excess_time: Nanos::from_micros(500),
            ok_time: OkTime::Unchanged,
            observed: false,
            ..Service::default()
        };
        let limit = explained(&sick(&service)).limit;
        assert_eq!(limit.confidence, Confidence::Suspected, "{limit:#?}");
    }
    let mut silent = service(idle);
    silent.observed = false;
    let explanation = is(&sick(&silent), Cause::Unknown, Confidence::Unknown);
    assert!(explanation.advice.is_empty(), "no advice without evidence");
    assert!(explanation.limit.evidence[0].text.contains("--watch"));
}

#[test]
fn names_are_never_evidence() {
    let mut service = service(idle);
    service.base = Nanos::from_millis(1);
    service.process = "postgres lock fsync pinned";
    let explanation = is(&sick(&service), Cause::Unknown, Confidence::Unknown);
    let shown = format!("{:?}", explanation.limit);
    assert!(!shown.contains("postgres"), "{shown}");
}

#[test]
fn one_level_of_failures_is_an_onset_and_an_empty_record_is_nothing() {
    let service = Service {
        excess: Outcome::Eof,
        ok_time: OkTime::Unchanged,
        threads: idle,
        capacity: 400.0,
        base: Nanos::from_millis(80),
        ..Service::default()
    };
    let record = search(&service, &[0.5, 1.3], false);
    let limit = explained(&record).limit;
    assert_eq!(limit.cause, Cause::ConnectionSlots);
    // A service that only takes work in is served as fast, and is in service as long.
    let takes_in = Service {
        answer: Outcome::Accepted,
        ..service.clone()
    };
    let of_intake = explained(&search(&takes_in, &[0.5, 1.3], false)).limit;
    assert_eq!(of_intake, limit);
    // A process that died takes its connections with it, and not those of another tier.
    for (tier, cause) in [
        ("behind", Cause::ConnectionSlots),
        ("target", Cause::Unknown),
    ] {
        let mut record = record.clone();
        let last = record.observations.last().unwrap().clone();
        record.observations.push(Observation {
            tier: tier.to_owned(),
            seen: Seen::Absent(AbsentSample {
                what: "process 20".to_owned(),
                reason: "it ended".to_owned(),
            }),
            ..last
        });
        assert_eq!(explained(&record).limit.cause, cause, "{tier}");
    }
    let empty = search(&service, &[], false);
    let explanation = explained(&empty);
    assert_eq!(explanation.limit.cause, Cause::NotReached);
    assert!(explanation.resources.is_empty() && explanation.next_limit.is_none());
}

#[test]
fn a_disturbance_below_a_rate_that_held_is_forgotten() {
    let mut record = search(&service(pinned), &[0.1, 0.2, 0.5], false);
    let other = search(&service(pinned), &[2.0, 2.0], false);
    // A neighbour disturbed two low levels: their windows look like saturation at a low rate.
    for (index, window) in other.windows.iter().enumerate() {
        let mut window = window.clone();
        window.level = 100;
        window.due_count = 30 + index as u64;
        record.windows.push(window);
    }
    let mut level = record.levels[0].clone();
    level.step.level = 100;
    record.levels.push(level);
    assert_eq!(explained(&record).limit.cause, Cause::NotReached);
}

#[test]
fn absent_sources_are_no_figures() {
    let mut service = service(|_| Vec::new());
    service.extra = |_, _| {
        vec![Seen::Absent(AbsentSample {
            what: "process".to_owned(),
            reason: "belongs to another user".to_owned(),
        })]
    };
    service.observed = false;
    is(&sick(&service), Cause::Unknown, Confidence::Unknown);
}

#[test]
fn advice_needs_a_capacity() {
    let record = sick(&service(pinned));
    let found = SearchResult {
        capacity_per_s: Some(Bounds {
            estimate: 380.0,
            lower: Some(370.0),
            upper: Some(390.0),
        }),
        ..SearchResult::default()
    };
    let advice = explain(&record, &found).advice;
    let has = |text: &str| advice.iter().any(|a| a.action.contains(text));
    assert!(has("plan for at most 296/s"), "{advice:?}");
    assert!(has("within a budget of 10 %"), "{advice:?}");
    assert!(
        !explained(&record)
            .advice
            .iter()
            .any(|a| a.action.contains("plan for"))
    );
}

#[test]
fn one_level_that_a_search_judged_is_beyond_the_hinge() {
    let mut record = sick(&service(pinned));
    let judged = |level: &u32| [1, 2, 8, 9, 10, 11, 12].contains(level);
    record.levels.retain(|level| judged(&level.step.level));
    is(&record, Cause::PinnedThread, Confidence::Supported);
}

#[test]
fn closed_loops_that_break_the_objective_have_given_way() {
    let service = Service {
        capacity: 100.0,
        base: Nanos::from_millis(300),
        threads: |rate| vec![ThreadLoad::new("app", rate / 100.0, 0.0)],
        ..Service::default()
    };
    let mut record = search(&service, &[], true);
    // 64 in flight, all of them later than 250 ms.
    record.levels.retain(|level| level.step.level == 7);
    is(&record, Cause::PinnedThread, Confidence::Suspected);
    record.header.test.how = How::endless(Load::Closed {
        in_flight: NonZeroU32::MIN,
    });
    assert_eq!(explained(&record).limit.cause, Cause::NotReached);
}

#[test]
fn few_users_that_were_disturbed_are_no_limit_where_more_were_held() {
    let quick = Service {
        capacity: 20_000.0,
        base: Nanos::from_millis(5),
        ..Service::default()
    };
    let slow = Service {
        base: Nanos::from_millis(300),
        ..quick.clone()
    };
    let mut record = search(&quick, &[], true);
    let late = search(&slow, &[], true);
    let is_disturbed = |level: u32| level <= 2;
    record.windows.retain(|window| !is_disturbed(window.level));
    let disturbed = late
        .windows
        .iter()
        .filter(|window| is_disturbed(window.level));
    record.windows.extend(disturbed.cloned());
    assert_eq!(explained(&record).limit.cause, Cause::NotReached);
}
