//! Starts a server's threads in order, and ends them in order.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use plimsoll_base::clock::Clock;
use plimsoll_base::poll::Poll;
use plimsoll_base::slab::Slab;

use super::dispatch::Dispatch;
use super::event_loop::EventLoop;
use super::executors::Executors;
use super::inbox::Inbox;
use super::layout::Layout;
use super::letter::{Letter, ShardExecutor};
use super::own_thread::OwnThreads;
use super::placement::Placement;
use super::pool::Pool;
use super::shared::Shared;
use super::stream::Listener;
use super::{Config, Scheduler, ServerError};
use crate::auth::Users;

/// Clients that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    unix: Option<PathBuf>,
    shared: Arc<Shared>,
    loops: Vec<JoinHandle<std::io::Result<()>>>,
    workers: Vec<JoinHandle<()>>,
}

impl Server {
    /// Opens the data, listens and serves. When this returns, a client can connect.
    pub fn start(config: Config) -> Result<Self, ServerError> {
        // Replies and messages are up to 48 MB each, and what was held for one must not stay.
        plimsoll_base::heap::return_large_pieces();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let wanted = Layout {
            scheduler: config.scheduler,
            shards: match config.scheduler {
                Scheduler::Sharded => config.shards.unwrap_or((cores / 2).max(1)),
                Scheduler::PerDatabase | Scheduler::Shared => 1,
            },
        };
        let layout = Layout::open(&config.data, wanted, config.shards.is_some())?;
        let users = Users::open(&config.data)?;
        let tls = config.tls.as_ref().map(super::tls::config).transpose()?;
        let secret = crate::auth::random()
            .map_err(|error| ServerError::Thread(std::io::Error::other(error)))?;
        let (address, listeners) = listen(&config)?;
        let clock = Clock::start();
        let executors = Arc::new(Executors::new(config.clone(), clock));
        let polls = (0..layout.shards)
            .map(|_| Poll::new())
            .collect::<Result<Vec<_>, _>>()
            .map_err(ServerError::Thread)?;
        let inboxes = Arc::new(polls.iter().map(|poll| Inbox::new(poll.waker())).collect());
        let (dispatch, mut local) = open(&config, layout, &executors, &inboxes)?;
        let unix = config.unix.clone();
        let shared = Arc::new(Shared::new(
            config,
            (clock, inboxes),
            (dispatch, executors),
            (users, secret, tls),
        ));
        let workers = start_helpers(&shared, cores)?;
        let mut loops = Vec::new();
        let mut listeners = Some(listeners);
        for (index, poll) in polls.into_iter().enumerate() {
            let event_loop = EventLoop {
                index,
                poll,
                listeners: listeners.take().unwrap_or_default(),
                shared: Arc::clone(&shared),
                executor: local.get_mut(index).and_then(Option::take),
                connections: Slab::new(),
                done: Vec::new(),
                accepts: false,
                later: VecDeque::new(),
                stop_by: None,
            };
            let thread = std::thread::Builder::new().name(format!("shard-{index}"));
            loops.push(
                thread
                    .spawn(move || event_loop.run())
                    .map_err(ServerError::Thread)?,
            );
        }
        Ok(Self {
            address,
            unix,
            shared,
            loops,
            workers,
        })
    }

    /// Where clients connect: with port 0, the port that was found.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether all threads still run.
    pub fn is_running(&self) -> bool {
        !self.loops.iter().any(JoinHandle::is_finished)
            && !self.workers.iter().any(JoinHandle::is_finished)
    }

