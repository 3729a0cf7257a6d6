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
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
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

/// For all upstreams in TLS.
#[derive(Debug, Clone)]
pub(crate) struct Secure {
    config: Arc<ClientConfig>,
    /// The authorities as they were given; empty for those of this host.
    authorities: Arc<str>,
}

impl Secure {
    /// They are verified, by the authorities of this host, or by these (PEM) if there are any.
    pub(crate) fn new(authorities: &str) -> Result<Self, TlsError> {
        let config = tls::client_config_of(&TlsChoice {
            authorities: authorities.to_owned(),
            resumes: true,
            ..TlsChoice::default()
        })?;
        Ok(Self {
            config,
            authorities: authorities.into(),
        })
    }
}

/// How one address of an upstream is reached.
#[derive(Clone)]
pub(crate) struct Dial {
    place: Place,
    secure: Option<(Secure, ServerName<'static>)>,
}

impl fmt::Debug for Dial {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Dial({self})")
    }
}

/// As people and metrics name it.
impl fmt::Display for Dial {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.secure {
            None => self.place.fmt(out),
            // Several names may be at one address, and each has to prove its own.
            Some((_, ServerName::DnsName(name))) => {
                write!(out, "https://{} ({})", self.place, name.as_ref())
            }
            Some(_) => write!(out, "https://{}", self.place),
        }
    }
}

impl Dial {
    pub(crate) fn plain(place: Place) -> Self {
        Self {
            place,
            secure: None,
        }
    }

    /// `host` is the name that the certificate must be for.
    pub(crate) fn secure(place: Place, host: &str, secure: &Secure) -> Result<Self, TlsError> {
        Ok(Self {
            place,
            secure: Some((secure.clone(), tls::server_name(host)?)),
        })
    }

    /// As a request names it.
    pub(crate) fn host(&self) -> String {
        match (&self.secure, &self.place) {
            (Some((_, ServerName::DnsName(name))), _) => name.as_ref().to_owned(),
            (_, Place::Tcp(address)) => address.to_string(),
            (_, Place::Unix(_)) => "localhost".to_owned(),
        }
    }

    /// The same place, and the same proof is asked of it.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let proof = |dial: &Self| {
            let secure = dial.secure.as_ref();
            secure.map(|(secure, name)| (Arc::clone(&secure.authorities), name.clone()))
        };
        self.place == other.place && proof(self) == proof(other)
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
        let Some((secure, name)) = &self.secure else {
            return Ok(Wire::Plain(socket));
        };
        let connector = TlsConnector::from(Arc::clone(&secure.config));
        let stream = connector.connect(name.clone(), socket).await?;
        Ok(Wire::Secure(Box::new(TlsStream::Client(stream))))
    }
}
