//! What is not known: tiers that nobody looked at while the load was low, levels that were not decided, and what only the
//! search saw.

use std::collections::BTreeMap;

use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{CgroupSample, Record, Seen, ThreadState};
use plimsoll_core::step::StepLoad;
use plimsoll_core::verdict::{Bounds, Cause, Confidence, LevelState, RareStalls, SearchResult};

use super::build::{Service, ThreadLoad, search};
use super::{explain, explained, idle, is, pinned, service, sick};

/// The same record, in which looking began with the first level above the capacity.
fn looked_at_late(mut record: Record) -> Record {
    let above = record.levels.iter().rev().nth(2).unwrap().start_ns;
    record.observations.retain(|seen| seen.at_ns > above);
    record
}

fn with(states: fn(f64) -> BTreeMap<ThreadState, f64>) -> Service {
    let mut service = service(idle);
    service.states = states;
    service
}

#[test]
fn a_figure_that_is_absent_at_low_load_is_not_shown_as_zero() {
    let mut quota = service(|rate| vec![ThreadLoad::new("main", rate * 0.001, 0.0)]);
    quota.extra = |_, _| {
        vec![Seen::Cgroup(CgroupSample {
            quota_cores: Some(0.4),
            periods: 10,
            throttled_periods: 9,
            run_ns: Nanos::from_millis(400),
            ..CgroupSample::default()
        })]
    };
    let mut disk = with(|share| BTreeMap::from([(ThreadState::Disk, 1.0 + 4.0 * share)]));
    disk.disk_pressure = |share| 0.3 * share;
    let crowded = service(|rate| {
        let each = |name| ThreadLoad::new(name, rate * 0.0023, rate * 0.001);
        vec![each("one"), each("two")]
    });
    let lock = with(|share| BTreeMap::from([(ThreadState::Futex, 2.0 + 6.0 * share)]));
    for service in [quota, disk, crowded, lock] {
        let whole = explained(&sick(&service)).limit;
        let text = |limit: &plimsoll_core::verdict::Limit| format!("{:?}", limit.evidence);
        let shows = |text: &str| text.contains("at low load") || text.contains("rose from");
        assert!(shows(&text(&whole)), "{whole:#?}");
        let late = explained(&looked_at_late(sick(&service))).limit;
        assert!(!shows(&text(&late)), "{late:#?}");
    }
}

#[test]
fn a_level_that_was_not_decided_was_not_held() {
    let mut record = search(&service(idle), &[0.2, 0.4, 0.6, 0.8], false);
    let held = |record: &Record| explained(record).limit.evidence[0].text.clone();
    assert!(
        held(&record).starts_with("held up to 320/s"),
        "{}",
        held(&record)
    );
    for result in &mut record.level_results {
        if result.level == 4 {
            result.state = LevelState::Undecided;
        }
    }
    assert!(
        held(&record).starts_with("held up to 240/s"),
        "{}",
        held(&record)
    );
}

#[test]
fn stalls_that_the_search_saw_are_suspected_where_nothing_else_explains() {
    let mut silent = service(idle);
    silent.observed = false;
    let found = SearchResult {
        rare_stalls: Some(RareStalls {
            interval_seconds: 12.0,
            variance_to_mean: 30.0,
            bad_seconds_ratio: 0.05,
        }),
        ..SearchResult::default()
    };
    let record = sick(&silent);
    assert_eq!(explained(&record).limit.cause, Cause::Unknown);
    let limit = explain(&record, &found).limit;
    assert_eq!(
        (limit.cause, limit.confidence),
        (Cause::Stalls, Confidence::Suspected)
    );
    let told = "one about every 12.0 s: 5 % of the seconds";
    assert!(
        limit.evidence[0].text.contains(told),
        "{:?}",
        limit.evidence
    );
}

/// A closed loop whose service answers well, and whose script calls an eighth of the answers wrong.
#[test]
fn answers_that_are_wrong_at_the_only_load_say_nothing_of_the_limit() {
    let mut record = search(&service(idle), &[0.5], false);
    record.levels[0].step.load = StepLoad::Closed { in_flight: 1 };
    for window in &mut record.windows {
        for _ in 0..30 {
            let (time, bounds) = (Nanos::from_millis(3), &[]);
            window.operations[0].record(Outcome::CheckFailed, time, Some(time), 1, bounds);
        }
    }
    let limit = explained(&record).limit;
    assert_eq!(limit.cause, Cause::Unknown);
    let text = &limit.evidence[0].text;
    assert!(
        text.contains("checks of the script fail for 210 of"),
        "{text}"
    );
}

