//! The life of the guard: it accepts, takes in new settings without dropping anybody, and stops gently.

use std::collections::BTreeMap;
use std::hash::RandomState;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use plimsoll_base::clock::Clock;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{AbortHandle, LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::policy::Policy;
use crate::shared::Server;
use crate::upstreams::{Registry, Upstreams};
use crate::{GuardError, Listening, admin, connection, keep, refusal};

/// Longest accept queue that is asked for; the kernel caps it at `net.core.somaxconn`.
const BACKLOG: u32 = 4096;
const LOOK: Duration = Duration::from_millis(10);

/// Whoever runs the guard, and tells people.
pub trait Host {
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
}

impl Signals {
    fn watch() -> Result<Self, GuardError> {
        let watch = |kind| signal(kind).map_err(GuardError::io("watch for signals"));
        Ok(Self {
            term: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
            hangup: watch(SignalKind::hangup())?,
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
    let opened = doors.open(config)?;
    let clock = Clock::start();
    let registry = Registry::new(clock);
    let groups = groups(config, &registry).await?;
    let policy = Policy::new(config.clone(), groups, RandomState::new());
    let server = Server::new(clock, registry, policy);
    doors.take(opened, config, &server);
    keep::attend(&server);
    host.listens(&doors.listening(config));
    loop {
        tokio::select! {
            _ = signals.term.recv() => break,
            _ = signals.interrupt.recv() => break,
            _ = signals.hangup.recv() => {}
        }
        reload(&server, &mut doors, host).await;
    }
    let drain = server.policy().config.drain;
    doors.close();
    server.stop.send_replace(true);
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

async fn groups(config: &Config, registry: &Registry) -> Result<Vec<Rc<Upstreams>>, GuardError> {
    let mut groups = Vec::with_capacity(config.groups.len());
    for group in &config.groups {
        groups.push(Upstreams::start(group, registry).await?);
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
    let opened = doors.open(&config)?;
    // Those of before stay alive until the new ones have taken over what they share.
    let groups = groups(&config, &server.registry).await?;
    let hashing = server.policy().hashing();
    server.set_policy(Policy::new(config.clone(), groups, hashing));
    doors.take(opened, &config, server);
    keep::attend(server);
    Ok(())
}

/// Where it listens.
#[derive(Debug, Default)]
struct Doors {
    /// By the address as it was written: where that is now, and whoever accepts there.
    open: BTreeMap<Door, (SocketAddr, AbortHandle)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Door {
    Proxy(SocketAddr),
    Admin(SocketAddr),
}

impl Door {
    fn all(config: &Config) -> Vec<Self> {
        let proxies = config.listeners.iter();
        let proxies = proxies.map(|listener| Self::Proxy(listener.address));
        proxies.chain(config.admin.map(Self::Admin)).collect()
    }
}

impl Doors {
    /// Opens those that are not open yet; nothing changes if one cannot be.
    fn open(&self, config: &Config) -> Result<Vec<(Door, SocketAddr, TcpListener)>, GuardError> {
        let mut opened = Vec::new();
        for door in Door::all(config) {
            if !self.open.contains_key(&door) {
                let listener = match door {
                    Door::Proxy(address) => listen(address, "--listen")?,
                    Door::Admin(address) => listen(address, "--admin")?,
                };
                let at = listener
                    .local_addr()
                    .map_err(GuardError::io("read the listening address"))?;
                opened.push((door, at, listener));
            }
        }
        Ok(opened)
    }

    /// Accepts at those that were opened, and no longer where nobody wants it.
    fn take(
        &mut self,
        opened: Vec<(Door, SocketAddr, TcpListener)>,
        config: &Config,
        server: &Rc<Server>,
    ) {
        let wanted = Door::all(config);
        self.open.retain(|door, (_, accepting)| {
            let is_wanted = wanted.contains(door);
            if !is_wanted {
                accepting.abort();
            }
            is_wanted
        });
        for (door, at, listener) in opened {
            let server = Rc::clone(server);
            let accepting = match door {
                Door::Proxy(_) => spawn_local(async move { accept(&listener, &server).await }),
                Door::Admin(_) => {
                    spawn_local(async move { admin::serve(&listener, &server).await })
                }
            };
            self.open.insert(door, (at, accepting.abort_handle()));
        }
    }

    fn listening(&self, config: &Config) -> Listening {
        let at = |door: Door| self.open.get(&door).map(|(at, _)| *at);
        let proxies = config.listeners.iter();
        Listening {
            proxies: proxies
                .filter_map(|listener| at(Door::Proxy(listener.address)))
                .collect(),
            admin: config.admin.and_then(|admin| at(Door::Admin(admin))),
        }
    }

    /// No more clients; the admin endpoint goes on, and says that it stops.
    fn close(&mut self) {
        for (door, (_, accepting)) in &self.open {
            if matches!(door, Door::Proxy(_)) {
                accepting.abort();
            }
        }
    }
}

async fn accept(listener: &TcpListener, server: &Rc<Server>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => accepted(server, stream, peer),
            // No descriptor is free, or the client has gone already: the next may do better.
            Err(_) => sleep(LOOK).await,
        }
    }
}

fn listen(address: SocketAddr, flag: &'static str) -> Result<TcpListener, GuardError> {
    let failed = |source| GuardError::Listen {
        address,
        flag,
        source,
    };
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    };
    let socket = socket.map_err(failed)?;
    // A restarted guard must not wait for the old connections' TIME_WAIT to pass.
    socket.set_reuseaddr(true).map_err(failed)?;
    socket.bind(address).map_err(failed)?;
    socket.listen(BACKLOG).map_err(failed)
}

fn accepted(server: &Rc<Server>, stream: TcpStream, peer: SocketAddr) {
    if server.open.get() >= server.policy().config.connections_max {
        server.counts.connections_refused.add();
        // As much as fits into an empty socket, which is all of it; a client that does not read it is gone anyway.
        drop(stream.try_write(&refusal::CONNECTIONS.bytes(false)));
        return;
    }
    server.counts.connections.add();
    server.open.set(server.open.get() + 1);
    let server = Rc::clone(server);
    spawn_local(async move {
        let _open = Open(&server);
        connection::serve(stream, peer, Rc::clone(&server)).await;
    });
}
