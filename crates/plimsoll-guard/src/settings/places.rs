//! Where clients come in and how they are spoken to; the log, and who vouches for upstreams.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use plimsoll_core::keys::Misplaced;

use super::file::{File, ListenerSpec, Many};
use super::reader::Reader;
use super::{Flags, place};
use crate::config::{AccessLogConfig, LogTo};
use crate::config::{Certificate, Listener};
use crate::dial::Place;
use crate::trust::Network;

const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

impl Reader<'_> {
    pub(super) fn listeners(
        &mut self,
        file: &File,
        flags: &Flags,
    ) -> Result<Vec<Listener>, Misplaced> {
        if self.place.says("listen") && self.place.says("listeners") {
            let fix = "both `listen` and [[listeners]] say where to listen: keep one of them";
            return Err(self.wrong("listen", fix));
        }
        let mut listeners = match &flags.listen {
            Some(listen) => {
                self.note_of("listen", format!("\"{listen}\""), "--listen");
                vec![Listener::plain(listen.clone())]
            }
            None => self.listeners_of(file)?,
        };
        if self.place.says("listen") && listeners.is_empty() {
            return Err(self.wrong("listen", "the list is empty: write \":8080\""));
        }
        if listeners.is_empty() {
            self.note("listen", format!("\"{LISTEN}\""));
            listeners.push(Listener::plain(LISTEN.into()));
        }
        if flags.no_http2 {
            self.note_of("http2", false, "--no-http2");
            for listener in &mut listeners {
                listener.http2 = false;
            }
        }
        if !flags.tls_cert.is_empty() {
            let [listener] = &mut listeners[..] else {
                let fix = "--tls-cert is for one listener, and there are several: write tls_cert into [[listeners]]";
                return Err(self.wrong("listen", fix));
            };
            let paired = certificates(&flags.tls_cert, &flags.tls_key);
            listener.certificates = paired.map_err(|fix| self.wrong("listen", fix))?;
            self.note_of("tls_cert", format!("{:?}", flags.tls_cert), "--tls-cert");
        }
        Ok(listeners)
    }

    pub(super) fn trusted(&mut self, file: &File) -> Result<Vec<Network>, Misplaced> {
        let texts = file.trusted.iter().flat_map(|many| &many.0);
        let networks: Result<Vec<Network>, String> = texts.map(|text| text.parse()).collect();
        let networks = networks.map_err(|problem| self.wrong("trusted", problem))?;
        let shown: Vec<String> = networks.iter().map(ToString::to_string).collect();
        self.note("trusted", format!("{shown:?}"));
        Ok(networks)
    }

    fn listeners_of(&mut self, file: &File) -> Result<Vec<Listener>, Misplaced> {
        let mut listeners: Vec<Listener> = Vec::new();
        let texts = file.listen.iter().flat_map(|many| &many.0);
        let plain = ListenerSpec::default();
        let mut written: Vec<(String, String, &ListenerSpec)> = texts
            .map(|text| ("listen".to_owned(), text.clone(), &plain))
            .collect();
        for (index, spec) in file.listeners.iter().enumerate() {
            let path = format!("listeners.{}.address", index + 1);
            let text = spec.address.clone();
            let text = text.ok_or_else(|| self.wrong(&path, "say where: address = \":8080\""))?;
            written.push((path, text, spec));
        }
        for (path, text, spec) in written {
            let place = place(&text).map_err(|problem| self.wrong(&path, problem))?;
            let is_any = matches!(place, Place::Tcp(address) if address.port() == 0);
            if !is_any && listeners.iter().any(|one| one.place == place) {
                return Err(self.wrong(&path, format!("{place} is there twice: take one out")));
            }
            self.note(&path, format!("\"{place}\""));
            listeners.push(self.listener(&path, place, spec)?);
        }
        Ok(listeners)
    }

    fn listener(
        &mut self,
        path: &str,
        place: Place,
        spec: &ListenerSpec,
    ) -> Result<Listener, Misplaced> {
        let at = |key: &str| path.replace("address", key);
        let files = |many: &Option<Many>| -> Vec<PathBuf> {
            many.iter()
                .flat_map(|many| &many.0)
                .map(PathBuf::from)
                .collect()
        };
        let (chains, keys) = (files(&spec.tls_cert), files(&spec.tls_key));
        let paired = certificates(&chains, &keys);
        let paired = paired.map_err(|fix| self.wrong(&at("tls_key"), fix))?;
        if !chains.is_empty() {
            self.note(&at("tls_cert"), format!("{chains:?}"));
        }
        if let Some(http2) = spec.http2 {
            self.note(&at("http2"), http2);
        }
        Ok(Listener {
            place,
            certificates: paired,
            http2: spec.http2.unwrap_or(true),
        })
    }

    pub(super) fn upstream_ca(&mut self, file: &File, flags: &Flags) -> Option<PathBuf> {
        let of_file = file.upstream_ca.as_ref().map(PathBuf::from);
        let flag = flags.upstream_ca.as_ref().map(|_| "--upstream-ca");
        let path = flags.upstream_ca.clone().or(of_file)?;
        self.either("upstream_ca", format!("\"{}\"", path.display()), flag);
        Some(path)
    }

    pub(super) fn access_log(
        &mut self,
        file: &File,
        flags: &Flags,
    ) -> Result<Option<AccessLogConfig>, Misplaced> {
        let of_file = match file.access_log.as_deref() {
            Some("") => return Err(self.wrong("access_log", "write a file, or \"-\"")),
            Some("-") => Some(LogTo::Stdout),
            Some(path) => Some(LogTo::File(path.into())),
            None => None,
        };
        let flag = flags.access_log.as_ref().map(|_| "--access-log");
        let Some(to) = flags.access_log.clone().or(of_file) else {
            self.note("access_log", "\"none\"");
            return Ok(None);
        };
        let shown = match &to {
            LogTo::Stdout => "-".to_owned(),
            LogTo::File(path) => path.display().to_string(),
        };
        self.either("access_log", format!("{shown:?}"), flag);
        Ok(Some(AccessLogConfig {
            to,
            mask: flags.mask.unwrap_or(without_query),
        }))
    }
}

/// Whoever says nothing of secrets shows none.
fn without_query(target: &str) -> String {
    target.split('?').next().unwrap_or_default().to_owned()
}

/// Keys belong to certificates by their order; without any, each file holds both. The error is a fix.
fn certificates(chains: &[PathBuf], keys: &[PathBuf]) -> Result<Vec<Certificate>, String> {
    if !keys.is_empty() && keys.len() != chains.len() {
        return Err(format!(
            "there are {} certificates and {} keys: give a key for each certificate, in the same order, or none",
            chains.len(),
            keys.len()
        ));
    }
    let certificate = |(index, chain): (usize, &PathBuf)| Certificate {
        chain: chain.clone(),
        key: keys.get(index).cloned(),
    };
    Ok(chains.iter().enumerate().map(certificate).collect())
}
