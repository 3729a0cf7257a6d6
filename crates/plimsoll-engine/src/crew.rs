//! The worker threads of a run: started by name, told what to do, joined when their owner goes.

use std::thread::JoinHandle;

use plimsoll_base::mailbox::{Receiver, Sender, mailbox};
use plimsoll_base::poll::{Poll, Waker};
use thiserror::Error;

use crate::message::{Command, Counted, Report};

/// A worker thread could not be started.
#[derive(Debug, Error)]
#[error("cannot start worker {index}")]
pub struct CrewError {
    index: usize,
    source: std::io::Error,
}

/// What a worker thread gets at its start.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) index: usize,
    pub(crate) poll: Poll,
    pub(crate) commands: Receiver<Command>,
    pub(crate) reports: Sender<Report>,
}

/// Worker threads. The owner tells them to end before it drops them.
#[derive(Debug)]
pub(crate) struct Crew {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    commands: Sender<Command>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Crew {
    /// Starts `count` threads called `name`-0, `name`-1 and so on; and where their reports come.
    pub(crate) fn start<F>(
        count: u32,
        name: &str,
        work: impl Fn(Endpoint) -> F,
    ) -> Result<(Self, Receiver<Report>), CrewError>
    where
        F: FnOnce() + Send + 'static,
    {
        let (reports, reported) = mailbox();
        let mut crew = Self {
            members: Vec::new(),
        };
        for index in 0..count as usize {
            let failed = |source| CrewError { index, source };
            let poll = Poll::new().map_err(failed)?;
            let waker = poll.waker();
            let (sender, commands) = mailbox();
            let run = work(Endpoint {
                index,
                poll,
                commands,
                reports: reports.clone(),
            });
            let thread = std::thread::Builder::new()
                .name(format!("{name}-{index}"))
                .spawn(run)
                .map_err(failed)?;
            crew.members.push(Member {
                commands: sender,
                waker,
                thread: Some(thread),
            });
        }
        Ok((crew, reported))
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn send(&self, index: usize, command: Command) {
        self.send_quietly(index, command);
        self.members[index].waker.wake();
    }

    /// Without waking: the worker finds it on its next turn.
    fn send_quietly(&self, index: usize, command: Command) {
        // A worker that is gone has said why in a report, which is found on the next receive.
        self.members[index].commands.send(command);
    }

    /// Gives a worker the memory of a window back, cleared.
    pub(crate) fn give_back(&self, worker: usize, mut counted: Counted) {
        counted.clear();
        self.send_quietly(worker, Command::Cleared(counted));
    }

    pub(crate) fn send_all(&self, command: impl Fn() -> Command) {
        for index in 0..self.members.len() {
            self.send(index, command());
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for member in &mut self.members {
            if let Some(thread) = member.thread.take() {
                // A worker whose commands have no sender left ends too, once it is awake.
                member.commands = mailbox().0;
                member.waker.wake();
                // A worker's panic has been printed by the panic hook already.
                let _panicked = thread.join();
            }
        }
    }
}
