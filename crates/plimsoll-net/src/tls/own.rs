//! Authorities that the user names, in place of those of this host.
//!
//! A certificate that signs itself, as `openssl req -x509` makes it, is an authority by its own words, and the library takes no
//! authority for a server. Named by the user and shown by the server, byte for byte, it is the server's: curl and Go agree.
//! So is one that was signed by an authority which was not named. One that has expired or is not valid yet stays refused.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::TlsError;

/// Trusts these certificates and what they signed.
pub(super) fn verifier(
    pem: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let wrong = |problem: String| TlsError::Authorities(problem);
    let named: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(error.to_string()))?;
    if named.is_empty() {
        return Err(wrong("it holds no certificate".to_owned()));
    }
    let mut store = RootCertStore::empty();
    for certificate in &named {
        let added = store.add(certificate.clone());
        added.map_err(|error| wrong(error.to_string()))?;
    }
    let chains = WebPkiServerVerifier::builder_with_provider(store.into(), Arc::clone(provider));
    let chains = chains.build().map_err(|error| wrong(error.to_string()))?;
    Ok(Arc::new(Own { named, chains }))
}

#[derive(Debug)]
struct Own {
    named: Vec<CertificateDer<'static>>,
    chains: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Own {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let by_chain =
            self.chains
                .verify_server_cert(end_entity, intermediates, server_name, ocsp, now);
        if by_chain.is_ok() || !self.named.iter().any(|named| named == end_entity) {
            return by_chain;
        }
        // By itself: what is wrong with the certificates that came with it does not matter.
        let alone = self
            .chains
            .verify_server_cert(end_entity, &[], server_name, ocsp, now);
        if alone.as_ref().is_err_and(is_about_who_signed) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        alone
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Nothing else is wrong with the certificate than that it is an authority's, or that nobody who was named signed it. Its
/// times are looked at before either.
fn is_about_who_signed(error: &Error) -> bool {
    let Error::InvalidCertificate(reason) = error else {
        return false;
    };
    match reason {
        CertificateError::UnknownIssuer => true,
        // rustls has no word of its own for it and hands on webpki's, which is its name.
        CertificateError::Other(other) => other.to_string() == "CaUsedAsEndEntity",
        _ => false,
    }
}

#[cfg(test)]
mod tests;
