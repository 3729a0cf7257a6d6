//! A connection of a virtual user, by the protocol that it speaks, and the calls on it.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

use plimsoll_net::tls::Agreed;
use plimsoll_net::{Connection, Opening};
use plimsoll_script::http::{RequestUrl, TlsInfo};

use super::super::exchange::Exchange;
use super::streams::Shared;

/// In boxes, because they move between links and lists without a copy.
pub(super) type Calls = Vec<Box<Exchange>>;

/// A connection and what it carries.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) carrier: Carrier,
    pub(super) vu: usize,
    pub(super) origin: usize,
    pub(super) url: Rc<RequestUrl>,
    pub(super) address: SocketAddr,
    /// What the handshake agreed on.
    pub(super) tls: Option<TlsInfo>,
    /// It has carried a request before those at hand.
    pub(super) is_used: bool,
    pub(super) generation: u32,
}

#[derive(Debug)]
pub(super) enum Carrier {
    /// HTTP/1.1: one call at a time.
    Own(Connection, Option<Box<Exchange>>),
    /// The server has not chosen a protocol yet: calls wait, the first of them since the connection was begun.
    Opening(Box<Opening>, Calls),
    /// HTTP/2: many calls at once.
    Shared(Box<Shared>),
}

impl Link {
    /// Whether it takes one more call.
    pub(super) fn has_room(&self) -> bool {
        match &self.carrier {
            Carrier::Own(_, exchange) => exchange.is_none(),
            Carrier::Opening(..) => true,
            Carrier::Shared(shared) => shared.has_room(),
        }
    }

    /// Whether it takes calls while it has some.
    pub(super) fn is_shared(&self) -> bool {
        !matches!(self.carrier, Carrier::Own(..))
    }

    /// Requests can be exchanged.
    pub(super) fn is_open(&self) -> bool {
        match &self.carrier {
            Carrier::Own(connection, _) => connection.is_connected(),
            Carrier::Opening(..) => false,
            Carrier::Shared(_) => true,
        }
    }

    /// After calls were given up: nothing more can come of it.
    pub(super) fn is_over(&self) -> bool {
        match &self.carrier {
            // An answer may still come, and nobody would know whose it is.
            Carrier::Own(..) => true,
            Carrier::Opening(_, waiting) => waiting.is_empty(),
            Carrier::Shared(shared) => shared.is_over(),
        }
    }

    /// It takes no further call; true if it has none.
    pub(super) fn retire(&mut self) -> bool {
        match &mut self.carrier {
            Carrier::Own(_, exchange) => exchange.is_none(),
            Carrier::Opening(_, waiting) => waiting.is_empty(),
            Carrier::Shared(shared) => {
                shared.retire();
                shared.is_over()
            }
        }
    }

    /// Takes out all calls of a connection that is over.
    pub(super) fn take_calls(&mut self) -> Calls {
        match &mut self.carrier {
            Carrier::Own(_, exchange) => exchange.take().into_iter().collect(),
            Carrier::Opening(_, waiting) => std::mem::take(waiting),
            Carrier::Shared(shared) => shared.take_calls(),
        }
    }

    /// Takes out the calls that fit, of a connection that may go on.
    pub(super) fn cancel_calls(&mut self, fits: impl Fn(&Exchange) -> bool) -> Calls {
        match &mut self.carrier {
            Carrier::Own(_, exchange) => exchange.take_if(|one| fits(one)).into_iter().collect(),
            Carrier::Opening(_, waiting) => waiting.extract_if(.., |one| fits(one)).collect(),
            Carrier::Shared(shared) => shared.cancel(fits),
        }
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(connection, _) => connection.as_fd(),
            Self::Opening(opening, _) => opening.as_fd(),
            Self::Shared(shared) => shared.as_fd(),
        }
    }
}

/// What TLS agreed on in k6's words.
pub(super) fn tls_info(agreed: Agreed) -> TlsInfo {
    TlsInfo {
        version: agreed.version,
        cipher_suite: agreed.suite,
    }
}
