//! The life of a client's connection: request after request, until one of the two has had enough.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use plimsoll_control::admission::{Ended, Refusal, Request};
use plimsoll_net::h1::serving::{BodyParser, Framing, HeadError, RequestHead};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::Client;
use crate::exchange::{Done, Exchange, Failed, Trouble};
use crate::gate::{Holder, Permit};
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
        match request(&mut client, &incoming, peer.ip(), &server).await {
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
            let incoming = Incoming::new(&read, address, &server.config);
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
            let since = *has_begun.get_or_insert_with(|| server.gate.now());
            HEAD.saturating_sub(Duration::from_nanos((server.gate.now() - since).0))
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

async fn request(
    client: &mut Client,
    incoming: &Incoming,
    address: IpAddr,
    server: &Rc<Server>,
) -> Next {
    let tenant = server.tenant(address, incoming.tenant.as_deref());
    let wanted = Request {
        class: incoming.class,
        tenant,
        session: tenant,
        is_retry: incoming.is_retry,
        ..Request::default()
    };
    let holder = Holder {
        route: incoming.route.clone(),
        client: address,
        since: server.gate.now(),
    };
    let entered = tokio::select! {
        biased;
        entered = server.gate.enter(&wanted, holder) => entered,
        () = client.gone() => return Next::Cut,
    };
    match entered {
        Ok(permit) => admitted(client, incoming, &permit, server).await,
        Err(refusal) => refuse(client, incoming, refusal, server).await,
    }
}

async fn refuse(
    client: &mut Client,
    incoming: &Incoming,
    refusal: Refusal,
    server: &Server,
) -> Next {
    let backlog = server.gate.look(|admission, _| admission.backlog());
    let answer = refusal::refused(refusal, backlog, &mut server.rng.borrow_mut());
    tell(client, incoming, &answer, server).await
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
    permit: &Permit,
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
    let began = server.gate.now();
    let mut kept = server.pool.kept(began);
    loop {
        let was_kept = kept.is_some();
        let upstream = if let Some(upstream) = kept.take() {
            upstream
        } else {
            let opened = tokio::select! {
                opened = server.pool.open() => opened,
                () = client.gone() => return Next::Cut,
            };
            server.counts.opened.add();
            let Ok(upstream) = opened else {
                permit.end(Ended::Failed);
                server.counts.unreachable.add();
                return after(client, incoming, &refusal::UNREACHABLE, server).await;
            };
            upstream
        };
        let exchange = Exchange::new(client, upstream, permit, incoming, server.stopping());
        match exchange.run().await {
            Ok(done) => return finished(done, began, server),
            Err(failed) => {
                let again = was_kept
                    && failed.trouble == Trouble::Broken
                    && failed.is_unanswered
                    && incoming.is_safe
                    && server.retries.borrow_mut().spend();
                if again {
                    server.counts.sent_again.add();
                } else {
                    return lost(client, incoming, permit, server, &failed).await;
                }
            }
        }
    }
}

fn finished(done: Done, began: plimsoll_core::Nanos, server: &Server) -> Next {
    let now = server.gate.now();
    server.retries.borrow_mut().earn();
    server.counts.answered(done.status);
    if done.status == 504 {
        server.gate.upstream_gave_up(now - began);
    }
    if let Some(upstream) = done.upstream {
        server.pool.keep(upstream, now);
    }
    if done.keepalive { Next::Go } else { Next::Part }
}

async fn lost(
    client: &mut Client,
    incoming: &Incoming,
    permit: &Permit,
    server: &Server,
    failed: &Failed,
) -> Next {
    let answer = match failed.trouble {
        // The permit is given back as that of a client that left.
        Trouble::ClientLeft => return Next::Cut,
        Trouble::BadBody => {
            permit.end(Ended::Left);
            server.counts.bad_requests.add();
            refusal::trouble(400, "bad-body", "the body is not what its head says")
        }
        Trouble::Broken => {
            permit.end(Ended::Failed);
            server.counts.broken.add();
            refusal::BROKEN
        }
        Trouble::TooSlow => {
            permit.end(Ended::Failed);
            server.counts.too_slow.add();
            refusal::TOO_SLOW
        }
    };
    if failed.is_begun {
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
