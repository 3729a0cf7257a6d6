//! The guardian: the process between the lab and its tiers that ends them all when the lab ends, however that happens.
//!
//! Its standard input is a pipe that only the lab holds open: the end of the file, which the kernel sends
//! also after a SIGKILL, is the order to end everything. Orphans of the tiers become its children
//! (`PR_SET_CHILD_SUBREAPER`), so that a program which puts itself into the background is found too.

mod family;
mod group;
mod launch;
mod message;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Stdout, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plimsoll_core::record::FaultKind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process};

use crate::LabError;
use crate::serve::clock::now;
use group::Group;
pub(crate) use message::{Order, Reply, Request};

/// The words by which the binary starts these two, instead of a command: they belong to the lab alone.
pub(crate) const GUARDIAN: &str = "lab-guardian";
pub(crate) const LAUNCH: &str = "lab-launch";

/// Between two looks for children that ended.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};
/// How long tiers may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
/// How long the kernel may take to end what was killed: a process that writes to a slow disk.
const KILL_WITHIN: Duration = Duration::from_secs(10);

/// Runs the guardian or the launcher if the words name one of them; gives its exit code.
pub fn of_words(words: &[std::ffi::OsString]) -> Option<u8> {
    let first = words.get(1)?.to_str()?;
    let rest = words.get(2..).unwrap_or_default();
    let ended = match first {
        GUARDIAN => Guardian::run(),
        LAUNCH => launch::run(rest),
        _ => return None,
    };
    Some(match ended {
        Ok(()) => 0,
        Err(error) => {
            message::complain(&error);
            // As a shell says that a command cannot be run.
            127
        }
    })
}

struct Guardian {
    said: Stdout,
    /// What was started, in that order; `None` for one that has ended.
    started: Vec<(String, Option<Pid>)>,
    groups: BTreeMap<String, Group>,
    /// How each was started, to start it again.
    orders: BTreeMap<String, Order>,
    /// What is to be done to whom, and when.
    faults: Vec<(Instant, String, FaultKind)>,
    /// Killed as asked, and what comes then; the end of these is not reported.
    killed: BTreeMap<String, FaultKind>,
}

impl Guardian {
    fn run() -> Result<(), LabError> {
        // Set here and not by the lab: orphans are adopted from the first tier on.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|errno| LabError::io("adopt orphans")(errno.into()))?;
        group::remove_leftovers();
        let asked_to_end = Arc::new(AtomicBool::new(false));
        for signal in [
            signal_hook::consts::SIGTERM,
            signal_hook::consts::SIGINT,
            signal_hook::consts::SIGHUP,
        ] {
            signal_hook::flag::register(signal, Arc::clone(&asked_to_end))
                .map_err(LabError::io("listen for signals"))?;
        }
        let mut guardian = Self {
            said: std::io::stdout(),
            started: Vec::new(),
            groups: BTreeMap::new(),
            orders: BTreeMap::new(),
            faults: Vec::new(),
            killed: BTreeMap::new(),
        };
        guardian.serve(&asked_to_end);
        guardian.end_all();
        Ok(())
    }

    /// Carries orders out until the lab closes the pipe.
    fn serve(&mut self, asked_to_end: &AtomicBool) {
        let input = std::io::stdin();
        let mut pending = Vec::new();
        while !asked_to_end.load(Ordering::Relaxed) {
            self.do_due();
            self.reap();
            let mut fds = [PollFd::new(&input, PollFlags::IN)];
            // A signal interrupts the wait: the flag above tells.
            if !poll(&mut fds, Some(&LOOK)).is_ok_and(|ready| ready > 0) {
                continue;
            }
            let mut buffer = [0; 4096];
            match rustix::io::read(&input, &mut buffer) {
                Ok(0) => return,
                Ok(length) => pending.extend_from_slice(buffer.get(..length).unwrap_or_default()),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                self.carry_out(&line);
            }
        }
    }

    fn carry_out(&mut self, line: &[u8]) {
        let said = match serde_json::from_slice::<Request>(line) {
            Ok(Request::Start(order)) => {
                let id = order.id.clone();
                self.orders.insert(id.clone(), order.clone());
                self.start(order).unwrap_or_else(|error| Reply::Refused {
                    id,
                    reason: error.to_string(),
                })
            }
            Ok(Request::Fault { id, after_ms, what }) => {
                let at = now() + Duration::from_millis(after_ms);
                self.faults.push((at, id.clone(), what));
                Reply::Armed { id }
            }
            Err(error) => Reply::Refused {
                id: String::new(),
                reason: format!("an order that cannot be read: {error}"),
            },
        };
        self.say(&said);
    }

