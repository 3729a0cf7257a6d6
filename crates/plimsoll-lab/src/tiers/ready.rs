//! Waits until a tier can be used: a connection, an answer, a line of its output.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use plimsoll_core::Nanos;
use plimsoll_core::test::Request;
use plimsoll_net::exchange::{Patience, exchange};

use super::lookout::Lookout;
use super::tail::last_words;
use crate::LabError;
use crate::experiment::{DOCDB, GUARD, Program, Ready, Tier};
use crate::serve::LISTENING;
use crate::serve::clock::now;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A service that takes a second for an answer is asked again.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
const PATIENCE: Patience = Patience {
    time: Nanos::from_secs(1),
    body_bytes_max: 16 << 20,
    insecure: false,
};

/// What the guard's line begins with that has its addresses.
const GUARD_LISTENS: &str = "guard: http";

/// An instance that was started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting<'a> {
    pub(super) name: &'a str,
    pub(super) tier: &'a Tier,
    pub(super) port: u16,
    pub(super) log: &'a Path,
    /// Its command, for messages.
    pub(super) shown: &'a str,
}

impl Waiting<'_> {
    pub(super) fn wait(&self, lookout: &Lookout) -> Result<(), LabError> {
        let within = Duration::from_nanos(self.tier.ready_within.0);
        let deadline = now() + within;
        loop {
            if let Some((name, how)) = lookout.ended() {
                return Err(self.died(&name, &how));
            }
            if lookout.is_stopped() {
                return Err(LabError::Stopped);
            }
            if self.is_ready() {
                return Ok(());
            }
            if now() > deadline {
                return Err(self.too_late());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn is_ready(&self) -> bool {
        match &self.tier.ready {
            // An embedded service listens before it can answer, and says when; the database says it otherwise.
            Ready::Tcp => match self.word() {
                Some(word) => self.printed(word) && accepts(self.port),
                None => accepts(self.port),
            },
            Ready::Http(path) => {
                status(self.port, path).is_some_and(|status| (200..400).contains(&status))
            }
            Ready::Line(text) => self.printed(text),
        }
    }

    /// What an embedded service prints when it listens.
    fn word(&self) -> Option<&'static str> {
        match &self.tier.program {
            Program::Embedded { name, .. } if name == DOCDB => None,
            Program::Embedded { name, .. } if name == GUARD => Some(GUARD_LISTENS),
            Program::Embedded { .. } => Some(LISTENING),
            Program::Command(_) => None,
        }
    }

    fn printed(&self, text: &str) -> bool {
        std::fs::read(self.log).is_ok_and(|log| String::from_utf8_lossy(&log).contains(text))
    }

    fn died(&self, name: &str, how: &str) -> LabError {
        // Another tier may be the one that ended while this one was waited for.
        let own = name == self.name;
        LabError::TierDied {
            tier: name.to_owned(),
            how: if own {
                format!("{how} before it was ready")
            } else {
                format!("{how} while {} was started", self.name)
            },
            said: if own {
                last_words(self.log)
            } else {
                String::new()
            },
            fix: format!(
                "`tiers.{}` was started as: {}; all that it printed is in {}",
                self.tier.name,
                self.shown,
                self.log.display()
            ),
        }
    }

    fn too_late(&self) -> LabError {
        let (what, fix) = match &self.tier.ready {
            Ready::Tcp => (
                format!("nothing accepts connections on 127.0.0.1:{}", self.port),
                "does it listen on ${port}? another sign is set with `ready`",
            ),
            Ready::Http(path) => (
                format!("no good answer from http://127.0.0.1:{}{path}", self.port),
                "does it listen on ${port}, and is the path right?",
            ),
            Ready::Line(text) => (format!("it never printed `{text}`"), "is the text right?"),
        };
        LabError::NotReady {
            tier: self.name.to_owned(),
            within: self.tier.ready_within,
            what,
            said: last_words(self.log),
            fix: format!(
                "{fix} a longer wait is set with `tiers.{}.ready_within`; its log is {}",
                self.tier.name,
                self.log.display()
            ),
        }
    }
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

pub(super) fn accepts(port: u16) -> bool {
    TcpStream::connect_timeout(&address(port), ANSWER_WITHIN).is_ok()
}

/// The status of one GET.
fn status(port: u16, path: &str) -> Option<u16> {
    let request = Request {
        method: "GET".to_owned(),
        url: format!("http://127.0.0.1:{port}{path}"),
        headers: Vec::new(),
        body: Vec::new(),
    };
    Some(exchange(&request, PATIENCE).ok()?.status)
}
