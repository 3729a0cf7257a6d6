//! Lets virtual users go on, carries their calls to the client and what came of them back.

use std::cmp::Reverse;

use plimsoll_core::secrets::masked_value;
use plimsoll_core::{Nanos, Outcome};
use plimsoll_script::host::LogLevel;
use plimsoll_script::http::HttpCall;
use plimsoll_script::{Resumption, Secrets, Suspension};

use super::client::Finished;
use super::exchange::Caller;
use super::script::HttpDebug;
use super::users::VirtualUsers;
use crate::message::{Body, LogLine, NamedEnding};
use crate::recorder::Ending;

impl VirtualUsers {
    /// Lets a virtual user go on until it waits for something.
    pub(super) fn resume(&mut self, place: usize, resumption: Resumption) {
        let mut resumption = resumption;
        loop {
            let vu = &mut self.vus.list[place];
            vu.turn += 1;
            let suspension = vu.vu.resume(resumption);
            self.take_checks(place);
            let vu = &mut self.vus.list[place];
            match suspension {
                Suspension::Http(calls) if calls.is_empty() => {
                    resumption = Resumption::Http(Vec::new());
                }
                Suspension::Http(calls) => {
                    vu.expect(calls);
                    return self.start_calls(place);
                }
                Suspension::Sleep(pause) => {
                    let due = self.context.clock.now() + pause;
                    self.timers.push(Reverse((due, place, vu.turn)));
                    return;
                }
                Suspension::Done(end) => return self.ended(place, &end),
            }
        }
    }

    /// Puts as many calls of the batch on the wire as the limits allow.
    pub(super) fn start_calls(&mut self, place: usize) {
        self.start_allowed(place);
        // Those that share a connection go out together.
        self.client.flush();
    }

    fn start_allowed(&mut self, place: usize) {
        let now = self.now();
        let (most, per_host) = (self.script.batch_max, self.script.batch_per_host_max);
        loop {
            let vu = &mut self.vus.list[place];
            if vu.waits_for_its_turn() {
                return;
            }
            if let Some(at) = vu.wait_for_turn(&self.next_allowed, self.request_gap, now) {
                return self.timers.push(Reverse((at, place, vu.turn)));
            }
            let Some((at, call)) = vu.next_call(most, per_host) else {
                return;
            };
            let mut level = self.context.recorder.level;
            let mut intended = now;
            if let Some(running) = &mut vu.running {
                running.calls += 1;
                // The first call of an arrival was due with it.
                if let Some(arrival) = running.intended.take() {
                    (intended, level) = (arrival, running.level);
                }
            }
            self.context.begin(intended, level, now);
            let name = match self.host.tags.get() {
                Some(table) => self.named.number(call.tags, &table.borrow()),
                None => 0,
            };
            let caller = Caller {
                vu: place,
                place: at,
                intended,
                level,
                name,
            };
            self.log_call(&call);
            self.client.start(caller, call, now);
        }
    }

    /// Hands results to the virtual users that wait for them, until nothing is left.
    pub(super) fn settle(&mut self) {
        while let Some(mut finished) = self.client.finished.pop() {
            let place = finished.caller.vu;
            self.calls += 1;
            finished.result.call = self.calls;
            let ending = self.leave(&finished);
            self.log_answer(&finished);
            let vu = &mut self.vus.list[place];
            if let Some(resumption) = vu.take_in(finished.caller.place, finished.result) {
                // The script may check the answer before it waits again: only then is it known what it came to.
                self.unchecked = Some((self.calls, ending));
                self.resume(place, resumption);
            } else {
                self.record(place, self.calls, ending);
                if self.vus.list[place].has_queued() {
                    self.start_calls(place);
                }
            }
        }
    }

    /// Records the call that the script has just seen the answer of, with what its checks said.
    fn take_checks(&mut self, place: usize) {
        let mut unchecked = self.unchecked.take();
        let mut failed = std::mem::take(&mut *self.host.failed_checks.borrow_mut());
        for call in failed.drain(..) {
            match &mut unchecked {
                Some((number, NamedEnding { ending, .. }))
                    if call.is_none_or(|call| call == *number) =>
                {
                    if !ending.outcome.is_failure() {
                        ending.outcome = Outcome::CheckFailed;
                    }
                }
                _ => {
                    let vu = &mut self.vus.list[place];
                    vu.checks.fail(call);
                    vu.fail_remembered(call);
                }
            }
        }
        *self.host.failed_checks.borrow_mut() = failed;
        if let Some((number, ended)) = unchecked {
            self.record(place, number, ended);
        }
    }

