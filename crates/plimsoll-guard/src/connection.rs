//! The life of a client's connection: request after request, until one of the two has had enough.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use plimsoll_control::admission::Ended;
use plimsoll_net::h1::serving::{BodyParser, Framing, HeadError, RequestHead};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::Client;
use crate::enter::Seat;
use crate::exchange::{Done, Exchange, Failed, Trouble};
use crate::incoming::Incoming;
use crate::refusal::{self, Answer};
use crate::shared::Server;

/// A head must be complete so soon after its first byte, and a connection may be idle for so long.
const HEAD: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(75);
/// The body of a refused request is read up to here, so that the connection can go on.
const DRAINED_BYTES: u64 = 64 << 10;
const DRAINED: Duration = Duration::from_secs(2);

/// What a connection does after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Go,
    /// After the client has had time to read what it was told.
    Part,
    /// At once: an answer was begun and cannot be ended.
    Cut,
}

pub(crate) async fn serve(stream: TcpStream, peer: SocketAddr, server: Rc<Server>) {
    // Without it answers would wait for each other's acknowledgements; it works all the same.
    drop(stream.set_nodelay(true));
    let mut client = Client::new(stream);
    loop {
        let incoming = match head(&mut client, peer.ip(), &server).await {
            Ok(Some(incoming)) => incoming,
            Ok(None) => return,
            Err(error) => {
                server.counts.bad_requests.add();
                let answer = Answer {
                    status: error.status(),
                    reason: "bad-request",
                    text: "the request is not proper HTTP/1.1",
                    retry_after: None,
                };
                if client.write(&answer.bytes(false)).await.is_ok() {
                    client.part().await;
                }
                return;
            }
        };
        match request(&mut client, &incoming, &server).await {
            Next::Go => {}
            Next::Part => {
                client.part().await;
                return;
            }
            Next::Cut => return,
        }
    }
}

/// The next head; nothing if the connection has ended, or is to end while it is idle.
async fn head(
    client: &mut Client,
    address: IpAddr,
    server: &Server,
) -> Result<Option<Incoming>, HeadError> {
    let mut stopping = server.stopping();
    let mut has_begun = None;
    loop {
        if let Some(read) = RequestHead::read(&client.inbox)? {
            let incoming = Incoming::new(&read, address, &server.policy());
            let length = read.length;
            client.inbox.drain(..length);
            return Ok(Some(incoming));
        }
        let is_idle = client.inbox.is_empty();
        if is_idle && *stopping.borrow() {
            return Ok(None);
        }
        let patience = if is_idle {
            IDLE
        } else {
            let since = *has_begun.get_or_insert_with(|| server.now());
            HEAD.saturating_sub(Duration::from_nanos((server.now() - since).0))
        };
        tokio::select! {
            more = timeout(patience, client.more()) => {
                // Silent, slow or gone: there is nobody to tell.
                if !matches!(more, Ok(Ok(true))) {
                    return Ok(None);
                }
            }
            _ = stopping.changed(), if is_idle => {}
        }
    }
}

async fn request(client: &mut Client, incoming: &Incoming, server: &Rc<Server>) -> Next {
    let entered = tokio::select! {
        biased;
        entered = server.enter(&incoming.asked) => entered,
        () = client.gone() => return Next::Cut,
    };
    match entered {
        Ok(seat) => admitted(client, incoming, seat, server).await,
        Err(answer) => tell(client, incoming, &answer, server).await,
    }
}

/// An answer of our own, before anything of the body was read.
async fn tell(client: &mut Client, incoming: &Incoming, answer: &Answer, server: &Server) -> Next {
    let is_small = match incoming.framing {
        Framing::Length(length) => length <= DRAINED_BYTES,
        Framing::Chunked => false,
    };
    let keepalive = incoming.keepalive
        && is_small
        && !incoming.expects_continue
        && !*server.stopping().borrow();
    let bytes = own(answer, incoming, keepalive);
    if client.write(&bytes).await.is_err() {
        return Next::Cut;
    }
    if !keepalive {
        return Next::Part;
    }
    match timeout(DRAINED, pass_over(client, incoming.framing)).await {
        Ok(true) => Next::Go,
        _ => Next::Cut,
    }
}

fn own(answer: &Answer, incoming: &Incoming, keepalive: bool) -> Vec<u8> {
    let mut bytes = answer.bytes(keepalive);
    if incoming.is_head {
        bytes.truncate(bytes.len() - answer.text.len() - 1);
    }
    bytes
}

