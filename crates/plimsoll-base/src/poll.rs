//! A thin epoll: edge-triggered sockets by token, a wake-up for other threads, nanosecond timeouts.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::Nanos;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};

/// Sockets ready per turn; more stay ready for the next turn.
const EVENTS_PER_TURN: usize = 256;
const WAKE_TOKEN: u64 = u64::MAX;
/// Any non-zero increment wakes; the byte order of eventfd does not matter for this one.
const EVENTFD_ONE: [u8; 8] = [0, 0, 0, 1, 1, 0, 0, 0];

/// Readiness of one socket.
#[derive(Debug, Clone, Copy)]
pub struct Ready {
    pub token: u64,
    pub readable: bool,
    pub writable: bool,
    /// The peer closed its side, or the socket failed.
    pub hung_up: bool,
}

#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
}

/// Lets another thread interrupt [`Poll::wait`].
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    pub fn wake(&self) {
        // The counter can only be full when a wake-up is pending anyway.
        let _full = rustix::io::write(&*self.0, &EVENTFD_ONE);
    }
}

impl Poll {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        epoll::add(
            &epoll,
            &*wake,
            EventData::new_u64(WAKE_TOKEN),
            EventFlags::IN,
        )?;
        Ok(Self { epoll, wake })
    }

    /// Another name for the same, which an event loop of somebody else can watch: readable when something is ready here.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.epoll.try_clone()
    }

    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wake))
    }

    /// Registers once for both directions, edge-triggered: no call per state change.
    pub fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            socket,
            EventData::new_u64(token),
            flags,
        )?)
    }

    /// Waits at most `timeout` and fills `out` with the sockets that became ready; wake-ups just return.
    pub fn wait(&self, timeout: Nanos, out: &mut Vec<Ready>) -> io::Result<()> {
        out.clear();
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS_PER_TURN];
        let timeout = Timespec {
            tv_sec: (timeout.0 / 1_000_000_000).cast_signed(),
            tv_nsec: (timeout.0 % 1_000_000_000).cast_signed(),
        };
        let waited = epoll::wait(&self.epoll, &mut events[..], Some(&timeout));
        let (ready, _) = match waited {
            Ok(ready) => ready,
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in ready {
            let (token, flags) = (event.data.u64(), event.flags);
            if token == WAKE_TOKEN {
                let _drained = rustix::io::read(&*self.wake, &mut [0u8; 8]);
                continue;
            }
            let hung_up = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
            out.push(Ready {
                token,
                readable: flags.intersects(EventFlags::IN),
                writable: flags.intersects(EventFlags::OUT),
                hung_up: flags.intersects(hung_up),
            });
        }
        Ok(())
    }
}
