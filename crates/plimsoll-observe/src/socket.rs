//! TCP sockets of this network namespace: listeners with their accept queues, established connections.
//!
//! Asked by `sock_diag` over netlink, which also tells the bound of the accept queue; where that is
//! refused, `/proc/net/tcp` tells all but the bound.

use std::io;

use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use crate::parse::tcp_line;
use crate::procfs::ProcFs;

pub(crate) const ESTABLISHED: u8 = 1;
pub(crate) const LISTEN: u8 = 10;

/// One socket, as far as both sources agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) state: u8,
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// Of a listener: connections waiting to be accepted, and their bound (0 when not known).
    /// Of a connection: received bytes that nobody has read.
    pub(crate) queue: u32,
    pub(crate) queue_max: u32,
    pub(crate) user: u32,
    /// Zero while a connection waits to be accepted: no process has it yet.
    pub(crate) inode: u64,
}

/// What the kernel tells of a connection's traffic: a part of `tcp_info` (`linux/tcp.h`). Times are ages in milliseconds, in
/// steps of the kernel's tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) sent_ago: u32,
    pub(crate) received_ago: u32,
    pub(crate) acknowledged_ago: u32,
    /// Segments that the other side has not acknowledged, and bytes that were not sent yet.
    pub(crate) unacknowledged: u32,
    pub(crate) unsent: u32,
    pub(crate) received_bytes: u64,
    /// Segments with data, both ways.
    pub(crate) segments_in: u32,
    pub(crate) segments_out: u32,
}

/// Established connections with what passed through them. Needs no rights, but netlink and a kernel of 2016 (4.6) or later.
pub(crate) fn traffic() -> io::Result<Vec<(Socket, Traffic)>> {
    let mut found = Vec::new();
    dump(1 << ESTABLISHED, 0, TRAFFIC, &mut |body| {
        found.extend(diag(body).zip(attribute(body, INFO).and_then(tcp_info)));
    })?;
    Ok(found)
}

/// Sockets in `state`, of one local port or (port 0) of all.
pub(crate) fn sockets(proc: &ProcFs, state: u8, port: u16) -> io::Result<Vec<Socket>> {
    match by_netlink(state, port) {
        Ok(sockets) => Ok(sockets),
        Err(_) => by_files(proc, state, port),
    }
}

/// Sockets that begin or end a connection, and that a process may hold meanwhile: a server holds one whose client has
/// closed until it comes to read that.
pub(crate) fn passing(proc: &ProcFs) -> io::Result<Vec<Socket>> {
    // SYN_SENT, FIN_WAIT1, FIN_WAIT2, CLOSE, CLOSE_WAIT, LAST_ACK, CLOSING (`net/tcp_states.h`); of the other states no
    // process has a descriptor.
    const STATES: [u8; 7] = [2, 4, 5, 7, 8, 9, 11];
    let states = STATES.iter().fold(0, |mask, state| mask | 1 << state);
    by_netlink_of(states, 0).or_else(|_| by_files_of(proc, states, 0))
}

fn by_files(proc: &ProcFs, state: u8, port: u16) -> io::Result<Vec<Socket>> {
    by_files_of(proc, 1 << state, port)
}

fn by_files_of(proc: &ProcFs, states: u32, port: u16) -> io::Result<Vec<Socket>> {
    let mut text = proc.read("net/tcp")?;
    text.push_str(&proc.read("net/tcp6").unwrap_or_default());
    let is_wanted = |state: u8| 1_u32.checked_shl(state.into()).unwrap_or(0) & states != 0;
    let lines = text.lines().filter_map(tcp_line);
    Ok(lines
        .filter(|line| is_wanted(line.state) && (port == 0 || line.local_port == port))
        .map(|line| Socket {
            state: line.state,
            local_port: line.local_port,
            remote_port: line.remote_port,
            queue: line.receive_queue,
            queue_max: 0,
            user: line.user,
            inode: line.inode,
        })
        .collect())
}

fn by_netlink(state: u8, port: u16) -> io::Result<Vec<Socket>> {
    by_netlink_of(1 << state, port)
}

fn by_netlink_of(states: u32, port: u16) -> io::Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    dump(states, port, 0, &mut |body| sockets.extend(diag(body)))?;
    Ok(sockets)
}

/// Gives every message about a socket of either family to `each`; `states` has a bit for each that is wanted.
fn dump(states: u32, port: u16, extensions: u8, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        let request = request(family.as_raw() as u8, states, port, extensions);
        send(&socket, &request, SendFlags::empty())?;
        receive_all(&socket, each)?;
    }
    Ok(())
}

/// `SOCK_DIAG_BY_FAMILY`, `NLM_F_REQUEST | NLM_F_DUMP` (`linux/netlink.h`, `linux/sock_diag.h`).
const BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const HEADER: usize = 16;
/// `nlmsgerr` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST: usize = HEADER + 56;
/// `inet_diag_msg`; attributes follow it.
const MESSAGE: usize = 72;
/// `INET_DIAG_INFO`, and the bit that asks for it.
const INFO: u16 = 2;
const TRAFFIC: u8 = 1 << (INFO - 1);

/// `inet_diag_req_v2` in a netlink header. The kernel filters by local port in a dump.
#[expect(
    clippy::host_endian_bytes,
    reason = "netlink speaks the host's byte order"
)]
fn request(family: u8, states: u32, port: u16, extensions: u8) -> [u8; REQUEST] {
    const TCP: u8 = 6;
    let mut bytes = [0; REQUEST];
    let mut put = |at: usize, field: &[u8]| {
        for (byte, value) in bytes.iter_mut().skip(at).zip(field) {
            *byte = *value;
        }
    };
    put(0, &(REQUEST as u32).to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &REQUEST_DUMP.to_ne_bytes());
    put(8, &1u32.to_ne_bytes());
    put(HEADER, &[family, TCP, extensions, 0]);
    put(HEADER + 4, &states.to_ne_bytes());
    put(HEADER + 8, &port.to_be_bytes());
    // No particular socket: both cookie words all ones.
    put(HEADER + 48, &[0xFF; 8]);
    bytes
}

