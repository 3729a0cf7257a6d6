//! Admission while the service pauses, stands still, or is asked for ten times as much from one moment to the next.

use plimsoll_sim::ServiceTime;
use plimsoll_sim::guarded::{Clients, Drift, Shape, Upstream, peak, play};

use super::tuning::{exponential, lognormal, ms, one};
use super::{few_critical_among_many, plan, quantile, seconds};

fn pools() -> [Upstream; 3] {
    let fixed = ServiceTime::Fixed { mean: ms(30.0) };
    [
        one("pool", Shape::Workers(8), lognormal(20.0, 1.0)),
        one("even pool", Shape::Workers(12), fixed),
        one("small pool", Shape::Workers(2), exponential(10.0)),
    ]
}

/// Seen behind a real guard: after a service had stood still for two to five seconds, its clients had left, the limit had
/// been taken down for it from 12 to 3, and stayed there for nine seconds.
#[test]
fn after_a_standstill_the_limit_is_what_it_was() {
    for service in pools() {
        let (_, peak) = peak(&service, 1);
        for (load, length) in [(0.5, 2), (0.5, 5), (0.8, 3), (3.0, 2), (3.0, 5)] {
            let until = 30 + length;
            let stands = Upstream {
                drift: Drift::Stopped {
                    from: seconds(30),
                    until: seconds(until),
                },
                ..service.clone()
            };
            let played = play(&stands, &plan(vec![Clients::steady(load * peak)], 50, 3));
            let again = until as usize + 1;
            let good = &played.good_by_second[again..again + 4];
            let mean = good.iter().sum::<u64>() as f64 / good.len() as f64;
            let wanted = peak * load.min(1.0);
            assert!(
                mean > 0.8 * wanted,
                "{mean} of {wanted} in seconds 2 to 5 after {length} s at {load} of {}",
                stands.name
            );
            let (before, after) = (played.levels[29].level, played.levels[again].level);
            assert!(
                after > 0.6 * before,
                "{before} to {after} after {length} s at {load} of {}",
                stands.name
            );
        }
    }
}

/// A limit that is far too high for what the service has become is no standstill's.
#[test]
fn a_limit_that_became_too_high_falls_and_stays_down() {
    let pool = one("pool", Shape::Workers(120), exponential(50.0));
    let (_, peak) = peak(&pool, 1);
    // A hundredth of its speed: what is in flight now takes longer than any client waits.
    let slowed = Upstream {
        drift: Drift::Cold {
            slower: 100.0,
            warm: seconds(100_000),
        },
        ..pool
    };
    let played = play(&slowed, &plan(vec![Clients::steady(peak)], 120, 2));
    let most = played.levels[60..].iter().map(|at| at.level);
    assert!(most.fold(0.0, f64::max) < 60.0);
}

/// A guard that has just started before a service that pauses for 200 ms every two seconds, at half of what it can do. Seen
/// on a real one: 0.2 % were refused, all of them in the first ten seconds, before the limit had grown.
#[test]
fn pauses_at_half_load_are_waited_for_from_the_start() {
    let (mut refused, mut attempts) = (0, 0);
    for service in pools() {
        let (_, peak) = peak(&service, 1);
        let pausing = Upstream {
            drift: Drift::Stalls {
                interval: seconds(2),
                length: ms(200.0),
            },
            ..service
        };
        for seed in 1..=6 {
            let mut plan = plan(vec![Clients::steady(0.5 * peak)], 20, seed);
            plan.counted_from = seconds(0);
            let fared = &play(&pausing, &plan).clients[0];
            refused += fared.refused;
            attempts += fared.attempts;
        }
    }
    let shed = refused as f64 / attempts as f64;
    assert!(shed < 0.001, "{refused} of {attempts}");
}

/// From less than half of what the service can do to ten times as much: those who cannot be served know it at once, from the
/// first moment on.
#[test]
fn a_sudden_overload_is_refused_quickly() {
    for service in pools() {
        let (_, peak) = peak(&service, 1);
        let sudden = Clients {
            rates: vec![
                (seconds(0), 1.5 * peak),
                (seconds(10), 0.4 * peak),
                (seconds(15), 10.0 * peak),
            ],
            ..Clients::steady(0.0)
        };
        let mut plan = plan(vec![sudden], 20, 4);
        plan.counted_from = seconds(15);
        let played = play(&service, &plan);
        let refusal = quantile(&played.clients[0].refusal_seconds, 0.99);
        assert!(refusal < 0.011, "{refusal} of {}", service.name);
        let share = played.goodput_per_s / peak;
        assert!(share > 0.93, "{share} of {}", service.name);
    }
}

/// Seen in a real round, in which everything on the machine stood still for a moment: of the critical requests of the last
/// second, which all came at once, one in two was refused, although a tenth of a second's work was all that they were.
#[test]
fn important_requests_of_a_standstill_are_served_after_it() {
    for service in pools() {
        let (_, peak) = peak(&service, 1);
        for length in [200, 500, 800] {
            let from = seconds(10);
            let mut plan = plan(few_critical_among_many(peak), 20, 5);
            plan.counted_from = seconds(5);
            plan.standstill = Some((from, from + ms(f64::from(length))));
            let critical = &play(&service, &plan).clients[0];
            // Those whose clients have left meanwhile are not the guard's.
            let lost = critical.refused as f64 / critical.attempts as f64;
            assert!(
                lost < 0.001,
                "{lost} refused after {length} ms of {}",
                service.name
            );
        }
    }
}
