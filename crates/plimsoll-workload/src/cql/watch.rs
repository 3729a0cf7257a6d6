//! Counts the requests of a CQL driver where the driver says that it hands one to a connection and has its answer.
//!
//! A connection of CQL carries many requests at once, so connections in use say nothing; each attempt is counted by itself.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;

use scylla::errors::{RequestAttemptError, RequestError};
use scylla::observability::history::{AttemptId, HistoryListener, RequestId, SpeculativeId};
use scylla::policies::retry::RetryDecision;

use crate::wire;

thread_local! {
    /// Attempts under way of the operation that is being polled.
    static OPEN: RefCell<Option<Rc<Cell<u32>>>> = const { RefCell::new(None) };
}

fn count(change: impl Fn(u32) -> u32) {
    OPEN.with(|open| {
        if let Some(open) = &*open.borrow() {
            open.set(change(open.get()));
        }
    });
}

/// Hears of every attempt on behalf of one lane.
#[derive(Debug)]
pub(super) struct Attempts {
    pub(super) lane: usize,
}

impl HistoryListener for Attempts {
    fn log_request_start(&self) -> RequestId {
        RequestId(0)
    }

    fn log_request_success(&self, _: RequestId) {}

    fn log_request_error(&self, _: RequestId, _: &RequestError) {}

    fn log_new_speculative_fiber(&self, _: RequestId) -> SpeculativeId {
        SpeculativeId(0)
    }

    fn log_attempt_start(
        &self,
        _: RequestId,
        _: Option<SpeculativeId>,
        _: SocketAddr,
    ) -> AttemptId {
        count(|open| open + 1);
        wire::taken(self.lane);
        AttemptId(0)
    }

    fn log_attempt_success(&self, _: AttemptId) {
        count(|open| open.saturating_sub(1));
        wire::given_back(self.lane);
    }

    fn log_attempt_error(&self, _: AttemptId, _: &RequestAttemptError, _: &RetryDecision) {
        count(|open| open.saturating_sub(1));
        wire::given_back(self.lane);
    }
}

/// Gives back what an operation that was given up has under way: the driver says nothing of it any more.
struct GivenUp {
    lane: usize,
    open: Rc<Cell<u32>>,
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        for _ in 0..self.open.take() {
            wire::given_back(self.lane);
        }
    }
}

/// Has the attempts of an operation counted, also if it is dropped before its end.
pub(super) async fn counted<T>(lane: usize, operation: impl Future<Output = T>) -> T {
    let given_up = GivenUp {
        lane,
        open: Rc::new(Cell::new(0)),
    };
    let mut operation = pin!(operation);
    poll_fn(|task| {
        let open = Rc::clone(&given_up.open);
        let before = OPEN.with(|current| current.borrow_mut().replace(open));
        let polled = operation.as_mut().poll(task);
        OPEN.with(|current| *current.borrow_mut() = before);
        polled
    })
    .await
}
