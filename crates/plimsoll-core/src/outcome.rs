//! How an attempt ended: never a bare "error".

use serde::{Deserialize, Serialize};

/// The class of one attempt's end. Every attempt has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A complete, correct answer.
    Ok,
    /// 202: taken in, not done; never counted as goodput.
    Accepted,
    /// 3xx: sent elsewhere, and nobody went there. The work that was asked for is not done.
    #[serde(rename = "http_3xx")]
    Http3xx,
    /// 503 or 429: refused on purpose by the service.
    Shed,
    #[serde(rename = "http_4xx")]
    Http4xx,
    #[serde(rename = "http_5xx")]
    Http5xx,
    CheckFailed,
    /// Nobody listens on the port, or the backlog refused.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before a complete answer.
    Eof,
    /// The peer closed a kept connection, which had carried answers before, as the request came. It may have seen the
    /// request, so one that must not be carried out twice is not sent again.
    Stale,
    ConnectTimeout,
    /// No complete answer within the client's timeout.
    Timeout,
    Tls,
    Dns,
    /// Bytes that are not HTTP, or that contradict themselves.
    Protocol,
    /// Due, but never sent: no connection became free within the bound.
    Dropped,
    /// Cut off by us while it was under way: the test, or the share of it that was asked for, was over.
    /// It says nothing about the service.
    Interrupted,
}

impl Outcome {
    pub const COUNT: usize = 18;

    pub const ALL: [Self; Self::COUNT] = [
        Self::Ok,
        Self::Accepted,
        Self::Http3xx,
        Self::Shed,
        Self::Http4xx,
        Self::Http5xx,
        Self::CheckFailed,
        Self::Refused,
        Self::Reset,
        Self::Eof,
        Self::Stale,
        Self::ConnectTimeout,
        Self::Timeout,
        Self::Tls,
        Self::Dns,
        Self::Protocol,
        Self::Dropped,
        Self::Interrupted,
    ];

    /// The class of a complete HTTP answer.
    pub const fn from_status(status: u16) -> Self {
        match status {
            202 => Self::Accepted,
            // To a client that has the page already, 304 is the page.
            304 => Self::Ok,
            300..=399 => Self::Http3xx,
            429 | 503 => Self::Shed,
            400..=499 => Self::Http4xx,
            500..=599 => Self::Http5xx,
            _ => Self::Ok,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Accepted => "accepted",
            Self::Http3xx => "http_3xx",
            Self::Shed => "shed",
            Self::Http4xx => "http_4xx",
            Self::Http5xx => "http_5xx",
            Self::CheckFailed => "check_failed",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Eof => "eof",
            Self::Stale => "stale",
            Self::ConnectTimeout => "connect_timeout",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Dns => "dns",
            Self::Protocol => "protocol",
            Self::Dropped => "dropped",
            Self::Interrupted => "interrupted",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    pub const fn index(self) -> usize {
        self as usize
    }

    /// Neither done nor taken in, nor cut off by us.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Accepted | Self::Interrupted)
    }

    /// The peer answered with a complete HTTP message.
    pub const fn has_answer(self) -> bool {
        matches!(
            self,
            Self::Ok
                | Self::Accepted
                | Self::Http3xx
                | Self::Shed
                | Self::Http4xx
                | Self::Http5xx
                | Self::CheckFailed
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_indexes_and_serde_agree() {
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome.index(), index);
            assert_eq!(Outcome::from_name(outcome.name()), Some(outcome));
            let json = serde_json::to_string(&outcome).unwrap();
            assert_eq!(json, format!("\"{}\"", outcome.name()));
        }
    }
}
