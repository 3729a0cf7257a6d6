//! A connection whose protocol the server chooses by ALPN: HTTP/2 or HTTP/1.1.

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use plimsoll_core::Outcome;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::failure::Result;
use crate::h2;
use crate::tls::Agreed;
use crate::transport::Setup;
use crate::transport::Transport;

/// What a server may send behind its handshake before this side has said anything.
const EARLY_MAX: usize = 64 << 10;

/// Connects, shakes hands, and becomes a connection of the protocol that the server chose.
#[derive(Debug)]
pub struct Opening {
    transport: Transport,
    /// A server of HTTP/2 may speak with the end of its handshake.
    early: Vec<u8>,
}

/// What it became.
#[derive(Debug)]
pub enum Opened<B> {
    Http1(Connection),
    Http2(Box<h2::Connection<B>>),
}

impl Opening {
    /// Starts to connect, from an address of this host if one is given. An immediate refusal by the local system is a
    /// failure here.
    pub fn open(local: Option<IpAddr>, setup: &Setup) -> Result<Self> {
        Ok(Self {
            transport: Transport::open(local, setup)?,
            early: Vec::new(),
        })
    }

    /// The socket is connected, though the handshake may still be under way.
    pub fn is_connected(&self) -> bool {
        self.transport.is_connected()
    }

    /// More has come than one event may read, and raises no further.
    pub fn has_more(&self) -> bool {
        self.transport.has_more()
    }

    /// What TLS agreed on.
    pub fn agreed(&self) -> Option<Agreed> {
        self.transport.agreed()
    }

    /// Handles readiness; true once the handshake is done and [`Self::finish`] may follow.
    pub fn ready(&mut self, hung_up: bool, scratch: &mut [u8]) -> Result<bool> {
        let early = &mut self.early;
        let keep = |bytes: &[u8]| {
            early.extend_from_slice(bytes);
            if early.len() > EARLY_MAX {
                let reason = "the server sends more than 64 KiB before it is asked anything";
                return Err(Failure::new(Outcome::Protocol, reason));
            }
            Ok(false)
        };
        let is_open = self.transport.establish(hung_up, scratch, keep)?;
        if is_open && !self.has_chosen_http2() && !self.early.is_empty() {
            let reason = "the server sends an answer before it is asked anything";
            return Err(Failure::new(Outcome::Protocol, reason));
        }
        Ok(is_open)
    }

    fn has_chosen_http2(&self) -> bool {
        self.transport.protocol() == Some(b"h2")
    }

    /// The connection, of the protocol that was chosen; HTTP/1.1 if nothing was. What HTTP/2 said already goes to `sink`.
    pub fn finish<B: AsRef<[u8]>>(self, sink: &mut impl h2::Sink) -> Opened<B> {
        if self.has_chosen_http2() {
            let connection = h2::Connection::over(self.transport, &self.early, sink);
            return Opened::Http2(Box::new(connection));
        }
        Opened::Http1(Connection::over(self.transport))
    }
}

impl AsFd for Opening {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.transport.as_fd()
    }
}
