//! The least of a MongoDB client: one command out as `OP_MSG`, one answer back.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bson::Document;

const OP_MSG: i32 = 2013;
/// Length, request id, response id, operation; then the flags and the kind of the only section.
const HEAD: usize = 16 + 4 + 1;
/// A server that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    stream: TcpStream,
    request: i32,
}

impl Client {
    pub(crate) fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, request: 0 })
    }

    /// The answer to a command; an error only if the connection has one.
    pub(crate) fn command(&mut self, command: &Document) -> io::Result<Document> {
        let body = command.to_vec().map_err(io::Error::other)?;
        let length = i32::try_from(HEAD + body.len()).map_err(io::Error::other)?;
        self.request += 1;
        let mut message = Vec::with_capacity(HEAD + body.len());
        for number in [length, self.request, 0, OP_MSG, 0] {
            message.extend_from_slice(&number.to_le_bytes());
        }
        message.push(0);
        message.extend_from_slice(&body);
        self.stream.write_all(&message)?;
        self.answer()
    }

    /// Bytes as they are, whatever they mean.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    fn answer(&mut self) -> io::Result<Document> {
        let mut head = [0; HEAD];
        self.stream.read_exact(&mut head)?;
        let length = head
            .first_chunk()
            .map_or(0, |four| i32::from_le_bytes(*four));
        let rest = usize::try_from(length).map_err(io::Error::other)?;
        let rest = rest.checked_sub(HEAD).ok_or(io::ErrorKind::InvalidData)?;
        let mut body = vec![0; rest];
        self.stream.read_exact(&mut body)?;
        Document::from_reader(body.as_slice()).map_err(io::Error::other)
    }
}
