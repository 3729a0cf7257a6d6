//! The worker threads of a run: started by name, told what to do, joined when their owner goes.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use plimsoll_net::poll::{Poll, Waker};
use thiserror::Error;

/// A worker thread could not be started.
#[derive(Debug, Error)]
#[error("cannot start worker {index}")]
pub struct CrewError {
    index: usize,
    source: std::io::Error,
}

/// What a worker thread gets at its start.
#[derive(Debug)]
pub(crate) struct Post<C> {
    pub(crate) index: usize,
    pub(crate) poll: Poll,
    pub(crate) commands: Receiver<C>,
}

/// Worker threads that take commands of type `C`. The owner tells them to end before it drops them.
#[derive(Debug)]
pub(crate) struct Crew<C> {
    members: Vec<Member<C>>,
}

#[derive(Debug)]
struct Member<C> {
    commands: Sender<C>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl<C: Send + 'static> Crew<C> {
    /// Starts `count` threads called `name`-0, `name`-1 and so on.
    pub(crate) fn start<F>(
        count: u32,
        name: &str,
        work: impl Fn(Post<C>) -> F,
    ) -> Result<Self, CrewError>
    where
        F: FnOnce() + Send + 'static,
    {
        let mut crew = Self {
            members: Vec::new(),
        };
        for index in 0..count as usize {
            let of_io = |source| CrewError { index, source };
            let poll = Poll::new().map_err(of_io)?;
            let waker = poll.waker();
            let (sender, commands) = channel();
            let run = work(Post {
                index,
                poll,
                commands,
            });
            let thread = std::thread::Builder::new()
                .name(format!("{name}-{index}"))
                .spawn(run)
                .map_err(of_io)?;
            crew.members.push(Member {
                commands: sender,
                waker,
                thread: Some(thread),
            });
        }
        Ok(crew)
    }
}

impl<C> Crew<C> {
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn tell(&self, index: usize, command: C) {
        self.tell_quietly(index, command);
        self.members[index].waker.wake();
    }

    /// Without waking: the worker finds it on its next turn.
    pub(crate) fn tell_quietly(&self, index: usize, command: C) {
        // A worker that is gone has said why in a report, which is found on the next receive.
        let _worker_gone = self.members[index].commands.send(command);
    }

    pub(crate) fn tell_all(&self, command: impl Fn() -> C) {
        for index in 0..self.members.len() {
            self.tell(index, command());
        }
    }
}

impl<C> Drop for Crew<C> {
    fn drop(&mut self) {
        for member in &mut self.members {
            if let Some(thread) = member.thread.take() {
                // A worker whose commands have no sender left ends too, once it is awake.
                member.commands = channel().0;
                member.waker.wake();
                // A worker's panic has been printed by the panic hook already.
                let _panicked = thread.join();
            }
        }
    }
}
