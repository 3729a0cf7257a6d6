//! A server of HTTP/2 made of bare frames, which does one thing that servers of libraries do not.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PREFACE_BYTES: usize = 24;
const MAX_CONCURRENT_STREAMS: u8 = 3;

/// How it answers a request, or what it does instead.
#[derive(Debug, Clone, Copy)]
pub(crate) enum H2Behaviour {
    CloseAtOnce,
    /// Another frame comes first.
    NoSettings,
    /// Settings allow no stream, ever.
    NoStreams,
    /// Settings allow no stream for a moment.
    LaterStreams,
    /// After the first answer, settings allow one stream instead of eight.
    FewerStreams,
    /// After each answer, settings allow no stream for a moment.
    PausedStreams,
    /// Everything that is unusual and allowed.
    Odd,
    CloseMidway,
    /// Fewer bytes than declared.
    EndEarly,
    /// More bytes than declared.
    EndLate,
    Reset(u32),
    /// Gives every other stream up without a look at its request.
    RefuseEveryOther,
    /// Leaves with its settings.
    LeaveBefore,
    /// Closes with this code after the first request, which it says it looked at.
    GoAway(u32),
    /// Answers the first request of several, says that it looked at no other and closes at once.
    LeaveInHurry,
    /// Answers the first request, leaves and closes with that.
    LeaveAtOnce,
    Push,
    LongFrame,
    BrokenHeaders,
    EndlessHeaders,
    EndlessBody,
    Silent,
    Status(&'static str),
}

#[derive(Debug, Default)]
struct Seen {
    stop: AtomicBool,
    connections: AtomicUsize,
    too_many: AtomicUsize,
}

pub(crate) struct Frames {
    pub(crate) port: u16,
    seen: Arc<Seen>,
}

impl Frames {
    pub(crate) fn start(behaviour: H2Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.stop.load(Ordering::Relaxed) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let seen = Arc::clone(&shared);
                // An error is the client that went.
                std::thread::spawn(move || {
                    let mut talk = Talk::new(stream, behaviour, seen);
                    talk.run().and_then(|()| talk.close())
                });
            }
        });
        Self { port, seen }
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    /// Requests that came although the limit was reached.
    pub(crate) fn too_many(&self) -> usize {
        self.seen.too_many.load(Ordering::Relaxed)
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.seen.stop.store(true, Ordering::Relaxed);
        // Wakes the accepting thread, which then closes the listener.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut out = [&length[1..], &[kind, flags]].concat();
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

fn settings(streams: u8) -> Vec<u8> {
    frame(
        SETTINGS,
        0,
        0,
        &[0, MAX_CONCURRENT_STREAMS, 0, 0, 0, streams],
    )
}

/// A header block of literals that are not indexed; names and values shorter than 127 bytes.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            out.push(text.len() as u8);
            out.extend_from_slice(text.as_bytes());
        }
    }
    out
}

fn head(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &block(fields))
}

fn whole(stream: u32, status: &str) -> Vec<u8> {
    let head = head(stream, &[(":status", status), ("content-length", "2")]);
    [head, frame(DATA, END_STREAM, stream, b"ok")].concat()
}

/// One connection.
struct Talk {
    socket: TcpStream,
    behaviour: H2Behaviour,
    seen: Arc<Seen>,
    requests: usize,
}

impl Talk {
    fn new(socket: TcpStream, behaviour: H2Behaviour, seen: Arc<Seen>) -> Self {
        socket.set_nodelay(true).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        Self {
            socket,
            behaviour,
            seen,
            requests: 0,
        }
    }

