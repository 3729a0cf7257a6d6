//! Calls over HTTP/1.1: a connection carries one at a time.

use plimsoll_core::Nanos;
use plimsoll_net::Progress;
use plimsoll_net::h1::Answer;

use super::Pool;
use super::call::{Call, CallEnd, Phase};
use super::link::{Carrier, Link};

impl<C: Call> Pool<C> {
    /// Puts the call of a connection on the wire.
    #[inline]
    pub(super) fn send(&mut self, token: u64, now: Nanos) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        let Carrier::Http1(connection, Some(call)) = &mut link.carrier else {
            return;
        };
        let sent = call.send(&self.common, connection, now);
        self.sent(token, sent.is_ok());
    }

    /// A call was put on the wire, or could not be.
    #[inline]
    pub(super) fn sent(&mut self, token: u64, is_sound: bool) {
        self.note_sent();
        if !is_sound {
            // What the server said before it went may be a whole answer. If not, writing fails again.
            self.http1_ready(token, true);
        } else if C::IS_WATCHED {
            self.note_written(token);
        }
    }

    fn note_written(&mut self, token: u64) {
        let now = self.clock.now();
        if let Some(link) = self.links.get_mut(token) {
            note_progress(link, &Progress::Pending, now);
        }
    }

    /// A connection of HTTP/1.1 has news.
    #[inline]
    pub(super) fn http1_ready(&mut self, token: u64, hung_up: bool) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        let Carrier::Http1(connection, call) = &mut link.carrier else {
            return;
        };
        let scratch = &mut self.scratch;
        let progress = match call {
            Some(call) => call.ready(&self.common, connection, hung_up, scratch),
            None => connection.ready(&[], hung_up, scratch),
        };
        let has_more = connection.has_more();
        let now = self.clock.now();
        if progress == Progress::Connected {
            C::shake_hands(&mut link.peer, connection.agreed());
        }
        if C::IS_WATCHED {
            note_progress(link, &progress, now);
        }
        match progress {
            Progress::Pending => {}
            Progress::Connected => self.connected(token, now),
            Progress::Answered(answer) => self.answered(token, answer, hung_up, now),
            Progress::ClosedIdle => self.remove(token),
            Progress::Failed(failure) => self.fail(token, &failure, now),
        }
        if has_more {
            self.go_on_later(token);
        }
    }

    fn connected(&mut self, token: u64, now: Nanos) {
        if self.settle_opening(token) == 0 {
            return self.send(token, now);
        }
        self.list(token);
        self.tell_idle(token, now);
    }

    #[inline]
    fn answered(&mut self, token: u64, answer: Answer, hung_up: bool, now: Nanos) {
        let Some(link) = self.links.get_mut(token) else {
            return;
        };
        let Carrier::Http1(_, place) = &mut link.carrier else {
            return;
        };
        let Some(call) = place.take() else {
            return self.remove(token);
        };
        let ended = link.ended(call, CallEnd::Answered(answer), now);
        link.is_used = true;
        if answer.keepalive && self.policy.reuses && !hung_up {
            self.list(token);
        } else {
            self.park(token, hung_up, now);
        }
        self.end(ended);
    }
}

/// Which phases of its call have begun with this event.
fn note_progress<C: Call>(link: &mut Link<C>, progress: &Progress, now: Nanos) {
    let Carrier::Http1(connection, Some(call)) = &mut link.carrier else {
        return;
    };
    let was_sent = call.is_sent();
    if was_sent && call.is_written_to(connection) {
        call.note(Phase::Written, now);
    }
    if connection.is_connected() {
        call.note(Phase::Connected, now);
    }
    if *progress == Progress::Connected {
        call.note(Phase::Secured, now);
    }
    let has_begun = matches!(progress, Progress::Answered(_)) || connection.answer_started();
    if was_sent && has_begun {
        call.note(Phase::FirstByte, now);
    }
}
