//! Connections to an upstream that are kept for the next request.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_core::Nanos;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Node closes idle connections after five seconds: one used just then would be lost with its request.
const IDLE_MOST: Nanos = Nanos::from_secs(4);
const KEPT_MOST: usize = 1024;

#[derive(Debug)]
pub(crate) struct Pool {
    address: SocketAddr,
    /// The one used last at the end, with when that was.
    idle: RefCell<Vec<(TcpStream, Nanos)>>,
}

impl Pool {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            idle: RefCell::default(),
        }
    }

    /// One that still works, as far as can be seen.
    pub(crate) fn kept(&self, now: Nanos) -> Option<TcpStream> {
        let mut idle = self.idle.borrow_mut();
        while let Some((stream, since)) = idle.pop() {
            if now - since > IDLE_MOST {
                // Those before it were idle for longer.
                idle.clear();
                return None;
            }
            // Bytes that nobody asked for, or its end: not to be used.
            let seen = stream.try_read(&mut [0; 1]);
            if seen.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                return Some(stream);
            }
        }
        None
    }

    pub(crate) async fn open(&self, within: Duration) -> io::Result<TcpStream> {
        let stream = timeout(within, TcpStream::connect(self.address)).await;
        let stream = stream.map_err(|_| io::ErrorKind::TimedOut)??;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    pub(crate) fn keep(&self, stream: TcpStream, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < KEPT_MOST {
            idle.push((stream, now));
        }
    }

    /// Closes those that were idle too long.
    pub(crate) fn tidy(&self, now: Nanos) {
        let mut idle = self.idle.borrow_mut();
        idle.retain(|(_, since)| now - *since <= IDLE_MOST);
    }
}
