//! The lab's end of the guardian: gives orders, hears which tier ended, ends all by closing the pipe.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_core::Nanos;
use plimsoll_core::record::FaultKind;

use crate::LabError;
use crate::guardian::{GUARDIAN, Order, Reply, Request};

/// A start is a fork and an exec: longer means that something is wrong with the machine.
const START_WITHIN: Duration = Duration::from_secs(20);
/// The name under which the guardian's own end is noted.
const ITSELF: &str = "the guardian of the tiers";

#[derive(Debug)]
pub(super) struct Lookout {
    guardian: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<Reply>,
    ended: Arc<Mutex<BTreeMap<String, String>>>,
    done: Arc<Mutex<Vec<(String, FaultKind)>>>,
    ending: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Lookout {
    pub(super) fn start(stop: Arc<AtomicBool>) -> Result<Self, LabError> {
        let failed = "start the guardian of the tiers";
        let binary = std::env::current_exe().map_err(LabError::io(failed))?;
        let mut guardian = Command::new(binary)
            .arg(GUARDIAN)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C is for the lab, which then ends everything in order.
            .process_group(0)
            .spawn()
            .map_err(LabError::io(failed))?;
        let orders = guardian.stdin.take();
        let output = guardian.stdout.take();
        let (sender, answers) = channel();
        let mut lookout = Self {
            guardian,
            orders,
            answers,
            ended: Arc::default(),
            done: Arc::default(),
            ending: Arc::default(),
            stop,
            listener: None,
        };
        if let Some(output) = output {
            lookout
                .listen(output, sender)
                .map_err(LabError::io(failed))?;
        }
        Ok(lookout)
    }

    fn listen(&mut self, output: ChildStdout, answers: Sender<Reply>) -> std::io::Result<()> {
        let ended = Arc::clone(&self.ended);
        let done = Arc::clone(&self.done);
        let (ending, stop) = (Arc::clone(&self.ending), Arc::clone(&self.stop));
        let note = move |id: String, how: String| {
            if !ending.load(Ordering::Relaxed) {
                let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                ended.entry(id).or_insert(how);
                stop.store(true, Ordering::Relaxed);
            }
        };
        let listener = std::thread::Builder::new().name("tiers".to_owned());
        let listener = listener.spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(Reply::Ended { id, how }) => note(id, how),
                    Ok(Reply::Done { id, what }) => {
                        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                        done.push((id, what));
                    }
                    // Nobody waits for an answer any more: the lab is on its way out.
                    Ok(said) => drop(answers.send(said)),
                    Err(error) => note(ITSELF.to_owned(), format!("said `{line}`: {error}")),
                }
            }
            note(ITSELF.to_owned(), "ended".to_owned());
        })?;
        self.listener = Some(listener);
        Ok(())
    }

    /// Starts an instance; its process, and how it is kept to its share.
    pub(super) fn order(&self, order: &Order) -> Result<(u32, String), LabError> {
        match self.ask(&order.id, &Request::Start(order.clone()))? {
            Reply::Started { pid, isolation, .. } => Ok((pid, isolation)),
            _ => Err(no_answer(&order.id)),
        }
    }

    /// Has that done to an instance so much later.
    pub(super) fn fault(&self, id: &str, after: Nanos, what: FaultKind) -> Result<(), LabError> {
        let ask = Request::Fault {
            id: id.to_owned(),
            after_ms: after.0 / 1_000_000,
            what,
        };
        match self.ask(id, &ask)? {
            Reply::Armed { .. } => Ok(()),
            _ => Err(no_answer(id)),
        }
    }

    fn ask(&self, id: &str, ask: &Request) -> Result<Reply, LabError> {
        let mut line = serde_json::to_vec(ask).unwrap_or_default();
        line.push(b'\n');
        let orders = self.orders.as_ref();
        let written =
            orders.map(|mut orders| orders.write_all(&line).and_then(|()| orders.flush()));
        if !matches!(written, Some(Ok(()))) {
            return Err(LabError::tier(id, format!("{ITSELF} takes no orders")));
        }
        match self.answers.recv_timeout(START_WITHIN) {
            Ok(Reply::Refused { reason, .. }) => Err(LabError::tier(id, reason)),
            Ok(said) => Ok(said),
            Err(_) => Err(no_answer(id)),
        }
    }

    /// What was done as asked, and to whom.
    pub(super) fn done(&self) -> Vec<(String, FaultKind)> {
        self.done
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The tier that ended first by name, and how.
    pub(super) fn ended(&self) -> Option<(String, String)> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let first = ended.iter().next();
        first.map(|(name, how)| (name.clone(), how.clone()))
    }

    /// Somebody wants the lab to stop: a signal, or a tier that ended.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Closes the pipe and waits until every process is gone.
    pub(super) fn end(mut self) -> Result<(), LabError> {
        self.close()
    }

    fn close(&mut self) -> Result<(), LabError> {
        self.ending.store(true, Ordering::Relaxed);
        if self.orders.take().is_none() {
            return Ok(());
        }
        let ended = self
            .guardian
            .wait()
            .map_err(LabError::io("wait for the tiers to end"))?;
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
        if ended.success() {
            Ok(())
        } else {
            Err(LabError::tier(
                ITSELF,
                format!("{ended}; look for processes that it left behind"),
            ))
        }
    }
}

fn no_answer(id: &str) -> LabError {
    LabError::tier(id, format!("{ITSELF} did not answer"))
}

impl Drop for Lookout {
    fn drop(&mut self) {
        // The error that led here is told instead.
        drop(self.close());
    }
}
