//! What the threads of a server send each other.

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
