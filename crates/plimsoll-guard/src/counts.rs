//! What is counted beside admission: connections, answers by class, troubles with the upstream.

use std::cell::Cell;

/// A number that only grows, on one thread.
#[derive(Debug, Default)]
pub(crate) struct Count(Cell<u64>);

impl Count {
    pub(crate) fn add(&self) {
        self.0.set(self.0.get() + 1);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.get()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) connections: Count,
    pub(crate) connections_refused: Count,
    /// Of TLS.
    pub(crate) handshakes_failed: Count,
    /// Connections of HTTP/2 that sent frames without a use, and too many.
    pub(crate) floods: Count,
    /// Heads that were no proper request.
    pub(crate) bad_requests: Count,
    /// Answers of the upstream by the first digit of their status, from 1.
    pub(crate) answers: [Count; 5],
    /// No answer came: no connection, a broken one, none in time.
    pub(crate) unreachable: Count,
    pub(crate) broken: Count,
    pub(crate) too_slow: Count,
    /// No route was for them.
    pub(crate) no_route: Count,
    pub(crate) reloads: Count,
    pub(crate) reloads_refused: Count,
}

impl Counts {
    pub(crate) fn answered(&self, status: u16) {
        let class = usize::from(status / 100).saturating_sub(1);
        if let Some(count) = self.answers.get(class) {
            count.add();
        }
    }
}
