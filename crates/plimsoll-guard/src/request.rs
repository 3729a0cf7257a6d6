//! The way of one request, whichever HTTP it came in: permit, exchange or refusal, and an answer of our own where one fails.

use std::future::poll_fn;
use std::net::IpAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use plimsoll_control::admission::{Ended, Refusal, Request};
use plimsoll_core::Nanos;
use tokio::time::Instant;

use crate::client::STALLED;
use crate::exchange::{Done, Exchange, Facts, Failed};
use crate::gate::{Holder, Permit};
use crate::incoming::Incoming;
use crate::outside;
use crate::refusal::{self, Answer};
use crate::relay::Upload;
use crate::shared::Server;
use crate::side::{AHEAD_BYTES, Side, Trouble, given, gone};

/// The first part of a body must be here so soon, and a little later for each part of it that has come: so many bytes a
/// second are the least.
const BODY: Duration = Duration::from_secs(20);
const BODY_BYTES_PER_SECOND: f64 = 100.0;

/// How a request ended, for the connection and for the log.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Told {
    /// Zero if the client got no answer.
    pub(crate) status: u16,
    pub(crate) outcome: &'static str,
    /// The word in `X-Plimsoll`, where the answer is our own.
    pub(crate) reason: Option<&'static str>,
    pub(crate) waited: Nanos,
    /// From the permit to the end, where there was one.
    pub(crate) upstream: Option<Nanos>,
    pub(crate) request_bytes: u64,
    pub(crate) answer_bytes: u64,
    /// An answer was begun that cannot be ended, or nobody is there to take one.
    pub(crate) is_cut: bool,
}

impl Told {
    fn cut(outcome: &'static str) -> Self {
        Self {
            outcome,
            is_cut: true,
            ..Self::default()
        }
    }
}

pub(crate) async fn serve<S: Side>(
    side: &mut S,
    incoming: &mut Incoming,
    address: IpAddr,
    server: &Rc<Server>,
) -> Told {
    let mut upload = Upload::new(std::mem::take(&mut incoming.head), incoming.is_chunked());
    if !incoming.expects_continue
        && !side.is_body_over()
        && let Err(trouble) = taken_in(side, &mut upload).await
    {
        let told = failed(side, trouble, false, server).await;
        return Told {
            request_bytes: upload.body_bytes,
            ..told
        };
    }
    if incoming.is_upgrade && !outside::has_room(server) {
        return own(side, &refusal::STREAMS, "refused").await;
    }
    let came = server.gate.now();
    let entered = entered(side, incoming, address, server).await;
    let began = server.gate.now();
    let mut told = match entered {
        None => Told::cut("left_waiting"),
        Some(Err(refusal)) => refused(side, refusal, server).await,
        Some(Ok(permit)) => {
            if incoming.expects_continue {
                side.go_on();
            }
            let (told, sent) = admitted(side, incoming, upload, &permit, server).await;
            upload = sent;
            Told {
                upstream: Some(server.gate.now() - began),
                ..told
            }
        }
    };
    told.waited = began - came;
    told.request_bytes = upload.body_bytes;
    told
}

