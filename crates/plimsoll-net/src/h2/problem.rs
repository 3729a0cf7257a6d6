//! What is wrong with a connection, so that it ends (RFC 9113, section 5.4.1).

use plimsoll_core::Outcome;

use super::PeerError;
use super::frame::{code, code_name};
use super::hpack::HpackError;
use crate::failure::Failure;

pub(super) type Result<T, E = Problem> = std::result::Result<T, E>;

/// What ends a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("{0}")]
    Headers(#[from] HpackError),
    #[error("{0}")]
    Frame(&'static str),
    #[error("{0}")]
    Size(&'static str),
    #[error("a frame is longer than 16,384 bytes")]
    TooLong,
    #[error("{0}")]
    Flow(&'static str),
    #[error("the server speaks HTTP/1.1 here, not HTTP/2")]
    Http1,
    #[error("the server closes the connection: {name}{1}", name = code_name(*.0))]
    GoAway(u32, String),
}

impl Problem {
    pub(super) fn failure(&self) -> Failure {
        let peer_error = match self {
            Self::GoAway(code, _) => Some(PeerError::GoAway(*code)),
            // What looks like a frame that is far too long is mostly no frame at all.
            Self::Http1 | Self::TooLong => None,
            _ => Some(PeerError::BrokeConnection(self.code())),
        };
        Failure {
            peer_error,
            ..Failure::new(Outcome::Protocol, self.to_string())
        }
    }

    /// What the server is told with the end of the connection.
    pub(super) fn code(&self) -> u32 {
        match self {
            Self::Headers(_) => code::COMPRESSION_ERROR,
            Self::Frame(_) | Self::Http1 => code::PROTOCOL_ERROR,
            Self::Size(_) | Self::TooLong => code::FRAME_SIZE_ERROR,
            Self::Flow(_) => code::FLOW_CONTROL_ERROR,
            Self::GoAway(..) => code::NO_ERROR,
        }
    }
}

pub(super) const PADDING: Problem = Problem::Frame("padding is longer than its frame");
pub(super) const NOT_SETTINGS: Problem = Problem::Frame("the server's first frame is not SETTINGS");

/// A payload, or a part of one, as a number.
pub(super) fn word(payload: &[u8], problem: &'static str) -> Result<u32> {
    let bytes = payload.try_into().map_err(|_| Problem::Size(problem))?;
    Ok(u32::from_be_bytes(bytes))
}
