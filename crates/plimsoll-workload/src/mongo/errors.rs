//! What an error of the driver means for an operation: its class, whether it was carried out, whether to try again.

use std::fmt::Display;
use std::io;

use mongodb::error::{Error, ErrorKind, WriteFailure};
use plimsoll_core::Outcome;

use crate::driver::Failure;
use crate::keys::Fate;

/// Labels of errors after which a driver may try again, and of those with which a server says that it is overloaded.
const RETRYABLE: [&str; 3] = [
    "RetryableWriteError",
    "RetryableError",
    "TransientTransactionError",
];
const OVERLOADED: &str = "SystemOverloadedError";
/// The server says that no part of it was carried out; the driver passes it on only where that is so of all its attempts.
const UNTOUCHED: &str = "NoWritesPerformed";
/// Codes with which servers turn work away: `IngressRequestRateLimitExceeded`, `ExceededMemoryLimit`-free pool
/// exhaustion (`PooledConnectionAcquisitionExceededTimeLimit`) and `TemporarilyUnavailable`.
const SHED: [i32; 3] = [462, 202, 365];
/// `DuplicateKey`
const DUPLICATE: i32 = 11_000;
/// `MaxTimeMSExpired`, `ExceededTimeLimit`: the server gave up.
const TOO_LATE: [i32; 2] = [50, 262];
/// `AuthenticationFailed`, `Unauthorized`
const DENIED: [i32; 2] = [18, 13];

pub(crate) fn failure(error: &Error) -> Failure {
    let (outcome, fate) = class(error);
    let code = code(error);
    let has = |label: &&str| error.contains_label(label);
    Failure {
        outcome,
        status: code.and_then(|code| u16::try_from(code).ok()).unwrap_or(0),
        fate,
        is_duplicate: code == Some(DUPLICATE),
        may_retry: code.is_none() || outcome == Outcome::Shed || RETRYABLE.iter().any(has),
        reason: words(error),
    }
}

/// What we wanted to send is no document.
pub(super) fn malformed(error: &dyn Display) -> Failure {
    Failure {
        outcome: Outcome::Protocol,
        status: 0,
        fate: Fate::NotDone,
        is_duplicate: false,
        may_retry: false,
        reason: error.to_string(),
    }
}

/// The code with which the server answered.
fn code(error: &Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(error) => Some(error.code),
        ErrorKind::Write(WriteFailure::WriteError(error)) => Some(error.code),
        ErrorKind::Write(WriteFailure::WriteConcernError(error)) => Some(error.code),
        ErrorKind::InsertMany(error) => {
            let first = error.write_errors.iter().flatten().next();
            first.map(|error| error.code)
        }
        _ => None,
    }
}

fn class(error: &Error) -> (Outcome, Fate) {
    match &*error.kind {
        ErrorKind::Io(error) => (of_io(error), Fate::Unknown),
        ErrorKind::Command(error_of) => {
            let outcome = answered(error_of.code, error.contains_label(OVERLOADED));
            // A server that gives up may have been nearly done.
            let fate = match outcome {
                Outcome::Timeout => Fate::Unknown,
                _ if error.contains_label(UNTOUCHED) => Fate::Untouched,
                _ => Fate::NotDone,
            };
            (outcome, fate)
        }
        ErrorKind::Write(WriteFailure::WriteError(write)) => {
            (answered(write.code, false), Fate::NotDone)
        }
        // Carried out, and not as safe as was asked for: it may be undone. Of many documents some may be there.
        ErrorKind::Write(_) | ErrorKind::InsertMany(_) => (Outcome::CheckFailed, Fate::Unknown),
        ErrorKind::Authentication { .. } => (Outcome::CheckFailed, Fate::NotDone),
        ErrorKind::ServerSelection { message, .. } => {
            (of_words(message, Outcome::ConnectTimeout), Fate::NotDone)
        }
        ErrorKind::ConnectionPoolCleared { message, .. } => {
            (of_words(message, Outcome::Reset), Fate::NotDone)
        }
        ErrorKind::DnsResolve { .. } => (Outcome::Dns, Fate::NotDone),
        ErrorKind::InvalidTlsConfig { .. } => (Outcome::Tls, Fate::NotDone),
        ErrorKind::Shutdown => (Outcome::Interrupted, Fate::NotDone),
        _ => (Outcome::Protocol, Fate::Unknown),
    }
}

/// The server answered with an error.
fn answered(code: i32, is_overloaded: bool) -> Outcome {
    match code {
        _ if is_overloaded => Outcome::Shed,
        code if SHED.contains(&code) => Outcome::Shed,
        code if TOO_LATE.contains(&code) => Outcome::Timeout,
        _ => Outcome::CheckFailed,
    }
}

fn of_io(error: &io::Error) -> Outcome {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Outcome::Refused,
        io::ErrorKind::UnexpectedEof => Outcome::Eof,
        io::ErrorKind::TimedOut => Outcome::Timeout,
        io::ErrorKind::InvalidData => Outcome::Tls,
        _ => Outcome::Reset,
    }
}

/// What the driver only says in words: what became of the attempt that failed before.
fn of_words(message: &str, otherwise: Outcome) -> Outcome {
    let message = message.to_ascii_lowercase();
    let known = [
        ("refused", Outcome::Refused),
        ("authentication", Outcome::CheckFailed),
        ("unexpected end of file", Outcome::Eof),
        ("early eof", Outcome::Eof),
        ("dns", Outcome::Dns),
        ("certificate", Outcome::Tls),
        ("reset", Outcome::Reset),
    ];
    let found = known.iter().find(|(word, _)| message.contains(word));
    found.map_or(otherwise, |(_, outcome)| *outcome)
}

/// The first reason in the driver's description of the servers that it knows.
fn inner(message: &str) -> &str {
    let reason = message
        .split_once("Error: Kind: ")
        .map(|(_, reason)| reason);
    let reason = reason.and_then(|reason| reason.split(", labels:").next());
    reason.unwrap_or_else(|| message.split(" Topology:").next().unwrap_or(message))
}

/// The error in one line, without the lists of the driver's own bookkeeping.
fn words(error: &Error) -> String {
    let text = match &*error.kind {
        ErrorKind::Authentication { .. } => format!("authentication refused: {}", error.kind),
        ErrorKind::Command(command) if DENIED.contains(&command.code) => {
            format!("not allowed: {}", command.message)
        }
        ErrorKind::Command(command) => format!("error {}: {}", command.code, command.message),
        ErrorKind::Write(WriteFailure::WriteError(write)) => {
            format!("write error {}: {}", write.code, write.message)
        }
        ErrorKind::Write(WriteFailure::WriteConcernError(write)) => {
            format!(
                "written, and not as safely as asked ({}): {}",
                write.code, write.message
            )
        }
        ErrorKind::ServerSelection { message, .. } => {
            format!("no server answers: {}", inner(message))
        }
        kind => kind.to_string(),
    };
    text.lines().next().unwrap_or_default().to_owned()
}