    fn say(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Bytes that nobody reads would make the close a reset.
    fn close(&mut self) -> std::io::Result<()> {
        if let H2Behaviour::LeaveInHurry = self.behaviour {
            return Ok(());
        }
        self.socket.shutdown(Shutdown::Write)?;
        while self.socket.read(&mut [0; 4096])? > 0 {}
        Ok(())
    }

    fn run(&mut self) -> std::io::Result<()> {
        if let H2Behaviour::CloseAtOnce = self.behaviour {
            return Ok(());
        }
        self.socket.read_exact(&mut [0; PREFACE_BYTES])?;
        match self.behaviour {
            H2Behaviour::NoSettings => self.say(&frame(PING, 0, 0, &[0; 8]))?,
            H2Behaviour::NoStreams => self.say(&settings(0))?,
            H2Behaviour::LaterStreams => {
                self.say(&settings(0))?;
                std::thread::sleep(Duration::from_millis(20));
                self.say(&settings(10))?;
            }
            H2Behaviour::LeaveBefore => {
                self.say(&[settings(8), leave(0, 0)].concat())?;
                return Ok(());
            }
            _ => self.say(&settings(8))?,
        }
        while !self.seen.stop.load(Ordering::Relaxed) {
            let Some(stream) = self.next_request()? else {
                continue;
            };
            self.requests += 1;
            if !self.answer(stream)? {
                break;
            }
        }
        Ok(())
    }

    /// The number of the stream of the next frame, if that begins a request.
    fn next_request(&mut self) -> std::io::Result<Option<u32>> {
        let mut head = [0; 9];
        self.socket.read_exact(&mut head)?;
        let [l0, l1, l2, kind, _, s0, s1, s2, s3] = head;
        let length = u32::from_be_bytes([0, l0, l1, l2]);
        self.socket.read_exact(&mut vec![0; length as usize])?;
        let stream = u32::from_be_bytes([s0, s1, s2, s3]);
        Ok((kind == HEADERS).then_some(stream))
    }

    /// False when the connection is over.
    fn answer(&mut self, stream: u32) -> std::io::Result<bool> {
        let five = [(":status", "200"), ("content-length", "5")];
        match self.behaviour {
            H2Behaviour::Status(status) => self.say(&whole(stream, status))?,
            H2Behaviour::Odd => self.say(&odd(stream))?,
            H2Behaviour::FewerStreams => return self.answer_with_fewer(stream),
            H2Behaviour::CloseMidway => {
                self.say(&[head(stream, &five), frame(DATA, 0, stream, b"he")].concat())?;
                return Ok(false);
            }
            H2Behaviour::EndEarly => {
                self.say(&[head(stream, &five), frame(DATA, 1, stream, b"he")].concat())?;
            }
            H2Behaviour::EndLate => {
                self.say(&[head(stream, &five), frame(DATA, 1, stream, b"hello!")].concat())?;
            }
            H2Behaviour::Reset(code) => {
                self.say(&frame(RST_STREAM, 0, stream, &code.to_be_bytes()))?;
            }
            H2Behaviour::RefuseEveryOther => return self.refuse_every_other(stream),
            H2Behaviour::GoAway(code) => {
                self.say(&leave(stream, code))?;
                return Ok(false);
            }
            H2Behaviour::LeaveInHurry => return self.leave_in_hurry(stream),
            H2Behaviour::LeaveAtOnce => {
                self.say(&[whole(stream, "200"), leave(stream, 0)].concat())?;
                return Ok(false);
            }
            H2Behaviour::Push => {
                let promised = [&[0, 0, 0, 2][..], &block(&[(":method", "GET")])].concat();
                self.say(&frame(PUSH_PROMISE, END_HEADERS, stream, &promised))?;
            }
            H2Behaviour::LongFrame => self.say(&frame(DATA, 0, stream, &vec![b'x'; 16_385]))?,
            H2Behaviour::BrokenHeaders => {
                self.say(&frame(HEADERS, END_HEADERS, stream, &[0xff; 6]))?;
            }
            H2Behaviour::EndlessHeaders => {
                self.say(&frame(HEADERS, 0, stream, &block(&five)))?;
                loop {
                    self.say(&frame(CONTINUATION, 0, stream, &[0; 1000]))?;
                }
            }
            H2Behaviour::EndlessBody => {
                self.say(&head(stream, &[(":status", "200")]))?;
                while !self.seen.stop.load(Ordering::Relaxed) {
                    self.say(&frame(DATA, 0, stream, &[b'x'; 100]))?;
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            H2Behaviour::Silent
            | H2Behaviour::CloseAtOnce
            | H2Behaviour::NoSettings
            | H2Behaviour::LeaveBefore
            | H2Behaviour::NoStreams => {}
            H2Behaviour::LaterStreams => self.say(&whole(stream, "200"))?,
            H2Behaviour::PausedStreams => self.answer_and_pause(stream)?,
        }
        Ok(true)
    }

    fn answer_and_pause(&mut self, stream: u32) -> std::io::Result<()> {
        self.say(&[settings(0), whole(stream, "200")].concat())?;
        std::thread::sleep(Duration::from_millis(5));
        self.say(&settings(8))
    }

    fn refuse_every_other(&mut self, stream: u32) -> std::io::Result<bool> {
        if self.requests.is_multiple_of(2) {
            self.say(&frame(RST_STREAM, 0, stream, &7_u32.to_be_bytes()))?;
        } else {
            self.say(&whole(stream, "200"))?;
        }
        Ok(true)
    }

    /// Answers each request by itself. From the second on one at a time is allowed, and a moment passes in which another
    /// could come all the same.
    fn answer_with_fewer(&mut self, stream: u32) -> std::io::Result<bool> {
        if self.requests == 1 {
            self.say(&settings(1))?;
        } else if self.requests > 8 {
            // Those before were asked for under the old limit.
            self.socket
                .set_read_timeout(Some(Duration::from_millis(1)))?;
            let surplus = self.socket.peek(&mut [0; 9]).unwrap_or(0);
            let more = surplus == 9 && self.next_request()?.is_some();
            self.seen
                .too_many
                .fetch_add(usize::from(more), Ordering::Relaxed);
            self.socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        }
        self.say(&whole(stream, "200"))?;
        Ok(true)
    }

    fn leave_in_hurry(&mut self, stream: u32) -> std::io::Result<bool> {
        if self.requests < 5 {
            self.say(&whole(stream, "200"))?;
            return Ok(true);
        }
        self.say(&[whole(stream, "200"), leave(stream, 0)].concat())?;
        Ok(false)
    }
}

fn leave(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// A whole answer with all that may stand before and between its parts.
fn odd(stream: u32) -> Vec<u8> {
    let block = block(&[(":status", "200"), ("content-length", "5")]);
    let (first, rest) = block.split_at(7);
    [
        frame(PING, 0, 0, b"plimsoll"),
        frame(0xbe, 0xff, stream, b"unknown"),
        head(stream, &[(":status", "103"), ("link", "</a.css>")]),
        frame(HEADERS, PADDED, stream, &[&[2], first, &[0; 2]].concat()),
        frame(CONTINUATION, 0, stream, &rest[..3]),
        frame(CONTINUATION, END_HEADERS, stream, &rest[3..]),
        frame(DATA, PADDED, stream, b"\x02he\0\0"),
        settings(8),
        frame(DATA, 0, stream, b""),
        frame(DATA, 0, stream, b"llo"),
        frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            stream,
            &self::block(&[("x-end", "1")]),
        ),
        frame(RST_STREAM, 0, stream, &[0; 4]),
    ]
    .concat()
}
