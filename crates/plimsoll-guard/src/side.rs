//! The client's side of one exchange, whichever HTTP it speaks.

use std::future::poll_fn;
use std::task::{Context, Poll};

use plimsoll_net::h1::Sink;

use crate::alarm::Alarm;
use crate::refusal::Answer;
use crate::relay::Upload;

/// What is read ahead of what is used; more stays in the kernel, and with it in the client.
pub(crate) const AHEAD_BYTES: usize = 64 << 10;

/// Why there is no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    ClientLeft,
    /// The request's body is not what its head says.
    BadBody,
    /// The request's body does not come.
    SlowBody,
    /// The upstream closed or said something that is no HTTP.
    Broken,
    TooSlow,
}

/// A step says whether anything has moved; where nothing has, whoever waits is woken once something can.
pub(crate) type Step = Result<bool, Trouble>;

/// The answer is put in as a [`Sink`], as HTTP/1.1 has it.
pub(crate) trait Side: Sink {
    /// Takes of the request's body what has come, while `upload` has room.
    fn take_body(&mut self, cx: &mut Context<'_>, upload: &mut Upload) -> Step;

    /// All of it has been taken.
    fn is_body_over(&self) -> bool;

    /// Ready once the client has left. What it sends meanwhile is kept, up to a bound.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Looks whether the client has ended while its body waits for room: true if that has just shown, and all that is left of
    /// the body can be taken.
    fn look(&mut self, cx: &mut Context<'_>) -> Step;

    /// The answer is complete.
    fn finish(&mut self);

    /// Gives the client what was put in.
    fn give(&mut self, cx: &mut Context<'_>) -> Step;

    /// Bytes that were put in and not given yet; zero when all is done.
    fn backlog(&self) -> usize;

    /// The client may have seen some of the final answer.
    fn is_begun(&self) -> bool;

    /// It has a permit: what it sends now is handed on as fast as the upstream takes it.
    fn let_in(&mut self);

    /// Tells a client that waits for it to send its body.
    fn go_on(&mut self);

    /// Puts in an answer of the guard's own.
    fn put_own(&mut self, answer: &Answer);

    fn alarm(&mut self) -> &mut Alarm;
}

/// Returns when the client has left.
pub(crate) async fn gone(side: &mut impl Side) {
    poll_fn(|cx| side.poll_gone(cx)).await;
}

/// Gives all that was put in.
pub(crate) async fn given(side: &mut impl Side) -> Result<(), Trouble> {
    poll_fn(|cx| {
        while side.backlog() > 0 {
            match side.give(cx) {
                Ok(true) => {}
                Ok(false) if side.backlog() == 0 => break,
                Ok(false) => {
                    let is_late = side.alarm().poll(cx).is_ready();
                    return if is_late {
                        Poll::Ready(Err(Trouble::ClientLeft))
                    } else {
                        Poll::Pending
                    };
                }
                Err(trouble) => return Poll::Ready(Err(trouble)),
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}
