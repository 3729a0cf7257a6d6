//! The server's side of TLS: several certificates, of which each client is shown the one for the name it asks for.

use std::sync::Arc;

pub use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::{Identity, TlsError, parsed};

/// What clients are offered. The first identity is for those that ask for no name, or for one that no certificate has.
pub fn server_config_of(
    identities: &[Identity],
    protocols: &[&[u8]],
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let keys: Vec<_> = identities
        .iter()
        .map(|identity| certified(identity, &provider))
        .collect::<Result<_, _>>()?;
    if keys.is_empty() {
        return Err(TlsError::Identity("no certificate is given".to_owned()));
    }
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ByName(keys)));
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

fn certified(
    identity: &Identity,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let (chain, key) = parsed(identity)?;
    let wrong = |error: rustls::Error| TlsError::Identity(error.to_string());
    let certified = CertifiedKey::from_der(chain, key, provider).map_err(TlsError::of_identity)?;
    let own = certified.end_entity_cert().map_err(wrong)?;
    ParsedCertificate::try_from(own).map_err(wrong)?;
    Ok(Arc::new(certified))
}

/// Looks for the name among the certificates at each handshake: it costs next to nothing beside the signature.
#[derive(Debug)]
struct ByName(Vec<Arc<CertifiedKey>>);

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let asked = hello.server_name();
        let asked = asked.and_then(|name| ServerName::try_from(name).ok());
        let named = asked.and_then(|name| self.0.iter().find(|key| is_for(key, &name)));
        named.or(self.0.first()).cloned()
    }
}

fn is_for(key: &CertifiedKey, name: &ServerName<'_>) -> bool {
    let own = key.end_entity_cert().and_then(ParsedCertificate::try_from);
    own.is_ok_and(|own| verify_server_name(&own, name).is_ok())
}
