//! Starts the binary and its embedded services, each in a folder of its own.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A folder that is removed with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "plimsoll-it-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn command(folder: &Folder, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(args)
        .current_dir(&folder.0)
        .stdin(Stdio::null())
        .env("NO_COLOR", "1");
    command
}

/// Starts it with its stderr to be read.
pub(crate) fn started(command: &mut Command) -> Child {
    let silent = command.stdout(Stdio::null()).stderr(Stdio::piped());
    silent.spawn().unwrap()
}

/// Sends a Ctrl-C once it says a line like this; exit code, and what it said after that.
pub(crate) fn interrupted_at(
    folder: &Folder,
    args: &[&str],
    is_it: impl Fn(&str) -> bool,
) -> (Option<i32>, Vec<String>) {
    let mut child = started(&mut command(folder, args));
    let said = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = said.map_while(Result::ok);
    assert!(said.any(|line| is_it(&line)));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = said.collect();
    (child.wait().unwrap().code(), rest)
}

/// Runs to the end; exit code, stdout, stderr.
pub(crate) fn plimsoll(folder: &Folder, args: &[&str]) -> (i32, String, String) {
    finished(&command(folder, args).output().unwrap())
}

pub(crate) fn finished(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// An embedded service in a process of its own, ended with the test.
pub(crate) struct Service {
    child: Child,
    pub(crate) url: String,
    /// What it says to watch, as after `--watch`.
    pub(crate) watches: Vec<String>,
}

impl Service {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::try_start(args).expect("the service says where it listens")
    }

    pub(crate) fn child(&self) -> &Child {
        &self.child
    }

    /// None if the service cannot be had here; it has said why.
    pub(crate) fn try_start(args: &[&str]) -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .arg("serve")
            .args(args)
            .args(["--port", "0"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _nobody_asks = sender.send(line);
            }
        });
        let first = lines
            .recv_timeout(Duration::from_secs(20))
            .unwrap_or_default();
        let url = first
            .strip_prefix("listening on ")
            .map(|url| format!("{url}/"));
        // The second line, of those that have something to watch, comes at once or never.
        let second = lines
            .recv_timeout(Duration::from_millis(300))
            .unwrap_or_default();
        let words: Vec<&str> = second.split_whitespace().collect();
        let watches = words.chunks(2).filter_map(|pair| match pair {
            ["--watch", what] => Some((*what).to_owned()),
            _ => None,
        });
        let service = Self {
            child,
            url: url.clone().unwrap_or_default(),
            watches: watches.collect(),
        };
        url.map(|_| service)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _reaped = self.child.wait();
    }
}

/// A listener whose connections are handled by `answer`, one after the other.
pub(crate) fn listener(answer: impl Fn(std::net::TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(&answer));
    port
}

/// A port where nobody listens.
pub(crate) fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
