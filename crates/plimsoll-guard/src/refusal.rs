//! Answers of the guard itself: refusals that say when to come again, and what went wrong.

use plimsoll_base::random::Rng;
use plimsoll_control::admission::Refusal;
use plimsoll_core::Nanos;

use crate::digits::Digits;

pub(crate) const MEDIA: &str = "text/plain; charset=utf-8";
const RETRY_MOST: f64 = 30.0;
/// Seconds over which those who were refused together come again at least. `Retry-After` has whole seconds: four of them,
/// so that a quarter comes in each, and nobody waits long for a service that will be free in one.
const SPREAD_LEAST: f64 = 4.0;
/// No answer of ours is longer.
const PUT_BYTES: usize = 320;

/// What becomes of a client's connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    Close,
    /// It goes on, as always in HTTP/1.1.
    Usual,
    /// It goes on although the client speaks HTTP/1.0, which takes the end of the connection for that of the answer unless it
    /// is told so.
    Told,
}

impl Persistence {
    /// Of a connection that goes on.
    pub(crate) fn kept(is_http10: bool) -> Self {
        if is_http10 { Self::Told } else { Self::Usual }
    }

    /// The line of a head that says it.
    pub(crate) fn line(self) -> &'static str {
        match self {
            Self::Close => "Connection: close\r\n",
            Self::Usual => "",
            Self::Told => "Connection: keep-alive\r\n",
        }
    }
}

/// A complete answer. Everything that refuses is the same but for its numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// A word that machines read.
    pub(crate) reason: &'static str,
    pub(crate) text: &'static str,
    pub(crate) retry_after: Option<u64>,
}

pub(crate) const UNREACHABLE: Answer = trouble(502, "unreachable", "the service does not answer");
pub(crate) const NO_ROUTE: Answer = trouble(404, "no-route", "no route of the guard is for this");
pub(crate) const BROKEN: Answer = trouble(502, "broken", "the service broke off its answer");
pub(crate) const TOO_SLOW: Answer = trouble(504, "too-slow", "the service took too long");
pub(crate) const BAD_BODY: Answer = trouble(400, "bad-body", "the body is not what its head says");
pub(crate) const SLOW_BODY: Answer = trouble(408, "slow-body", "the body did not come in time");
pub(crate) const STREAMS: Answer = Answer {
    retry_after: Some(5),
    ..trouble(503, "streams", "too many connections are streams, or wait")
};
pub(crate) const CONNECTIONS: Answer = Answer {
    retry_after: Some(1),
    ..trouble(503, "connections", "too many connections")
};

pub(crate) const fn trouble(status: u16, reason: &'static str, text: &'static str) -> Answer {
    Answer {
        status,
        reason,
        text,
        retry_after: None,
    }
}

/// The word that machines read.
pub(crate) const fn word(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Door => "overload",
        Refusal::Full => "full",
        Refusal::TooLong => "waited",
        Refusal::Deadline => "deadline",
        Refusal::Share => "share",
    }
}

/// What a refused request is told.
pub(crate) fn refused(refusal: Refusal, backlog: Nanos, rng: &mut Rng) -> Answer {
    let (status, text) = match refusal {
        Refusal::Door | Refusal::Full => (503, "more is asked of the service than it can do"),
        Refusal::TooLong => (503, "the service did not become free in time"),
        Refusal::Deadline => (503, "the answer would have come too late"),
        Refusal::Share => (429, "you have had more than your share"),
    };
    // Spread, so that those who were refused together do not come again together.
    let most = (2.0 * backlog.as_secs_f64()).clamp(SPREAD_LEAST, RETRY_MOST);
    let seconds = (1.0 + rng.unit() * most).min(RETRY_MOST).floor();
    Answer {
        status,
        reason: word(refusal),
        text,
        retry_after: Some(seconds as u64),
    }
}

impl Answer {
    /// Appends it as HTTP/1.1 writes it.
    pub(crate) fn put(&self, into: &mut Vec<u8>, persistence: Persistence) {
        // Refusals have to be cheap: one piece of memory, and no formatting.
        into.reserve(PUT_BYTES);
        let mut put = |text: &str| into.extend_from_slice(text.as_bytes());
        put("HTTP/1.1 ");
        put(Digits::of(self.status.into()).text());
        put(" ");
        put(self.words());
        put("\r\nContent-Type: ");
        put(MEDIA);
        put("\r\nContent-Length: ");
        put(Digits::of(self.text.len() as u64 + 1).text());
        put("\r\nCache-Control: no-store\r\nX-Plimsoll: ");
        put(self.reason);
        put("\r\n");
        if let Some(seconds) = self.retry_after {
            put("Retry-After: ");
            put(Digits::of(seconds).text());
            put("\r\n");
        }
        put(persistence.line());
        put("\r\n");
        put(self.text);
        put("\n");
    }

    pub(crate) fn bytes(&self, persistence: Persistence) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PUT_BYTES);
        self.put(&mut bytes, persistence);
        bytes
    }

    /// The answer to a HEAD.
    pub(crate) fn head_bytes(&self, persistence: Persistence) -> Vec<u8> {
        let mut bytes = self.bytes(persistence);
        bytes.truncate(bytes.len() - self.text.len() - 1);
        bytes
    }

    fn words(&self) -> &'static str {
        match self.status {
            400 => "Bad Request",
            404 => "Not Found",
            408 => "Request Timeout",
            414 => "URI Too Long",
            417 => "Expectation Failed",
            429 => "Too Many Requests",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            502 => "Bad Gateway",
            504 => "Gateway Timeout",
            505 => "HTTP Version Not Supported",
            _ => "Service Unavailable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_refused_together_come_apart_although_nobody_waits() {
        let mut rng = Rng::new(1, 1);
        let mut told: Vec<u64> = (0..100)
            .filter_map(|_| refused(Refusal::Full, Nanos::ZERO, &mut rng).retry_after)
            .collect();
        assert_eq!(told.len(), 100);
        told.sort_unstable();
        told.dedup();
        assert_eq!(told, [1, 2, 3, 4]);
    }

    #[test]
    fn every_refusal_says_when_to_come_again() {
        let mut rng = Rng::new(1, 1);
        for refusal in [
            Refusal::Door,
            Refusal::Full,
            Refusal::TooLong,
            Refusal::Deadline,
            Refusal::Share,
        ] {
            let answer = refused(refusal, Nanos::from_secs(100), &mut rng);
            let text = String::from_utf8(answer.bytes(Persistence::Usual)).unwrap();
            let after = text.split("Retry-After: ").nth(1).unwrap();
            let seconds: u64 = after.split("\r\n").next().unwrap().parse().unwrap();
            assert!((1..=30).contains(&seconds));
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())));
            assert!(head.contains("no-store") && !head.contains("close"));
            assert!(text.len() <= PUT_BYTES, "{}", text.len());
        }
    }
}
