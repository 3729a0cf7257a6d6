//! The life of the guard: it accepts, takes in new settings without dropping anybody, and stops gently.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::RandomState;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_base::clock::Clock;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::access::AccessLog;
use crate::config::Config;
use crate::dial::Place;
use crate::listener::{Entry, Manner};
use crate::policy::Policy;
use crate::shared::Server;
use crate::upstreams::{Registry, Upstreams};
use crate::wire::{Socket, Wire};
use crate::{GuardError, Listening, admin, connection, keep, refusal};

/// How long a handshake of TLS may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// Whoever runs the guard, and tells people.
pub trait Host {
    /// Sockets that listen already, one for each listener in their order, whatever its address; none: they are opened.
    fn sockets(&mut self) -> Vec<OwnedFd> {
        Vec::new()
    }
    /// It listens now.
    fn listens(&mut self, listening: &Listening);
    /// SIGHUP: what the settings are now, or what is wrong with them.
    fn reload(&mut self) -> Result<Config, String>;
    /// A line for whoever looks at the log.
    fn says(&mut self, line: &str);
}

/// A connection that is counted as long as it is open.
struct Open<'a>(&'a Server);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
    }
}

/// Serves until SIGTERM or SIGINT, then lets what was begun end.
pub fn run(config: &Config, host: &mut dyn Host) -> Result<(), GuardError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(GuardError::io("start the event loop"))?;
    let local = LocalSet::new();
    local.block_on(&runtime, serve(config, host))
}

struct Signals {
    term: Signal,
    interrupt: Signal,
    hangup: Signal,
    user: Signal,
}

