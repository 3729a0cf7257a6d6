//! A server with one blocking thread per connection, as Apache and Tomcat have been for long.

pub(crate) mod head;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::LabError;
use crate::serve::{Context, stop};
use head::{Head, Parsed, parse};

/// Connections served at once; the next waits in the accept queue until one ends.
const THREADS_MAX: usize = 4096;

/// A connection's thread only parses a head and calls the handler.
const STACK_BYTES: usize = 128 << 10;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 5\r\n\r\ndone\n";

/// Calls `handler` for each request on its connection's thread until asked to stop. The main
/// thread only waits for that.
pub(crate) fn serve(
    context: Context,
    handler: impl Fn() + Send + Sync + 'static,
) -> Result<(), LabError> {
    stop::one_thread()?.block_on(async {
        let stop = stop::requested()?;
        context.ready(&[])?;
        let listener = context.listener;
        listener
            .set_nonblocking(false)
            .map_err(LabError::io("make the listening socket block"))?;
        std::thread::Builder::new()
            .spawn(move || accept(&listener, &Arc::new(handler)))
            .map_err(LabError::io("start the accepting thread"))?;
        stop.await;
        // The threads end with the process.
        Ok(())
    })
}

fn accept<H: Fn() + Send + Sync + 'static>(listener: &TcpListener, handler: &Arc<H>) {
    let serving = Arc::new(AtomicUsize::new(0));
    loop {
        while serving.load(Ordering::Acquire) >= THREADS_MAX {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Out of descriptors, or a peer that is gone: the next one may work.
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let counted = Arc::clone(&serving);
        let handler = Arc::clone(handler);
        serving.fetch_add(1, Ordering::AcqRel);
        let thread = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || {
                drop(connection(stream, &*handler));
                counted.fetch_sub(1, Ordering::AcqRel);
            });
        if thread.is_err() {
            serving.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn connection(mut stream: TcpStream, handler: &dyn Fn()) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(1024);
    let mut chunk = [0_u8; 4096];
    loop {
        match parse(&buffer) {
            Parsed::Complete(Head {
                bytes,
                body_bytes,
                keep_alive,
            }) => {
                let mut wanted = usize::try_from(body_bytes)
                    .unwrap_or(usize::MAX)
                    .saturating_add(bytes);
                while wanted > buffer.len() {
                    wanted -= buffer.len();
                    let read = stream.read(&mut chunk)?;
                    if read == 0 {
                        return Ok(());
                    }
                    buffer.clear();
                    buffer.extend_from_slice(&chunk[..read]);
                }
                buffer.drain(..wanted);
                handler();
                stream.write_all(ANSWER)?;
                if !keep_alive {
                    return Ok(());
                }
            }
            Parsed::Partial => {
                let read = stream.read(&mut chunk)?;
                if read == 0 {
                    return Ok(());
                }
                buffer.extend_from_slice(&chunk[..read]);
            }
            Parsed::Refused => return Ok(()),
        }
    }
}
