//! The server's certificate and key, read from files and checked before anyone connects.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{ServerError, TlsFiles};

/// What every handshake starts from.
pub(super) fn config(files: &TlsFiles) -> Result<Arc<ServerConfig>, ServerError> {
    let fault = |path: &Path, problem: String| ServerError::Tls {
        path: path.to_owned(),
        problem,
    };
    let read = |path: &Path| {
        std::fs::read(path).map_err(|source| ServerError::Directory {
            path: path.to_owned(),
            source,
        })
    };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&read(&files.certificate)?).collect();
    let chain = chain.map_err(|error| fault(&files.certificate, error.to_string()))?;
    if chain.is_empty() {
        let problem = "holds no certificate; give --tls-cert a PEM file, the server's own certificate first, then those that signed it";
        return Err(fault(&files.certificate, problem.to_owned()));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?);
    let key = key.map_err(|error| fault(&files.key, key_problem(&error)))?;
    made(chain, key).map_err(|error| {
        let text = format!(
            "does not go with the certificate in {}: {error}",
            files.certificate.display()
        );
        fault(&files.key, text)
    })
}

fn key_problem(error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => "holds no private key that can be read; give --tls-key an unencrypted PEM file (PKCS#8, SEC1 or PKCS#1)".to_owned(),
        other => other.to_string(),
    }
}

fn made(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> io::Result<Arc<ServerConfig>> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(io::Error::other)?;
    Ok(Arc::new(config))
}
