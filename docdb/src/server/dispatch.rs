//! Where a command is carried out: on the loop of its shard, on its database's own thread, or by a pool.

use super::inbox::Inbox;
use super::letter::{Letter, ShardJob};
use super::own_thread::OwnThreads;
use super::placement::Placement;
use super::pool::Pool;
use crate::scheduler::Done;

#[derive(Debug)]
pub(crate) enum Dispatch {
    Sharded(Placement),
    PerDatabase(OwnThreads),
    Shared(Pool),
}

impl Dispatch {
    /// The event loop that carries out the commands of `database`; `None` where no loop does.
    pub(crate) fn owner(&self, database: &str) -> Option<usize> {
        match self {
            Self::Sharded(placement) => Some(placement.shard_of(database)),
            Self::PerDatabase(_) | Self::Shared(_) => None,
        }
    }

    /// Passes a command to another thread, or gives the refusal.
    pub(crate) fn submit(
        &self,
        inboxes: &[Inbox<Letter>],
        database: &str,
        job: ShardJob,
    ) -> Result<(), Done> {
        match self {
            Self::Sharded(placement) => {
                inboxes[placement.shard_of(database)]
                    .send(Letter::Job(database.to_owned(), Box::new(job)));
                Ok(())
            }
            Self::PerDatabase(threads) => threads.submit(database, job),
            Self::Shared(pool) => pool.submit(database, job),
        }
    }
}
