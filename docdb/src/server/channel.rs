//! One client's bytes, in and out: as they are, or through TLS. Never blocks.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

use super::stream::Stream;
use crate::wire::{HEADER_BYTES, is_tls};

/// What a client that speaks TLS costs beside what is counted for each: keys, and buffers of a record.
const TLS_BYTES: usize = 40 << 10;

#[derive(Debug)]
pub(crate) struct Channel {
    stream: Stream,
    talk: Talk,
}

#[derive(Debug)]
enum Talk {
    Plain,
    /// Nothing has come that tells which it is. Only a port with a certificate asks.
    Unknown(Arc<ServerConfig>),
    Tls(Box<ServerConnection>),
    /// Plain, where TLS is wanted.
    Naked,
}

impl Channel {
    /// `tls`: what the port has a certificate for. A Unix socket needs none.
    pub(crate) fn new(stream: Stream, tls: Option<&Arc<ServerConfig>>) -> Self {
        let talk = match (&stream, tls) {
            (Stream::Tcp(_), Some(config)) => Talk::Unknown(Arc::clone(config)),
            _ => Talk::Plain,
        };
        Self { stream, talk }
    }

    /// Bytes that it holds by itself.
    pub(crate) fn bytes(&self) -> usize {
        match self.talk {
            Talk::Tls(_) => TLS_BYTES,
            _ => 0,
        }
    }

    /// Whether the client ought to speak TLS and does not.
    pub(crate) fn is_naked(&self) -> bool {
        matches!(self.talk, Talk::Naked)
    }

    /// Whether what the client may say is not agreed on yet.
    pub(crate) fn is_beginning(&self) -> bool {
        match &self.talk {
            Talk::Unknown(_) => true,
            Talk::Tls(tls) => tls.is_handshaking(),
            Talk::Plain | Talk::Naked => false,
        }
    }

    /// Whether a read that got less than it could hold found the socket empty.
    pub(crate) fn short_reads_are_last(&self) -> bool {
        matches!(self.talk, Talk::Plain)
    }

    /// Reads what the client means; 0 is its end. [`io::ErrorKind::InvalidData`] is a breach of TLS.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.decide()?;
        let Talk::Tls(tls) = &mut self.talk else {
            return self.stream.read(into);
        };
        loop {
            match tls.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An end without a farewell: what was whole is carried out, the rest was never a message.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            if tls.read_tls(&mut self.stream)? == 0 {
                return Ok(0);
            }
            let processed = tls.process_new_packets();
            // Its part of the handshake, or why there is none.
            send(tls, &mut self.stream)?;
            processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
    }

    /// Looks at the first bytes without taking them.
    fn decide(&mut self) -> io::Result<()> {
        let (Talk::Unknown(config), Stream::Tcp(stream)) = (&self.talk, &self.stream) else {
            return Ok(());
        };
        let mut first = [0; HEADER_BYTES];
        let count = stream.peek(&mut first)?;
        self.talk = match is_tls(first.get(..count).unwrap_or_default()) {
            // The end of the stream: reading finds it.
            _ if count == 0 => Talk::Plain,
            None => return Err(io::ErrorKind::WouldBlock.into()),
            Some(false) => Talk::Naked,
            Some(true) => {
                let tls = ServerConnection::new(Arc::clone(config));
                Talk::Tls(Box::new(tls.map_err(io::Error::other)?))
            }
        };
        Ok(())
    }

    /// Takes what it can; what TLS made of it may wait for [`Self::push`].
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Talk::Tls(tls) = &mut self.talk else {
            return self.stream.write(bytes);
        };
        loop {
            let taken = tls.writer().write(bytes)?;
            let is_out = send(tls, &mut self.stream)?;
            match (taken, is_out) {
                (0, false) => return Err(io::ErrorKind::WouldBlock.into()),
                (0, true) if !bytes.is_empty() => {}
                (taken, _) => return Ok(taken),
            }
        }
    }

    /// Sends what was taken and has not gone. `Ok(true)`: nothing is left.
    pub(crate) fn push(&mut self) -> io::Result<bool> {
        match &mut self.talk {
            Talk::Tls(tls) => send(tls, &mut self.stream),
            _ => Ok(true),
        }
    }

    /// Whether [`Self::push`] has something to send.
    pub(crate) fn has_unsent(&self) -> bool {
        matches!(&self.talk, Talk::Tls(tls) if tls.wants_write())
    }
}

impl Drop for Channel {
    /// Says that this is the end and no attack, if the socket takes so much.
    fn drop(&mut self) {
        if let Talk::Tls(tls) = &mut self.talk {
            tls.send_close_notify();
            let _told = send(tls, &mut self.stream);
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Sends what TLS has ready; false if the socket takes no more.
fn send(tls: &mut ServerConnection, stream: &mut Stream) -> io::Result<bool> {
    while tls.wants_write() {
        match tls.write_tls(stream) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