/// Reads a body that nobody wants; false if it does not come.
async fn pass_over(client: &mut Client, framing: Framing) -> bool {
    let mut body = BodyParser::new(framing);
    loop {
        let Ok(taken) = body.feed(&client.inbox, &mut ()) else {
            return false;
        };
        client.inbox.drain(..taken);
        if body.is_over() {
            return true;
        }
        if !matches!(client.more().await, Ok(true)) {
            return false;
        }
    }
}

async fn admitted(
    client: &mut Client,
    incoming: &Incoming,
    mut seat: Seat,
    server: &Rc<Server>,
) -> Next {
    if incoming.expects_continue
        && client
            .write(b"HTTP/1.1 100 Continue\r\n\r\n")
            .await
            .is_err()
    {
        return Next::Cut;
    }
    loop {
        let opened = tokio::select! {
            opened = upstream(&seat, server) => opened,
            () = client.gone() => return Next::Cut,
        };
        let mut was_kept = false;
        let failed = match opened {
            Ok((upstream, is_kept)) => {
                was_kept = is_kept;
                let now = server.now();
                let exchange =
                    Exchange::new(client, upstream, &seat, now, incoming, server.stopping());
                match exchange.run().await {
                    Ok(done) => return finished(done, &seat, server),
                    Err(failed) => Some(failed),
                }
            }
            Err(_) => None,
        };
        // Nothing was sent; or nothing that changes anything, and no answer had begun.
        let is_harmless = failed.as_ref().is_none_or(|failed| {
            failed.trouble == Trouble::Broken && failed.is_unanswered && incoming.is_safe
        });
        if is_harmless && was_kept && server.afresh(&mut seat) {
            continue;
        }
        if is_harmless {
            end(&seat, failed.as_ref());
            let again = tokio::select! {
                again = server.again(&incoming.asked, &seat) => again,
                () = client.gone() => return Next::Cut,
            };
            if let Some(again) = again {
                seat = again;
                continue;
            }
        }
        return lost(client, incoming, &seat, server, failed.as_ref()).await;
    }
}

/// Gives the permit back.
fn end(seat: &Seat, failed: Option<&Failed>) {
    match failed.map(|failed| failed.trouble) {
        None => seat.unreachable(),
        // A client that left, or whose body is no body, says nothing about the upstream.
        Some(Trouble::ClientLeft | Trouble::BadBody) => seat.permit.end(Ended::Left),
        Some(Trouble::Broken | Trouble::TooSlow) => seat.broken(),
    }
}

/// A connection to the upstream of the seat, and whether it was kept from another request.
async fn upstream(seat: &Seat, server: &Server) -> io::Result<(TcpStream, bool)> {
    if !seat.is_fresh()
        && let Some(kept) = seat.member.pool.kept(server.now())
    {
        return Ok((kept, true));
    }
    seat.member.opened.add();
    let opened = seat.member.pool.open(seat.timeouts.connect).await?;
    Ok((opened, false))
}

fn finished(done: Done, seat: &Seat, server: &Server) -> Next {
    let now = server.now();
    server.retries.borrow_mut().earn();
    server.counts.answered(done.status);
    if done.status == 504 {
        seat.member.gate.upstream_gave_up(now - seat.began);
    }
    if let Some(upstream) = done.upstream {
        seat.member.pool.keep(upstream, now);
    }
    if done.keepalive { Next::Go } else { Next::Part }
}

async fn lost(
    client: &mut Client,
    incoming: &Incoming,
    seat: &Seat,
    server: &Server,
    failed: Option<&Failed>,
) -> Next {
    end(seat, failed);
    let answer = match failed.map(|failed| failed.trouble) {
        None => {
            server.counts.unreachable.add();
            refusal::UNREACHABLE
        }
        Some(Trouble::ClientLeft) => return Next::Cut,
        Some(Trouble::BadBody) => {
            server.counts.bad_requests.add();
            refusal::trouble(400, "bad-body", "the body is not what its head says")
        }
        Some(Trouble::Broken) => {
            server.counts.broken.add();
            refusal::BROKEN
        }
        Some(Trouble::TooSlow) => {
            server.counts.too_slow.add();
            refusal::TOO_SLOW
        }
    };
    if failed.is_some_and(|failed| failed.is_begun) {
        return Next::Cut;
    }
    after(client, incoming, &answer, server).await
}

/// An answer of our own where some of the body may have been read: the connection ends with it.
async fn after(client: &mut Client, incoming: &Incoming, answer: &Answer, server: &Server) -> Next {
    if incoming.framing == Framing::Length(0) {
        return tell(client, incoming, answer, server).await;
    }
    match client.write(&own(answer, incoming, false)).await {
        Ok(()) => Next::Part,
        Err(_) => Next::Cut,
    }
}
