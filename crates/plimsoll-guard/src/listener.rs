//! Where clients come in: a TCP port or a Unix socket, and TLS on it.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, net};

use plimsoll_net::tls::Identity;
use plimsoll_net::tls::serving::{ServerConfig, server_config_of};
use rustix::net::{AddressFamily, SocketType, sockopt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio_rustls::{TlsAcceptor, TlsStream};

use crate::GuardError;
use crate::config::{Certificate, Listener};
use crate::dial::Place;
use crate::wire::{Socket, Wire};

/// Longest accept queue that is asked for; the kernel caps it at `net.core.somaxconn`.
const BACKLOG: u32 = 4096;
/// Its owner and group may connect to a Unix socket: the right to connect is the right to write.
const MODE: u32 = 0o660;

/// A socket that listens.
#[derive(Debug)]
pub(crate) enum Entry {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        path: PathBuf,
        /// We made it; what somebody else made is there when we are gone.
        is_ours: bool,
    },
}

impl Entry {
    pub(crate) fn open(place: &Place, flag: &'static str) -> Result<Self, GuardError> {
        let opened = match place {
            Place::Tcp(address) => listen(*address).map(Self::Tcp),
            Place::Unix(path) => listen_unix(path),
        };
        opened.map_err(|source| GuardError::Listen {
            place: place.clone(),
            flag,
            source,
        })
    }

    /// One that somebody else has opened, and keeps open.
    pub(crate) fn passed(socket: OwnedFd) -> io::Result<Self> {
        let is_stream = sockopt::socket_type(&socket)? == SocketType::STREAM;
        if !is_stream || !sockopt::socket_acceptconn(&socket)? {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is no socket where connections come in",
            ));
        }
        if sockopt::socket_domain(&socket)? == AddressFamily::UNIX {
            let listener = unix::net::UnixListener::from(socket);
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            return Ok(Self::Unix {
                listener: UnixListener::from_std(listener)?,
                path: address.as_pathname().unwrap_or(Path::new("")).to_owned(),
                is_ours: false,
            });
        }
        let listener = net::TcpListener::from(socket);
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(TcpListener::from_std(listener)?))
    }

    /// Where it listens: port 0 has become a real one.
    pub(crate) fn place(&self) -> io::Result<Place> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Place::Tcp),
            Self::Unix { path, .. } => Ok(Place::Unix(path.clone())),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<(Socket, IpAddr)> {
        match self {
            Self::Tcp(listener) => listener.accept().await.map(of_tcp),
            Self::Unix { listener, .. } => {
                listener.accept().await.map(|(stream, _)| of_unix(stream))
            }
        }
    }

    /// Those that the kernel has taken in already, before the door is shut: with it they would be reset. The kernel is asked
    /// itself, as the event loop may not have heard of them yet.
    pub(crate) fn last(&self, mut each: impl FnMut(Socket, IpAddr)) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => {
                let listener = net::TcpListener::from(listener.as_fd().try_clone_to_owned()?);
                let next = || -> io::Result<_> {
                    let (stream, peer) = listener.accept()?;
                    stream.set_nonblocking(true)?;
                    Ok((TcpStream::from_std(stream)?, peer))
                };
                queued(next, |one| {
                    let (socket, peer) = of_tcp(one);
                    each(socket, peer);
                });
            }
            Self::Unix { listener, .. } => {
                let listener =
                    unix::net::UnixListener::from(listener.as_fd().try_clone_to_owned()?);
                let next = || -> io::Result<_> {
                    let (stream, _) = listener.accept()?;
                    stream.set_nonblocking(true)?;
                    UnixStream::from_std(stream)
                };
                queued(next, |stream| {
                    let (socket, peer) = of_unix(stream);
                    each(socket, peer);
                });
            }
        }
        Ok(())
    }
}

fn of_tcp((stream, peer): (TcpStream, net::SocketAddr)) -> (Socket, IpAddr) {
    // Without it answers would wait for each other's acknowledgements; it works all the same.
    drop(stream.set_nodelay(true));
    // On a socket for both families one of IPv4 is the same client as on a socket of its own.
    (Socket::Tcp(stream), peer.ip().to_canonical())
}

/// Whoever comes over a Unix socket comes from this host.
fn of_unix(stream: UnixStream) -> (Socket, IpAddr) {
    (Socket::Unix(stream), IpAddr::V4(Ipv4Addr::LOCALHOST))
}

/// Answers of the kernel that are about one client and not about the queue.
fn is_of_one(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
    )
}

/// What a listener that blocks nobody still has in its queue.
fn queued<S>(mut next: impl FnMut() -> io::Result<S>, mut each: impl FnMut(S)) {
    loop {
        match next() {
            Ok(one) => each(one),
            Err(error) if is_of_one(&error) => {}
            Err(_) => return,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Self::Unix {
            path,
            is_ours: true,
            ..
        } = self
        {
            // The next one would remove it too.
            drop(fs::remove_file(path));
        }
    }
}

fn listen(address: net::SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A restarted guard must not wait for the old connections' TIME_WAIT to pass.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A socket that was left behind is replaced; one that is listened on, and any other file, is not.
fn listen_unix(path: &Path) -> io::Result<Entry> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "there is a file of this name that is no socket",
            ));
        }
        Ok(_) if unix::net::UnixStream::connect(path).is_ok() => {
            return Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "somebody listens there already",
            ));
        }
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(MODE))?;
    Ok(Entry::Unix {
        listener,
        path: path.to_owned(),
        is_ours: true,
    })
}

/// How clients are spoken to where they come in; others after a reload.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manner {
    pub(crate) http2: bool,
    secure: Option<Arc<ServerConfig>>,
}

impl Manner {
    /// Reads the certificates.
    pub(crate) fn read(listener: &Listener) -> Result<Self, GuardError> {
        let secure = (!listener.certificates.is_empty())
            .then(|| read(&listener.certificates, listener.http2))
            .transpose()?;
        Ok(Self {
            http2: listener.http2,
            secure,
        })
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.secure.is_some()
    }

    pub(crate) async fn accept(&self, socket: Socket) -> io::Result<Wire> {
        let Some(config) = &self.secure else {
            return Ok(Wire::Plain(socket));
        };
        let stream = TlsAcceptor::from(Arc::clone(config)).accept(socket).await?;
        Ok(Wire::Secure(Box::new(TlsStream::Server(stream))))
    }
}

fn read(certificates: &[Certificate], http2: bool) -> Result<Arc<ServerConfig>, GuardError> {
    let text = |path: &Path| {
        fs::read_to_string(path).map_err(|source| GuardError::File {
            what: "the certificate or key",
            path: path.to_owned(),
            source,
        })
    };
    let mut identities = Vec::with_capacity(certificates.len());
    for certificate in certificates {
        let chain = text(&certificate.chain)?;
        let key = certificate.key.as_deref().map(text).transpose()?;
        let identity = Identity {
            key: key.unwrap_or_else(|| chain.clone()),
            chain,
        };
        // Each alone first: the error can name its file.
        server_config_of(std::slice::from_ref(&identity), &[]).map_err(|source| {
            GuardError::Certificate {
                what: "the certificate",
                path: certificate.chain.clone(),
                source,
            }
        })?;
        identities.push(identity);
    }
    let both: [&[u8]; 2] = [b"h2", b"http/1.1"];
    let protocols = if http2 { &both[..] } else { &both[1..] };
    server_config_of(&identities, protocols).map_err(|source| GuardError::Certificate {
        what: "the certificate",
        path: certificates
            .first()
            .map(|one| one.chain.clone())
            .unwrap_or_default(),
        source,
    })
}