/// Takes in the body, or as much of it as is kept: a client that is slow to send it holds no permit meanwhile.
async fn taken_in<S: Side>(side: &mut S, upload: &mut Upload) -> Result<(), Trouble> {
    let begun = Instant::now();
    poll_fn(|cx| {
        while !side.is_body_over() && upload.bytes.len() < AHEAD_BYTES {
            match side.take_body(cx, upload) {
                Ok(true) => {}
                Ok(false) => {
                    let more = upload.body_bytes as f64 / BODY_BYTES_PER_SECOND;
                    side.alarm()
                        .set(begun + BODY + Duration::from_secs_f64(more));
                    return match side.alarm().poll(cx) {
                        Poll::Ready(()) => Poll::Ready(Err(Trouble::SlowBody)),
                        Poll::Pending => Poll::Pending,
                    };
                }
                Err(trouble) => return Poll::Ready(Err(trouble)),
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}

/// A permit or a refusal; nothing if the client has left.
async fn entered<S: Side>(
    side: &mut S,
    incoming: &Incoming,
    address: IpAddr,
    server: &Rc<Server>,
) -> Option<Result<Permit, Refusal>> {
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
    tokio::select! {
        biased;
        entered = server.gate.enter(&wanted, holder) => Some(entered),
        () = gone(side) => None,
    }
}

async fn refused<S: Side>(side: &mut S, refusal: Refusal, server: &Server) -> Told {
    let backlog = server.gate.look(|admission, _| admission.backlog());
    let answer = refusal::refused(refusal, backlog, &mut server.rng.borrow_mut());
    own(side, &answer, "refused").await
}

/// Answers ourselves.
pub(crate) async fn own<S: Side>(side: &mut S, answer: &Answer, outcome: &'static str) -> Told {
    side.put_own(answer);
    side.alarm().set(Instant::now() + STALLED);
    Told {
        status: answer.status,
        outcome,
        reason: Some(answer.reason),
        answer_bytes: answer.text.len() as u64 + 1,
        is_cut: given(side).await.is_err(),
        ..Told::default()
    }
}

async fn admitted<S: Side>(
    side: &mut S,
    incoming: &Incoming,
    mut upload: Upload,
    permit: &Permit,
    server: &Rc<Server>,
) -> (Told, Upload) {
    let began = server.gate.now();
    let mut kept = server.pool.kept(began);
    loop {
        let was_kept = kept.is_some();
        let upstream = if let Some(upstream) = kept.take() {
            upstream
        } else {
            let opened = tokio::select! {
                opened = server.pool.open() => opened,
                () = gone(side) => return (Told::cut("left"), upload),
            };
            server.counts.opened.add();
            let Ok(upstream) = opened else {
                permit.end(Ended::Failed);
                server.counts.unreachable.add();
                return (own(side, &refusal::UNREACHABLE, "failed").await, upload);
            };
            upstream
        };
        let body_bytes = upload.body_bytes;
        let exchange = Exchange::new(side, upstream, permit, incoming, upload, server);
        let failure = match exchange.run().await {
            Ok(mut done) => {
                let sent = std::mem::take(&mut done.upload);
                return (finished(done, began, server), sent);
            }
            Err(failure) => failure,
        };
        let again = was_kept && may_be_sent_again(&failure, incoming, server);
        upload = failure.upload;
        if !again {
            match failure.trouble {
                // The permit is given back as that of a client that left.
                Trouble::ClientLeft => {}
                Trouble::BadBody | Trouble::SlowBody => permit.end(Ended::Left),
                Trouble::Broken | Trouble::TooSlow => permit.end(Ended::Failed),
            }
            let told = failed(side, failure.trouble, side.is_begun(), server).await;
            return (with_facts(told, failure.facts), upload);
        }
        server.counts.sent_again.add();
        upload.body_bytes = body_bytes;
    }
}

fn may_be_sent_again(failure: &Failed, incoming: &Incoming, server: &Server) -> bool {
    failure.trouble == Trouble::Broken
        && failure.is_unanswered
        && incoming.is_safe
        && server.retries.borrow_mut().spend()
}

fn with_facts(told: Told, facts: Facts) -> Told {
    if told.is_cut && facts.status != 0 {
        Told {
            status: facts.status,
            answer_bytes: facts.body_bytes,
            ..told
        }
    } else {
        told
    }
}

fn finished(done: Done, began: Nanos, server: &Server) -> Told {
    let now = server.gate.now();
    server.retries.borrow_mut().earn();
    server.counts.answered(done.facts.status);
    if done.facts.status == 504 {
        server.gate.upstream_gave_up(now - began);
    }
    if let Some(upstream) = done.upstream {
        server.pool.keep(upstream, now);
    }
    Told {
        status: done.facts.status,
        outcome: "served",
        answer_bytes: done.facts.body_bytes,
        ..Told::default()
    }
}

/// There is no whole answer of the upstream: ours instead, if nothing of its was begun.
async fn failed<S: Side>(side: &mut S, trouble: Trouble, is_begun: bool, server: &Server) -> Told {
    let (outcome, answer, count) = match trouble {
        Trouble::ClientLeft => return Told::cut("left"),
        Trouble::BadBody => (
            "bad_request",
            refusal::BAD_BODY,
            &server.counts.bad_requests,
        ),
        Trouble::SlowBody => (
            "bad_request",
            refusal::SLOW_BODY,
            &server.counts.bad_requests,
        ),
        Trouble::Broken => ("failed", refusal::BROKEN, &server.counts.broken),
        Trouble::TooSlow => ("failed", refusal::TOO_SLOW, &server.counts.too_slow),
    };
    count.add();
    if is_begun {
        return Told {
            reason: Some(answer.reason),
            ..Told::cut(outcome)
        };
    }
    own(side, &answer, outcome).await
}
