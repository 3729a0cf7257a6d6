//! Where clients come in: a TCP port or a Unix socket, and TLS on it.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, net};

use plimsoll_net::tls::Identity;
use plimsoll_net::tls::serving::{ServerConfig, server_config_of};
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio_rustls::{TlsAcceptor, TlsStream};

use crate::GuardError;
use crate::dial::Place;
use crate::wire::{Socket, Wire};

/// Longest accept queue that is asked for; the kernel caps it at `net.core.somaxconn`.
const BACKLOG: u32 = 4096;
/// Its owner and group may connect to a Unix socket: the right to connect is the right to write.
const MODE: u32 = 0o660;

/// A certificate and its key, as files that are read again when the guard is told to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// PEM: the server's own certificate first, then those that signed it.
    pub chain: PathBuf,
    /// PEM; without it, the key is in the first file.
    pub key: Option<PathBuf>,
}

/// A socket that listens.
#[derive(Debug)]
pub(crate) enum Door {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        path: PathBuf,
    },
}

impl Door {
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

    /// Where it listens: port 0 has become a real one.
    pub(crate) fn place(&self) -> io::Result<Place> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Place::Tcp),
            Self::Unix { path, .. } => Ok(Place::Unix(path.clone())),
        }
    }

    /// Whoever comes over a Unix socket comes from this host.
    pub(crate) async fn accept(&self) -> io::Result<(Socket, IpAddr)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Without it answers would wait for each other's acknowledgements; it works all the same.
                drop(stream.set_nodelay(true));
                Ok((Socket::Tcp(stream), peer.ip()))
            }
            Self::Unix { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                Ok((Socket::Unix(stream), IpAddr::V4(Ipv4Addr::LOCALHOST)))
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Self::Unix { path, .. } = self {
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
fn listen_unix(path: &Path) -> io::Result<Door> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "there is a file of this name that is no socket",
            ));
        }
        Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
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
    Ok(Door::Unix {
        listener,
        path: path.to_owned(),
    })
}

/// TLS on a listener; its certificates can be read again while it works.
#[derive(Debug)]
pub(crate) struct Seal {
    certificates: Vec<Certificate>,
    http2: bool,
    config: RefCell<Arc<ServerConfig>>,
}

impl Seal {
    pub(crate) fn new(certificates: &[Certificate], http2: bool) -> Result<Self, GuardError> {
        Ok(Self {
            certificates: certificates.to_vec(),
            http2,
            config: RefCell::new(read(certificates, http2)?),
        })
    }

    /// Handshakes from now on use what the files hold now. If they hold nothing of use, nothing changes.
    pub(crate) fn renew(&self) -> Result<(), GuardError> {
        *self.config.borrow_mut() = read(&self.certificates, self.http2)?;
        Ok(())
    }

    pub(crate) async fn accept(&self, socket: Socket) -> io::Result<Wire> {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.config.borrow()));
        let stream = acceptor.accept(socket).await?;
        Ok(Wire::Secure(Box::new(TlsStream::Server(stream))))
    }
}

fn read(certificates: &[Certificate], http2: bool) -> Result<Arc<ServerConfig>, GuardError> {
    let text = |path: &Path| {
        fs::read_to_string(path).map_err(|source| GuardError::CertificateFile {
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
                path: certificate.chain.clone(),
                source,
            }
        })?;
        identities.push(identity);
    }
    let both: [&[u8]; 2] = [b"h2", b"http/1.1"];
    let protocols = if http2 { &both[..] } else { &both[1..] };
    server_config_of(&identities, protocols).map_err(|source| GuardError::Certificate {
        path: certificates
            .first()
            .map(|one| one.chain.clone())
            .unwrap_or_default(),
        source,
    })
}