fn receive_all(from: &OwnedFd, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0_u8; 64 << 10];
    loop {
        let (read, _) = recv(from, buffer.as_mut_slice(), RecvFlags::empty())?;
        let mut rest = buffer.get(..read).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        while let Some((kind, body, next)) = message(rest) {
            match kind {
                DONE => return Ok(()),
                ERROR => return Err(io::Error::from(io::ErrorKind::PermissionDenied)),
                _ => each(body),
            }
            rest = next;
        }
    }
}

/// Splits off one netlink message: kind, body, what follows.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = word(bytes, 0)? as usize;
    let kind = half_word(bytes, 4)?;
    let body = bytes.get(HEADER..length)?;
    let next = length.next_multiple_of(4).min(bytes.len());
    Some((kind, body, bytes.get(next..)?))
}

/// `inet_diag_msg`: state, ports in network order, queues, user, inode.
fn diag(body: &[u8]) -> Option<Socket> {
    let port = |at: usize| Some(u16::from_be_bytes([*body.get(at)?, *body.get(at + 1)?]));
    Some(Socket {
        state: *body.get(1)?,
        local_port: port(4)?,
        remote_port: port(6)?,
        queue: word(body, 56)?,
        queue_max: word(body, 60)?,
        user: word(body, 64)?,
        inode: u64::from(word(body, 68)?),
    })
}

/// The attribute of a kind behind an `inet_diag_msg`: length and kind of 16 bits each, aligned to four bytes.
fn attribute(body: &[u8], kind: u16) -> Option<&[u8]> {
    let mut rest = body.get(MESSAGE..)?;
    loop {
        let length = usize::from(half_word(rest, 0)?);
        let value = rest.get(4..length)?;
        if half_word(rest, 2)? == kind {
            return Some(value);
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

/// `None` of a kernel whose `tcp_info` is too short to tell.
fn tcp_info(info: &[u8]) -> Option<Traffic> {
    let low = word(info, 128)?;
    let high = word(info, 132)?;
    let (low, high) = if cfg!(target_endian = "big") {
        (high, low)
    } else {
        (low, high)
    };
    Some(Traffic {
        unacknowledged: word(info, 24)?,
        sent_ago: word(info, 44)?,
        received_ago: word(info, 52)?,
        acknowledged_ago: word(info, 56)?,
        received_bytes: u64::from(high) << 32 | u64::from(low),
        unsent: word(info, 144)?,
        segments_in: word(info, 152)?,
        segments_out: word(info, 156)?,
    })
}

#[expect(
    clippy::host_endian_bytes,
    reason = "netlink speaks the host's byte order"
)]
fn half_word(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_ne_bytes(bytes))
}

#[expect(
    clippy::host_endian_bytes,
    reason = "netlink speaks the host's byte order"
)]
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn both_sources_see_the_queue_of_a_listener_that_does_not_accept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let _waiting = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let proc = ProcFs::at("/proc");
        for (found, has_bound) in [
            (by_netlink(LISTEN, port).unwrap(), true),
            (by_files(&proc, LISTEN, port).unwrap(), false),
        ] {
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].local_port, found[0].queue), (port, 1));
            assert_eq!(found[0].queue_max > 0, has_bound);
            assert!(found[0].inode > 0);
        }
        let established = by_netlink(ESTABLISHED, port).unwrap();
        assert_eq!(established.len(), 1);
        assert_eq!(established[0].inode, 0, "not accepted: nobody's yet");
        let (accepted, _) = listener.accept().unwrap();
        let established = sockets(&proc, ESTABLISHED, port).unwrap();
        assert!(established[0].inode > 0);
        drop(accepted);
    }

    #[test]
    fn a_cut_message_ends_the_reading() {
        assert!(message(&[]).is_none());
        assert!(message(&[255, 255, 255, 255, 3, 0]).is_none());
        let mut short = [0_u8; 16];
        short[0] = 3;
        assert!(message(&short).is_none(), "shorter than its own header");
        assert!(diag(&[0; 71]).is_none());
        assert!(diag(&[0; 72]).is_some());
        // An attribute that says it has no length, or more than there is.
        for length in [0, 3, 255] {
            let mut body = [0; 80];
            body[MESSAGE] = length;
            assert!(attribute(&body, INFO).is_none());
        }
        assert!(tcp_info(&[0; 159]).is_none());
        assert!(tcp_info(&[0; 160]).is_some());
    }

    #[test]
    fn the_traffic_of_a_connection_is_told() {
        use std::io::{Read as _, Write as _};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut served, _) = listener.accept().unwrap();
        let seen = || {
            let all = traffic().unwrap().into_iter();
            let mut all = all.filter(|(socket, _)| socket.local_port == port);
            all.next().unwrap()
        };
        assert_eq!(seen().1.received_bytes, 0);
        client.write_all(b"request").unwrap();
        let (socket, traffic) = seen();
        assert_eq!(socket.queue, 7, "nobody has read it");
        assert_eq!((traffic.segments_in, traffic.segments_out), (1, 0));
        served.read_exact(&mut [0; 7]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(30));
        served.write_all(b"answer").unwrap();
        let (socket, traffic) = seen();
        assert_eq!((socket.queue, traffic.received_bytes), (0, 7));
        assert!(traffic.sent_ago < traffic.received_ago, "{traffic:?}");
    }
}
