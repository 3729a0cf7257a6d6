//! What the stores of a process share: the cache of table blocks, open files, and the threads that write tables.
//!
//! Two threads, because a merge can take seconds and a flush behind it would stop commits.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use lsm_tree::{Cache, DescriptorTable};

/// Table files kept open at most.
const OPEN_FILES: usize = 512;

type Job = Box<dyn FnOnce() + Send>;

/// Shared by all stores of a process; its threads end when the last of them is closed.
pub struct Shared {
    pub(super) cache: Arc<Cache>,
    pub(super) descriptors: Arc<DescriptorTable>,
    pub(super) flush: Worker,
    pub(super) merge: Worker,
}

impl fmt::Debug for Shared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Shared")
            .field("cache_bytes", &self.cache.capacity())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub fn start(cache_bytes: u64) -> Arc<Self> {
        let workers = [Worker::start("docdb-flush"), Worker::start("docdb-merge")];
        Self::with(cache_bytes, workers)
    }

    /// Without threads: who has a job does it, so that a test knows the order of all that happens.
    #[cfg(test)]
    pub(crate) fn without_threads(cache_bytes: u64) -> Arc<Self> {
        let idle = || Worker {
            queue: Queue(None),
            thread: None,
        };
        Self::with(cache_bytes, [idle(), idle()])
    }

    fn with(cache_bytes: u64, [flush, merge]: [Worker; 2]) -> Arc<Self> {
        Arc::new(Self {
            cache: Arc::new(Cache::with_capacity_bytes(cache_bytes)),
            descriptors: Arc::new(DescriptorTable::new(OPEN_FILES)),
            flush,
            merge,
        })
    }
}

/// Where jobs for a thread are left.
#[derive(Clone)]
pub(super) struct Queue(Option<Sender<Job>>);

impl Queue {
    /// Without a thread, because none could be started, the sender does the job.
    pub(super) fn send(&self, job: impl FnOnce() + Send + 'static) {
        match &self.0 {
            Some(jobs) => {
                if let Err(unsent) = jobs.send(Box::new(job)) {
                    (unsent.0)();
                }
            }
            None => job(),
        }
    }
}

/// A thread that does jobs in order.
pub(super) struct Worker {
    pub(super) queue: Queue,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(name: &str) -> Self {
        let (jobs, queue): (Sender<Job>, Receiver<Job>) = channel();
        let work = move || queue.into_iter().for_each(|job| job());
        let thread = Builder::new().name(name.to_owned()).spawn(work).ok();
        Self {
            queue: Queue(thread.is_some().then_some(jobs)),
            thread,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.queue = Queue(None);
        if let Some(thread) = self.thread.take() {
            // A job that panicked has told its store; there is nobody else to tell.
            drop(thread.join());
        }
    }
}
