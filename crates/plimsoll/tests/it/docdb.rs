//! DocDB as MongoDB's own drivers see it, and as it is after being killed.

mod client;
mod crowd;
mod kill;
mod sorters;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::Folder;

/// How long a document may outlive its expiry here; the server looks about every second.
const EXPIRY_WAIT_MS: &str = "20000";

/// `plimsoll docdb` on a free port of its own.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["docdb", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _nobody_asks = sender.send(line);
            }
        });
        let line = lines.recv_timeout(Duration::from_secs(60));
        let line = line.expect("the server says how to connect");
        let address = line
            .split("mongodb://")
            .nth(1)
            .and_then(|rest| rest.split(['/', ' ', '?']).next());
        let address = address.expect("the line has a URI").to_owned();
        Self { child, address }
    }

    /// Starts a server and kills it before it can have said that it listens, or soon after.
    pub(crate) fn kill_while_starting(data: &Path, pause: Duration) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["docdb", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(pause);
        let _gone = child.kill();
        child.wait().unwrap();
    }

    fn uri(&self) -> String {
        format!("mongodb://{}/", self.address)
    }

    /// As a power cut would for the process: nothing of it runs on.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// As a service manager does; the exit code.
    fn stop(mut self) -> Option<i32> {
        self.signal(rustix::process::Signal::TERM);
        self.child.wait().unwrap().code()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _gone = rustix::process::kill_process(pid, signal);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn drivers() -> PathBuf {
    repository().join("docdb/tests/drivers")
}

/// Runs a suite; on failure shows what failed, and only that.
fn passes(mut suite: Command) {
    let output = suite
        .current_dir(drivers())
        .env("EXPIRY_WAIT_MS", EXPIRY_WAIT_MS)
        .output()
        .expect("the suite starts; `make test` installs what it needs");
    let text = String::from_utf8_lossy(&output.stdout);
    let shown: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("ok "))
        .collect();
    assert!(
        output.status.success(),
        "{}\n{}",
        shown.join("\n"),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("total: "), "the suite ran to its end: {text}");
}

fn node(arguments: &[&str]) -> Command {
    assert!(
        drivers().join("node_modules/mongodb").exists(),
        "the Node drivers are not installed; run: scripts/drivers.sh"
    );
    let mut command = Command::new("node");
    command.args(arguments);
    command
}

#[test]
fn the_node_driver_finds_what_mongodb_would_do() {
    let folder = Folder::new();
    let server = Server::start(&folder.0.join("data"), &[]);
    passes(node(&["run.mjs", &server.uri(), "--suite", "node"]));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_full_queue_is_an_error_that_the_driver_knows_and_the_rest_is_stored() {
    let folder = Folder::new();
    let server = Server::start(
        &folder.0.join("data"),
        &["--queue", "2", "--slow-fsync", "30ms"],
    );
    passes(node(&["overload.mjs", &server.uri()]));
}

#[test]
fn mongoose_8_and_9_find_what_mongodb_would_do() {
    let folder = Folder::new();
    let server = Server::start(&folder.0.join("data"), &[]);
    passes(node(&["run.mjs", &server.uri(), "--suite", "mongoose"]));
}

#[test]
fn the_cases_of_the_public_crud_specification_pass() {
    let folder = Folder::new();
    let server = Server::start(&folder.0.join("data"), &[]);
    passes(node(&["run.mjs", &server.uri(), "--suite", "crud"]));
}

#[test]
fn pymongo_finds_what_mongodb_would_do() {
    let python = repository().join(".tools/docdb-python/bin/python");
    assert!(
        python.exists(),
        "PyMongo is not installed; run: scripts/drivers.sh"
    );
    let folder = Folder::new();
    let server = Server::start(&folder.0.join("data"), &[]);
    let mut suite = Command::new(python);
    suite.args(["run.py", &server.uri()]);
    passes(suite);
}

/// What comes after the address in a URI, for a certificate that signs itself.
fn over_tls(folder: &Folder) -> (PathBuf, String) {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let (pem, ca) = (folder.0.join("server.pem"), folder.0.join("ca.pem"));
    let both = made.cert.pem() + &made.signing_key.serialize_pem();
    std::fs::write(&pem, both).unwrap();
    std::fs::write(&ca, made.cert.pem()).unwrap();
    let options = format!("?tls=true&tlsCAFile={}", ca.display());
    (pem, options)
}

#[test]
fn drivers_speak_tls_and_check_the_certificate() {
    let folder = Folder::new();
    let (pem, options) = over_tls(&folder);
    let server = Server::start(
        &folder.0.join("data"),
        &["--tls-cert", pem.to_str().unwrap()],
    );
    let uri = server.uri() + &options;
    passes(node(&["run.mjs", &uri, "--suite", "node crud"]));
    passes(node(&["run.mjs", &uri, "--suite", "node cursors"]));
    let mut suite = Command::new(repository().join(".tools/docdb-python/bin/python"));
    suite.args(["run.py", &uri]);
    passes(suite);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn users_log_in_by_scram_and_nobody_else_gets_in() {
    let folder = Folder::new();
    let server = Server::start(&folder.0.join("data"), &["--auth"]);
    let made = node(&["make-user.mjs", &server.uri(), "pilot", "aye"])
        .current_dir(drivers())
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let uri = format!("mongodb://pilot:aye@{}/", server.address);
    passes(node(&[
        "run.mjs",
        &uri,
        "--suite",
        "node auth",
        "--auth-uri",
        &uri,
    ]));
}
