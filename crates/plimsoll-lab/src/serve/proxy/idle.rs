//! Connections to upstreams that are kept after an answer for the next request, each with its slot.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;

use super::slots::UpstreamSlot;

/// A connection to an upstream, and the slot that it takes.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    pub(super) sender: SendRequest<Incoming>,
    pub(super) _slot: UpstreamSlot,
}

/// Idle ones of all upstreams together, the one used last at the end; as nginx's `keepalive` counts them.
#[derive(Debug)]
pub(super) struct IdleConnections {
    max: usize,
    idle: Mutex<VecDeque<Upstream>>,
}

impl IdleConnections {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            idle: Mutex::default(),
        }
    }

    /// Requests are sent so that the upstream keeps the connection too.
    pub(super) fn wants_any(&self) -> bool {
        self.max > 0
    }

    /// One to that upstream that still works.
    pub(super) async fn take(&self, address: SocketAddr) -> Option<Upstream> {
        loop {
            let mut upstream = {
                let mut idle = self.lock();
                let at = idle.iter().rposition(|one| one.address == address)?;
                idle.remove(at)?
            };
            // Fails if the other side closed it meanwhile.
            if upstream.sender.ready().await.is_ok() {
                return Some(upstream);
            }
        }
    }

    /// Keeps it; of too many the one that was idle longest is closed.
    pub(super) fn put(&self, upstream: Upstream) {
        if self.max == 0 || upstream.sender.is_closed() {
            return;
        }
        let mut idle = self.lock();
        idle.push_back(upstream);
        if idle.len() > self.max {
            idle.pop_front();
        }
    }

    /// Closes the one that was idle longest, so that its slot is free; false if there is none.
    pub(super) fn make_room(&self) -> bool {
        self.lock().pop_front().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Upstream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
