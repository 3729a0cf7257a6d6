//! What is turned away by a rule, and by a number of places that are taken: the two look alike.

use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::Record;
use plimsoll_core::step::StepLoad;
use plimsoll_core::verdict::{Cause, Confidence, Limit};
use plimsoll_core::{Nanos, Tally};

use super::build::{OkTime, Service, search};
use super::concurrency::erlang;
use super::{explained, idle, is};

const AT_ONCE: Nanos = Nanos::from_micros(500);

/// Serves `count` at once, each for `base`, and turns the others away.
fn places(count: f64, base: Nanos) -> Service {
    Service {
        capacity: count / base.as_secs_f64(),
        base,
        threads: idle,
        excess: Outcome::Shed,
        excess_time: AT_ONCE,
        ok_time: OkTime::Unchanged,
        ..Service::default()
    }
}

/// One level of eight seconds at each rate, of which that share is lost, as the service ends its excess.
fn losing(service: &Service, rates: &[f64], lost: impl Fn(f64) -> f64) -> Record {
    let shares: Vec<f64> = rates.iter().map(|rate| rate / service.capacity).collect();
    let mut record = search(service, &shares, false);
    for (level, rate) in rates.iter().enumerate() {
        let windows = record.windows.iter_mut();
        let own = windows.filter(|window| window.level == level as u32 + 1);
        // Whole numbers by the end of each second.
        let until = |seconds: usize, per_s: f64| (per_s * seconds as f64).round() as u64;
        for (second, window) in own.enumerate() {
            let within = |per_s: f64| until(second + 1, per_s) - until(second, per_s);
            let (due, failed) = (within(*rate), within(rate * lost(*rate)));
            let mut tally = Tally::default();
            let mut record = |outcome, time, count| {
                for _ in 0..count {
                    tally.record(outcome, time, Some(time), 100, &[]);
                }
            };
            record(Outcome::Ok, service.base, due.saturating_sub(failed));
            record(service.excess, service.excess_time, failed);
            (window.due_count, window.sent_count) = (due, due);
            window.operations = vec![tally];
        }
    }
    record
}

/// Eight at once of 100 ms that answer 503 beyond: without any low load nobody can tell that from a rule.
#[test]
fn refusals_at_a_single_load_are_no_more_than_suspected() {
    let mut record = search(&places(8.0, Nanos::from_millis(100)), &[], true);
    record
        .levels
        .retain(|level| level.step.load == StepLoad::Closed { in_flight: 16 });
    for window in &mut record.windows {
        for _ in 0..500 {
            window.operations[0].record(Outcome::Shed, AT_ONCE, Some(AT_ONCE), 0, &[]);
        }
    }
    let explanation = is(&record, Cause::Rule, Confidence::Suspected);
    let shown = format!("{:?}", explanation.limit.evidence);
    assert!(shown.contains("too few loads were compared"), "{shown}");
    let raises = |action: &str| action.contains("configured rate");
    assert!(
        !explanation.advice.iter().any(|one| raises(&one.action)),
        "{:?}",
        explanation.advice
    );
}

/// Eight at once of 3 s carry 2.7/s: a level has a few dozen attempts.
#[test]
fn a_slow_limit_on_requests_at_once_is_not_called_a_rule_for_lack_of_attempts() {
    let slow = places(8.0, Nanos::from_secs(3));
    let lost = |rate: f64| erlang(8, rate * 3.0);
    let once = [0.5, 1.0, 2.0, 2.7, 4.0, 5.3];
    let limit = explained(&losing(&slow, &once, lost)).limit;
    assert!(limit.confidence <= Confidence::Suspected, "{limit:#?}");
    // As often as a search comes back to them, they are enough together.
    let often = losing(&slow, &once.repeat(13), lost);
    is(&often, Cause::Concurrency, Confidence::Supported);
}

/// nginx's `return 444` beyond 20/s, and a service of 20 ms: 0.4 requests in service take no slots.
#[test]
fn a_rate_rule_that_closes_connections_is_no_lack_of_slots() {
    let mut service = places(0.4, Nanos::from_millis(20));
    (service.excess, service.excess_time) = (Outcome::Eof, Nanos::from_millis(1));
    let lost = |rate: f64| (1.0 - 20.0 / rate).max(0.0);
    let rates = [5.0, 10.0, 20.0, 30.0, 40.0, 60.0, 80.0];
    // Eight seconds of the lower rates are too few attempts by themselves.
    let often = rates.repeat(3);
    let limit = is(
        &losing(&service, &often, lost),
        Cause::Rule,
        Confidence::Suspected,
    )
    .limit;
    let shown = format!("{:?}", limit.evidence);
    assert!(shown.contains("with 0.4"), "{shown}");
    let rules_out = |limit: &Limit, what: &str| limit.ruled_out.iter().any(|l| l.starts_with(what));
    assert!(!rules_out(&limit, "rate rule"), "{limit:#?}");
    // Too few attempts at any rate to tell: neither is named, and none ruled out.
    let few = losing(&service, &[2.5, 5.0, 21.0, 22.0], |rate| {
        if rate > 20.0 { 0.1 } else { 0.0 }
    });
    let limit = explained(&few).limit;
    assert_eq!(limit.cause, Cause::Unknown, "{limit:#?}");
    assert!(!rules_out(&limit, "rate rule"), "{limit:#?}");
    assert!(!rules_out(&limit, "connection slots"), "{limit:#?}");
    // Eight places of 100 ms lose other shares.
    let mut eight = places(8.0, Nanos::from_millis(100));
    (eight.excess, eight.excess_time) = (Outcome::Eof, Nanos::from_millis(1));
    let rates = [10.0, 20.0, 40.0, 60.0, 90.0, 120.0, 160.0];
    let record = losing(&eight, &rates, |rate| erlang(8, rate * 0.1));
    is(&record, Cause::ConnectionSlots, Confidence::Supported);
    // A rule of 80/s with some in service is told from places, too.
    eight.base = Nanos::from_millis(30);
    let record = losing(&eight, &rates, |rate| (1.0 - 80.0 / rate).max(0.0));
    is(&record, Cause::Rule, Confidence::Suspected);
}
