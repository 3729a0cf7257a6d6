//! A one-worker reverse proxy with connection slots and nginx's behaviour when they run out.
//!
//! Two slots per request in flight: one for the client's connection, one for the upstream's, which
//! is opened for the request and closed after it, as nginx does by default, unless some are to be kept.

mod forward;
mod idle;
mod log;
mod slots;
mod tls;

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::LabError;
use crate::serve::{Context, Watch, stop};
use forward::Forwarder;
use log::Log;
use slots::{Guest, Slots};

pub(crate) fn start(context: Context) -> Result<(), LabError> {
    let upstreams = context.upstreams()?;
    let log = log_file(&context)?;
    let mut watch: Vec<Watch> = upstreams
        .iter()
        .map(|address| Watch::Port("upstream", *address))
        .collect();
    watch.push(Watch::Log(log.path.clone()));
    let manner = Manner {
        tls: context.values.is_on("tls"),
        keepalive: context.values.count("keepalive"),
    };
    serve_as(manner, context, upstreams, &log, &watch)
}

/// What differs from nginx's defaults.
#[derive(Debug, Clone, Copy, Default)]
struct Manner {
    /// HTTPS, and HTTP/2 for clients that can.
    tls: bool,
    /// Idle connections to upstreams that are kept.
    keepalive: usize,
}

/// The timing log that was asked for, or one of our own that goes with the process.
pub(crate) fn log_file(context: &Context) -> Result<LogFile, LabError> {
    let own = context.log.is_none();
    let path = context.log.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("plimsoll-proxy-{}.log", std::process::id()))
    });
    let file = File::create(&path).map_err(LabError::io(format!("create {}", path.display())))?;
    Ok(LogFile { path, file, own })
}

/// An open log; removed in the end if nobody asked for it.
#[derive(Debug)]
pub(crate) struct LogFile {
    pub(crate) path: PathBuf,
    file: File,
    own: bool,
}

impl Drop for LogFile {
    fn drop(&mut self) {
        if self.own {
            // It may have been removed already.
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// Forwards to `upstreams` in turn, on the calling thread, until asked to stop.
pub(crate) fn serve(
    context: Context,
    upstreams: Vec<SocketAddr>,
    log: &LogFile,
    watch: &[Watch],
) -> Result<(), LabError> {
    serve_as(Manner::default(), context, upstreams, log, watch)
}

fn serve_as(
    manner: Manner,
    context: Context,
    upstreams: Vec<SocketAddr>,
    log: &LogFile,
    watch: &[Watch],
) -> Result<(), LabError> {
    let file = log.file.try_clone();
    let log_lines = Log::new(file.map_err(LabError::io("share the log"))?);
    let slots = Slots::new(context.values.count("slots"));
    let forwarder = Arc::new(Forwarder::new(
        upstreams,
        slots,
        manner.keepalive,
        log_lines,
    ));
    let tls = manner.tls.then(tls::acceptor).transpose()?;
    let scheme = if manner.tls { "https" } else { "http" };
    stop::one_thread()?.block_on(async {
        let stop = stop::requested()?;
        context.ready_over(scheme, watch)?;
        let listener = tokio::net::TcpListener::from_std(context.listener)
            .map_err(LabError::io("watch the listening socket"))?;
        tokio::select! {
            () = stop => Ok(()),
            () = accept(&listener, &forwarder, tls.as_ref()) => Ok(()),
        }
    })
}

async fn accept(
    listener: &tokio::net::TcpListener,
    forwarder: &Arc<Forwarder>,
    tls: Option<&TlsAcceptor>,
) {
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        // Without a slot the connection is closed at once: the client gets no answer, only an end
        // of file, or a reset if its request was on the way.
        if let Some(guest) = forwarder.slots.enter() {
            let forwarder = Arc::clone(forwarder);
            tokio::spawn(connection(stream, client, guest, forwarder, tls.cloned()));
        }
    }
}

async fn connection(
    stream: TcpStream,
    client: SocketAddr,
    guest: Arc<Guest>,
    forwarder: Arc<Forwarder>,
    tls: Option<TlsAcceptor>,
) {
    drop(stream.set_nodelay(true));
    match tls {
        None => converse(stream, false, client, &guest, &forwarder).await,
        Some(tls) => {
            // A client that does not finish its handshake is gone, in its own way.
            let accepted = tokio::time::timeout(forward::TIMEOUT, tls.accept(stream)).await;
            if let Ok(Ok(stream)) = accepted {
                let is_h2 = stream.get_ref().1.alpn_protocol() == Some(tls::H2);
                converse(stream, is_h2, client, &guest, &forwarder).await;
            }
        }
    }
    forwarder.slots.leave(&guest);
}

/// Answers the requests of one connection until it ends.
async fn converse<S>(
    stream: S,
    is_h2: bool,
    client: SocketAddr,
    guest: &Arc<Guest>,
    forwarder: &Arc<Forwarder>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (owned, theirs) = (Arc::clone(forwarder), Arc::clone(guest));
    let service = service_fn(move |request| {
        forward::forward(Arc::clone(&owned), request, client, Arc::clone(&theirs))
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    let builder = if is_h2 {
        builder.http2_only()
    } else {
        builder.http1_only()
    };
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // How a client ends its connection is its own affair.
        ended = connection.as_mut() => drop(ended),
        () = guest.told_to_close() => {
            // Closes at once unless a request has begun to arrive, whose slot is gone: it is then
            // refused in `forward`.
            connection.as_mut().graceful_shutdown();
            drop(connection.await);
        }
    }
}