impl Signals {
    fn watch() -> Result<Self, GuardError> {
        let watch = |kind| signal(kind).map_err(GuardError::io("watch for signals"));
        Ok(Self {
            term: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
            hangup: watch(SignalKind::hangup())?,
            user: watch(SignalKind::user_defined1())?,
        })
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn serve(config: &Config, host: &mut dyn Host) -> Result<(), GuardError> {
    let mut signals = Signals::watch()?;
    let mut doors = Doors::default();
    let passed = passed(host.sockets(), config)?;
    let ready = doors.open(config, None, passed)?;
    let clock = Clock::start();
    let registry = Registry::new(clock);
    let groups = groups(config, &registry).await?;
    let policy = Policy::new(config.clone(), groups, RandomState::new());
    let server = Server::new(clock, registry, policy);
    doors.take(ready, config, &server);
    keep::attend(&server);
    host.listens(&doors.listening(config));
    loop {
        tokio::select! {
            _ = signals.term.recv() => break,
            _ = signals.interrupt.recv() => break,
            _ = signals.hangup.recv() => {}
            _ = signals.user.recv() => {
                // The log alone, as those that rotate logs ask for it.
                if let Some(log) = server.log() {
                    log.reopen();
                }
                continue;
            }
        }
        reload(&server, &mut doors, host).await;
    }
    let drain = server.policy().config.drain;
    server.stop.send_replace(true);
    doors.close().await;
    let drained = async {
        while server.open.get() > 0 {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        // Whatever is not done by then is cut off: whoever stops us waits no longer.
        _ = timeout(drain, drained) => {}
        () = signals.stop() => {}
    }
    Ok(())
}

/// What was opened for the listeners.
fn passed(sockets: Vec<OwnedFd>, config: &Config) -> Result<Vec<Entry>, GuardError> {
    let (count, listeners) = (sockets.len(), config.listeners.len());
    if count > 0 && count != listeners {
        return Err(GuardError::Passed {
            sockets: count,
            listeners,
        });
    }
    let entry = |(index, socket)| {
        Entry::passed(socket).map_err(|source| GuardError::PassedSocket {
            number: index + 1,
            source,
        })
    };
    sockets.into_iter().enumerate().map(entry).collect()
}

async fn groups(config: &Config, registry: &Registry) -> Result<Vec<Rc<Upstreams>>, GuardError> {
    let mut groups = Vec::with_capacity(config.groups.len());
    for group in &config.groups {
        let authorities = config.upstream_ca.as_deref();
        groups.push(Upstreams::start(group, authorities, registry).await?);
    }
    Ok(groups)
}

/// Takes in new settings as a whole, or leaves those that are in force as they are.
async fn reload(server: &Rc<Server>, doors: &mut Doors, host: &mut dyn Host) {
    let applied = match host.reload() {
        Ok(config) => apply(server, doors, config)
            .await
            .map_err(|error| error.to_string()),
        Err(wrong) => Err(wrong),
    };
    match applied {
        Ok(()) => {
            server.counts.reloads.add();
            host.says("reload: the new settings are in force");
        }
        Err(wrong) => {
            server.counts.reloads_refused.add();
            host.says(&format!(
                "reload refused: {wrong}; the settings from before stay in force"
            ));
        }
    }
}

async fn apply(server: &Rc<Server>, doors: &mut Doors, config: Config) -> Result<(), GuardError> {
    let ready = doors.open(&config, server.log(), Vec::new())?;
    // Those of before stay alive until the new ones have taken over what they share.
    let groups = groups(&config, &server.registry).await?;
    let hashing = server.policy().hashing();
    for group in &groups {
        group.take_over();
    }
    server.set_policy(Policy::new(config.clone(), groups, hashing));
    doors.take(ready, &config, server);
    keep::attend(server);
    Ok(())
}

/// Where it listens.
#[derive(Debug, Default)]
struct Doors {
    /// By the place as it was written: where that is now, and whoever accepts there.
    open: BTreeMap<Door, Opened>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Door {
    Proxy(Place),
    Admin(SocketAddr),
}

#[derive(Debug)]
struct Opened {
    at: Place,
    accepting: JoinHandle<()>,
    /// Ends the accepting, once those who wait to be accepted are.
    shut: Rc<Notify>,
    /// How clients are spoken to from now on; connections keep what they began with.
    manner: Rc<RefCell<Manner>>,
}

/// What new settings need, opened and read before anything changes.
struct Ready {
    entries: Vec<(Door, Place, Entry)>,
    manners: BTreeMap<Door, Manner>,
    log: Option<Rc<AccessLog>>,
}

impl Ready {
    fn add(&mut self, door: &Door, entry: Entry) -> Result<(), GuardError> {
        let at = entry.place();
        let at = at.map_err(GuardError::io("read the listening address"))?;
        self.entries.push((door.clone(), at, entry));
        Ok(())
    }
}

impl Doors {
    /// Opens those that are not open yet and were not passed; nothing changes if one cannot be.
    fn open(
        &self,
        config: &Config,
        log: Option<Rc<AccessLog>>,
        passed: Vec<Entry>,
    ) -> Result<Ready, GuardError> {
        let mut passed = passed.into_iter();
        let mut ready = Ready {
            entries: Vec::new(),
            manners: BTreeMap::new(),
            log: log_of(config, log)?,
        };
        for listener in &config.listeners {
            let door = Door::Proxy(listener.place.clone());
            match passed.next() {
                Some(entry) => ready.add(&door, entry)?,
                None => self.open_one(&door, &listener.place, "--listen", &mut ready)?,
            }
            ready.manners.insert(door, Manner::read(listener)?);
        }
        if let Some(admin) = config.admin {
            self.open_one(&Door::Admin(admin), &admin.into(), "--admin", &mut ready)?;
        }
        Ok(ready)
    }

    fn open_one(
        &self,
        door: &Door,
        place: &Place,
        flag: &'static str,
        ready: &mut Ready,
    ) -> Result<(), GuardError> {
        if !self.open.contains_key(door) {
            ready.add(door, Entry::open(place, flag)?)?;
        }
        Ok(())
    }

    /// Accepts at those that were opened, and no longer where nobody wants it.
    fn take(&mut self, mut ready: Ready, config: &Config, server: &Rc<Server>) {
        let is_wanted = |door: &Door| match door {
            Door::Proxy(place) => config.listeners.iter().any(|one| one.place == *place),
            Door::Admin(address) => config.admin == Some(*address),
        };
        self.open.retain(|door, opened| {
            if !is_wanted(door) {
                opened.shut.notify_one();
            }
            is_wanted(door)
        });
        for (door, at, entry) in ready.entries {
            let manner = Rc::new(RefCell::new(Manner::default()));
            let shut = Rc::<Notify>::default();
            let (server, clients) = (Rc::clone(server), Rc::clone(&manner));
            let shutting = Rc::clone(&shut);
            let accepting = match door {
                Door::Proxy(_) => {
                    spawn_local(async move { accept(&entry, &clients, &shutting, &server).await })
                }
                Door::Admin(_) => spawn_local(async move {
                    tokio::select! {
                        () = admin::serve(&entry, &server) => {}
                        () = shutting.notified() => {}
                    }
                }),
            };
            let opened = Opened {
                at,
                accepting,
                shut,
                manner,
            };
            self.open.insert(door, opened);
        }
        for (door, opened) in &self.open {
            if let Some(manner) = ready.manners.remove(door) {
                *opened.manner.borrow_mut() = manner;
            }
        }
        server.set_log(ready.log);
    }

    fn listening(&self, config: &Config) -> Listening {
        let at = |door: Door| self.open.get(&door).map(|opened| opened.at.clone());
        let proxies = config.listeners.iter();
        let admin = config.admin.and_then(|admin| at(Door::Admin(admin)));
        Listening {
            proxies: proxies
                .filter_map(|listener| at(Door::Proxy(listener.place.clone())))
                .collect(),
            admin: match admin {
                Some(Place::Tcp(address)) => Some(address),
                _ => None,
            },
        }
    }

    /// No more clients than those who wait already; the admin endpoint goes on, and says that it stops.
    async fn close(&mut self) {
        for (door, opened) in &mut self.open {
            if matches!(door, Door::Proxy(_)) {
                opened.shut.notify_one();
                // It ends by itself; an error would be that it was aborted.
                drop((&mut opened.accepting).await);
            }
        }
    }
}

/// The log that is wanted: the same file is opened again, as after a rotation.
fn log_of(
    config: &Config,
    now: Option<Rc<AccessLog>>,
) -> Result<Option<Rc<AccessLog>>, GuardError> {
    let Some(wanted) = &config.access_log else {
        return Ok(None);
    };
    if let Some(log) = now.filter(|log| log.to() == &wanted.to) {
        log.reopen();
        return Ok(Some(log));
    }
    Ok(Some(Rc::new(AccessLog::start(wanted)?)))
}

async fn accept(entry: &Entry, manner: &RefCell<Manner>, shut: &Notify, server: &Rc<Server>) {
    let take = |socket, peer| accepted(server, manner.borrow().clone(), socket, peer);
    loop {
        let came = tokio::select! {
            biased;
            () = shut.notified() => break,
            came = entry.accept() => came,
        };
        match came {
            Ok((socket, peer)) => take(socket, peer),
            // No descriptor is free, or the client has gone already: the next may do better.
            Err(_) => sleep(LOOK).await,
        }
    }
    // Without a descriptor to do it with they are lost, as they would be with any other that is missing.
    drop(entry.last(take));
}

fn accepted(server: &Rc<Server>, manner: Manner, socket: Socket, peer: IpAddr) {
    if server.open.get() >= server.policy().config.connections_max {
        server.counts.connections_refused.add();
        // As much as fits into an empty socket, which is all of it; a client that does not read it is gone anyway.
        if !manner.is_secure() {
            socket.try_tell(&refusal::CONNECTIONS.bytes(refusal::Persistence::Close));
        }
        return;
    }
    server.counts.connections.add();
    server.open.set(server.open.get() + 1);
    let server = Rc::clone(server);
    spawn_local(async move {
        let _open = Open(&server);
        let wire = match socket {
            socket if !manner.is_secure() => Wire::Plain(socket),
            socket => {
                // The state of a handshake is large, and a connection outlives it.
                let handshake = Box::pin(timeout(HANDSHAKE, manner.accept(socket)));
                let Ok(Ok(wire)) = handshake.await else {
                    // There is no way to tell it in plain words.
                    server.counts.handshakes_failed.add();
                    return;
                };
                wire
            }
        };
        connection::serve(wire, manner.http2, peer, Rc::clone(&server)).await;
    });
}

#[cfg(test)]
mod tests;
