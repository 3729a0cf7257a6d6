//! HTTP/1.1 for virtual users: a connection carries one call at a time.

use plimsoll_core::{Nanos, Outcome};
use plimsoll_net::Progress;
use plimsoll_net::h1::Answer;

use super::Client;
use super::link::{Carrier, Link, tls_info};

impl Client {
    /// Puts the call of a connection on the wire.
    pub(super) fn send(&mut self, index: usize, now: Nanos) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let Carrier::Own(connection, Some(exchange)) = &mut link.carrier else {
            return;
        };
        exchange.encode_http1(&self.user_agent);
        exchange.moments.sent = Some(now);
        self.on_wire += 1;
        self.wire_max = self.wire_max.max(self.on_wire);
        connection.expect(exchange.is_head);
        match connection.send(&exchange.request) {
            Ok(()) => note_written(link, self.clock.now()),
            Err(failure) => self.fail(index, &failure, now),
        }
    }

    /// A connection of HTTP/1.1 has news.
    pub(super) fn own_ready(&mut self, index: usize, hung_up: bool) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let progress = match &mut link.carrier {
            Carrier::Own(connection, Some(exchange)) => connection.ready_into(
                &exchange.request,
                hung_up,
                &mut self.scratch,
                &mut exchange.kept,
            ),
            Carrier::Own(connection, None) => connection.ready(&[], hung_up, &mut self.scratch),
            _ => return,
        };
        let now = self.clock.now();
        note_progress(link, &progress, now);
        match progress {
            Progress::Pending => {}
            Progress::Connected => self.send(index, now),
            Progress::Answered(answer) => self.answered(index, answer, hung_up, now),
            Progress::ClosedIdle => self.remove(index),
            Progress::Failed(failure) => self.fail(index, &failure, now),
        }
    }

    fn answered(&mut self, index: usize, answer: Answer, hung_up: bool, now: Nanos) {
        let Some(link) = self.links[index].as_mut() else {
            return;
        };
        let Carrier::Own(_, place) = &mut link.carrier else {
            return;
        };
        let Some(mut exchange) = place.take() else {
            return self.remove(index);
        };
        let vu = link.vu;
        let mut result = exchange.answered(answer.bytes, link.url.is_tls, now);
        result.remote = Some(link.address);
        result.tls = link.tls;
        link.is_used = true;
        if answer.keepalive && self.reuses && !hung_up {
            self.list(vu, index);
        } else {
            self.remove(index);
        }
        let outcome = Outcome::of_status(answer.status);
        self.finish(vu, exchange, outcome, result, now);
    }
}

fn note_written(link: &mut Link, now: Nanos) {
    if let Carrier::Own(connection, Some(exchange)) = &mut link.carrier
        && exchange.moments.written.is_none()
        && exchange.moments.sent.is_some()
        && connection.has_written(&exchange.request)
    {
        exchange.moments.written = Some(now);
    }
}

/// Which phases have begun with this event.
fn note_progress(link: &mut Link, progress: &Progress, now: Nanos) {
    note_written(link, now);
    let Carrier::Own(connection, place) = &mut link.carrier else {
        return;
    };
    if *progress == Progress::Connected {
        link.tls = connection.agreed().map(tls_info);
    }
    let is_open = connection.is_open();
    let has_begun = matches!(progress, Progress::Answered(_)) || connection.answer_started();
    let Some(exchange) = place else {
        return;
    };
    let moments = &mut exchange.moments;
    if moments.opened.is_some() && is_open && moments.connected.is_none() {
        moments.connected = Some(now);
    }
    if *progress == Progress::Connected {
        moments.secured = Some(now);
    }
    if has_begun && moments.sent.is_some() && moments.first_byte.is_none() {
        moments.first_byte = Some(now);
    }
}
