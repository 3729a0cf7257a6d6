//! One client connection: connect, optional TLS, one request on the wire at a time, an answer or a failure.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use plimsoll_core::Outcome;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::h1::{Answer, AnswerParser, ProtocolError, Sink};

/// Bytes read at once; shared by all connections of a thread.
pub const SCRATCH_BYTES: usize = 64 << 10;

/// What a readiness event led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// More events are needed.
    Pending,
    /// Connected (and the handshake done); a request may be sent.
    Connected,
    Answered(Answer),
    /// The peer closed while nothing was asked.
    ClosedIdle,
    Failed(Failure),
}

/// Why an attempt failed on this connection, with words for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub outcome: Outcome,
    pub reason: String,
}

impl Failure {
    pub fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self {
            outcome,
            reason: reason.into(),
        }
    }

    fn protocol(error: ProtocolError) -> Self {
        Self::new(Outcome::Protocol, error.to_string())
    }

    fn tls(error: &rustls::Error) -> Self {
        Self::new(Outcome::Tls, error.to_string())
    }
}

/// What all connections of a run share.
#[derive(Debug, Clone)]
pub struct Setup {
    pub address: SocketAddr,
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    pub head_request: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting,
    Handshaking,
    Idle,
    /// A request is being written or its answer awaited.
    Busy,
}

#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    tls: Option<Box<ClientConnection>>,
    parser: AnswerParser,
    phase: Phase,
    /// Bytes of the request already taken by the socket.
    written: usize,
    hung_up: bool,
}

impl Connection {
    /// Starts to connect. An immediate refusal by the local system is a failure here.
    pub fn open(setup: &Setup) -> Result<Self, Failure> {
        Self::open_from(None, setup)
    }

    /// The same from an address of this host.
    pub fn open_from(local: Option<IpAddr>, setup: &Setup) -> Result<Self, Failure> {
        let tls = match &setup.tls {
            None => None,
            Some((config, name)) => {
                let client = ClientConnection::new(Arc::clone(config), name.clone())
                    .map_err(|error| Failure::tls(&error))?;
                Some(Box::new(client))
            }
        };
        let socket = connect(local, setup.address).map_err(of_connect_errno)?;
        let parser = AnswerParser::new(setup.head_request);
        Ok(Self {
            socket,
            tls,
            parser,
            phase: Phase::Connecting,
            written: 0,
            hung_up: false,
        })
    }

    /// The next request is HEAD, or not: an answer to HEAD has no body.
    pub fn expect(&mut self, head_request: bool) {
        self.parser.expect(head_request);
    }

    /// The socket, or TLS, has taken all of the request that [`Self::send`] was given.
    pub fn has_written(&self, request: &[u8]) -> bool {
        self.written >= request.len()
    }

    /// Some bytes of the current answer have come.
    pub fn answer_started(&self) -> bool {
        self.parser.started()
    }

    /// The socket is connected, though a TLS handshake may still be under way.
    pub fn is_open(&self) -> bool {
        self.phase != Phase::Connecting
    }

    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    pub fn is_connected(&self) -> bool {
        !matches!(self.phase, Phase::Connecting | Phase::Handshaking)
    }

    /// Writes the request; only when idle. What the socket does not take follows on [`Self::ready`].
    #[inline]
    pub fn send(&mut self, request: &[u8]) -> Result<(), Failure> {
        debug_assert_eq!(self.phase, Phase::Idle, "one request at a time");
        self.phase = Phase::Busy;
        self.written = 0;
        if let Some(tls) = &mut self.tls {
            self.written = request.len();
            let written = tls
                .writer()
                .write(request)
                .map_err(|error| Failure::new(Outcome::Tls, format!("cannot encrypt: {error}")))?;
            if written < request.len() {
                // rustls buffers 64 KiB before it takes less; the rest goes out as the socket drains.
                self.written = written;
            }
            return self.flush_tls();
        }
        self.write_plain(request)
    }

