//! A command on its way through a queue, and its reply on the way back.

use bson::RawDocumentBuf;
use plimsoll_core::Nanos;

use crate::wire::{Origin, Request};

/// Whom a reply is for.
#[derive(Debug, Clone, Copy)]
pub struct Ticket {
    /// The event loop that owns the connection.
    pub event_loop: usize,
    /// The connection, as that loop knows it.
    pub connection: u64,
    pub origin: Origin,
    pub wants_reply: bool,
}

/// What is left to do.
#[derive(Debug)]
pub enum Work<T> {
    Fresh(Box<Request>),
    /// A long command that gave way to others.
    Begun(T),
}

#[derive(Debug)]
pub struct Job<T> {
    pub ticket: Ticket,
    pub work: Work<T>,
    pub context: Context,
    /// When the command had arrived.
    pub arrived: Nanos,
    /// When its execution began; `None` while it waits for the first time.
    pub started: Option<Nanos>,
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
pub struct Done {
    pub ticket: Ticket,
    pub reply: RawDocumentBuf,
}
