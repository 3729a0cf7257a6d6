//! What a start would find wrong with settings, found without starting.

use crate::GuardError;
use crate::access::AccessLog;
use crate::config::Config;
use crate::listener::Manner;
use crate::upstreams::secure;

/// Reads every file that a start would read. It listens nowhere, looks up no name and writes nothing.
pub fn check(config: &Config) -> Result<(), GuardError> {
    for listener in &config.listeners {
        Manner::read(listener)?;
    }
    for group in &config.groups {
        secure(group, config.upstream_ca.as_deref())?;
    }
    match &config.access_log {
        Some(log) => AccessLog::check(log),
        None => Ok(()),
    }
}