    #[inline]
    fn write_plain(&mut self, request: &[u8]) -> Result<(), Failure> {
        while let Some(rest) = request.get(self.written..).filter(|rest| !rest.is_empty()) {
            match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(n) => self.written += n,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(of_stream_errno(errno)),
            }
        }
        Ok(())
    }

    /// Handles readiness. `request` is what [`Self::send`] was given; `scratch` is reading space.
    ///
    /// `hung_up`: the peer's close came with this event and will raise no edge of its own, so the
    /// socket is read to its end.
    #[inline]
    pub fn ready(&mut self, request: &[u8], hung_up: bool, scratch: &mut [u8]) -> Progress {
        self.ready_into(request, hung_up, scratch, &mut ())
    }

    /// As [`Self::ready`], and hands what has come of the answer to `sink`.
    #[inline]
    pub fn ready_into(
        &mut self,
        request: &[u8],
        hung_up: bool,
        scratch: &mut [u8],
        sink: &mut impl Sink,
    ) -> Progress {
        self.hung_up = hung_up;
        let progress = match self.phase {
            Phase::Connecting => self.finish_connect(scratch),
            Phase::Handshaking => self.handshake(scratch),
            Phase::Idle | Phase::Busy => self.exchange(request, scratch, sink),
        };
        progress.unwrap_or_else(Progress::Failed)
    }

    fn finish_connect(&mut self, scratch: &mut [u8]) -> Result<Progress, Failure> {
        match rustix::net::sockopt::socket_error(&self.socket) {
            Ok(Ok(())) => {}
            Ok(Err(errno)) | Err(errno) => return Err(of_connect_errno(errno)),
        }
        if rustix::net::getpeername(&self.socket).is_err() {
            return Ok(Progress::Pending);
        }
        if self.tls.is_some() {
            self.phase = Phase::Handshaking;
            return self.handshake(scratch);
        }
        self.phase = Phase::Idle;
        Ok(Progress::Connected)
    }

    fn handshake(&mut self, scratch: &mut [u8]) -> Result<Progress, Failure> {
        self.flush_tls()?;
        // An answer before the request is surplus: nobody waits for its bytes.
        let pumped = self.pump_tls(scratch, &mut ())?;
        self.flush_tls()?;
        let done = self.tls.as_ref().is_some_and(|tls| !tls.is_handshaking());
        match (done, pumped.closed) {
            (_, true) => Err(Failure::new(
                Outcome::Tls,
                "the server closed during the TLS handshake",
            )),
            (true, false) => {
                self.phase = Phase::Idle;
                Ok(Progress::Connected)
            }
            (false, false) => Ok(Progress::Pending),
        }
    }

    #[inline]
    fn exchange(
        &mut self,
        request: &[u8],
        scratch: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<Progress, Failure> {
        if self.tls.is_some() {
            return self.exchange_tls(request, scratch, sink);
        }
        if self.phase == Phase::Busy && self.written < request.len() {
            self.write_plain(request)?;
        }
        loop {
            let read = match receive(self.socket.as_fd(), scratch) {
                Ok(read) => read,
                Err(Errno::AGAIN) => return Ok(Progress::Pending),
                Err(errno) => return Err(self.of_read_errno(errno)),
            };
            let Some(bytes) = scratch.get(..read).filter(|bytes| !bytes.is_empty()) else {
                return Ok(self.closed());
            };
            if let Some(answer) = self.parse(bytes, sink)? {
                return Ok(Progress::Answered(answer));
            }
            if read < scratch.len() && !self.hung_up {
                // A short read emptied the socket; the next bytes raise a new edge.
                return Ok(Progress::Pending);
            }
        }
    }

    #[inline]
    fn parse(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<Option<Answer>, Failure> {
        if self.phase == Phase::Idle {
            return Err(Failure::protocol(ProtocolError::Surplus));
        }
        let answer = self.parser.feed(bytes, sink).map_err(Failure::protocol)?;
        if answer.is_some() {
            self.phase = Phase::Idle;
        }
        Ok(answer)
    }

    /// The peer closed: the end of an answer framed by it, a broken answer, or nothing at all.
    fn closed(&mut self) -> Progress {
        if self.phase == Phase::Idle {
            return Progress::ClosedIdle;
        }
        if let Some(answer) = self.parser.end() {
            return Progress::Answered(answer);
        }
        let reason = if self.parser.started() {
            "the server closed the connection in the middle of an answer"
        } else {
            "the server closed the connection without an answer"
        };
        Progress::Failed(Failure::new(Outcome::Eof, reason))
    }

    fn of_read_errno(&self, errno: Errno) -> Failure {
        match self.phase {
            Phase::Connecting | Phase::Handshaking => of_connect_errno(errno),
            Phase::Idle | Phase::Busy => of_stream_errno(errno),
        }
    }

    fn exchange_tls(
        &mut self,
        request: &[u8],
        scratch: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<Progress, Failure> {
        if self.phase == Phase::Busy && self.written < request.len() {
            self.write_rest_tls(request)?;
        }
        self.flush_tls()?;
        let pumped = self.pump_tls(scratch, sink)?;
        match pumped.answer {
            Some(mut answer) => {
                answer.keepalive &= !pumped.closed;
                Ok(Progress::Answered(answer))
            }
            None if pumped.closed => Ok(self.closed()),
            None => Ok(Progress::Pending),
        }
    }

    fn write_rest_tls(&mut self, request: &[u8]) -> Result<(), Failure> {
        let rest = request.get(self.written..).unwrap_or_default();
        if let Some(tls) = &mut self.tls
            && let Ok(written) = tls.writer().write(rest)
        {
            self.written += written;
        }
        self.flush_tls()
    }

    /// Moves everything the socket has through rustls into the parser. Plaintext is taken out after
    /// every few records, because rustls holds no more than 16 KiB of it.
    fn pump_tls(&mut self, scratch: &mut [u8], sink: &mut impl Sink) -> Result<Pumped, Failure> {
        let (cipher, plain) = scratch.split_at_mut(scratch.len() / 2);
        let mut pumped = Pumped::default();
        loop {
            let read = match receive(self.socket.as_fd(), cipher) {
                Ok(read) => read,
                Err(Errno::AGAIN) => return Ok(pumped),
                Err(errno) => return Err(self.of_read_errno(errno)),
            };
            if read == 0 {
                pumped.closed = true;
                return Ok(pumped);
            }
            let mut bytes = cipher.get(..read).unwrap_or_default();
            while !bytes.is_empty() {
                self.decrypt(&mut bytes)?;
                self.drain_plain(plain, &mut pumped, sink)?;
            }
            if read < cipher.len() && !self.hung_up {
                return Ok(pumped);
            }
        }
    }

    fn decrypt(&mut self, bytes: &mut &[u8]) -> Result<(), Failure> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        tls.read_tls(bytes)
            .map_err(|error| Failure::new(Outcome::Tls, error.to_string()))?;
        tls.process_new_packets()
            .map_err(|error| Failure::tls(&error))?;
        Ok(())
    }

    fn drain_plain(
        &mut self,
        plain: &mut [u8],
        pumped: &mut Pumped,
        sink: &mut impl Sink,
    ) -> Result<(), Failure> {
        loop {
            let Some(tls) = &mut self.tls else {
                return Ok(());
            };
            match tls.reader().read(plain) {
                // close_notify: the peer says that it will send no more.
                Ok(0) => {
                    pumped.closed = true;
                    return Ok(());
                }
                Ok(read) => {
                    let bytes = plain.get(..read).unwrap_or_default();
                    if let Some(answer) = self.parse(bytes, sink)? {
                        pumped.answer = Some(answer);
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Failure::new(Outcome::Tls, error.to_string())),
            }
        }
    }

    fn flush_tls(&mut self) -> Result<(), Failure> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        while tls.wants_write() {
            match tls.write_tls(&mut Socket(self.socket.as_fd())) {
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    return Err(of_stream_errno(errno));
                }
            }
        }
        Ok(())
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What came through TLS in one go.
#[derive(Debug, Default)]
struct Pumped {
    answer: Option<Answer>,
    closed: bool,
}

struct Socket<'a>(BorrowedFd<'a>);

impl std::io::Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::net::send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[inline]
fn receive(socket: BorrowedFd<'_>, scratch: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match rustix::net::recv(socket, &mut *scratch, RecvFlags::empty()) {
            Ok((_, read)) => return Ok(read),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn connect(local: Option<IpAddr>, address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    if let Some(local) = local {
        rustix::net::bind(&socket, &SocketAddr::new(local, 0))?;
    }
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}

/// Want of ports or descriptors is ours, never the target's: it becomes `dropped`.
fn of_connect_errno(errno: Errno) -> Failure {
    let outcome = match errno {
        Errno::TIMEDOUT => Outcome::ConnectTimeout,
        Errno::MFILE | Errno::NFILE | Errno::ADDRNOTAVAIL | Errno::NOBUFS | Errno::NOMEM => {
            Outcome::Dropped
        }
        Errno::CONNRESET | Errno::PIPE => Outcome::Reset,
        _ => Outcome::Refused,
    };
    Failure::new(outcome, std::io::Error::from(errno).to_string())
}

fn of_stream_errno(errno: Errno) -> Failure {
    let outcome = match errno {
        Errno::TIMEDOUT => Outcome::Timeout,
        _ => Outcome::Reset,
    };
    Failure::new(outcome, std::io::Error::from(errno).to_string())
}