/// Answers take longer than the objective allows, or fail now and then, whatever is asked of the service.
#[test]
fn an_objective_that_is_broken_without_load_names_no_limit() {
    let slow = Service {
        capacity: 5000.0,
        base: Nanos::from_millis(300),
        // Turns of the scheduler per request change with the load of every service.
        switches: |share| 1.0 + 4.0 * share,
        ..Service::default()
    };
    let mut record = search(&slow, &[0.02, 0.05, 0.1, 0.2], false);
    for end in &mut record.level_results {
        end.state = LevelState::Fail;
    }
    let limit = explained(&record).limit;
    assert_eq!(limit.cause, Cause::NotReached, "{limit:#?}");
    let text = &limit.evidence[0].text;
    assert!(text.starts_with("load is not the reason: 100 %"), "{text}");

    let record = failing(&slow, |_| 0.02);
    let limit = explained(&record).limit;
    assert_eq!(limit.cause, Cause::NotReached, "{limit:#?}");
    // Twice as many with ten times the load are the load's.
    let record = failing(&slow, |share| if share > 0.1 { 0.06 } else { 0.02 });
    assert_ne!(explained(&record).limit.cause, Cause::NotReached);
}

/// `run -q 100 --slo p99<250ms` on a service that takes 300 ms: it kept up, and held nothing.
#[test]
fn a_rate_that_was_answered_too_late_was_not_held() {
    let slow = Service {
        base: Nanos::from_millis(300),
        ..service(idle)
    };
    let run = |service: &Service, shares: &[f64]| {
        let mut record = search(service, shares, false);
        record.level_results.clear();
        record
    };
    let says = |record: &Record| {
        let limit = explained(record).limit;
        assert_eq!(limit.cause, Cause::Unknown, "{limit:#?}");
        limit.evidence[0].text.clone()
    };
    let text = says(&run(&slow, &[0.25]));
    let told = "no load was held; 100/s were answered, but later than the objective allows";
    assert!(text.starts_with(told), "{text}");
    // Half of it was in time.
    let mut record = run(&slow, &[0.125, 0.25]);
    let quick = run(&service(idle), &[0.125]);
    record.windows.retain(|window| window.level == 2);
    record.windows.extend(quick.windows);
    let text = says(&record);
    let told = "held up to 50.0/s; 100/s were answered, but later than";
    assert!(text.starts_with(told), "{text}");
}

/// What is beyond the limit comes late, and is no failure.
fn slow_beyond() -> Service {
    Service {
        excess: Outcome::Ok,
        excess_time: Nanos::from_millis(500),
        ..service(pinned)
    }
}

fn set_state(record: &mut Record, level: u32, state: LevelState) {
    for result in &mut record.level_results {
        if result.level == level {
            result.state = state;
        }
    }
}

fn without_closed(mut record: Record) -> Record {
    let is_closed = |load: &StepLoad| matches!(load, StepLoad::Closed { .. });
    record.levels.retain(|level| !is_closed(&level.step.load));
    record
}

/// A search of eight workers: at 88.6/s chance made 93.2 arrivals a second, which were held; 92.7/s and 102/s had 7 and 20 % bad
/// attempts, and were not decided. That was ‘held up to 93.2/s; no level beyond it gave way’.
#[test]
fn rates_are_compared_as_they_were_asked_for() {
    let mut record = search(&slow_beyond(), &[0.2, 0.5, 0.9, 0.93, 1.02], true);
    let slow = Service {
        base: Nanos::from_millis(300),
        ..slow_beyond()
    };
    let slow = search(&slow, &[0.2, 0.5, 0.9, 0.93, 1.02], true);
    record.windows.retain(|window| window.level != 11);
    let late = slow.windows.iter().filter(|window| window.level == 11);
    record.windows.extend(late.cloned());
    for window in record.windows.iter_mut().filter(|at| at.level == 10) {
        window.due_count = window.due_count * 106 / 100;
    }
    for level in [11, 12] {
        set_state(&mut record, level, LevelState::Undecided);
    }
    let limit = explained(&record).limit;
    assert_eq!(limit.cause, Cause::PinnedThread, "{limit:#?}");
}

