//! Sessions without anything to do are called for what is due, however often something else wakes them.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context as Task, Wake};

use super::*;

/// How often it was called.
#[derive(Debug, Default)]
struct Calls(AtomicU32);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// With one lane, on which nothing is due but what a test puts there.
fn quiet() -> Desk {
    let plan = SessionPlan {
        workers: 1,
        lanes: 1,
        timeout: Nanos::from_secs(60),
        bounds: Vec::new(),
        seed: 7,
        attempts_max: None,
    };
    let (reports, _unread) = std::sync::mpsc::channel();
    desk(&plan, 0, Clock::start(), reports)
}

fn due(desk: &Desk, count: usize) {
    let arrival = Arrival {
        intended: desk.clock().now(),
        level: 0,
        closed: false,
    };
    let mut room = desk.0.borrow_mut();
    room.lanes[0]
        .waiting
        .extend(std::iter::repeat_n(arrival, count));
}

fn call(desk: &Desk) {
    let called = desk.0.borrow_mut().for_what_is_due(Nanos::ZERO);
    called.into_iter().for_each(Idle::call);
}

#[test]
fn who_is_woken_by_something_else_is_called_for_one_operation_only() {
    let desk = quiet();
    let calls: [Arc<Calls>; 2] = Default::default();
    let wakers = calls.clone().map(std::task::Waker::from);
    let [mut first, mut second] = wakers.each_ref().map(Task::from_waker);
    let (mut one, mut other) = (pin!(desk.next(0)), pin!(desk.next(0)));
    for _ in 0..3 {
        assert!(one.as_mut().poll(&mut first).is_pending());
    }
    assert!(other.as_mut().poll(&mut second).is_pending());
    due(&desk, 2);
    call(&desk);
    let called = calls
        .each_ref()
        .map(|calls| calls.0.load(Ordering::Relaxed));
    assert_eq!(called, [1, 1]);
    assert!(one.as_mut().poll(&mut first).is_ready());
    assert!(other.as_mut().poll(&mut second).is_ready());
}

#[test]
fn who_has_come_by_himself_is_not_called_any_more() {
    let desk = quiet();
    let calls: [Arc<Calls>; 2] = Default::default();
    let wakers = calls.clone().map(std::task::Waker::from);
    let [mut first, mut second] = wakers.each_ref().map(Task::from_waker);
    let (mut one, mut other) = (pin!(desk.next(0)), pin!(desk.next(0)));
    assert!(one.as_mut().poll(&mut first).is_pending());
    assert!(other.as_mut().poll(&mut second).is_pending());
    due(&desk, 1);
    assert!(one.as_mut().poll(&mut first).is_ready());
    due(&desk, 1);
    call(&desk);
    let called = calls
        .each_ref()
        .map(|calls| calls.0.load(Ordering::Relaxed));
    assert_eq!(called, [0, 1]);
}
