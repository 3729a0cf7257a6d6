//! How an upstream is reached: its place, and TLS with the name that it has to prove.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_net::tls::{self, ClientConfig, TlsChoice, TlsError};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::{TlsConnector, TlsStream};

use crate::wire::{Socket, Wire};

/// Where something listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(out),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Place {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

/// How an upstream is reached.
#[derive(Clone)]
pub struct Dial {
    place: Place,
    secure: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl fmt::Debug for Dial {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Dial({self})")
    }
}

impl fmt::Display for Dial {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (&self.secure, &self.place) {
            (Some(_), _) => "https://",
            (None, Place::Tcp(_)) => "http://",
            (None, Place::Unix(_)) => "",
        };
        write!(out, "{scheme}{}", self.place)
    }
}

impl From<SocketAddr> for Dial {
    fn from(address: SocketAddr) -> Self {
        Self::plain(Place::Tcp(address))
    }
}

impl Dial {
    pub fn plain(place: Place) -> Self {
        Self {
            place,
            secure: None,
        }
    }

    /// Verified: by the authorities of this host, or by `authorities` (PEM) where they are not empty. `host` is the name
    /// that the certificate must be for.
    pub fn secure(place: Place, host: &str, authorities: &str) -> Result<Self, TlsError> {
        let config = tls::client_config_of(&TlsChoice {
            authorities: authorities.to_owned(),
            resumes: true,
            ..TlsChoice::default()
        })?;
        Ok(Self {
            place,
            secure: Some((config, tls::server_name(host)?)),
        })
    }

    pub(crate) async fn open(&self) -> io::Result<Wire> {
        let socket = match &self.place {
            Place::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
            Place::Unix(path) => Socket::Unix(UnixStream::connect(path).await?),
        };
        let Some((config, name)) = &self.secure else {
            return Ok(Wire::Plain(socket));
        };
        let connector = TlsConnector::from(Arc::clone(config));
        let stream = connector.connect(name.clone(), socket).await?;
        Ok(Wire::Secure(Box::new(TlsStream::Client(stream))))
    }
}
