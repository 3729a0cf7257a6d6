//! What one worker counts adds up, wherever a window or a level is cut.

use super::*;

/// Time in flight by the integral and by the ends, over a window and everything it carries.
fn both_sides(window: &Window) -> (f64, f64) {
    let carried = || window.carried.iter();
    let integral = window.in_flight_mean * window.length_ns.as_secs_f64()
        + carried().map(|one| one.in_flight_seconds).sum::<f64>();
    let ends =
        window.total().residence_ns() + carried().map(|one| one.tally.residence_ns()).sum::<u128>();
    (integral, ends as f64 / 1e9)
}

fn ended(level: u32, response: Nanos) -> Ending {
    Ending {
        intended: Nanos::ZERO,
        level,
        outcome: Outcome::Ok,
        status: 0,
        response,
        service: Some(response),
        bytes: 1,
        operation: 0,
    }
}

/// One attempt at a time, 100 ms each, and the level is left after 850 ms of its window.
#[test]
fn an_interruption_within_a_window_loses_no_time_in_flight() {
    let step = Nanos::from_millis(100);
    let mut recorder = Recorder::default();
    recorder.begin(1, Nanos::ZERO, 0);
    let mut in_flight = 0;
    for index in 0..9 {
        let now = step.saturating_mul(index);
        recorder.advance(now, in_flight);
        if index > 0 {
            recorder.record(&ended(1, step), &[]);
        }
        recorder.add_due(1);
        in_flight = 1;
    }
    let left = Nanos::from_millis(850);
    recorder.advance(left, in_flight);
    recorder.change_level(2, left, in_flight);
    let end = Nanos::from_millis(900);
    recorder.advance(end, in_flight);
    recorder.record(&ended(1, step), &[]);
    recorder.end = end;
    let mut window = Window::default();
    recorder.add_to(&mut window);
    let (integral, ends) = both_sides(&window);
    assert!((integral - 0.9).abs() < 1e-9, "{integral}");
    assert!((integral - ends).abs() < 1e-9, "{integral} against {ends}");
}

/// A worker notices the start of a level late: what it counted until then is not counted again.
#[test]
fn a_level_noticed_late_counts_no_time_twice() {
    let mut recorder = Recorder::default();
    recorder.begin(1, Nanos::ZERO, 1);
    recorder.advance(Nanos::from_millis(500), 1);
    recorder.change_level(2, Nanos::from_millis(480), 1);
    recorder.advance(Nanos::from_millis(600), 1);
    recorder.record(&ended(1, Nanos::from_millis(600)), &[]);
    recorder.end = Nanos::from_millis(600);
    let mut window = Window::default();
    recorder.add_to(&mut window);
    let (integral, ends) = both_sides(&window);
    assert!((integral - ends).abs() < 1e-9, "{integral} against {ends}");
}

/// A window that arrived after its level was over brings its time in flight along.
#[test]
fn a_window_carried_into_the_next_level_keeps_its_time_in_flight() {
    let mut recorder = Recorder::default();
    recorder.begin(1, Nanos::ZERO, 1);
    recorder.advance(Nanos::from_secs(1), 1);
    recorder.record(&ended(1, Nanos::from_secs(1)), &[]);
    let mut window = Window::default();
    recorder.add_as_carried_to(&mut window);
    let (integral, ends) = both_sides(&window);
    assert!((integral - ends).abs() < 1e-9, "{integral} against {ends}");
}

/// Two answers are read 50 ms apart, because the thread lost its processor in between, and are told in the other order.
/// Each begins the next attempt of its place.
#[test]
fn the_order_in_which_ends_are_told_changes_no_time_in_flight() {
    let ms = Nanos::from_millis;
    let mut recorder = Recorder::default();
    recorder.begin(1, Nanos::ZERO, 2);
    let mut sum = Nanos::ZERO;
    for (from, until) in [(0, 150), (0, 100)] {
        recorder.advance(ms(until), 2);
        recorder.take_back(ms(until));
        sum += ms(until) - ms(from);
        recorder.advance(ms(until), 1);
        recorder.add_since(ms(until));
    }
    for until in [250, 240] {
        recorder.advance(ms(until), 2);
        recorder.take_back(ms(until));
    }
    // The second of both began at 100 ms, the first at 150.
    sum += ms(250) - ms(150) + (ms(240) - ms(100));
    recorder.advance(ms(250), 0);
    assert_eq!(recorder.in_flight_ns, u128::from(sum.0));
}
