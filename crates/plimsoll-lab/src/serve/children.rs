//! Helper processes of a service: started from the same binary, ended with it.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::LabError;
use crate::serve::clock::now;

/// What every service prints first, before its URL.
pub(crate) const LISTENING: &str = "listening on ";
/// Helpers speak plain HTTP.
const SCHEME: &str = "http://";

/// How long a helper may take to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// The helpers of this process, ended in reverse order when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Children {
    running: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    /// Held open so that the helper never writes into a closed pipe.
    _output: BufReader<ChildStdout>,
}

impl Children {
    /// Starts service `name` on a free port of the loopback and waits until it listens.
    pub(crate) fn start(
        &mut self,
        name: &'static str,
        arguments: &[String],
    ) -> Result<SocketAddr, LabError> {
        let failed = |reason: String| LabError::Helper { name, reason };
        let binary = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut child = Command::new(binary)
            .args(["serve", name, "--port", "0", "--parent"])
            .arg(std::process::id().to_string())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let output = child.stdout.take().expect("invariant: stdout was piped");
        let mut output = BufReader::new(output);
        let mut line = String::new();
        let read = output.by_ref().take(256).read_line(&mut line);
        self.running.push(Running {
            child,
            _output: output,
        });
        read.map_err(|error| failed(error.to_string()))?;
        line.trim_end()
            .strip_prefix(LISTENING)
            .and_then(|url| url.strip_prefix(SCHEME))
            .and_then(|address| address.parse().ok())
            .ok_or_else(|| failed("it ended before it listened".to_owned()))
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for running in self.running.iter_mut().rev() {
            end(&mut running.child);
        }
    }
}

fn end(child: &mut Child) {
    if let Ok(Some(_)) = child.try_wait() {
        return;
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // A failure means that it is gone already: the waits below find out.
    pid.map(|pid| kill_process(pid, Signal::TERM));
    let deadline = now() + GRACE;
    while now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(child.kill());
    drop(child.wait());
}

/// Asks the kernel to end this helper when `parent` ends, however it ends (also by SIGKILL).
///
/// Returns false when the parent is gone already: then there is nobody to serve.
pub(crate) fn end_with_parent(parent: u32) -> Result<bool, LabError> {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM)).map_err(|errno| {
        LabError::Io {
            action: "ask for a signal at the parent's end".to_owned(),
            source: errno.into(),
        }
    })?;
    let actual = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    Ok(actual == Some(parent))
}
