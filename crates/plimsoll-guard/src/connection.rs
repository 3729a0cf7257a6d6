//! The life of a client's connection: request after request, until one of the two has had enough.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use plimsoll_net::h1::HEAD_BYTES_USUAL;
use plimsoll_net::h1::serving::{Framing, HeadError, RequestHead};
use tokio::time::{Instant, timeout};

use crate::access::Line;
use crate::client::{Client, IDLE};
use crate::flood::PREFACE;
use crate::http1::Http1;
use crate::http2;
use crate::incoming::{self, Incoming};
use crate::refusal::{Answer, Persistence};
use crate::request;
use crate::shared::Server;
use crate::side::Side as _;
use crate::told::Told;
use crate::trust::Way;
use crate::wire::Wire;

/// A head must be complete so soon after its first byte.
const HEAD: Duration = Duration::from_secs(10);
/// Whoever is connected and has sent nothing yet when the guard ends is on its way with a request, which must begin to come so soon.
const LATE: Duration = Duration::from_secs(1);
/// The rest of the body of a refused request must come so soon.
const DRAINED: Duration = Duration::from_secs(2);

/// What has come on a connection.
enum Came {
    Request(Box<Incoming>, Option<Box<Line>>),
    /// One that is refused before anything is done for it.
    Refused(Refused, Option<Box<Line>>),
    /// It goes on in HTTP/2.
    Http2,
    /// The connection has ended, or is to end while it is idle.
    Nothing,
}

struct Refused {
    answer: Answer,
    is_head: bool,
    is_http10: bool,
    keepalive: bool,
}

pub(crate) async fn serve(wire: Wire, http2: bool, peer: IpAddr, server: Rc<Server>) {
    if wire.protocol() == Some(b"h2") {
        return Box::pin(http2::serve(wire, Vec::new(), peer, &server)).await;
    }
    let mut client = Client::new(wire);
    let mut may_be_http2 = http2 && !client.wire.is_secure();
    // One for the whole connection: to wait for it anew for every request costs more than to ask it.
    let mut stop = pin!(stopped(&server));
    loop {
        let came = head(&mut client, peer, &server, may_be_http2, stop.as_mut()).await;
        may_be_http2 = false;
        client.is_fresh = false;
        let (mut incoming, line) = match came {
            Ok(Came::Request(incoming, line)) => (incoming, line),
            Ok(Came::Refused(refused, line)) => {
                match refuse(&mut client, &refused, line, &server).await {
                    None => return,
                    Some(true) => continue,
                    Some(false) => return Box::pin(client.part()).await,
                }
            }
            Ok(Came::Http2) => {
                let inbox = std::mem::take(&mut client.inbox);
                return Box::pin(http2::serve(client.wire, inbox, peer, &server)).await;
            }
            Ok(Came::Nothing) => return,
            Err(error) => return Box::pin(turn_away(client, peer, &server, error)).await,
        };
        // The state of all of these is large: a connection without a request holds none of it.
        let goes_on = Box::pin(one(&mut client, &mut incoming, line, &server)).await;
        match goes_on {
            None => return,
            Some(true) => {}
            Some(false) => return Box::pin(client.part()).await,
        }
    }
}

/// One request: whether the connection goes on; nothing if it was cut.
async fn one(
    client: &mut Client,
    incoming: &mut Incoming,
    line: Option<Box<Line>>,
    server: &Rc<Server>,
) -> Option<bool> {
    let mut side = Http1::new(client, incoming, server);
    let told = request::serve(&mut side, incoming, server).await;
    let is_cut = told.is_cut;
    if let Some((log, line)) = server.log().zip(line) {
        log.tell(*line, told);
    }
    if is_cut {
        return None;
    }
    if !side.can_go_on() {
        return Some(false);
    }
    if side.is_body_over() {
        return Some(true);
    }
    match timeout(DRAINED, side.pass_over()).await {
        Ok(true) => Some(true),
        _ => None,
    }
}

/// Answers a request that was refused at the door: whether the connection goes on; nothing if it was cut.
async fn refuse(
    client: &mut Client,
    refused: &Refused,
    line: Option<Box<Line>>,
    server: &Server,
) -> Option<bool> {
    let answer = &refused.answer;
    let keepalive = refused.keepalive && !server.is_stopping();
    let persistence = if keepalive {
        Persistence::kept(refused.is_http10)
    } else {
        Persistence::Close
    };
    let bytes = if refused.is_head {
        answer.head_bytes(persistence)
    } else {
        answer.bytes(persistence)
    };
    let is_written = client.write(&bytes).await.is_ok();
    if let Some((log, line)) = server.log().zip(line) {
        log.tell(*line, Told::own(answer, "refused", !is_written));
    }
    is_written.then_some(keepalive)
}

