//! The way of one request, whichever HTTP it came in: permit, exchange or refusal, and an answer of our own where one fails.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use plimsoll_control::admission::Ended;
use plimsoll_core::Nanos;
use tokio::time::Instant;

use crate::client::STALLED;
use crate::enter::Seat;
use crate::exchange::{Done, Exchange, Facts, Failed};
use crate::gate::Entry;
use crate::incoming::Incoming;
use crate::outside;
use crate::refusal::{self, Answer};
use crate::relay::Upload;
use crate::said;
use crate::shared::Server;
use crate::side::{AHEAD_BYTES, Side, Trouble, given, gone};
use crate::told::Told;
use crate::wire::Wire;

/// The first part of a body must be here so soon, and a little later for each part of it that has come: so many bytes a
/// second are the least.
const BODY: Duration = Duration::from_secs(20);
const BODY_BYTES_PER_SECOND: f64 = 100.0;

pub(crate) async fn serve<S: Side>(
    side: &mut S,
    incoming: &mut Incoming,
    server: &Rc<Server>,
) -> Told {
    let came = incoming.came;
    let until = until(incoming, came);
    let mut upload = Upload::new(std::mem::take(&mut incoming.head), incoming.is_chunked());
    let mut asked_at = came;
    if !incoming.expects_continue && !side.is_body_over() {
        if let Err(trouble) = taken_in(side, &mut upload).await {
            let told = failed(side, Some(trouble), false, server).await;
            return Told {
                request_bytes: upload.body_bytes,
                ..told
            };
        }
        asked_at = server.now();
    }
    if incoming.is_upgrade && !outside::has_room(server) {
        // As a tunnel it could not leave the limit: what never enters it is refused then, or let through by a trial.
        incoming.asked.waits = true;
    }
    let entered = match server.enter(asked_at, &incoming.asked, until) {
        Entry::Decided(entered) => Some(entered),
        Entry::Waits(queued) => tokio::select! {
            biased;
            entered = queued.decided(server) => Some(entered),
            () = gone(side) => None,
        },
    };
    let seat = match entered {
        Some(Ok(seat)) => seat,
        other => {
            return Told {
                waited: server.now() - asked_at,
                request_bytes: upload.body_bytes,
                ..not_admitted(side, other.and_then(Result::err)).await
            };
        }
    };
    side.let_in();
    if incoming.expects_continue {
        side.go_on();
    }
    let began = seat.permit.began();
    let told = admitted(side, incoming, &mut upload, seat, server).await;
    Told {
        waited: began - asked_at,
        upstream: server.log().map(|_| server.now() - began),
        request_bytes: upload.body_bytes,
        ..told
    }
}

/// It was refused, or left while it waited.
async fn not_admitted<S: Side>(side: &mut S, refusal: Option<Answer>) -> Told {
    match refusal {
        None => Told::cut("left_waiting"),
        Some(answer) => own(side, &answer, "refused").await,
    }
}

