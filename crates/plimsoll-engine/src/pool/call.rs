//! What goes over the connections of the pool, and what becomes of it.

use std::fmt::Debug;

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::h1::Answer;
use plimsoll_net::h2::PeerError;
use plimsoll_net::tls::Agreed;
use plimsoll_net::{Connection, h2};
use plimsoll_net::{Failure, Progress, Reached};

/// What the pool must know of a call: it is generic, so that a request which is the same every time costs no allocation
/// and no dynamic dispatch.
pub(crate) trait Call: Sized + Debug {
    /// What all calls of a pool share.
    type Common: Debug;
    /// What a call's end says of its connection.
    type Peer: Clone + Debug;
    /// What HTTP/2 sends as a body.
    type Body: AsRef<[u8]> + Debug;
    /// It wants the answer's headers and body and the moment of each phase, not only how it ended.
    const IS_WATCHED: bool;

    /// When its time is over.
    fn deadline(&self, common: &Self::Common) -> Nanos;
    /// It has been put on the wire.
    fn is_sent(&self) -> bool;
    /// Writes it to a connection of HTTP/1.1.
    fn send(
        &mut self,
        common: &Self::Common,
        connection: &mut Connection,
        now: Nanos,
    ) -> Result<(), Failure>;
    /// Goes on with writing, and takes what has come of the answer.
    fn ready(
        &mut self,
        common: &Self::Common,
        connection: &mut Connection,
        hung_up: bool,
        scratch: &mut [u8],
    ) -> Progress;
    /// Starts it as a stream; its number.
    fn start_stream(
        &mut self,
        common: &Self::Common,
        connection: &mut h2::Connection<Self::Body>,
        owner: u64,
        now: Nanos,
    ) -> u32;
    /// All of it has been written to this connection of HTTP/1.1.
    fn is_written_to(&self, _connection: &Connection) -> bool {
        false
    }
    /// HTTP/2 cannot carry it.
    fn is_only_for_http1(&self) -> bool {
        false
    }
    /// Its connection shall take no call after it.
    fn is_last(&self) -> bool {
        false
    }
    fn note(&mut self, _phase: Phase, _now: Nanos) {}
    /// A header of the answer over HTTP/2.
    fn field(&mut self, _name: &[u8], _value: &[u8]) {}
    /// Some of its body.
    fn body(&mut self, _bytes: &[u8]) {}
    /// What is known of a connection once its handshake is over.
    fn shake_hands(_peer: &mut Self::Peer, _agreed: Option<Agreed>) {}
}

/// What begins with a moment that a call notes; only the first of each counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A connection was begun for it.
    Opened,
    Connected,
    /// The TLS handshake is over.
    Secured,
    Written,
    FirstByte,
}

/// What became of a call or a connection.
#[derive(Debug)]
pub(crate) enum PoolEvent<C: Call> {
    /// A connection that was opened without a call takes some.
    Idle {
        origin: u32,
        at: Nanos,
    },
    /// A connection that was opened without a call, and would have taken `places`, came to nothing.
    Lost {
        origin: u32,
        places: u32,
        failure: Failure,
        at: Nanos,
    },
    /// The server left a connection before it took a call.
    Left {
        origin: u32,
        at: Nanos,
    },
    Ended(Ended<C>),
}

/// A call that the pool has done with.
#[derive(Debug)]
pub(crate) struct Ended<C: Call> {
    pub(crate) call: C,
    pub(crate) end: CallEnd,
    /// What is known of its connection.
    pub(crate) peer: C::Peer,
    /// The connection had carried a call before.
    pub(crate) was_used: bool,
    pub(crate) over_http2: bool,
    pub(crate) at: Nanos,
}

/// Calls are put on the wire again where that is allowed, but not for ever. Go's client, and so k6, gives up after as many.
pub(crate) const TRIES_MAX: u8 = 6;

/// The server gave the stream up without a look at the request.
const REFUSED: Option<PeerError> = Some(PeerError::Reset(h2::REFUSED_STREAM));

/// The call ended with its connection, which had carried others before: the server had closed it while it was idle.
pub(crate) fn is_stale(failure: &Failure, was_used: bool) -> bool {
    was_used
        && failure.reached != Reached::Answer
        && matches!(failure.outcome, Outcome::Eof | Outcome::Reset)
}

/// A call whose connection was stale may be sent once more: nothing of it left this host, or a server that saw it does the
/// same when it sees it again (RFC 9110, section 9.2.2). Anything else would be done twice, unasked.
fn may_resend(failure: &Failure, method: &str) -> bool {
    const IDEMPOTENT: [&str; 6] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"];
    failure.reached == Reached::Nothing || IDEMPOTENT.contains(&method)
}

/// A call that failed so may be put on the wire once more: the server said that it did not look at it, or the protocol
/// allows it.
pub(crate) fn may_go_on(failure: &Failure, was_used: bool, method: &str) -> bool {
    failure.peer_error == REFUSED || is_stale(failure, was_used) && may_resend(failure, method)
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum CallEnd {
    Answered(Answer),
    Failed(Failure),
    /// The server did not look at it, which the failure says for those who do not try again.
    Unprocessed(Failure),
    TimedOut {
        was_connected: bool,
    },
    /// Nobody waits for it any more.
    Cancelled,
    /// HTTP/2 cannot carry it.
    Unfit,
    /// The connection takes fewer calls than waited for it: it belongs on another.
    NotTaken,
}