    /// Takes no new command, answers those that were accepted, and ends every thread.
    pub fn stop(self) -> Result<(), ServerError> {
        for inbox in self.shared.inboxes.iter() {
            inbox.send(Letter::Stop);
        }
        let mut failure = None;
        for thread in self.loops {
            let name = thread.thread().name().unwrap_or("shard").to_owned();
            if !matches!(thread.join(), Ok(Ok(()))) {
                failure = Some(ServerError::Died(name));
            }
        }
        match &self.shared.dispatch {
            Dispatch::Sharded(_) => {}
            Dispatch::PerDatabase(threads) => threads.stop(),
            Dispatch::Shared(pool) => pool.stop(),
        }
        for thread in self.workers {
            let name = thread.thread().name().unwrap_or("worker").to_owned();
            if thread.join().is_err() {
                failure = Some(ServerError::Died(name));
            }
        }
        if let Some(path) = self.unix {
            // Gone already is as good.
            let _gone = std::fs::remove_file(path);
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Opens every store that the layout has.
fn open(
    config: &Config,
    layout: Layout,
    executors: &Arc<Executors>,
    inboxes: &Arc<Vec<Inbox<Letter>>>,
) -> Result<(Dispatch, Vec<Option<ShardExecutor>>), ServerError> {
    match layout.scheduler {
        Scheduler::Sharded => {
            let (mut found, mut local) = (Vec::new(), Vec::new());
            for index in 0..layout.shards {
                local.push(Some(executors.for_shard(index, layout.shards)?));
                found.extend(
                    executors
                        .last_databases()
                        .into_iter()
                        .map(|name| (name, index)),
                );
            }
            Ok((
                Dispatch::Sharded(Placement::new(layout.shards, found)),
                local,
            ))
        }
        Scheduler::PerDatabase => {
            let threads = OwnThreads::new(Arc::clone(executors), Arc::clone(inboxes));
            let names =
                Layout::databases(&config.data).map_err(|source| ServerError::Directory {
                    path: config.data.clone(),
                    source,
                })?;
            for name in names {
                threads.open(&name)?;
            }
            Ok((Dispatch::PerDatabase(threads), Vec::new()))
        }
        Scheduler::Shared => Ok((
            Dispatch::Shared(Pool::new(executors.for_shard(0, 1)?)),
            Vec::new(),
        )),
    }
}

/// The threads beside the event loops.
fn start_helpers(shared: &Arc<Shared>, cores: usize) -> Result<Vec<JoinHandle<()>>, ServerError> {
    match &shared.dispatch {
        Dispatch::Sharded(_) | Dispatch::PerDatabase(_) => Ok(Vec::new()),
        Dispatch::Shared(pool) => {
            let workers = Pool::workers(cores, shared.executors.last_databases().len());
            pool.start(workers, &shared.inboxes)
                .map_err(ServerError::Thread)
        }
    }
}

fn listen(config: &Config) -> Result<(SocketAddr, Vec<Listener>), ServerError> {
    let address = config.listen;
    let failed = |source| ServerError::Listen {
        address: address.to_string(),
        source,
    };
    let tcp = TcpListener::bind(address).map_err(failed)?;
    lengthen(&tcp).map_err(failed)?;
    tcp.set_nonblocking(true).map_err(failed)?;
    let bound = tcp.local_addr().map_err(failed)?;
    let mut listeners = vec![Listener::Tcp(tcp)];
    if let Some(path) = &config.unix {
        let failed = |source| ServerError::Listen {
            address: path.display().to_string(),
            source,
        };
        remove_stale(path);
        let unix = UnixListener::bind(path).map_err(failed)?;
        lengthen(&unix).map_err(failed)?;
        unix.set_nonblocking(true).map_err(failed)?;
        listeners.push(Listener::Unix(unix));
    }
    Ok((bound, listeners))
}

/// Makes the queue of clients that wait to be accepted longer than the standard library's 128: when thousands come at
/// once, each that finds it full tries again only after a second. The kernel caps it at `net.core.somaxconn`.
fn lengthen(listener: &impl AsFd) -> std::io::Result<()> {
    Ok(rustix::net::listen(listener, BACKLOG)?)
}

/// A socket file that a killed server left behind would refuse the next one. One that answers stays.
fn remove_stale(path: &std::path::Path) {
    use std::os::unix::fs::FileTypeExt as _;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if is_socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        // If this fails, binding fails next and says why.
        let _kept = std::fs::remove_file(path);
    }
}
