//! Differences of counters, threads that come and go, and two live threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;

fn counters(threads: &[(u32, u64, u64)], run_ticks: u64) -> ProcessCounters {
    ProcessCounters {
        threads: threads
            .iter()
            .map(|&(tid, run_ns, wait_ns)| {
                let counters = ThreadCounters {
                    run_ns,
                    wait_ns,
                    voluntary: run_ns / 10,
                    ..ThreadCounters::default()
                };
                (tid, counters)
            })
            .collect(),
        run_ticks,
        ..ProcessCounters::default()
    }
}

#[test]
fn threads_are_differences_busiest_first() {
    let earlier = counters(&[(1, 100, 0), (2, 0, 0)], 0);
    let now = counters(&[(1, 150, 10), (2, 500, 0), (3, 70, 0)], 0);
    let sample = now.since(&earlier, 9, 2);
    let shown: Vec<_> = sample.threads.iter().map(|t| (t.tid, t.run_ns.0)).collect();
    assert_eq!(
        shown,
        [(2, 500), (3, 70), (1, 50)],
        "a new thread counts from zero"
    );
    assert_eq!(sample.voluntary_switches, 5 + 50 + 7);
    assert_eq!(
        sample.cores_allowed, 2,
        "all cores where the mask is not known"
    );
}

#[test]
fn more_than_sixteen_threads_are_summed() {
    let threads: Vec<_> = (1..=40).map(|tid| (tid, 1000, 0)).collect();
    let sample = counters(&threads, 0).since(&counters(&[], 0), 9, 2);
    assert_eq!(sample.threads.len(), 16);
    assert_eq!(sample.others.run_ns, Nanos(24_000));
}

/// Of more threads than are read, one that moves up among those has not done its whole life's work in this interval.
#[test]
fn a_thread_that_was_not_read_before_counts_from_now_on() {
    let mut earlier = counters(&[(1, 100, 0), (2, 100, 0)], 0);
    earlier.threads_count = 513;
    let now = counters(&[(1, 150, 0), (3, 9_000, 70)], 0);
    let sample = now.since(&earlier, 9, 2);
    let shown: Vec<_> = sample.threads.iter().map(|t| (t.tid, t.run_ns.0)).collect();
    assert_eq!(shown, [(1, 50)]);
    assert_eq!(sample.voluntary_switches, 5);
}

#[test]
fn cores_are_those_of_all_threads() {
    let may_use = |cores: &[u32]| {
        let counters = ProcessCounters {
            cores: cores.iter().copied().collect(),
            ..ProcessCounters::default()
        };
        let sample = counters.since(&ProcessCounters::default(), 9, 4);
        (sample.cores_allowed, sample.cores_named)
    };
    assert_eq!(may_use(&[1, 3]), (2, vec![1, 3]));
    assert_eq!(may_use(&[0, 1, 2, 3]), (4, vec![]), "nothing to tell");
    assert_eq!(may_use(&[]), (4, vec![]), "not known");
}

/// The main thread is pinned, and the one that works is not.
#[test]
fn a_pinned_main_thread_does_not_bind_the_others() {
    let status = |cores: &str| format!("Cpus_allowed_list:\t{cores}\n");
    let stat = |tid: u32| crate::tree::stat(tid, 1, 0);
    let tree = crate::tree::Tree::new(
        "threads",
        &[
            ("5000001/stat", &stat(5_000_001)),
            ("5000001/status", &status("0")),
            ("5000001/task/5000001/stat", &stat(5_000_001)),
            ("5000001/task/5000001/status", &status("0")),
            ("5000001/task/5000002/stat", &stat(5_000_002)),
            ("5000001/task/5000002/status", &status("0-2")),
        ],
    );
    let read = ProcessCounters::read(&tree.proc(), 5_000_001).unwrap();
    let sample = read.since(&ProcessCounters::default(), 5_000_001, 4);
    assert_eq!(sample.cores_allowed, 3);
}

#[test]
fn the_work_of_threads_that_ended_is_not_lost() {
    let tick = tick_ns();
    let earlier = counters(&[(1, 0, 0), (2, 5 * tick, 0)], 5);
    let now = counters(&[(1, tick, 0)], 60);
    assert_eq!(now.since(&earlier, 9, 2).others.run_ns, Nanos(54 * tick));
    let now = counters(&[(1, tick, 0)], 7);
    let sample = now.since(&earlier, 9, 2);
    assert_eq!(
        sample.others.run_ns,
        Nanos::ZERO,
        "rounding of ticks is no thread"
    );
}

#[test]
fn counters_that_step_back_give_zero() {
    let sample = counters(&[(1, 10, 0)], 0).since(&counters(&[(1, 100, 50)], 9), 9, 2);
    assert!(sample.threads.is_empty());
    assert_eq!(sample.voluntary_switches, 0);
}

#[test]
fn a_reused_process_number_is_another_process() {
    let with_start = |start_ticks| ProcessCounters {
        start_ticks,
        ..ProcessCounters::default()
    };
    assert!(with_start(5).continues(&with_start(5)));
    assert!(!with_start(6).continues(&with_start(5)));
}

/// A busy thread demands one core and a sleeping one none. The kernel adds a wait only when it is
/// over, so on a crowded machine a short interval may hold more or less of it than it should: one of some must be right.
#[test]
fn a_busy_and_a_sleeping_thread_of_this_process() {
    let demands: Vec<f64> = (0..6).map(|_| demand_of_a_busy_thread()).collect();
    let is_one = |demand: &f64| (0.6..1.5).contains(demand);
    assert!(demands.iter().any(is_one), "{demands:?}");
}

/// Looks at a busy thread and at one that sleeps for a third of a second.
#[expect(clippy::disallowed_methods, reason = "a test measures for itself")]
fn demand_of_a_busy_thread() -> f64 {
    let proc = ProcFs::at("/proc");
    let pid = std::process::id();
    let stop = AtomicBool::new(false);
    let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
    let (sample, states, seconds) = std::thread::scope(|scope| {
        named("obs-busy")
            .spawn_scoped(scope, || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
            .unwrap();
        let asleep = named("obs-asleep")
            .spawn_scoped(scope, || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::park();
                }
            })
            .unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let begin = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let earlier = ProcessCounters::read(&proc, pid).unwrap();
        let mut looks = Looks::default();
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(60));
            looks.look(&proc, pid);
        }
        let now = ProcessCounters::read(&proc, pid).unwrap();
        let end = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        stop.store(true, Ordering::Relaxed);
        asleep.thread().unpark();
        let seconds =
            (end.tv_sec - begin.tv_sec) as f64 + (end.tv_nsec - begin.tv_nsec) as f64 / 1e9;
        (now.since(&earlier, pid, 2), looks.take(), seconds)
    });
    let demand = |name: &str| {
        let thread = sample.threads.iter().find(|thread| thread.name == name);
        thread.map_or(0.0, |t| (t.run_ns + t.wait_ns).as_secs_f64() / seconds)
    };
    assert!(demand("obs-asleep") < 0.05, "{}", demand("obs-asleep"));
    let running = states.get(&ThreadState::Running).copied();
    assert!(running.unwrap_or(0.0) >= 0.6, "{states:?}");
    assert!(
        sample.open_files.unwrap() > 2,
        "our own descriptors are ours to read"
    );
    assert!(sample.resident_bytes > 1 << 16);
    demand("obs-busy")
}

#[test]
fn a_process_that_is_gone_is_none() {
    assert!(ProcessCounters::read(&ProcFs::at("/proc"), u32::MAX).is_none());
}
