//! TLS by rustls: the client configuration, verified by the system's roots unless told otherwise.

mod own;
pub mod serving;

use std::sync::Arc;

pub use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CipherSuite, ClientConnection, DigitallySignedStruct, Error, ProtocolVersion, RootCertStore,
    SignatureScheme,
};
use thiserror::Error as ThisError;

use crate::target::Target;

/// Why TLS cannot be set up.
#[derive(Debug, ThisError)]
pub enum TlsError {
    #[error("no certificate authorities found on this host; install ca-certificates, or use -k")]
    NoRoots,
    #[error("`{0}` cannot be a server name")]
    Name(String, #[source] InvalidDnsNameError),
    #[error("TLS cannot be set up")]
    Config(#[from] Error),
    #[error("cipher suite `{name}` is not offered here; known are {known}")]
    Suite { name: String, known: String },
    #[error("the certificates of authorities cannot be used: {0}")]
    Authorities(String),
    #[error("the certificate cannot be used: {0}")]
    Identity(String),
    #[error("the key cannot be used: {0}")]
    Key(String),
}

/// The versions that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersion {
    Tls12,
    Tls13,
}

/// A client's certificates, its own first, and its key; both PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    pub chain: String,
    pub key: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// The protocols that are offered by ALPN, the preferred one first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offer {
    #[default]
    Http1,
    /// HTTP/2 before HTTP/1.1.
    Both,
}

/// What differs from the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsChoice {
    /// Certificates of servers are not verified.
    pub insecure: bool,
    /// Empty: all.
    pub versions: Vec<TlsVersion>,
    /// Names of the suites of TLS 1.2 to offer; empty: all. Those of TLS 1.3 are always offered, as in Go.
    pub suites: Vec<String>,
    pub identity: Option<Identity>,
    /// Authorities that sign the certificates of servers, as PEM; empty: those of this host.
    pub authorities: String,
    /// Connections after the first may resume its session, as those of a browser do.
    pub resumes: bool,
    pub offer: Offer,
}

/// What a handshake agreed on, in the words of IANA's registry of cipher suites and of Go: `tls1.3`,
/// `TLS_AES_128_GCM_SHA256`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    pub version: &'static str,
    pub suite: &'static str,
}

impl Agreed {
    pub(crate) fn from_client(client: &ClientConnection) -> Option<Self> {
        let version = match client.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "tls1.2",
            ProtocolVersion::TLSv1_3 => "tls1.3",
            _ => "",
        };
        let suite = client.negotiated_cipher_suite()?.suite();
        let suite = match suite {
            // Those of TLS 1.3 have names of their own in rustls.
            CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
            CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
            CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
            other => other.as_str().unwrap_or_default(),
        };
        Some(Self { version, suite })
    }
}

/// The configuration of a connection, and the name that its server has to prove.
pub(crate) type TlsSetup = (Arc<ClientConfig>, ServerName<'static>);

/// For all connections to `target`; nothing where its URL asks for no TLS.
pub fn setup_of(target: &Target, choice: &TlsChoice) -> Result<Option<TlsSetup>, TlsError> {
    if !target.tls {
        return Ok(None);
    }
    let config = client_config_of(choice)?;
    Ok(Some((config, server_name(&target.host)?)))
}

/// One configuration for all connections of a run. Unless asked for, session resumption is off, so that a connection per
/// request pays the handshake that new clients would pay.
pub fn client_config_of(choice: &TlsChoice) -> Result<Arc<ClientConfig>, TlsError> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    keep_suites(&mut provider, &choice.suites)?;
    let provider = Arc::new(provider);
    let versions: Vec<_> = [
        (TlsVersion::Tls13, &rustls::version::TLS13),
        (TlsVersion::Tls12, &rustls::version::TLS12),
    ]
    .into_iter()
    .filter(|(version, _)| choice.versions.is_empty() || choice.versions.contains(version))
    .map(|(_, version)| version)
    .collect();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)?;
    let builder = if choice.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnyChain(provider)))
    } else if choice.authorities.is_empty() {
        builder.with_root_certificates(roots()?)
    } else {
        let verifier = own::verifier(&choice.authorities, &provider)?;
        builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
    };
    let mut config = match &choice.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = parsed(identity)?;
            let config = builder.with_client_auth_cert(chain, key);
            config.map_err(TlsError::of_identity)?
        }
    };
    if !choice.resumes {
        config.resumption = rustls::client::Resumption::disabled();
    }
    let protocols: &[&[u8]] = match choice.offer {
        Offer::Http1 => &[b"http/1.1"],
        Offer::Both => &[b"h2", b"http/1.1"],
    };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// Those of the names that no suite here has, and the names that a choice can be made of. Suites of TLS 1.3 are known and
