//! A rule that somebody has set refuses at once; a guard does so, too, and is none.

use plimsoll_core::Nanos;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::record::{Event, EventKind, Guarded, Record};
use plimsoll_core::verdict::{Cause, Confidence};

use super::build::{OkTime, Service};
use super::{explained, idle, is, sick, twin_is_not_reached};

/// Lets 400 in per second, and refuses the others at once.
fn rate_rule() -> Service {
    Service {
        capacity: 400.0,
        base: Nanos::from_millis(1),
        threads: idle,
        excess: Outcome::Shed,
        excess_time: Nanos::from_micros(500),
        ok_time: OkTime::Unchanged,
        ..Service::default()
    }
}

#[test]
fn a_rate_rule_and_its_twin() {
    let service = rate_rule();
    let explanation = is(&sick(&service), Cause::Rule, Confidence::Supported);
    assert!((explanation.limit.ceiling_per_s.unwrap() / 400.0 - 1.0).abs() < 0.05);
    assert!(
        explanation
            .advice
            .iter()
            .all(|a| !a.action.contains("in-flight"))
    );
    twin_is_not_reached(&service);
}

fn guarded(refused_count: u64) -> Record {
    let mut record = sick(&rate_rule());
    record.events.push(Event {
        at_ns: Nanos::from_secs(60),
        what: EventKind::Guarded(Guarded { refused_count }),
        detail: String::new(),
    });
    record
}

#[test]
fn what_a_guard_sheds_is_named_as_shed() {
    let limit = explained(&guarded(1_000_000)).limit;
    assert!(!matches!(
        limit.cause,
        Cause::Rule | Cause::Pool | Cause::Concurrency
    ));
    let shed = limit
        .evidence
        .iter()
        .find(|line| line.text.contains("shed by a guard"));
    assert!(shed.is_some(), "{limit:?}");
}

/// Somebody else refuses most: a few marks do not hide it.
#[test]
fn a_rule_behind_a_guard_that_refused_little_stays_a_rule() {
    is(&guarded(3), Cause::Rule, Confidence::Supported);
}
