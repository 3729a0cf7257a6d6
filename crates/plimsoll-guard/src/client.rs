//! A client's connection: bytes that have come and were not used yet, and whether it is still there.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

/// What is read ahead of what is used; more stays in the kernel, and with it in the client.
pub(crate) const AHEAD_BYTES: usize = 64 << 10;
const READ_BYTES: usize = 16 << 10;
/// Of a client that is told to go: how much more of it is read, and for how long, so that it sees the answer.
const LINGER_BYTES: usize = 256 << 10;
const LINGER: Duration = Duration::from_secs(1);
const STALLED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) inbox: Vec<u8>,
}

impl Client {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            inbox: Vec::new(),
        }
    }

    /// Waits for more bytes; false at their end.
    pub(crate) async fn more(&mut self) -> io::Result<bool> {
        loop {
            match self.take() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stream.readable().await?;
                }
                taken => return taken,
            }
        }
    }

    /// Takes what is there; false at the end.
    pub(crate) fn take(&mut self) -> io::Result<bool> {
        take(&self.stream, &mut self.inbox)
    }

    /// Returns when the client has left. What it sends meanwhile is kept, up to a bound.
    pub(crate) async fn gone(&mut self) {
        while self.inbox.len() < AHEAD_BYTES {
            if !matches!(self.more().await, Ok(true)) {
                return;
            }
        }
        // It sends ahead more than is kept: whether it is still there shows when it is answered.
        std::future::pending::<()>().await;
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match self.stream.try_write(rest) {
                Ok(written) => at += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let waited = timeout(STALLED, self.stream.writable()).await;
                    waited.map_err(|_| io::ErrorKind::TimedOut)??;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the connection so that the client gets what was written: closing while bytes arrive would take it away.
    pub(crate) async fn part(mut self) {
        use tokio::io::AsyncWriteExt as _;
        if self.stream.shutdown().await.is_err() {
            return;
        }
        let read = async {
            let mut seen = 0;
            while seen < LINGER_BYTES {
                self.inbox.clear();
                if !matches!(self.more().await, Ok(true)) {
                    return;
                }
                seen += self.inbox.len();
            }
        };
        // Whoever is not done by then is cut off.
        drop(timeout(LINGER, read).await);
    }
}

/// Reads what is there into `into`; false at the end of the stream.
pub(crate) fn take(stream: &TcpStream, into: &mut Vec<u8>) -> io::Result<bool> {
    let before = into.len();
    if into.capacity() - before < READ_BYTES / 4 {
        into.reserve(READ_BYTES);
    }
    let count = stream.try_read_buf(into)?;
    Ok(count > 0)
}
