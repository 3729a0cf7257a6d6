//! Sends bodies to a server by a thread of its own: a slow or absent one holds up neither the load nor its windows.
//!
//! What could not be sent is told once, and again when it works.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Result, bail};
use plimsoll_core::Nanos;
use plimsoll_core::test::Request;
use plimsoll_net::exchange::{Patience, exchange};

use crate::script::console;

/// Longest wait for one answer.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// An answer is empty, or says in a few lines what was wrong.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Bodies that may wait to be sent; a further one is dropped.
const WAITING_MAX: usize = 4;

/// Where bodies go and with which headers.
#[derive(Debug, Clone)]
pub(super) struct Destination {
    /// As messages name it: `remote write`, `influxdb`.
    pub(super) name: &'static str,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    /// Certificates are not verified.
    pub(super) insecure: bool,
}

/// The thread that sends.
pub(super) struct Sender {
    name: &'static str,
    bodies: SyncSender<Vec<u8>>,
    thread: JoinHandle<()>,
    /// How many bodies were left out, because earlier ones were still waiting.
    left_out: u64,
}

impl Sender {
    /// `first` goes before everything else, to another address, and may fail.
    pub(super) fn start(
        destination: Destination,
        first: Option<(String, Vec<u8>)>,
    ) -> std::io::Result<Self> {
        let (bodies, waiting) = sync_channel(WAITING_MAX);
        let name = destination.name;
        let thread = std::thread::Builder::new()
            .name("samples-out".to_owned())
            .spawn(move || {
                if let Some((url, body)) = first {
                    // Whether it mattered shows with the first body.
                    let _may_fail = destination.post(&url, body);
                }
                send_all(&destination, &waiting);
            })?;
        Ok(Self {
            name,
            bodies,
            thread,
            left_out: 0,
        })
    }

    /// Sends it soon, unless too many are waiting.
    pub(super) fn push(&mut self, body: Vec<u8>) {
        if let Err(TrySendError::Full(_)) = self.bodies.try_send(body) {
            if self.left_out == 0 {
                let name = self.name;
                console::warn(&format!(
                    "{name} is slower than the test: a push was left out"
                ));
            }
            self.left_out += 1;
        }
    }

    /// Sends these too, and waits until all are gone.
    pub(super) fn close(self, last: impl IntoIterator<Item = Vec<u8>>) {
        for body in last {
            // The thread is gone only if it panicked, which has been printed.
            let _thread_gone = self.bodies.send(body);
        }
        drop(self.bodies);
        let _panicked = self.thread.join();
        if self.left_out > 1 {
            console::warn(&format!(
                "{}: {} pushes were left out in all",
                self.name, self.left_out
            ));
        }
    }
}

impl Destination {
    fn post(&self, url: &str, body: Vec<u8>) -> Result<()> {
        let request = Request {
            method: "POST".to_owned(),
            url: url.to_owned(),
            headers: self.headers.clone(),
            body,
        };
        let patience = Patience {
            time: PATIENCE,
            body_bytes_max: ANSWER_BYTES_MAX,
            insecure: self.insecure,
        };
        let response = exchange(&request, patience)?;
        if !(200..300).contains(&response.status) {
            let text = String::from_utf8_lossy(&response.body);
            let line = text.lines().next().unwrap_or_default();
            bail!("answered with status {}: {line}", response.status);
        }
        Ok(())
    }
}

fn send_all(destination: &Destination, bodies: &Receiver<Vec<u8>>) {
    let (name, mut works) = (destination.name, true);
    // A query may hold what is nobody's business.
    let shown = destination.url.split('?').next().unwrap_or_default();
    for body in bodies {
        match (destination.post(&destination.url, body), works) {
            (Ok(()), false) => {
                console::warn(&format!("{name} to {shown} works again"));
                works = true;
            }
            (Err(error), true) => {
                console::warn(&format!("{name} to {shown}: {error:#}"));
                works = false;
            }
            (Ok(()), true) | (Err(_), false) => {}
        }
    }
}

/// A variable that says something, behind this prefix.
pub(super) fn said(prefix: &'static str) -> impl Fn(&str) -> Option<String> {
    move |name| {
        let value = std::env::var(format!("{prefix}{name}")).ok();
        value.filter(|value| !value.is_empty())
    }
}

pub(super) fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| matches!(value.as_str(), "true" | "1"))
}

/// `Authorization: Basic …`
pub(super) fn basic(user: &str, password: &str) -> (String, String) {
    let pair = format!("{user}:{password}");
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, pair);
    ("Authorization".to_owned(), format!("Basic {encoded}"))
}
