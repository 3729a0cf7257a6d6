//! The calls on one connection of HTTP/2, and where their answers go as they come.

use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;
use plimsoll_net::h2::{self, Event};

use super::call::{Call, Phase};

/// A connection with many calls on it.
#[derive(Debug)]
pub(super) struct Streams<C: Call> {
    pub(super) connection: h2::Connection<C::Body>,
    /// In order of their owners, which count up.
    running: Vec<Stream<C>>,
    next_owner: u64,
    /// When it last had something to read.
    heard: Nanos,
    /// It was asked whether it is there, after having been heard last at this time.
    pinged: Option<Nanos>,
    /// It is on the pool's list of those with something to write.
    pub(super) is_unflushed: bool,
    /// It takes no further call, and ends with its last.
    pub(super) is_retired: bool,
}

#[derive(Debug)]
struct Stream<C> {
    owner: u64,
    number: u32,
    sent: Nanos,
    is_written: bool,
    call: C,
}

impl<C: Call> Streams<C> {
    pub(super) fn new(connection: h2::Connection<C::Body>, now: Nanos) -> Self {
        Self {
            connection,
            running: Vec::new(),
            next_owner: 0,
            heard: now,
            pinged: None,
            is_unflushed: false,
            is_retired: false,
        }
    }

    #[inline]
    pub(super) fn has_room(&self, most: u32) -> bool {
        !self.is_retired && self.running.len() < most as usize && self.connection.vacant() > 0
    }

    pub(super) fn has_call(&self, fits: impl Fn(&C) -> bool) -> bool {
        self.running.iter().any(|stream| fits(&stream.call))
    }

    /// Nothing runs on it and nothing will.
    pub(super) fn is_over(&self) -> bool {
        self.running.is_empty() && (self.is_retired || self.connection.is_leaving())
    }

    /// No call was ever put on it.
    pub(super) fn is_unused(&self) -> bool {
        self.next_owner == 0
    }

    pub(super) fn start(&mut self, mut call: C, common: &C::Common, now: Nanos) {
        let owner = self.next_owner;
        self.next_owner += 1;
        let number = call.start_stream(common, &mut self.connection, owner, now);
        self.is_retired |= call.is_last();
        self.running.push(Stream {
            owner,
            number,
            sent: now,
            is_written: false,
            call,
        });
    }

    #[inline]
    pub(super) fn take(&mut self, owner: u64) -> Option<C> {
        let place = place(&self.running, owner)?;
        Some(self.running.remove(place).call)
    }

    /// Takes out all calls of a connection that is over.
    pub(super) fn take_calls(&mut self) -> Vec<C> {
        self.running.drain(..).map(|stream| stream.call).collect()
    }

    /// Takes out the calls that fit and resets their streams. The connection stays, but one that was silent since a call
    /// went out is asked whether it is there, and takes no further call once it was asked in vain.
    pub(super) fn cancel(&mut self, fits: impl Fn(&C) -> bool) -> Vec<C> {
        let (mut calls, mut is_silent) = (Vec::new(), false);
        for stream in self.running.extract_if(.., |stream| fits(&stream.call)) {
            self.connection.cancel(stream.number);
            is_silent |= self.heard <= stream.sent;
            calls.push(stream.call);
        }
        if is_silent {
            match self.pinged {
                Some(pinged) if pinged >= self.heard => self.is_retired = true,
                _ => {
                    self.pinged = Some(self.heard);
                    self.connection.ping();
                }
            }
        }
        calls
    }

    /// Lets `read` take what the server has said; what follows from it goes to `events`. Also the time afterwards.
    pub(super) fn read<R>(
        &mut self,
        clock: Clock,
        events: &mut Vec<Event>,
        read: impl FnOnce(&mut h2::Connection<C::Body>, &mut Arriving<'_, C>) -> R,
    ) -> (R, Nanos) {
        let mut sink = Arriving {
            running: &mut self.running,
            events,
            now: if C::IS_WATCHED {
                clock.now()
            } else {
                Nanos::ZERO
            },
        };
        let result = read(&mut self.connection, &mut sink);
        self.heard = clock.now();
        self.note_written(self.heard);
        (result, self.heard)
    }

    /// Which requests are out by now.
    pub(super) fn note_written(&mut self, now: Nanos) {
        if !C::IS_WATCHED {
            return;
        }
        for stream in self.running.iter_mut().filter(|stream| !stream.is_written) {
            if self.connection.has_written(stream.number) {
                stream.is_written = true;
                stream.call.note(Phase::Written, now);
            }
        }
    }
}

#[inline]
fn place<C>(running: &[Stream<C>], owner: u64) -> Option<usize> {
    running
        .binary_search_by_key(&owner, |stream| stream.owner)
        .ok()
}

/// Where answers go as they come.
pub(super) struct Arriving<'a, C> {
    running: &'a mut [Stream<C>],
    events: &'a mut Vec<Event>,
    now: Nanos,
}

impl<C: Call> Arriving<'_, C> {
    fn call(&mut self, owner: u64) -> Option<&mut C> {
        let place = place(self.running, owner)?;
        let call = &mut self.running.get_mut(place)?.call;
        call.note(Phase::FirstByte, self.now);
        Some(call)
    }
}

impl<C: Call> h2::Sink for Arriving<'_, C> {
    #[inline]
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    #[inline]
    fn field(&mut self, owner: u64, name: &[u8], value: &[u8]) {
        if C::IS_WATCHED
            && let Some(call) = self.call(owner)
        {
            call.field(name, value);
        }
    }

    #[inline]
    fn body(&mut self, owner: u64, bytes: &[u8]) {
        if C::IS_WATCHED
            && let Some(call) = self.call(owner)
        {
            call.body(bytes);
        }
    }
}
