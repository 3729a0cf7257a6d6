//! Each fixture gives way near the ceiling that the table states, and its twin far above.
//!
//! Bounds are ratios of rates measured side by side: a busy machine lowers both.

use std::time::Duration;

use plimsoll_lab::serve::catalogue::{self, Values};

use crate::support::{Load, Served, children_of, cpu_seconds_of, load, metric};

const CONNECTIONS: usize = 48;
const LENGTH: Duration = Duration::from_millis(900);

/// Loads a fixture or its twin; also the processor time that it and its helpers used meanwhile.
fn measured(name: &str, twin: &[&str]) -> Option<(Load, f64)> {
    let served = match Served::try_start(name, twin) {
        Ok(served) => served,
        // No right to set a quota, or no disk: `lifecycle` checks what it says.
        Err(_) if matches!(name, "cpu-quota" | "fsync") => return None,
        Err(error) => panic!("{name}: {error}"),
    };
    let pids: Vec<u32> = children_of(served.pid())
        .into_iter()
        .chain([served.pid()])
        .collect();
    let cpu = || pids.iter().copied().map(cpu_seconds_of).sum::<f64>();
    let before = cpu();
    let load = load(served.address, CONNECTIONS, LENGTH);
    let used = cpu() - before;
    assert_eq!(served.stop(), Some(0));
    Some((load, used))
}

fn ceiling(name: &str) -> f64 {
    let service = catalogue::service(name).unwrap();
    (service.expected.unwrap().ceiling)(&Values::draw(service, 1, false))
}

/// Never above the ceiling, and the twin carries at least twice as much. Returns the share of the
/// ceiling that was reached, and the processor time per request as a share of 1 / ceiling.
fn holds(name: &str) -> Option<(f64, f64)> {
    let (sick, used) = measured(name, &[])?;
    let (well, _) = measured(name, &["--healthy"])?;
    let demand = used / f64::from(sick.ok.max(1));
    let (sick, well) = (sick.ok_per_second(), well.ok_per_second());
    let ceiling = ceiling(name);
    assert!(
        sick < 1.15 * ceiling,
        "{name}: {sick:.0}/s above {ceiling:.0}/s"
    );
    assert!(
        well > 1.8 * sick,
        "{name}: {sick:.0}/s, its twin only {well:.0}/s"
    );
    Some((sick / ceiling, demand * ceiling))
}

#[test]
fn services_that_burn_a_core_need_what_the_table_says() {
    for name in ["pinned-loop", "event-loop", "slow-downstream", "memory-gc"] {
        // By demand and not by rate: a busy machine gives less of a core, not cheaper requests.
        let (_, demand) = holds(name).unwrap();
        assert!(
            (0.9..1.4).contains(&demand),
            "{name}: {demand:.2} of the demand in the table"
        );
    }
}

#[test]
fn services_that_wait_hold_their_ceiling() {
    for name in ["small-pool", "lock", "fsync"] {
        if let Some((reached, demand)) = holds(name) {
            assert!(reached > 0.3, "{name}: {reached:.2} of its ceiling");
            assert!(
                demand < 0.5,
                "{name}: a core is busy for {demand:.2} of the time"
            );
        }
    }
}

#[test]
fn a_quota_holds_its_ceiling() {
    holds("cpu-quota");
}

#[test]
fn a_rule_lets_its_rate_pass_and_refuses_the_rest() {
    let (sick, _) = measured("rate-rule", &[]).unwrap();
    let (well, _) = measured("rate-rule", &["--healthy"]).unwrap();
    let service = catalogue::service("rate-rule").unwrap();
    let values = Values::draw(service, 1, false);
    let most = values.of("rate") * sick.seconds + values.of("burst") + 1.0;
    assert!(f64::from(sick.ok) <= most, "{} of at most {most}", sick.ok);
    assert!(f64::from(sick.ok) > 0.5 * most, "{} of {most}", sick.ok);
    assert!(sick.refused > 0);
    assert!(well.ok_per_second() > 1.8 * sick.ok_per_second());
}

#[test]
fn few_slots_end_connections_without_an_answer_and_many_do_not() {
    let slots = ["--set", "slots=24", "--set", "answer=60"];
    let measured = |arguments: &[&str]| {
        let served = Served::start("proxy-slots", arguments);
        load(served.address, CONNECTIONS, LENGTH)
    };
    let sick = measured(&slots);
    let well = measured(&["--set", "slots=1024", "--set", "answer=60"]);
    // 24 slots, two per request, 60 ms: 200/s.
    assert!(
        sick.ok_per_second() < 1.15 * 200.0,
        "{}",
        sick.ok_per_second()
    );
    assert!(sick.unanswered > sick.ok / 4, "{sick:?}");
    assert_eq!((well.unanswered, well.refused), (0, 0));
    assert!(well.ok_per_second() > 1.8 * sick.ok_per_second());
}

#[test]
fn a_stall_holds_everybody_up_once_per_interval() {
    let measured = |freeze| {
        let served = Served::start("stalls", &["--set", freeze, "--set", "every=0.4"]);
        let load = load(served.address, 4, Duration::from_millis(1500));
        load.times
            .iter()
            .filter(|time| **time > Duration::from_millis(120))
            .count()
    };
    let (sick, well) = (measured("freeze=200"), measured("freeze=0"));
    // Three stalls at least, each seen by most of the four connections.
    assert!(sick >= 8, "{sick} slow answers");
    assert!(
        well < sick / 2,
        "{well} slow answers without stalls, {sick} with them"
    );
}

#[test]
fn a_full_pool_and_a_busy_collector_show_in_their_metrics() {
    let pool = Served::start("small-pool", &[]);
    let address = pool.address;
    let loading = std::thread::spawn(move || load(address, CONNECTIONS, LENGTH));
    std::thread::sleep(LENGTH / 2);
    assert!(metric(address, "pool_waiters") > 0.0);
    let (used, size) = (metric(address, "pool_in_use"), metric(address, "pool_max"));
    assert!(used > 0.9 * size && used <= size, "{used} of {size}");
    loading.join().unwrap();
    assert!(metric(address, "pool_wait_seconds_sum") > 1.0);
    assert!(metric(address, "pool_wait_seconds_count") > 48.0);
    assert!(metric(address, "pool_waiters").abs() < f64::EPSILON);
    drop(pool);

    let heap = Served::start("memory-gc", &[]);
    let load = load(heap.address, CONNECTIONS, LENGTH);
    let paused = metric(heap.address, "gc_pause_seconds_sum");
    assert!(
        paused > 0.5 * load.seconds,
        "{paused} of {} s",
        load.seconds
    );
    assert!(metric(heap.address, "gc_pause_seconds_count") > 2.0);
}

#[test]
fn a_wait_for_the_pool_ends_at_its_timeout() {
    let narrow = [
        "--set",
        "pool=1",
        "--set",
        "query=200",
        "--set",
        "wait_timeout=100",
    ];
    let served = Served::start("small-pool", &narrow);
    let load = load(served.address, 8, LENGTH);
    assert!(
        load.ok > 0 && load.refused > load.ok,
        "{} ok, {} refused",
        load.ok,
        load.refused
    );
    let refused = metric(served.address, "pool_timeouts_total");
    assert!((refused - f64::from(load.refused)).abs() < f64::EPSILON);
}
