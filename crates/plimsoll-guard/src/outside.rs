//! Exchanges that go on without a permit: streams, tunnels, requests that wait by design, and those whose client keeps the
//! service waiting.
//!
//! They do not distort the limit, because they end when somebody likes and not when the service is done; that there are not
//! too many of them is a bound of its own.

use std::cell::Cell;
use std::rc::Rc;

use crate::shared::Server;

#[derive(Debug)]
pub(crate) struct Outside(Rc<Server>);

impl Outside {
    /// Nothing if there are too many already.
    pub(crate) fn enter(server: &Rc<Server>) -> Option<Self> {
        has_room(server).then(|| {
            add(&server.outside, 1);
            Self(Rc::clone(server))
        })
    }
}

/// Half of the connections at most.
pub(crate) fn has_room(server: &Server) -> bool {
    server.outside.get() < server.policy().config.connections_max.div_ceil(2)
}

fn add(count: &Cell<usize>, number: isize) {
    count.set(count.get().saturating_add_signed(number));
}

impl Drop for Outside {
    fn drop(&mut self) {
        add(&self.0.outside, -1);
    }
}
