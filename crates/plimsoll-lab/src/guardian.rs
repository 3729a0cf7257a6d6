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
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process};

use crate::LabError;
use crate::serve::clock::now;
use group::Group;
pub(crate) use message::{Order, Said};

/// The words by which the binary starts these two, instead of a command: they belong to the lab alone.
pub const GUARDIAN: &str = "lab-guardian";
pub const LAUNCH: &str = "lab-launch";

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
        let said = match serde_json::from_slice::<Order>(line) {
            Ok(order) => {
                let id = order.id.clone();
                self.start(order).unwrap_or_else(|error| Said::Refused {
                    id,
                    reason: error.to_string(),
                })
            }
            Err(error) => Said::Refused {
                id: String::new(),
                reason: format!("an order that cannot be read: {error}"),
            },
        };
        self.say(&said);
    }

    fn start(&mut self, order: Order) -> Result<Said, LabError> {
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
        Ok(Said::Started {
            id: order.id,
            pid,
            isolation,
        })
    }

    /// A control group, else cores of its own; in words, and what the launcher has to do.
    fn confine(&mut self, order: &Order) -> Result<(String, Vec<PathBuf>, Vec<usize>), LabError> {
        if order.cpu.is_none() && order.memory_bytes.is_none() {
            return Ok(("not confined".to_owned(), Vec::new(), Vec::new()));
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

    fn say(&mut self, said: &Said) {
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
            let said = Said::Ended {
                id: self.started[index].0.clone(),
                how: message::how(status),
            };
            self.say(&said);
        }
    }

    /// SIGTERM to the tiers, those in front first; after a grace SIGKILL to all that descends from them.
    fn end_all(&mut self) {
        for (_, pid) in self.started.iter().rev() {
            if let Some(pid) = pid {
                // It may have ended on its own.
                let _gone = kill_process(*pid, Signal::TERM);
            }
        }
        let me = rustix::process::getpid();
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
