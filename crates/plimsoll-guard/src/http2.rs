//! Clients in HTTP/2: the connection, and each of its streams on the same way as a request of HTTP/1.1.
//!
//! Frames, windows and header compression are the `h2` crate's. What it is told to bound: streams, the size of heads, resets
//! of both sides, what is kept for a slow client. Frames without a use are weighed in `flood`.

mod stream;

use std::cell::Cell;
use std::future::poll_fn;
use std::net::IpAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Reason, RecvStream};
use http::Request;
use tokio::task::spawn_local;
use tokio::time::{Instant, timeout};

use crate::alarm::Alarm;
use crate::client::IDLE;
use crate::flood::{Flooded, Watched};
use crate::shared::Server;
use crate::wire::Wire;

const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may take to end that was told to.
const PARTING: Duration = Duration::from_secs(5);
const STREAMS: u32 = 128;
/// As long as a head of HTTP/1.1 may be.
const HEAD_BYTES: u32 = 64 << 10;
/// What a stream may send ahead, as much as a connection of HTTP/1.1.
const STREAM_WINDOW: u32 = 64 << 10;
/// What all streams of a connection may: each its own. With less, many bodies that come side by side would fill it before one of
/// them is far enough to ask for a permit, and all would wait for each other.
const CONNECTION_WINDOW: u32 = STREAMS * STREAM_WINDOW;
/// What is kept for a client that does not take it, of each stream.
const SEND_BYTES: usize = 64 << 10;
/// Streams that their client took back before they were looked at, and those that we had to end (`MadeYouReset`).
const RESETS: usize = 20;
const OWN_RESETS: usize = 128;

/// Streams under way, and when the last one ended.
#[derive(Debug)]
struct Streams {
    count: Cell<usize>,
    ended: Cell<Instant>,
}

/// One of them, as long as it is under way.
struct Active(Rc<Streams>);

impl Active {
    fn new(streams: &Rc<Streams>) -> Self {
        streams.count.set(streams.count.get() + 1);
        Self(Rc::clone(streams))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get() - 1);
        self.0.ended.set(Instant::now());
    }
}

enum Event {
    Asked(Box<(Request<RecvStream>, SendResponse<Bytes>)>),
    Over,
    Flood,
    /// It may have been idle for long.
    Alarm,
    Stop,
}

pub(crate) async fn serve(wire: Wire, ahead: Vec<u8>, peer: IpAddr, server: &Rc<Server>) {
    let is_secure = wire.is_secure();
    let (watched, flooded) = Watched::new(wire, ahead);
    let handshake = builder().handshake::<_, Bytes>(watched);
    let Ok(Ok(mut connection)) = timeout(HANDSHAKE, handshake).await else {
        server.counts.bad_requests.add();
        return;
    };
    let streams = Rc::new(Streams {
        count: Cell::new(0),
        ended: Cell::new(Instant::now()),
    });
    let mut alarm = Alarm::after(IDLE);
    let mut is_parting = false;
    loop {
        match next(&mut connection, &flooded, &mut alarm, server, is_parting).await {
            Event::Asked(asked) => {
                let active = Active::new(&streams);
                let server = Rc::clone(server);
                spawn_local(async move {
                    let (request, respond) = *asked;
                    stream::serve(request, respond, peer, is_secure, &server).await;
                    drop(active);
                });
            }
            Event::Over => return,
            Event::Flood => return end(&mut connection, server).await,
            Event::Alarm if streams.count.get() > 0 => alarm.set(Instant::now() + IDLE),
            Event::Alarm if is_parting => return,
            Event::Alarm if Instant::now() < streams.ended.get() + IDLE => {
                alarm.set(streams.ended.get() + IDLE);
            }
            Event::Alarm => {
                connection.graceful_shutdown();
                is_parting = true;
                alarm.set(Instant::now() + PARTING);
            }
            Event::Stop => {
                // Two words: that no more should come, and once the client knows it, which stream was the last.
                connection.graceful_shutdown();
                is_parting = true;
            }
        }
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_BYTES)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(SEND_BYTES)
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(Some(OWN_RESETS));
    builder
}

async fn next(
    connection: &mut Connection<Watched, Bytes>,
    flooded: &Flooded,
    alarm: &mut Alarm,
    server: &Server,
    is_parting: bool,
) -> Event {
    let mut stopping = server.stopping();
    if *stopping.borrow() && !is_parting {
        return Event::Stop;
    }
    let works = poll_fn(|cx| {
        let accepted = connection.poll_accept(cx);
        if flooded.get() {
            return Poll::Ready(Event::Flood);
        }
        match accepted {
            Poll::Ready(Some(Ok(asked))) => Poll::Ready(Event::Asked(Box::new(asked))),
            Poll::Ready(_) => Poll::Ready(Event::Over),
            Poll::Pending => alarm.poll(cx).map(|()| Event::Alarm),
        }
    });
    tokio::select! {
        biased;
        event = works => event,
        _ = stopping.changed(), if !is_parting => Event::Stop,
    }
}

/// Tells a client that floods us so, and goes.
async fn end(connection: &mut Connection<Watched, Bytes>, server: &Server) {
    server.counts.floods.add();
    connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
    // It may not even read that.
    drop(timeout(PARTING, poll_fn(|cx| connection.poll_closed(cx))).await);
}