    /// Counts what a call came to, after what the script said of earlier ones too late.
    fn record(&mut self, place: usize, call: u64, ended: NamedEnding) {
        let vu = &mut self.vus.list[place];
        let mut ending = ended.ending;
        ending.outcome = vu.checks.settle(call, ending.outcome);
        // By name it is what it was itself: it may stand in for a call of another name.
        vu.remember(call, ended, &mut self.named.requests.ended);
        self.context.record(&ending);
    }

    pub(super) fn count_finished_only(&mut self) {
        while let Some(finished) = self.client.finished.pop() {
            let ended = self.leave(&finished);
            self.calls += 1;
            let vu = &mut self.vus.list[finished.caller.vu];
            vu.remember(self.calls, ended, &mut self.named.requests.ended);
            self.context.record(&ended.ending);
        }
    }

    /// A call is not in flight any more; what it came to.
    fn leave(&mut self, finished: &Finished) -> NamedEnding {
        let now = finished.ended;
        if finished.sent.is_some() {
            self.context.recorder.sent += 1;
        }
        self.context.recorder.resent += u64::from(finished.resent);
        let caller = finished.caller;
        if let Some(remote) = finished.result.remote {
            self.counts.reached.note(remote);
        }
        let ending = Ending {
            level: caller.level,
            intended: caller.intended,
            outcome: finished.outcome,
            status: finished.result.status,
            response: now.saturating_sub(caller.intended),
            service: finished.sent.map(|sent| now.saturating_sub(sent)),
            bytes: finished.result.received_bytes,
            operation: 0,
        };
        self.context.leave(now);
        NamedEnding {
            name: caller.name,
            ending,
        }
    }

    /// An arrival found no virtual user in time: every one waits for the target, so it is a bad attempt, not a gap.
    pub(super) fn drop_arrival(&mut self, intended: Nanos, level: u32, now: Nanos) {
        self.context.recorder.dropped_target += 1;
        self.end_unsent(intended, level, Outcome::Dropped, now);
    }

    /// An arrival that was due will not be sent any more.
    pub(super) fn end_unsent(&mut self, intended: Nanos, level: u32, outcome: Outcome, now: Nanos) {
        let ending = Ending {
            level,
            intended,
            outcome,
            status: 0,
            response: now.saturating_sub(intended),
            service: None,
            bytes: 0,
            operation: 0,
        };
        self.context.end_unsent(&ending);
    }

    /// `httpDebug`: the request as it goes out.
    fn log_call(&self, call: &HttpCall) {
        if self.script.http_debug == HttpDebug::Off {
            return;
        }
        let (method, url) = (&call.method, &call.url);
        let (target, host) = (
            self.script.settings.secrets.url(&url.target),
            &url.authority,
        );
        let mut text = format!("Request:\n{method} {target} HTTP/1.1\nHost: {host}\n");
        self.push_headers(&mut text, call.headers.iter());
        self.log_debug(text, call.body.as_deref().unwrap_or_default());
    }

    /// `httpDebug`: what came back.
    fn log_answer(&self, finished: &Finished) {
        if self.script.http_debug == HttpDebug::Off {
            return;
        }
        let result = &finished.result;
        let mut text = match &result.error {
            Some(error) => format!("Response:\n{}\n", error.message),
            None => format!(
                "Response:\n{} {} {}\n",
                result.proto.name(),
                result.status,
                result.reason
            ),
        };
        self.push_headers(&mut text, result.headers.iter());
        self.log_debug(text, &result.body);
    }

    /// A log outlives the test: who sends is not in it, unless somebody asks for that.
    fn push_headers<'a>(
        &self,
        text: &mut String,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        let shows = self.script.settings.secrets == Secrets::Shown;
        for (name, value) in headers {
            let masked = (!shows).then(|| masked_value(name, value)).flatten();
            for part in [name, ": ", masked.as_deref().unwrap_or(value), "\n"] {
                text.push_str(part);
            }
        }
    }

    fn log_debug(&self, mut text: String, body: &[u8]) {
        if self.script.http_debug == HttpDebug::Full && !body.is_empty() {
            text.push('\n');
            text.push_str(&String::from_utf8_lossy(body));
        }
        self.context.report(Body::Log(LogLine {
            level: LogLevel::Info,
            message: text.into(),
            source: Some("http-debug"),
        }));
    }
}
