//! What all threads of a server share: read by everyone, changed by few.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use plimsoll_base::clock::Clock;
use rustls::ServerConfig;

use super::Config;
use super::dispatch::Dispatch;
use super::executors::Executors;
use super::inbox::Inbox;
use super::letter::Letter;
use super::session::Session;
use super::stream::Stream;
use crate::auth::{User, Users};
use crate::error::{Code, Result};
use crate::metrics::{Snapshot, Surroundings, write};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) clock: Clock,
    pub(crate) inboxes: Arc<Vec<Inbox<Letter>>>,
    pub(crate) dispatch: Dispatch,
    pub(crate) executors: Arc<Executors>,
    pub(crate) users: RwLock<Users>,
    /// Raised by every change of the users, so that sessions look again.
    pub(crate) users_version: AtomicU64,
    /// What handshakes start from, if the server has a certificate.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// For names that are no users: the same salt each time.
    pub(crate) secret: [u8; 32],
    pub(crate) connections: AtomicUsize,
    pub(crate) connections_made: AtomicI32,
    next_loop: AtomicUsize,
    request_id: AtomicI32,
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        (clock, inboxes): (Clock, Arc<Vec<Inbox<Letter>>>),
        (dispatch, executors): (Dispatch, Arc<Executors>),
        (users, secret, tls): (Users, [u8; 32], Option<Arc<ServerConfig>>),
    ) -> Self {
        Self {
            config,
            clock,
            inboxes,
            dispatch,
            executors,
            users: RwLock::new(users),
            users_version: AtomicU64::new(1),
            secret,
            tls,
            connections: AtomicUsize::new(0),
            connections_made: AtomicI32::new(0),
            next_loop: AtomicUsize::new(0),
            request_id: AtomicI32::new(1),
        }
    }

    pub(crate) fn connections_full(&self) -> bool {
        self.connections.load(Ordering::Relaxed) >= self.config.connections
    }

    /// Counts the connection; [`Self::connection_closed`] takes it off again.
    pub(crate) fn session(&self, stream: &Stream) -> Session {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let id = self
            .connections_made
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1);
        Session::new(id, stream.peer(), stream.is_local())
    }

    pub(crate) fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Connections are dealt out in turn.
    pub(crate) fn next_loop(&self) -> usize {
        self.next_loop.fetch_add(1, Ordering::Relaxed) % self.inboxes.len()
    }

    pub(crate) fn next_request_id(&self) -> i32 {
        self.request_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The localhost exception: someone on this host makes the first user.
    pub(crate) fn may_make_first_user(&self, session: &Session) -> bool {
        session.local && self.users().is_empty()
    }

    pub(crate) fn users(&self) -> RwLockReadGuard<'_, Users> {
        self.users.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the users, on disk first; every session looks its user up again.
    pub(crate) fn change_users(
        &self,
        change: impl FnOnce(&mut BTreeMap<(String, String), User>),
    ) -> Result<()> {
        let mut users = self.users.write().unwrap_or_else(PoisonError::into_inner);
        users
            .change(change)
            .map_err(|error| Code::InternalError.error(error.to_string()))?;
        self.users_version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The counts of all executors.
    pub(crate) fn counts(&self) -> Snapshot {
        let mut all = Snapshot::default();
        for meter in self.executors.meters() {
            all.add(&meter.snapshot());
        }
        all
    }

    /// What Prometheus reads.
    pub(crate) fn metrics(&self) -> String {
        let durability = self.config.durability.to_string();
        let connections = self.connections.load(Ordering::Relaxed);
        let scheduler = self.config.scheduler.name();
        let memory = self.executors.memory();
        write(
            &self.counts(),
            Surroundings {
                durability: &durability,
                scheduler,
                connections,
                held: memory.held(),
                spilled: memory.spilled(),
            },
        )
    }
}
