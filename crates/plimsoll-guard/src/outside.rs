//! Exchanges that go on without a permit: streams, tunnels, requests that wait by design, and those whose client keeps the
//! service waiting.
//!
//! They do not distort the limit, because they end when somebody likes and not when the service is done; that there are not
//! too many of them is a bound of its own.

use std::rc::Rc;

use crate::shared::Server;

#[derive(Debug)]
pub(crate) struct Outside {
    server: Rc<Server>,
    /// Beyond the bound, in a trial.
    is_spared: bool,
}

impl Outside {
    /// Nothing if there are too many already.
    pub(crate) fn enter(server: &Rc<Server>) -> Option<Self> {
        has_room(server).then(|| Self::new(server, false))
    }

    /// The same, but that a trial lets those in, too, who would be too many.
    pub(crate) fn enter_or_pass(server: &Rc<Server>) -> Option<Self> {
        let pass = || is_trial(server).then(|| Self::new(server, true));
        Self::enter(server).or_else(pass)
    }

    pub(crate) fn is_spared(&self) -> bool {
        self.is_spared
    }

    fn new(server: &Rc<Server>, is_spared: bool) -> Self {
        let outside = Self {
            server: Rc::clone(server),
            is_spared,
        };
        outside.add(1);
        outside
    }

    fn add(&self, number: isize) {
        let count = if self.is_spared {
            &self.server.outside_spared
        } else {
            &self.server.outside
        };
        count.set(count.get().saturating_add_signed(number));
    }
}

/// Half of the connections at most. In a trial, those who are beyond that would not be there.
pub(crate) fn has_room(server: &Server) -> bool {
    let spared = if is_trial(server) {
        0
    } else {
        server.outside_spared.get()
    };
    let most = server.policy().config.connections_max.div_ceil(2);
    server.outside.get() + spared < most
}

fn is_trial(server: &Server) -> bool {
    server.policy().config.shadow
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.add(-1);
    }
}