    fn start(&mut self, order: Order) -> Result<Reply, LabError> {
        let (isolation, joins, cores) = self.confine(&order)?;
        let log = log(&order)?;
        let errors = log.try_clone().map_err(LabError::io("share the log"))?;
        let binary = std::env::current_exe().map_err(LabError::io("find this program"))?;
        let mut command = Command::new(binary);
        command
            .arg(LAUNCH)
            .arg(rustix::process::getpid().as_raw_nonzero().to_string());
        for group in &joins {
            command.arg("--join").arg(group);
        }
        if !cores.is_empty() {
            command.arg("--cores").arg(launch::listed(&cores));
        }
        let child = command
            .arg("--")
            .arg(&order.program)
            .args(&order.args)
            .envs(&order.env)
            .current_dir(&order.folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(LabError::io("start a process"))?;
        let pid = child.id();
        let handle = i32::try_from(pid).ok().and_then(Pid::from_raw);
        self.started.push((order.id.clone(), handle));
        Ok(Reply::Started {
            id: order.id,
            pid,
            isolation,
        })
    }

    /// Faults whose time has come; [`Self::reap`] starts again what was killed for that.
    fn do_due(&mut self) {
        let time = now();
        let mut due: Vec<_> = self.faults.extract_if(.., |(at, ..)| *at <= time).collect();
        due.sort_by_key(|(at, ..)| *at);
        for (_, id, what) in due {
            let running = |(known, pid): &(String, Option<Pid>)| (*known == id).then_some(*pid)?;
            let Some(pid) = self.started.iter().find_map(running) else {
                continue;
            };
            let signal = match what {
                FaultKind::Stopped => Signal::STOP,
                FaultKind::Continued => Signal::CONT,
                FaultKind::Restarted | FaultKind::Ended => Signal::KILL,
            };
            let descendants = match what {
                // What it started is ended by itself where it is started again.
                FaultKind::Restarted => Vec::new(),
                _ => family::descendants(pid),
            };
            match what {
                FaultKind::Stopped | FaultKind::Continued => {
                    self.say(&Reply::Done { id, what });
                }
                FaultKind::Restarted | FaultKind::Ended => {
                    self.killed.insert(id, what);
                }
            }
            // It may have ended on its own: that, too, is then taken for the kill.
            for pid in std::iter::once(pid).chain(descendants) {
                let _gone = kill_process(pid, signal);
            }
        }
    }

    /// What was killed as asked runs again, in the control group that it had.
    fn restart(&mut self, id: &str) -> Reply {
        let Some(order) = self.orders.get(id).cloned() else {
            return Reply::Ended {
                id: id.to_owned(),
                how: "was killed and cannot be started again".to_owned(),
            };
        };
        match self.start(order) {
            Ok(_) => Reply::Done {
                id: id.to_owned(),
                what: FaultKind::Restarted,
            },
            Err(error) => Reply::Ended {
                id: id.to_owned(),
                how: format!("was killed and could not be started again: {error}"),
            },
        }
    }

    /// A control group, else cores of its own; in words, and what the launcher has to do.
    fn confine(&mut self, order: &Order) -> Result<(String, Vec<PathBuf>, Vec<usize>), LabError> {
        if order.cpu.is_none() && order.memory_bytes.is_none() {
            return Ok(("not confined".to_owned(), Vec::new(), Vec::new()));
        }
        if let Some(group) = self.groups.get(&order.id) {
            return Ok((group.to_string(), group.joins(), Vec::new()));
        }
        match Group::create(&order.id, order.cpu, order.memory_bytes) {
            Ok(group) => {
                let joins = group.joins();
                let isolation = group.to_string();
                self.groups.insert(order.id.clone(), group);
                Ok((isolation, joins, Vec::new()))
            }
            Err(reason) if order.memory_bytes.is_some() => Err(LabError::Confine { reason }),
            Err(reason) => {
                let cores = launch::listed(&order.cores);
                let isolation = format!("affinity to core {cores}, without a quota: {reason}");
                Ok((isolation, Vec::new(), order.cores.clone()))
            }
        }
    }

    fn say(&mut self, said: &Reply) {
        // A lab that is gone reads nothing: the end of the input follows.
        let line = serde_json::to_string(said).unwrap_or_default();
        drop(writeln!(self.said, "{line}").and_then(|()| self.said.flush()));
    }

    /// Takes note of every child that ended, also of adopted ones.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let Some(index) = self
                .started
                .iter()
                .position(|(_, known)| *known == Some(pid))
            else {
                continue;
            };
            self.started[index].1 = None;
            let id = self.started[index].0.clone();
            let said = match self.killed.remove(&id) {
                Some(FaultKind::Restarted) => self.restart(&id),
                Some(what) => Reply::Done { id, what },
                None => {
                    let how = message::how(status);
                    Reply::Ended { id, how }
                }
            };
            self.say(&said);
        }
    }

    /// SIGTERM to the tiers, those in front first; after a grace SIGKILL to all that descends from them.
    fn end_all(&mut self) {
        let me = rustix::process::getpid();
        // What was stopped hears nothing else.
        for pid in family::descendants(me) {
            let _gone = kill_process(pid, Signal::CONT);
        }
        for (_, pid) in self.started.iter().rev() {
            if let Some(pid) = pid {
                // It may have ended on its own.
                let _gone = kill_process(*pid, Signal::TERM);
            }
        }
        // Nobody is started again from here on.
        self.killed.clear();
        let grace = now() + GRACE;
        let last = grace + KILL_WITHIN;
        loop {
            self.reap();
            let family = family::descendants(me);
            if family.is_empty() || now() > last {
                break;
            }
            if now() > grace {
                for pid in family {
                    let _gone = kill_process(pid, Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.groups.clear();
    }
}

fn log(order: &Order) -> Result<File, LabError> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&order.log)
        .map_err(LabError::io(format!("write {}", order.log.display())))
}
