//! Answers of the guard itself: refusals that say when to come again, and what went wrong.

use plimsoll_base::random::Rng;
use plimsoll_control::admission::Refusal;
use plimsoll_core::Nanos;

const RETRY_MOST: f64 = 30.0;

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

/// What a refused request is told.
pub(crate) fn refused(refusal: Refusal, backlog: Nanos, rng: &mut Rng) -> Answer {
    let (status, reason, text) = match refusal {
        Refusal::Door => (
            503,
            "overload",
            "more is asked of the service than it can do",
        ),
        Refusal::Full => (503, "full", "more is asked of the service than it can do"),
        Refusal::TooLong => (503, "waited", "the service did not become free in time"),
        Refusal::Deadline => (503, "deadline", "the answer would have come too late"),
        Refusal::Share => (429, "share", "you have had more than your share"),
    };
    // Spread, so that those who were refused together do not come again together.
    let most = (2.0 * backlog.as_secs_f64()).clamp(1.0, RETRY_MOST);
    let seconds = (1.0 + rng.unit() * most).min(RETRY_MOST).floor();
    Answer {
        status,
        reason,
        text,
        retry_after: Some(seconds as u64),
    }
}

impl Answer {
    /// The body comes last: its text and an end of line.
    pub(crate) fn bytes(&self, keepalive: bool) -> Vec<u8> {
        let words = match self.status {
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
        };
        let retry = self.retry_after.map_or(String::new(), |seconds| {
            format!("Retry-After: {seconds}\r\n")
        });
        let close = if keepalive {
            ""
        } else {
            "Connection: close\r\n"
        };
        format!(
            "HTTP/1.1 {} {words}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nX-Plimsoll: {}\r\n{retry}{close}\r\n{}\n",
            self.status,
            self.text.len() + 1,
            self.reason,
            self.text,
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let text = String::from_utf8(answer.bytes(true)).unwrap();
            let after = text.split("Retry-After: ").nth(1).unwrap();
            let seconds: u64 = after.split("\r\n").next().unwrap().parse().unwrap();
            assert!((1..=30).contains(&seconds));
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())));
            assert!(head.contains("no-store") && !head.contains("close"));
        }
    }
}
