//! Accepts, and stops gently: what was begun is ended, within a bound.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::dial::Place;
use crate::listener::{Door, Seal};
use crate::shared::Server;
use crate::wire::{Socket, Wire};
use crate::{Config, GuardError, Listening, admin, connection, refusal, signals};

const WHERE: &str = "read the listening address";
/// Of TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);
const TIDY: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);

/// A connection that is counted as long as it is open.
struct Open<'a>(&'a Server);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
    }
}

/// Serves until SIGTERM or SIGINT, then lets what was begun end. `ready` is told where it listens.
pub fn run(config: &Config, ready: impl FnOnce(Listening)) -> Result<(), GuardError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(GuardError::io("start the event loop"))?;
    let local = LocalSet::new();
    local.block_on(&runtime, serve(config, ready))
}

async fn serve(config: &Config, ready: impl FnOnce(Listening)) -> Result<(), GuardError> {
    let mut term = signal(SignalKind::terminate()).map_err(GuardError::io("watch for signals"))?;
    let mut interrupt =
        signal(SignalKind::interrupt()).map_err(GuardError::io("watch for signals"))?;
    let seal = (!config.certificates.is_empty())
        .then(|| Seal::new(&config.certificates, config.http2).map(Rc::new))
        .transpose()?;
    let door = Door::open(&config.listen, "--listen")?;
    let admin = config
        .admin
        .map(|at| Door::open(&Place::Tcp(at), "--admin"));
    let admin = admin.transpose()?;
    let server = Server::new(config)?;
    ready(Listening {
        proxy: door.place().map_err(GuardError::io(WHERE))?,
        admin: admin.as_ref().and_then(tcp),
    });
    signals::watch(&server, seal.as_ref())?;
    if let Some(admin) = admin {
        let server = Rc::clone(&server);
        spawn_local(async move { admin::serve(&admin, &server).await });
    }
    let ticking = Rc::clone(&server);
    spawn_local(async move { ticking.gate.tick().await });
    let tidying = Rc::clone(&server);
    spawn_local(async move {
        loop {
            sleep(TIDY).await;
            tidying.pool.tidy(tidying.gate.now());
        }
    });
    tokio::select! {
        () = accept(&door, seal.as_ref(), &server) => {}
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    drop(door);
    server.stop.send_replace(true);
    let drained = async {
        while server.open.get() > 0 {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        // Whatever is not done by then is cut off: whoever stops us waits no longer.
        _ = timeout(config.drain, drained) => {}
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

async fn accept(door: &Door, seal: Option<&Rc<Seal>>, server: &Rc<Server>) {
    loop {
        match door.accept().await {
            Ok((socket, peer)) => accepted(server, seal, socket, peer),
            // No descriptor is free, or the client has gone already: the next may do better.
            Err(_) => sleep(LOOK).await,
        }
    }
}

fn tcp(door: &Door) -> Option<std::net::SocketAddr> {
    match door.place() {
        Ok(Place::Tcp(address)) => Some(address),
        _ => None,
    }
}

fn accepted(server: &Rc<Server>, seal: Option<&Rc<Seal>>, socket: Socket, peer: IpAddr) {
    if server.open.get() >= server.config.connections_max {
        server.counts.connections_refused.add();
        // As much as fits into an empty socket, which is all of it; a client that does not read it is gone anyway.
        if seal.is_none() {
            socket.try_tell(&refusal::CONNECTIONS.bytes(false));
        }
        return;
    }
    server.counts.connections.add();
    server.open.set(server.open.get() + 1);
    let (server, seal) = (Rc::clone(server), seal.cloned());
    spawn_local(async move {
        let _open = Open(&server);
        let wire = match seal {
            None => Wire::Plain(socket),
            Some(seal) => {
                let Ok(Ok(wire)) = timeout(HANDSHAKE, seal.accept(socket)).await else {
                    // There is no way to tell it in plain words.
                    server.counts.handshakes_failed.add();
                    return;
                };
                wire
            }
        };
        connection::serve(wire, peer, Rc::clone(&server)).await;
    });
}
