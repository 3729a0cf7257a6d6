//! Accepts, and stops gently: what was begun is ended, within a bound.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::shared::Server;
use crate::{Config, GuardError, Listening, admin, connection, refusal};

/// Longest accept queue that is asked for; the kernel caps it at `net.core.somaxconn`.
const BACKLOG: u32 = 4096;
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
    let listener = listen(config.listen, "--listen")?;
    let admin = config.admin.map(|at| listen(at, "--admin")).transpose()?;
    let server = Server::new(config);
    ready(Listening {
        proxy: address(&listener)?,
        admin: admin.as_ref().map(address).transpose()?,
    });
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
        () = accept(&listener, &server) => {}
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
    drop(listener);
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

fn address(listener: &TcpListener) -> Result<SocketAddr, GuardError> {
    listener
        .local_addr()
        .map_err(GuardError::io("read the listening address"))
}

fn accepted(server: &Rc<Server>, stream: TcpStream, peer: SocketAddr) {
    if server.open.get() >= server.config.connections_max {
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
