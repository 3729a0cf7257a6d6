//! Why an attempt failed.

use std::fmt;

use plimsoll_core::Outcome;

use crate::h1::ProtocolError;
use crate::h2::frame::PeerError;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why an attempt failed on its connection, with words for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub outcome: Outcome,
    pub reason: String,
    /// The error that a server of HTTP/2 gave as its reason.
    pub peer_error: Option<PeerError>,
    pub reached: Reached,
    pub culprit: Option<Culprit>,
}

/// What it was that failed, where the class does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Culprit {
    /// A proxy, which did not lead on.
    Proxy,
    /// The certificate that this client showed, or did not show.
    OwnCertificate,
}

/// How far an exchange had come on its connection when that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reached {
    /// Not a byte of the request was taken by the socket.
    Nothing,
    /// Some of the request was, and no byte of an answer came.
    Written,
    /// An answer had begun, or nobody looked.
    #[default]
    Answer,
}

impl Failure {
    pub fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self {
            outcome,
            reason: reason.into(),
            peer_error: None,
            reached: Reached::default(),
            culprit: None,
        }
    }

    /// A proxy did not lead on.
    pub(crate) fn of_proxy(reason: impl Into<String>) -> Self {
        Self {
            culprit: Some(Culprit::Proxy),
            ..Self::new(Outcome::Refused, reason)
        }
    }

    pub(crate) fn protocol(error: ProtocolError) -> Self {
        Self::new(Outcome::Protocol, error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
