//! A command on its way through a queue, and its reply on the way back.

use std::sync::Arc;

use bson::RawDocumentBuf;
use plimsoll_base::Nanos;

use super::fair::Sent;
use super::{Client, Listed};
use crate::error::{Code, CommandError};
use crate::wire::{Origin, Request};

/// Whom a reply is for.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    /// The event loop that owns the connection.
    pub event_loop: usize,
    /// The connection, as that loop knows it.
    pub connection: u64,
    pub origin: Origin,
    pub(crate) wants_reply: bool,
    pub(crate) client: Arc<Client>,
}

/// What is left to do.
#[derive(Debug)]
pub(crate) enum Work<T> {
    Fresh(Box<Request>),
    /// A long command that gave way to others.
    Begun(T, Listed),
}

#[derive(Debug)]
pub(crate) struct Job<T> {
    pub(crate) ticket: Ticket,
    pub work: Work<T>,
    pub context: Context,
    /// When the command had arrived.
    pub(crate) arrived: Nanos,
    /// When its execution began; `None` while it waits for the first time.
    pub started: Option<Nanos>,
    /// What remains of it goes on before what remains of others.
    pub(crate) keeps_turn: bool,
}

impl<T> Sent for Job<T> {
    fn client(&self) -> Option<&Arc<Client>> {
        Some(&self.ticket.client)
    }

    fn keeps_turn(&self) -> bool {
        self.keeps_turn
    }
}

impl<T> Job<T> {
    /// The reply to a job that is not carried out.
    pub(crate) fn refused(&self, error: &CommandError) -> Done {
        Done {
            ticket: self.ticket.clone(),
            reply: error.reply(),
        }
    }
}

/// What a command may know of its surroundings.
#[derive(Debug, Clone)]
pub struct Context {
    /// Wall time when the command arrived.
    pub now: bson::DateTime,
    /// The logical session that sent it: its cursors belong to it.
    pub session: Option<[u8; 16]>,
}

/// A command that is done.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) ticket: Ticket,
    pub reply: RawDocumentBuf,
}

/// What a driver may try again after a pause: nothing was done.
pub(crate) static RETRYABLE: [&str; 3] = [
    "SystemOverloadedError",
    "RetryableError",
    "NoWritesPerformed",
];

/// Backpressure as MongoDB 8.2 and later express it: nothing was done, so a driver may try again after a pause.
/// Source: the drivers' client backpressure specification.
pub(crate) fn queue_full(database: &str, limit: usize) -> CommandError {
    Code::IngressRequestRateLimitExceeded
        .error(format!(
            "the queue of database '{database}' is full: {limit} commands wait"
        ))
        .with_labels(&RETRYABLE)
}

/// Wall time, as commands see it.
pub(crate) fn wall_time() -> bson::DateTime {
    bson::DateTime::from_millis(plimsoll_base::clock::wall_millis())
}
