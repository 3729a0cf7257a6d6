//! TLS for the proxy's clients: a certificate made at the start, and the protocols that are offered.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::LabError;

/// What ALPN calls HTTP/2 and HTTP/1.1; the first is preferred.
pub(super) const H2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Names that the certificate is for. Nobody signs it: clients must be told not to verify.
const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

pub(super) fn acceptor() -> Result<TlsAcceptor, LabError> {
    let config = config().map_err(LabError::io("make a certificate"))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn config() -> io::Result<ServerConfig> {
    let made =
        rcgen::generate_simple_self_signed(NAMES.map(str::to_owned)).map_err(io::Error::other)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], PrivateKeyDer::Pkcs8(key))
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![H2.to_vec(), HTTP1.to_vec()];
    Ok(config)
}
