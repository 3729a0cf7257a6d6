//! TLS by rustls: the client configuration, verified by the system's roots unless told otherwise.

use std::sync::Arc;

pub use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use thiserror::Error as ThisError;

/// Why TLS cannot be set up.
#[derive(Debug, ThisError)]
pub enum TlsError {
    #[error("no certificate authorities found on this host; install ca-certificates, or use -k")]
    NoRoots,
    #[error("`{0}` cannot be a server name")]
    Name(String, #[source] InvalidDnsNameError),
    #[error("TLS cannot be set up")]
    Config(#[from] Error),
}

/// One configuration for all connections of a run. Session resumption is off, so that a connection
/// per request pays the handshake that new clients would pay.
pub fn client_config(insecure: bool) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let mut config = if insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnyChain(provider)))
            .with_no_client_auth()
    } else {
        builder
            .with_root_certificates(roots()?)
            .with_no_client_auth()
    };
    config.resumption = rustls::client::Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
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
