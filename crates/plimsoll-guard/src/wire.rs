//! One connection, whatever it is made of: TCP or a Unix socket, plain or in TLS.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd as _;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::unconstrained;
use tokio_rustls::TlsStream;

/// What the kernel carries.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Writes what fits in at once.
    pub(crate) fn try_tell(&self, bytes: &[u8]) {
        // Whoever does not get it is gone, or reads nothing.
        drop(match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
        });
    }
}

#[derive(Debug)]
pub(crate) enum Wire {
    Plain(Socket),
    Secure(Box<TlsStream<Socket>>),
}

/// Reads what is there behind what `into` holds; false at the end of the stream. Reads no more than its free room, which
/// must be some.
pub(crate) fn poll_take(
    wire: &mut Wire,
    cx: &mut Context<'_>,
    into: &mut Vec<u8>,
) -> Poll<io::Result<bool>> {
    let mut reading = std::pin::pin!(wire.read_buf(into));
    reading.as_mut().poll(cx).map_ok(|count| count > 0)
}

impl Wire {
    /// Writes what the kernel takes of `bytes` from `at`; how much is written then.
    pub(crate) fn poll_put(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        at: &mut usize,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = bytes.get(*at..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut *self).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => *at += written,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        // TLS keeps what the kernel did not take; a plain socket keeps nothing.
        Pin::new(self).poll_flush(cx)
    }

    /// Nothing has come that nobody asked for, and it is open, as far as can be seen.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let mut room = [0];
        let mut cx = Context::from_waker(Waker::noop());
        // A task that has used up its turn would be told that nothing is there.
        let read = poll_fn(|cx| Pin::new(&mut *self).poll_read(cx, &mut ReadBuf::new(&mut room)));
        pin!(unconstrained(read)).poll(&mut cx).is_pending()
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Secure(stream) => stream.get_ref().0,
        }
    }

    /// A peer that has vanished without a word is noticed by the kernel, in the end.
    pub(crate) fn watch_peer(&self) {
        if let Socket::Tcp(stream) = self.socket() {
            // Without it the connection ends with its idle time.
            let _set_or_not = rustix::net::sockopt::set_socket_keepalive(stream, true);
        }
    }

    /// What was agreed by ALPN.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Secure(stream) => stream.get_ref().1.alpn_protocol(),
        }
    }

    pub(crate) fn is_secure(&self) -> bool {
        matches!(self, Self::Secure(_))
    }
}

/// Is over once something about a peer's end shows, while it can be read: bytes that it sent before still wait, or its end is known
/// already. What the event loop knows of the wire itself wakes nobody then. So this is a second name of the same socket, to be
/// dropped with or before the first.
pub(crate) struct EndWatch(Pin<Box<dyn Future<Output = ()>>>);

impl fmt::Debug for EndWatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("EndWatch")
    }
}

impl EndWatch {
    /// Until the peer has closed its half, or the connection was reset.
    pub(crate) fn of_half(wire: &Wire) -> io::Result<Self> {
        // Urgent bytes, which it also stands for, are told of nowhere here: it waits for the end alone.
        Self::start(wire, Interest::PRIORITY)
    }

    /// Until the connection was reset.
    pub(crate) fn of_reset(wire: &Wire) -> io::Result<Self> {
        Self::start(wire, Interest::ERROR)
    }

    fn start(wire: &Wire, end: Interest) -> io::Result<Self> {
        Ok(match wire.socket() {
            Socket::Tcp(stream) => {
                let second = TcpStream::from_std(stream.as_fd().try_clone_to_owned()?.into())?;
                Self(Box::pin(async move { drop(second.ready(end).await) }))
            }
            Socket::Unix(stream) => {
                let second = UnixStream::from_std(stream.as_fd().try_clone_to_owned()?.into())?;
                Self(Box::pin(async move { drop(second.ready(end).await) }))
            }
        })
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, into),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, into),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, into),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
