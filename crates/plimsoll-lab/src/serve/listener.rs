//! Opens the listening socket: loopback unless told otherwise, an occupied port is a clear error.

use std::net::{SocketAddr, TcpListener};

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::LabError;

/// Longest accept queue that is asked for; the kernel caps it at `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// A non-blocking listener on `address`.
pub(crate) fn open(address: SocketAddr) -> Result<TcpListener, LabError> {
    let failed = |errno: rustix::io::Errno| LabError::Listen {
        address,
        source: errno.into(),
    };
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        rustix::net::socket_with(family, SocketType::STREAM, flags, None).map_err(failed)?;
    // A restarted service must not wait for the old connections' TIME_WAIT to pass.
    sockopt::set_socket_reuseaddr(&socket, true).map_err(failed)?;
    rustix::net::bind(&socket, &address).map_err(failed)?;
    rustix::net::listen(&socket, BACKLOG).map_err(failed)?;
    Ok(TcpListener::from(socket))
}
