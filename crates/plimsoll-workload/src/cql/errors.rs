//! What an error of the CQL driver means for an operation: its class, whether it was carried out, whether to try again.

use std::fmt::Display;
use std::io;

use plimsoll_core::Outcome;
use scylla::errors::{
    BrokenConnectionError, BrokenConnectionErrorKind, ConnectionError, ConnectionPoolError,
    ConnectionSetupRequestErrorKind, DbError, ExecutionError, MetadataError, NewSessionError,
    PrepareError, RequestAttemptError,
};
use scylla::frame::frame_errors::FrameHeaderParseError;
use scylla::frame::protocol_features::ProtocolFeatures;

use crate::driver::Failure;
use crate::keys::Fate;

pub(super) fn failed(
    (outcome, fate): (Outcome, Fate),
    may_retry: bool,
    reason: &dyn Display,
) -> Failure {
    Failure {
        outcome,
        status: 0,
        fate,
        is_duplicate: false,
        may_retry,
        reason: first_line(&reason.to_string()),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// What is wrong with us or with the protocol, and will be at the next try.
pub(super) fn malformed(error: &dyn Display) -> Failure {
    failed((Outcome::Protocol, Fate::NotDone), false, error)
}

pub(super) fn of_session(error: &NewSessionError) -> Failure {
    match error {
        NewSessionError::FailedToResolveAnyHostname(_) => {
            failed((Outcome::Dns, Fate::NotDone), false, error)
        }
        NewSessionError::MetadataError(error) => of_metadata(error),
        error => malformed(error),
    }
}

fn of_metadata(error: &MetadataError) -> Failure {
    match error {
        MetadataError::ConnectionPoolError(error) => of_pool(error),
        error => failed((Outcome::Protocol, Fate::NotDone), false, error),
    }
}

/// No connection could carry it: it was not sent.
fn of_pool(error: &ConnectionPoolError) -> Failure {
    match error {
        ConnectionPoolError::Broken {
            last_connection_error,
        } => of_connection(last_connection_error),
        error => failed((Outcome::ConnectTimeout, Fate::NotDone), true, error),
    }
}

/// A connection that was not made.
fn of_connection(error: &ConnectionError) -> Failure {
    let with = |outcome| failed((outcome, Fate::NotDone), true, error);
    match error {
        ConnectionError::ConnectTimeout => with(Outcome::ConnectTimeout),
        ConnectionError::IoError(io) => with(of_io(io)),
        ConnectionError::BrokenConnection(broken) => with(of_broken(broken)),
        ConnectionError::ConnectionSetupRequestError(setup) => match setup.get_error() {
            ConnectionSetupRequestErrorKind::DbError(db, words) => {
                let failure = of_db(db, words);
                Failure {
                    fate: Fate::NotDone,
                    ..failure
                }
            }
            ConnectionSetupRequestErrorKind::MissingAuthentication => failed(
                (Outcome::CheckFailed, Fate::NotDone),
                false,
                &"authentication refused: the store wants a name and a password",
            ),
            ConnectionSetupRequestErrorKind::BrokenConnection(broken) => with(of_broken(broken)),
            _ => malformed(error),
        },
        _ => malformed(error),
    }
}

/// An operation that did not come to its end.
pub(super) fn of_execution(error: &ExecutionError) -> Failure {
    match error {
        ExecutionError::LastAttemptError(attempt) => of_attempt(attempt),
        ExecutionError::ConnectionPoolError(pool) => of_pool(pool),
        ExecutionError::PrepareError(prepare) => of_prepare(prepare),
        ExecutionError::EmptyPlan => failed(
            (Outcome::ConnectTimeout, Fate::NotDone),
            true,
            &"no node of the store is known to be up",
        ),
        ExecutionError::RequestTimeout(_) => failed((Outcome::Timeout, Fate::Unknown), true, error),
        ExecutionError::SchemaAgreementError(_) => {
            failed((Outcome::CheckFailed, Fate::Unknown), true, error)
        }
        ExecutionError::MetadataError(metadata) => of_metadata(metadata),
        error => malformed(error),
    }
}

pub(super) fn of_prepare(error: &PrepareError) -> Failure {
    match error {
        PrepareError::ConnectionPoolError(pool) => of_pool(pool),
        PrepareError::AllAttemptsFailed { first_attempt } => of_attempt(first_attempt),
        error => malformed(error),
    }
}

fn of_attempt(error: &RequestAttemptError) -> Failure {
    match error {
        RequestAttemptError::DbError(db, words) => of_db(db, words),
        RequestAttemptError::BrokenConnectionError(broken) => {
            failed((of_broken(broken), Fate::Unknown), true, error)
        }
        RequestAttemptError::UnableToAllocStreamId => {
            failed((Outcome::Dropped, Fate::NotDone), true, error)
        }
        RequestAttemptError::SerializationError(_)
        | RequestAttemptError::CqlRequestSerialization(_) => malformed(error),
        error => failed((Outcome::Protocol, Fate::Unknown), false, error),
    }
}

/// The server answered with an error.
fn of_db(error: &DbError, words: &str) -> Failure {
    let (outcome, fate, may_retry) = match error {
        DbError::Overloaded | DbError::RateLimitReached { .. } => {
            (Outcome::Shed, Fate::NotDone, true)
        }
        // The coordinator gave up; replicas may carry it out all the same.
        DbError::ReadTimeout { .. } | DbError::WriteTimeout { .. } => {
            (Outcome::Timeout, Fate::Unknown, true)
        }
        DbError::Unavailable { .. } | DbError::IsBootstrapping => {
            (Outcome::CheckFailed, Fate::NotDone, true)
        }
        DbError::ReadFailure { .. } | DbError::WriteFailure { .. } => {
            (Outcome::CheckFailed, Fate::Unknown, true)
        }
        DbError::ServerError | DbError::TruncateError => {
            (Outcome::CheckFailed, Fate::Unknown, false)
        }
        _ => (Outcome::CheckFailed, Fate::NotDone, false),
    };
    let code = error.code(&ProtocolFeatures::default());
    let what = match error {
        DbError::AuthenticationError => "authentication refused".to_owned(),
        DbError::Unauthorized => "not allowed".to_owned(),
        error => error.to_string(),
    };
    let reason = format!("error 0x{code:04X}: {what}: {words}");
    Failure {
        status: u16::try_from(code).unwrap_or(0),
        ..failed((outcome, fate), may_retry, &reason)
    }
}

fn of_broken(error: &BrokenConnectionError) -> Outcome {
    match error.downcast_ref::<BrokenConnectionErrorKind>() {
        Some(BrokenConnectionErrorKind::WriteError(io)) => of_io(io),
        Some(BrokenConnectionErrorKind::KeepaliveTimeout(_)) => Outcome::Timeout,
        Some(BrokenConnectionErrorKind::UnexpectedStreamId(_)) => Outcome::Protocol,
        // The driver reads the head of the next answer, and finds the end.
        Some(BrokenConnectionErrorKind::FrameHeaderParseError(error)) => of_head(error),
        _ => Outcome::Reset,
    }
}

fn of_head(error: &FrameHeaderParseError) -> Outcome {
    match error {
        FrameHeaderParseError::HeaderIoError(io)
        | FrameHeaderParseError::BodyChunkIoError(_, io) => of_io(io),
        FrameHeaderParseError::ConnectionClosed(..) => Outcome::Eof,
        _ => Outcome::Protocol,
    }
}

fn of_io(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Outcome::Refused,
        io::ErrorKind::UnexpectedEof => Outcome::Eof,
        io::ErrorKind::TimedOut => Outcome::Timeout,
        _ => Outcome::Reset,
    }
}
