//! Which windows are windows.

use plimsoll_core::Outcome;

use super::*;
use crate::recorder::Ending;

/// What one worker counted within half a millisecond, of a level that is played.
fn short() -> Counted {
    let mut recorder = Box::<Recorder>::default();
    recorder.begin(1, Nanos::from_secs(1), 1);
    recorder.end = Nanos::from_secs(1) + Nanos::from_micros(500);
    let script = None;
    Counted { recorder, script }
}

fn taken(gather: &mut Gather) -> Option<Window> {
    gather.take_full(|_, _| {})
}

#[test]
fn a_short_window_in_which_an_attempt_only_ended_is_not_lost() {
    let mut gather = Gather::new(1);
    let mut counted = short();
    let ending = Ending {
        level: 1,
        intended: Nanos::from_millis(900),
        outcome: Outcome::Ok,
        status: 200,
        response: Nanos::from_millis(100),
        service: None,
        bytes: 2,
        operation: 0,
    };
    counted.recorder.record(&ending, &[]);
    gather.add(0, counted, 1);
    let window = taken(&mut gather).unwrap();
    assert_eq!((window.due_count, window.total().ok()), (0, 1));
    // The same of an attempt that was due in the level before.
    let mut counted = short();
    let ending = Ending { level: 0, ..ending };
    counted.recorder.record(&ending, &[]);
    gather.add(0, counted, 1);
    let window = taken(&mut gather).unwrap();
    assert_eq!(window.carried.len(), 1);
}

#[test]
fn a_short_window_without_any_count_is_left_out() {
    let mut gather = Gather::new(1);
    gather.add(0, short(), 1);
    assert_eq!(taken(&mut gather), None);
}