/// ‘Not reached’ is for searches in which nothing above what was held was left open.
#[test]
fn one_rate_that_was_not_held_is_no_limit_that_was_not_reached() {
    let held = without_closed(search(&slow_beyond(), &[0.2, 0.5, 0.9, 1.0], true));
    assert_eq!(explained(&held).limit.cause, Cause::NotReached);
    for (state, told) in [
        (
            LevelState::Undecided,
            "400/s was watched for too short a time",
        ),
        (LevelState::Void, "400/s was not judged"),
        (LevelState::Fail, "400/s failed, but one level alone"),
    ] {
        let mut record = held.clone();
        set_state(&mut record, 11, state);
        let limit = explained(&record).limit;
        let text = &limit.evidence[0].text;
        assert_eq!(limit.cause, Cause::Unknown, "{limit:#?}");
        assert!(text.starts_with("held up to 360/s; "), "{text}");
        assert!(text.contains(told), "{text}");
    }
}

/// The search knows more than its levels: one that was late above all that it takes to be possible is beyond the limit. So is one
/// near the peak of closed loops that gained nothing from more in flight.
#[test]
fn one_late_rate_has_given_way_with_what_else_is_known() {
    let mut record = search(&slow_beyond(), &[0.2, 0.5, 0.9, 1.02], true);
    set_state(&mut record, 11, LevelState::Undecided);
    let upper = |upper| SearchResult {
        capacity_per_s: Some(Bounds {
            estimate: 370.0,
            lower: Some(360.0),
            upper: Some(upper),
        }),
        ..SearchResult::default()
    };
    let cause = |record: &Record, bound| explain(record, &upper(bound)).limit.cause;
    let open = without_closed(record.clone());
    assert_eq!(cause(&open, 390.0), Cause::PinnedThread);
    assert_eq!(cause(&open, 420.0), Cause::Unknown);
    assert_eq!(cause(&record, 420.0), Cause::PinnedThread);
}

/// A rate that was seen to hold and then failed was not held, and one that failed at once and was repeated was.
#[test]
fn a_rate_that_was_broken_later_was_not_held() {
    let record = |first, second| {
        let mut record = search(&slow_beyond(), &[0.2, 0.5, 0.9, 0.9], true);
        set_state(&mut record, 10, first);
        set_state(&mut record, 11, second);
        without_closed(record)
    };
    let said = |record: Record| explained(&record).limit.evidence[0].text.clone();
    let told = said(record(LevelState::Fail, LevelState::Pass));
    assert_eq!(told, "held up to 360/s; no level beyond it gave way");
    // The second had too little time.
    let told = said(record(LevelState::Pass, LevelState::Undecided));
    assert_eq!(told, "held up to 360/s; no level beyond it gave way");
    let told = said(record(LevelState::Pass, LevelState::Fail));
    assert!(told.starts_with("held up to 200/s; 360/s failed"), "{told}");
}

/// Closed loops and rates below the limit show a full thread; whether goodput falls beyond it nobody saw.
#[test]
fn a_full_thread_that_takes_in_everything_is_suspected_where_no_overload_was_played() {
    for (unread, confidence) in [(0, Confidence::Suspected), (10_000, Confidence::Supported)] {
        let service = Service {
            unread,
            ..slow_beyond()
        };
        let mut record = search(&service, &[0.2, 0.5, 0.9, 1.02], true);
        set_state(&mut record, 11, LevelState::Undecided);
        is(&record, Cause::PinnedThread, confidence);
    }
}

/// Found live: a service that writes and syncs for 7 ms, one request after the other, was a lock for sure.
#[test]
fn one_at_a_time_beside_writes_to_a_pressed_disk_is_a_suspicion() {
    let mut service = service(idle);
    service.disk_pressure = |share| share.min(0.9);
    let mut record = sick(&service);
    is(&record, Cause::Lock, Confidence::Supported);
    for look in &mut record.observations {
        if let Seen::Process(process) = &mut look.seen {
            process.written_bytes = Some(200_000);
        }
    }
    is(&record, Cause::Lock, Confidence::Suspected);
}

/// A part of the attempts at each share of the capacity fails at once.
fn failing(service: &Service, part: fn(f64) -> f64) -> Record {
    let quick = Service {
        base: Nanos::from_millis(5),
        ..service.clone()
    };
    let mut record = search(&quick, &[0.02, 0.05, 0.1, 0.2], false);
    let capacity = quick.capacity;
    for end in &mut record.level_results {
        end.state = LevelState::Fail;
    }
    for window in &mut record.windows {
        let share = window.due_count as f64 / capacity;
        let failures = (part(share) * window.due_count as f64).round() as u64;
        window.due_count += failures;
        window.sent_count += failures;
        for _ in 0..failures {
            let (tally, time) = (&mut window.operations[0], Nanos::from_millis(5));
            tally.record(
                Outcome::Http5xx,
                time,
                Some(time),
                100,
                &[Nanos::from_millis(250)],
            );
        }
    }
    record
}
