//! The built-in echo: the least a server can do, so that a generator's own ceiling shows.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use plimsoll_base::poll::{Poll, Waker};
use plimsoll_core::Nanos;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LISTENER: u64 = u64::MAX - 1;

/// A server on 127.0.0.1 in a thread of its own, for requests without a body; ends when dropped.
#[derive(Debug)]
pub struct Echo {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        let waker = poll.waker();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        poll.add(&listener, LISTENER)?;
        let thread = std::thread::Builder::new()
            .name("echo".to_owned())
            .spawn(move || serve(&listener, &poll, &stopped))?;
        Ok(Self {
            address,
            stop,
            waker,
            thread: Some(thread),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, poll: &Poll, stop: &AtomicBool) {
    let mut connections: Vec<Option<TcpStream>> = Vec::new();
    let mut ready = Vec::new();
    let mut buffer = vec![0; 16 << 10];
    while !stop.load(Ordering::Relaxed) {
        if poll.wait(Nanos::from_millis(500), &mut ready).is_err() {
            return;
        }
        for event in ready.drain(..) {
            if event.token == LISTENER {
                accept(listener, poll, &mut connections);
            } else if let Some(place) = connections.get_mut(event.token as usize)
                && place
                    .as_ref()
                    .is_some_and(|stream| !answer(stream, &mut buffer))
            {
                *place = None;
            }
        }
    }
}

fn accept(listener: &TcpListener, poll: &Poll, connections: &mut Vec<Option<TcpStream>>) {
    while let Ok((stream, _)) = listener.accept() {
        let index = connections
            .iter()
            .position(Option::is_none)
            .unwrap_or(connections.len());
        let ready = stream.set_nonblocking(true).is_ok()
            && stream.set_nodelay(true).is_ok()
            && poll.add(&stream, index as u64).is_ok();
        if !ready {
            continue;
        }
        if index == connections.len() {
            connections.push(None);
        }
        connections[index] = Some(stream);
    }
}

/// One read is one request: our own client sends it whole and waits. False when the peer is gone.
fn answer(stream: &TcpStream, buffer: &mut [u8]) -> bool {
    loop {
        match rustix::net::recv(stream, &mut *buffer, RecvFlags::empty()) {
            Ok((_, 0)) => return false,
            Ok(_) => {
                if rustix::net::send(stream, ANSWER, SendFlags::NOSIGNAL) != Ok(ANSWER.len()) {
                    return false;
                }
            }
            Err(Errno::AGAIN) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
