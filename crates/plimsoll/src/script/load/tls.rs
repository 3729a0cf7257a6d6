//! What the options say about TLS: versions, cipher suites, client certificates.

use anyhow::Result;
use plimsoll_core::scenario::{Flag, Settings, Strictness};
use plimsoll_engine::scripted::Naming;
use plimsoll_net::tls::{Identity, Offer, TlsChoice, TlsError, TlsVersion, unknown_suites};
use serde_json::Value;

use super::invalid;
use crate::script::console;

/// As `tlsVersion` names them, in their order.
const NAMES: [&str; 4] = ["tls1.0", "tls1.1", "tls1.2", "tls1.3"];
/// Those that are spoken, by their place.
const SPOKEN: [(usize, TlsVersion); 2] = [(2, TlsVersion::Tls12), (3, TlsVersion::Tls13)];

pub(super) fn choice(said: &Settings, strictness: Strictness) -> Result<TlsChoice> {
    let versions = said.tls_version.as_ref().map(versions).transpose()?;
    Ok(TlsChoice {
        insecure: said.is_set(Flag::InsecureSkipTlsVerify),
        versions: versions.unwrap_or_default(),
        suites: suites(&said.tls_cipher_suites, strictness)?,
        identity: None,
        offer: offer(std::env::var("GODEBUG").ok().as_deref()),
        ..TlsChoice::default()
    })
}

/// Older suites that k6 can offer and we cannot, by the names that Go gives them.
const OF_K6_ALONE: [&str; 16] = [
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
];

/// Those that can be offered. One that only k6 knows is left out with a warning; where none is left, the usual ones are
/// offered. A name that is none at all is refused, as k6 does.
fn suites(named: &[String], strictness: Strictness) -> Result<Vec<String>> {
    let (unknown, choices) = unknown_suites(named);
    if !unknown.is_empty() {
        let problem = format!(
            "tlsCipherSuites: {} cannot be offered here; known are {}",
            unknown.join(", "),
            choices.join(", ")
        );
        let is_of_k6 = |name: &String| OF_K6_ALONE.contains(&name.as_str());
        if strictness == Strictness::Strict || !unknown.iter().all(is_of_k6) {
            return Err(invalid(problem));
        }
        console::warn(&problem);
    }
    let is_left = |name: &&String| choices.contains(name);
    Ok(named.iter().filter(is_left).cloned().collect())
}

/// HTTP/2 is offered, as k6 does; its switch of Go's settings works here too.
fn offer(settings: Option<&str>) -> Offer {
    let mut settings = settings.unwrap_or_default().split(',');
    if settings.any(|one| one == "http2client=0") {
        Offer::Http1
    } else {
        Offer::Both
    }
}

/// One version, or `{ min, max }`.
fn versions(said: &Value) -> Result<Vec<TlsVersion>> {
    let place = |value: &Value| {
        let found = NAMES.iter().position(|name| value.as_str() == Some(name));
        found.ok_or_else(|| {
            invalid(format!(
                "tlsVersion: {value} is none of {}",
                NAMES.join(", ")
            ))
        })
    };
    let bound = |name, default| said.get(name).map_or(Ok(default), place);
    let (least, most) = if said.is_object() {
        (bound("min", 0)?, bound("max", NAMES.len() - 1)?)
    } else {
        (place(said)?, place(said)?)
    };
    let allowed = SPOKEN.iter().filter(|(at, _)| (least..=most).contains(at));
    let versions: Vec<TlsVersion> = allowed.map(|(_, version)| *version).collect();
    if versions.is_empty() {
        let text = "tlsVersion: TLS 1.0 and 1.1 are not spoken here; allow tls1.2 or tls1.3";
        return Err(invalid(text));
    }
    Ok(versions)
}

/// Client certificates with the hosts that they are for.
pub(super) fn identities(said: &Settings) -> Result<Vec<(Vec<String>, Identity)>> {
    let Some(given) = &said.tls_auth else {
        return Ok(Vec::new());
    };
    let Some(entries) = given.as_array() else {
        return Err(invalid(
            "tlsAuth: it must be an array of { domains, cert, key }",
        ));
    };
    let numbered = entries.iter().enumerate();
    numbered
        .map(|(index, entry)| identity(index, entry))
        .collect()
}

fn identity(index: usize, entry: &Value) -> Result<(Vec<String>, Identity)> {
    let text = |name: &str| {
        let given = entry.get(name).and_then(Value::as_str).map(str::to_owned);
        given.ok_or_else(|| {
            invalid(format!(
                "tlsAuth[{index}]: {name} is missing; give it as PEM text, such as open('client.pem')"
            ))
        })
    };
    if entry
        .get("password")
        .is_some_and(|password| !password.is_null())
    {
        return Err(invalid(format!(
            "tlsAuth[{index}]: keys with a password are not read; take it off: openssl pkey -in key.pem -out plain.pem"
        )));
    }
    let hosts = entry.get("domains").and_then(Value::as_array);
    let hosts = hosts.into_iter().flatten().filter_map(Value::as_str);
    let identity = Identity {
        chain: text("cert")?,
        key: text("key")?,
    };
    Ok((hosts.map(str::to_owned).collect(), identity))
}

/// What was chosen is tried before anything is sent.
pub(super) fn check(said: &Settings, naming: &Naming) -> Result<()> {
    let is_chosen = said.tls_version.is_some()
        || !naming.tls.suites.is_empty()
        || !naming.identities.is_empty();
    if is_chosen {
        naming.check_tls().map_err(|error| match error {
            TlsError::Identity(_) | TlsError::Key(_) => invalid(format!("tlsAuth: {error}")),
            error => invalid(error),
        })?;
    }
    Ok(())
}
