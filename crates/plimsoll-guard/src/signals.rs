//! SIGHUP and SIGUSR1: the access log is opened again, as after a rotation; SIGHUP also reads the certificates anew.

use std::rc::Rc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_local;

use crate::GuardError;
use crate::listener::Seal;
use crate::shared::Server;

pub(crate) fn watch(server: &Rc<Server>, seal: Option<&Rc<Seal>>) -> Result<(), GuardError> {
    let watched = |kind| signal(kind).map_err(GuardError::io("watch for signals"));
    let mut hup = watched(SignalKind::hangup())?;
    let mut user = watched(SignalKind::user_defined1())?;
    let (server, seal) = (Rc::clone(server), seal.cloned());
    spawn_local(async move {
        while let Some(is_hup) = next(&mut hup, &mut user).await {
            if let Some(log) = &server.log {
                log.reopen();
            }
            let Some(seal) = seal.as_ref().filter(|_| is_hup) else {
                continue;
            };
            // What is wrong with the files shows in the metrics; clients go on to see what was there before.
            match seal.renew() {
                Ok(()) => server.counts.certificates_read.add(),
                Err(_) => server.counts.certificates_refused.add(),
            }
        }
    });
    Ok(())
}

/// Whether it was SIGHUP.
async fn next(hup: &mut Signal, user: &mut Signal) -> Option<bool> {
    tokio::select! {
        got = hup.recv() => got.map(|()| true),
        got = user.recv() => got.map(|()| false),
    }
}
