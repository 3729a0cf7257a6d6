//! A socket to a server, with TLS where asked: connects, writes what the socket takes, hands over what has come.

use std::io::{Read as _, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use plimsoll_core::Outcome;
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustls::{AlertDescription, ClientConnection};

use crate::address::Address;
use crate::failure::{Culprit, Failure, Result};
use crate::socket::{receive, stream_failure};
use crate::tls::{Agreed, TlsSetup};
use crate::tunnel::{Asking, Tunnel};

/// Bytes read at once; shared by all connections of a thread.
pub const SCRATCH_BYTES: usize = 64 << 10;
/// So often a socket is read for one event, 1 MiB in all: a server that sends faster than its answer is read would keep the
/// thread from its other connections and from the clock.
const READS_MAX: usize = 16;

/// What all connections of a run share.
#[derive(Debug, Clone)]
pub struct Setup {
    pub address: Address,
    /// What asks a proxy to lead on to the server, before TLS.
    pub tunnel: Option<Tunnel>,
    pub tls: Option<TlsSetup>,
    pub head_request: bool,
}

impl Setup {
    /// The server may choose HTTP/2.
    pub fn offers_http2(&self) -> bool {
        let tls = self.tls.as_ref();
        tls.is_some_and(|(config, _)| config.alpn_protocols.iter().any(|name| name == b"h2"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting,
    /// A proxy is asked to lead on to the server.
    Tunnelling,
    Handshaking,
    Open,
}

/// How reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// Everything that had come was handed over.
    Dry,
    /// The taker wanted no more.
    Enough,
    /// The others have their turn first; [`Transport::has_more`].
    More,
    /// The peer will send nothing further.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Transport {
    socket: OwnedFd,
    tls: Option<Box<ClientConnection>>,
    tunnel: Option<Box<Asking>>,
    phase: Phase,
    /// Bytes that the socket has taken.
    sent: u64,
    has_more: bool,
}

impl Transport {
    /// Starts to connect, from an address of this host if one is given. An immediate refusal by the local system is a
    /// failure here.
    pub(crate) fn open(local: Option<IpAddr>, setup: &Setup) -> Result<Self> {
        let tls = match &setup.tls {
            None => None,
            Some((config, name)) => {
                let client = ClientConnection::new(Arc::clone(config), name.clone())
                    .map_err(|error| tls_failure(&error))?;
                Some(Box::new(client))
            }
        };
        let socket = setup.address.connect(local).map_err(connect_failure)?;
        let tunnel = setup.tunnel.clone().map(Asking::new).map(Box::new);
        Ok(Self {
            socket,
            tls,
            tunnel,
            phase: Phase::Connecting,
            sent: 0,
            has_more: false,
        })
    }

    /// The socket is connected, though a TLS handshake may still be under way.
    pub(crate) fn is_connected(&self) -> bool {
        self.phase != Phase::Connecting
    }

    /// Bytes can be exchanged.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// The last event was not read to its end, and only what comes from now on raises another.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Bytes that the socket has taken so far.
    #[inline]
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// What ALPN chose; `None` without TLS, or if the server chose nothing.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.alpn_protocol()
    }

    /// What TLS agreed on; `None` without TLS, or before it did.
    pub(crate) fn agreed(&self) -> Option<Agreed> {
        Agreed::from_client(self.tls.as_ref()?)
    }

    /// Goes on with connecting; true once the transport is open. What a server sends right behind its handshake goes to
    /// `take` before that.
    pub(crate) fn establish(
        &mut self,
        hung_up: bool,
        scratch: &mut [u8],
        take: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<bool> {
        if self.phase == Phase::Connecting {
            match rustix::net::sockopt::socket_error(&self.socket) {
                Ok(Ok(())) => {}
                Ok(Err(errno)) | Err(errno) => return Err(connect_failure(errno)),
            }
            if rustix::net::getpeername(&self.socket).is_err() {
                return Ok(false);
            }
            self.phase = match self.tunnel {
                Some(_) => Phase::Tunnelling,
                None => self.after_tunnel(),
            };
        }
        if self.phase == Phase::Tunnelling
            && let Some(tunnel) = &mut self.tunnel
        {
            if !tunnel.ask(self.socket.as_fd(), scratch)? {
                return Ok(false);
            }
            self.tunnel = None;
            self.phase = self.after_tunnel();
        }
        if self.phase == Phase::Handshaking {
            self.shake_hands(hung_up, scratch, take)?;
        }
        Ok(self.is_open())
    }

    fn after_tunnel(&self) -> Phase {
        match self.tls {
            Some(_) => Phase::Handshaking,
            None => Phase::Open,
        }
    }

    fn shake_hands(
        &mut self,
        hung_up: bool,
        scratch: &mut [u8],
        take: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        self.flush()?;
        let read = self.read(hung_up, scratch, take)?;
        self.flush()?;
        if read == Read::Closed {
            return Err(Failure::new(
                Outcome::Tls,
                "the server closed during the TLS handshake",
            ));
        }
        if self.tls.as_ref().is_some_and(|tls| !tls.is_handshaking()) {
            self.phase = Phase::Open;
        }
        Ok(())
    }

    /// Writes what the socket, or TLS, takes of `bytes` from `written` on, and counts it there, also before an error.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8], written: &mut usize) -> Result<()> {
        if self.tls.is_some() {
            return self.write_tls(bytes, written);
        }
        while let Some(rest) = bytes.get(*written..).filter(|rest| !rest.is_empty()) {
            match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(n) => {
                    *written += n;
                    self.sent += n as u64;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(stream_failure(errno)),
            }
        }
        Ok(())
    }

    /// rustls takes 64 KiB at a time. It gets the next as long as the socket takes what it makes of them: only a socket that
    /// is full raises an edge when it can go on.
    fn write_tls(&mut self, bytes: &[u8], written: &mut usize) -> Result<()> {
        loop {
            self.flush()?;
            let rest = bytes.get(*written..).unwrap_or_default();
            let Some(tls) = self.tls.as_mut().filter(|tls| !tls.wants_write()) else {
                return Ok(());
            };
            if rest.is_empty() {
                return Ok(());
            }
            let taken = tls.writer().write(rest);
            *written += taken
                .map_err(|error| Failure::new(Outcome::Tls, format!("cannot encrypt: {error}")))?;
        }
    }

    /// Sends what TLS has ready.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        while tls.wants_write() {
            match tls.write_tls(&mut Socket(self.socket.as_fd())) {
                Ok(n) => self.sent += n as u64,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    return Err(stream_failure(errno));
                }
            }
        }
        Ok(())
    }

    /// Reads until the socket is empty, but not for ever, and hands everything to `take`, which says when it has enough: a
    /// plain socket is then left alone, while what TLS has decrypted is still handed over.
    ///
    /// `hung_up`: the peer's close came with this event and will raise no edge of its own, so the socket is read to its
    /// end.
    #[inline]
    pub(crate) fn read(
        &mut self,
        hung_up: bool,
        scratch: &mut [u8],
        take: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<Read> {
        self.has_more = false;
        let read = match self.tls {
            Some(_) => self.read_tls(hung_up, scratch, take)?,
            None => self.read_plain(hung_up, scratch, take)?,
        };
        self.has_more = read == Read::More;
        Ok(read)
    }

    #[inline]
    fn read_plain(
        &mut self,
        hung_up: bool,
        scratch: &mut [u8],
        mut take: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<Read> {
        for _ in 0..READS_MAX {
            let read = match receive(self.socket.as_fd(), scratch) {
                Ok(read) => read,
                Err(Errno::AGAIN) => return Ok(Read::Dry),
                Err(errno) => return Err(self.read_failure(errno)),
            };
            let Some(bytes) = scratch.get(..read).filter(|bytes| !bytes.is_empty()) else {
                return Ok(Read::Closed);
            };
            if take(bytes)? {
                return Ok(Read::Enough);
            }
            if read < scratch.len() && !hung_up {
                // A short read emptied the socket; the next bytes raise a new edge.
                return Ok(Read::Dry);
            }
        }
        Ok(Read::More)
    }

    /// Moves what the socket has through rustls. Plaintext is taken out after every few records, because rustls holds no
    /// more than 16 KiB of it.
    fn read_tls(
        &mut self,
        hung_up: bool,
        scratch: &mut [u8],
        mut take: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<Read> {
        let (cipher, plain) = scratch.split_at_mut(scratch.len() / 2);
        for _ in 0..READS_MAX {
            let read = match receive(self.socket.as_fd(), cipher) {
                Ok(read) => read,
                Err(Errno::AGAIN) => return Ok(Read::Dry),
                Err(errno) => return Err(self.read_failure(errno)),
            };
            let mut bytes = cipher.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                return Ok(Read::Closed);
            }
            while !bytes.is_empty() {
                self.decrypt(&mut bytes)?;
                if self.drain_plain(plain, &mut take)? {
                    // What follows means nothing (RFC 8446, section 6.1), and rustls takes no more of it.
                    return Ok(Read::Closed);
                }
            }
            if read < cipher.len() && !hung_up {
                return Ok(Read::Dry);
            }
        }
        Ok(Read::More)
    }

    fn decrypt(&mut self, bytes: &mut &[u8]) -> Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        tls.read_tls(bytes)
            .map_err(|error| Failure::new(Outcome::Tls, error.to_string()))?;
        tls.process_new_packets()
            .map_err(|error| tls_failure(&error))?;
        Ok(())
    }

    /// True if the peer said that it will send no more (`close_notify`).
    fn drain_plain(
        &mut self,
        plain: &mut [u8],
        take: &mut impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<bool> {
        loop {
            let Some(tls) = &mut self.tls else {
                return Ok(false);
            };
            match tls.reader().read(plain) {
                Ok(0) => return Ok(true),
                Ok(read) => {
                    let _enough = take(plain.get(..read).unwrap_or_default())?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(Failure::new(Outcome::Tls, error.to_string())),
            }
        }
    }

    fn read_failure(&self, errno: Errno) -> Failure {
        if self.is_open() {
            stream_failure(errno)
        } else {
            connect_failure(errno)
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
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

fn tls_failure(error: &rustls::Error) -> Failure {
    use rustls::InvalidMessage::InvalidContentType;
    let reason = match error {
        rustls::Error::InvalidMessage(InvalidContentType) => {
            "the server answers the TLS handshake with something that is not TLS".to_owned()
        }
        error => error.to_string(),
    };
    let is_own = matches!(error, rustls::Error::AlertReceived(alert) if is_about_client(*alert));
    Failure {
        culprit: is_own.then_some(Culprit::OwnCertificate),
        ..Failure::new(Outcome::Tls, reason)
    }
}

/// What a server says of the certificate that it was shown, or of none (RFC 8446, section 6.2).
const fn is_about_client(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::CertificateRequired
            | AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            // An authority of the right name with another key signed it, or none did.
            | AlertDescription::DecryptError
    )
}

/// Want of ports or descriptors is ours, never the target's: it becomes `dropped`.
fn connect_failure(errno: Errno) -> Failure {
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
