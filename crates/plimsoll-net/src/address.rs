//! Where a socket leads: a host's port, or a Unix socket.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, ipproto};

/// A place that accepts connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(Arc<Path>),
}

impl Address {
    /// The port of a host, if it is one.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// It is on this host.
    pub fn is_here(&self) -> bool {
        self.tcp().is_none_or(|address| address.ip().is_loopback())
    }

    /// Starts to connect, from an address of this host if one is given.
    pub(crate) fn connect(&self, local: Option<IpAddr>) -> Result<OwnedFd, Errno> {
        let (family, protocol) = match self {
            Self::Tcp(SocketAddr::V4(_)) => (AddressFamily::INET, Some(ipproto::TCP)),
            Self::Tcp(SocketAddr::V6(_)) => (AddressFamily::INET6, Some(ipproto::TCP)),
            Self::Unix(_) => (AddressFamily::UNIX, None),
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, protocol)?;
        let connecting = match self {
            Self::Tcp(address) => {
                rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
                if let Some(local) = local {
                    rustix::net::bind(&socket, &SocketAddr::new(local, 0))?;
                }
                rustix::net::connect(&socket, address)
            }
            // A full backlog answers EAGAIN: to the target that is a refusal.
            Self::Unix(path) => rustix::net::connect(&socket, &SocketAddrUnix::new(&**path)?),
        };
        match connecting {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(errno) => Err(errno),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}