async fn turn_away(mut client: Client, peer: IpAddr, server: &Server, error: HeadError) {
    server.counts.bad_requests.add();
    let answer = Answer {
        status: error.status(),
        reason: "bad-request",
        text: "the request is not proper HTTP/1.1",
        retry_after: None,
    };
    if let Some(log) = server.log() {
        let told = Told {
            status: answer.status,
            outcome: "bad_request",
            reason: Some(answer.reason),
            ..Told::default()
        };
        log.tell(Line::unread(peer), told);
    }
    if client
        .write(&answer.bytes(Persistence::Close))
        .await
        .is_ok()
    {
        client.part().await;
    }
}

/// The next head.
async fn head(
    client: &mut Client,
    peer: IpAddr,
    server: &Server,
    may_be_http2: bool,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<Came, HeadError> {
    let (mut has_begun, mut seen, mut looked) = (None, 0, 0);
    loop {
        let inbox = &client.inbox;
        if may_be_http2
            && !inbox.is_empty()
            && inbox.starts_with(&PREFACE[..PREFACE.len().min(inbox.len())])
        {
            if inbox.len() >= PREFACE.len() {
                return Ok(Came::Http2);
            }
        } else if is_worth_reading(inbox, seen, looked) {
            looked = inbox.len();
            if let Some(read) = RequestHead::read(inbox)? {
                let came = came(&read, peer, client.wire.is_secure(), server);
                let length = read.length;
                client.used(length);
                return Ok(came);
            }
        }
        seen = client.inbox.len();
        if !more(client, &mut has_begun, stop.as_mut()).await {
            return Ok(Came::Nothing);
        }
    }
}

fn came(read: &RequestHead<'_>, peer: IpAddr, is_secure: bool, server: &Server) -> Came {
    let now = server.now();
    let policy = server.policy();
    let way = Way::of(read, peer, is_secure, &policy.config.trusted);
    let asked = incoming::asked(read, way.client, &policy);
    let line = server
        .log()
        .map(|_| Box::new(Line::new(read, &asked, is_secure, "HTTP/1.1")));
    let is_bare = read.framing == Framing::Length(0) && read.upgrade.is_none();
    if is_bare && let Some(answer) = server.turns_away(now, &asked) {
        let refused = Refused {
            answer,
            is_head: read.method == "HEAD",
            is_http10: read.is_http10,
            keepalive: read.keepalive,
        };
        return Came::Refused(refused, line);
    }
    Came::Request(Box::new(Incoming::new(now, read, &way, asked)), line)
}

/// A head that comes in small pieces is not read again for each of them: once it ends, or has doubled (it may be wrong). Most come
/// in one.
fn is_worth_reading(inbox: &[u8], seen: usize, looked: usize) -> bool {
    if looked == 0 {
        return !inbox.is_empty();
    }
    let fresh = inbox.get(seen.saturating_sub(3)..).unwrap_or_default();
    let has_end = fresh.windows(2).any(|two| two == b"\n\n" || two == b"\n\r");
    inbox.len() > seen && (has_end || inbox.len() >= 2 * looked || inbox.len() > HEAD_BYTES_USUAL)
}

/// Waits for more of a head; false if none comes: silent, slow or gone, there is nobody to tell.
async fn more(
    client: &mut Client,
    has_begun: &mut Option<Instant>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> bool {
    let is_idle = client.inbox.is_empty();
    let now = Instant::now();
    let until = if is_idle {
        now + IDLE
    } else {
        *has_begun.get_or_insert(now) + HEAD
    };
    client.alarm.set(until);
    poll_fn(|cx| {
        if let Poll::Ready(more) = client.poll_more(cx) {
            return Poll::Ready(matches!(more, Ok(true)));
        }
        if is_idle && !client.is_parting && stop.as_mut().poll(cx).is_ready() {
            client.is_parting = true;
            client.alarm.set(Instant::now() + LATE);
        }
        if is_idle && client.is_parting && !client.is_fresh {
            return Poll::Ready(false);
        }
        client.alarm.poll(cx).map(|()| false)
    })
    .await
}

/// Is over once the server stops.
async fn stopped(server: &Server) {
    let mut stopping = server.stopping();
    // An error says that the server is gone.
    drop(stopping.wait_for(|is_stopping| *is_stopping).await);
}