/// always offered.
pub fn unknown_suites(names: &[String]) -> (Vec<String>, Vec<String>) {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let suites = provider.cipher_suites.iter();
    let named = suites.map(|suite| {
        let name = format!("{:?}", suite.suite());
        // The library calls those of TLS 1.3 by names of its own.
        (name.replace("TLS13_", "TLS_"), suite.tls13().is_none())
    });
    let (older, newer): (Vec<_>, Vec<_>) = named.partition(|(_, is_older)| *is_older);
    let is_known = |name: &&String| older.iter().chain(&newer).any(|(known, _)| known == *name);
    let unknown = names.iter().filter(|name| !is_known(name)).cloned();
    (
        unknown.collect(),
        older.into_iter().map(|(name, _)| name).collect(),
    )
}

/// Drops the suites of TLS 1.2 that were not named.
fn keep_suites(provider: &mut CryptoProvider, names: &[String]) -> Result<(), TlsError> {
    if names.is_empty() {
        return Ok(());
    }
    let name_of = |suite: &rustls::SupportedCipherSuite| format!("{:?}", suite.suite());
    let older = |suite: &rustls::SupportedCipherSuite| suite.tls13().is_none();
    let suites = provider.cipher_suites.iter();
    let known: Vec<String> = suites.filter(|suite| older(suite)).map(name_of).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        return Err(TlsError::Suite {
            name: name.clone(),
            known: known.join(", "),
        });
    }
    provider
        .cipher_suites
        .retain(|suite| !older(suite) || names.contains(&name_of(suite)));
    Ok(())
}

type Parsed = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn parsed(identity: &Identity) -> Result<Parsed, TlsError> {
    let chain = CertificateDer::pem_slice_iter(identity.chain.as_bytes());
    let chain: Vec<_> = chain
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::Identity(error.to_string()))?;
    if chain.is_empty() {
        return Err(TlsError::Identity("it holds no certificate".to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes());
    let key = key.map_err(|error| TlsError::Key(words_of(&error, &identity.key)))?;
    Ok((chain, key))
}

/// What keeps text from being a key.
fn words_of(error: &pem::Error, text: &str) -> String {
    match error {
        pem::Error::NoItemsFound if text.contains("ENCRYPTED PRIVATE KEY") => {
            "it has a password; take it off: openssl pkey -in key.pem -out plain.pem".to_owned()
        }
        pem::Error::NoItemsFound => "it holds no key".to_owned(),
        error => error.to_string(),
    }
}

impl TlsError {
    /// Certificate and key are whole each by itself.
    fn of_identity(error: Error) -> Self {
        match error {
            Error::InconsistentKeys(_) => {
                Self::Key("it does not belong to the certificate".to_owned())
            }
            error => Self::Key(error.to_string()),
        }
    }
}

pub fn server_name(host: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(host.to_owned()).map_err(|error| TlsError::Name(host.to_owned(), error))
}

fn roots() -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _unusable) = store.add_parsable_certificates(found.certs);
    if added == 0 {
        Err(TlsError::NoRoots)
    } else {
        Ok(store)
    }
}

/// `-k`: any chain is accepted, but the peer must still prove that it holds the key it shows.
#[derive(Debug)]
struct AcceptAnyChain(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyChain {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
