//! What the threads of a server send each other.

use plimsoll_base::Nanos;

use super::inbox::Inbox;
use super::stream::Stream;
use crate::backend::Task;
use crate::scheduler::{Done, Executor, Job};
use crate::shard::Shard;

/// A command on its way to an executor.
pub(crate) type ShardJob = Job<Task>;
pub(crate) type ShardExecutor = Executor<Shard>;

/// What one thread sends to an event loop.
#[derive(Debug)]
pub(crate) enum Letter {
    /// A client that the first loop accepted.
    Accepted(Stream),
    /// A command for a database of this loop's shard.
    Job(String, Box<ShardJob>),
    /// A reply to a client of this loop.
    Done(Done),
    /// Answer what was accepted, then end.
    Stop,
}

/// How long a thread without work sleeps before it tends to its shard.
pub(crate) const IDLE: Nanos = Nanos::from_millis(50);

/// Sends a reply to the loop that has its client.
pub(crate) fn deliver(inboxes: &[Inbox<Letter>], done: Done) {
    inboxes[done.ticket.event_loop].send(Letter::Done(done));
}