/// When a client gives up that began to wait when it `came`, if it said so.
fn until(incoming: &Incoming, came: Nanos) -> Option<Nanos> {
    let patience = incoming.asked.patience?;
    Some(came + Nanos::from_secs_f64(patience.as_secs_f64()))
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

/// Answers ourselves.
pub(crate) async fn own<S: Side>(side: &mut S, answer: &Answer, outcome: &'static str) -> Told {
    side.put_own(answer);
    side.alarm().set(Instant::now() + STALLED);
    Told::own(answer, outcome, given(side).await.is_err())
}

#[expect(
    clippy::manual_async_fn,
    reason = "an async fn keeps its arguments twice; what is below a kilobyte costs less to allocate for each request"
)]
fn admitted<S: Side>(
    side: &mut S,
    incoming: &Incoming,
    upload: &mut Upload,
    mut seat: Seat,
    server: &Rc<Server>,
) -> impl Future<Output = Told> {
    async move {
        let until = until(incoming, incoming.came);
        let mut told_at = incoming.came;
        loop {
            let kept = kept(&seat, server);
            let was_kept = kept.is_some();
            let upstream = if let Some(kept) = kept {
                Ok(kept)
            } else {
                tokio::select! {
                    opened = opened(&seat, server) => opened,
                    () = gone(side) => return of(&seat, server, Told::cut("left")),
                }
            };
            let failure = match upstream {
                // Connecting took all the time that there was. What is late is not sent: it would be done for nobody.
                _ if seat.is_late(server) => Some(Failed::unsent(std::mem::take(upload))),
                Ok(upstream) => {
                    if until.is_some() {
                        let spent = server.now() - std::mem::replace(&mut told_at, server.now());
                        said::shorten(&mut upload.bytes, Duration::from_nanos(spent.0));
                    }
                    let whole = std::mem::take(upload);
                    let mut exchange =
                        Exchange::new(side, upstream, &seat, incoming, whole, server);
                    let outcome = poll_fn(|cx| exchange.turn(cx)).await;
                    match exchange.ended(outcome) {
                        Ok(mut done) => {
                            *upload = std::mem::take(&mut done.upload);
                            return of(&seat, server, finished(done, &seat, server));
                        }
                        Err(mut failure) => {
                            *upload = std::mem::take(&mut failure.upload);
                            Some(failure)
                        }
                    }
                }
                Err(_) => None,
            };
            // Nothing was sent; or nothing that changes anything, and no answer had begun.
            let is_harmless = failure.as_ref().is_none_or(|failure| {
                failure.trouble == Trouble::Broken && failure.is_unanswered && incoming.is_safe
            });
            if is_harmless && was_kept && server.afresh(&mut seat) {
                continue;
            }
            end(&seat, failure.as_ref());
            if is_harmless {
                // Seldom, and large.
                let again = tokio::select! {
                    again = Box::pin(server.again(&incoming.asked, until, &mut seat)) => again,
                    () = gone(side) => return of(&seat, server, Told::cut("left")),
                };
                if let Some(again) = again {
                    seat = again;
                    continue;
                }
            }
            let trouble = failure.as_ref().map(|failure| failure.trouble);
            let is_begun = side.is_begun();
            let told = failed(side, trouble, is_begun, server).await;
            let facts = failure.map(|failure| failure.facts);
            return of(&seat, server, with_facts(told, facts.unwrap_or_default()));
        }
    }
}

/// Says which upstream it was, where somebody writes that down.
fn of(seat: &Seat, server: &Server, mut told: Told) -> Told {
    if server.log().is_some() {
        told.member = Some(seat.member.name.clone());
        told.would_refuse = seat.would_refuse();
    }
    told
}

/// Gives the permit back.
fn end(seat: &Seat, failure: Option<&Failed>) {
    match failure.map(|failure| failure.trouble) {
        None => seat.unreachable(),
        // The permit is given back as that of a client that left.
        Some(Trouble::ClientLeft) => {}
        // A body that is no body says nothing about the upstream.
        Some(Trouble::BadBody | Trouble::SlowBody) => seat.permit.end(Ended::Aside),
        Some(Trouble::Broken | Trouble::TooSlow) => seat.broken(),
    }
}

/// A connection to the upstream of the seat that was kept from another request.
fn kept(seat: &Seat, server: &Server) -> Option<Wire> {
    let pool = &seat.member.pool;
    seat.way.set(pool.way());
    if seat.is_fresh() {
        None
    } else {
        pool.kept(server.now())
    }
}

/// A new one.
async fn opened(seat: &Seat, server: &Server) -> io::Result<Wire> {
    seat.member.opened.add();
    let within = seat.connect_within(server);
    // The state of a handshake is large.
    Box::pin(seat.member.pool.open(within)).await
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

fn finished(done: Done, seat: &Seat, server: &Server) -> Told {
    let now = server.now();
    server.retries.borrow_mut().earn();
    server.counts.answered(done.facts.status);
    if done.facts.status == 504 {
        seat.member.gate.upstream_gave_up(now - seat.permit.began());
    }
    if let Some(upstream) = done.upstream {
        seat.member.pool.keep(upstream, seat.way.get(), now);
    }
    Told {
        status: done.facts.status,
        outcome: "served",
        answer_bytes: done.facts.body_bytes,
        ..Told::default()
    }
}

/// There is no whole answer of the upstream, or not even an upstream: ours instead, if nothing of its was begun.
async fn failed<S: Side>(
    side: &mut S,
    trouble: Option<Trouble>,
    is_begun: bool,
    server: &Server,
) -> Told {
    let counts = &server.counts;
    let (outcome, answer, count) = match trouble {
        None => ("failed", refusal::UNREACHABLE, &counts.unreachable),
        Some(Trouble::ClientLeft) => return Told::cut("left"),
        Some(Trouble::BadBody) => ("bad_request", refusal::BAD_BODY, &counts.bad_requests),
        Some(Trouble::SlowBody) => ("bad_request", refusal::SLOW_BODY, &counts.bad_requests),
        Some(Trouble::Broken) => ("failed", refusal::BROKEN, &counts.broken),
        Some(Trouble::TooSlow) => ("failed", refusal::TOO_SLOW, &counts.too_slow),
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
