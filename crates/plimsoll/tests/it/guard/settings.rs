//! The guard's settings: printed, refused with the fix, and read again.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::Folder;

/// A guard that was started, and where it listens.
struct Guard {
    child: Child,
    address: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn start(args: &[&str]) -> Guard {
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("guard")
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let address = line.split(' ').nth(1).unwrap_or_default();
    let address = address.strip_prefix("http://").unwrap().to_owned();
    Guard { child, address }
}

fn ended(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .arg("guard")
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

pub(super) fn refused(args: &[&str], says: &[&str]) {
    let output = ended(args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(104), "{args:?}: {text}");
    for word in says {
        assert!(text.contains(word), "{args:?}: {word} in {text}");
    }
    assert!(output.stdout.is_empty());
}

#[test]
fn check_prints_what_holds_and_starts_nothing() {
    let folder = Folder::new();
    let file = folder.file("guard.toml");
    std::fs::write(&file, "upstream = \"http://127.0.0.1:1\"\ndrain = \"7s\"\n").unwrap();
    let output = ended(&["--config", &file, "--limit", "aimd", "--check"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for (key, value, origin) in [
        ("upstream", "[\"http://127.0.0.1:1\"]", "guard.toml:1"),
        ("drain", "\"7s\"", "guard.toml:2"),
        ("limit", "\"aimd\"", "--limit"),
        ("listen", "\"127.0.0.1:8080\"", "default"),
        ("timeouts.head", "\"60s\"", "default"),
    ] {
        let line = text
            .lines()
            .find(|line| line.split(' ').next() == Some(key));
        let line = line.unwrap_or_else(|| panic!("{key} in {text}"));
        assert!(line.contains(value) && line.ends_with(origin), "{line}");
    }
}

#[test]
fn what_is_wrong_ends_it_with_104_and_the_fix() {
    let folder = Folder::new();
    let file = folder.file("guard.toml");
    std::fs::write(&file, "upsteam = \"http://127.0.0.1:1\"\n").unwrap();
    refused(
        &["--config", &file],
        &["guard.toml:1", "did you mean `upstream`?"],
    );
    refused(
        &["--config", &folder.file("none.toml"), "--check"],
        &["none.toml"],
    );
    refused(&[], &["--upstream http://127.0.0.1:3000"]);
    refused(&["--upstream", "127.0.0.1:1"], &["http://HOST:PORT"]);
    let up = ["--upstream", "http://127.0.0.1:1"];
    refused(&[&up[..], &["--limit", "half"]].concat(), &["half-load"]);
    refused(
        &[&up[..], &["--listen", "nowhere"]].concat(),
        &["HOST:PORT"],
    );
    let unresolved = [
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        "http://nowhere.invalid:1",
    ];
    refused(&unresolved, &["nowhere.invalid", "HOST:PORT"]);
}

/// Files that the settings name are read by `--check` as by a start.
#[test]
fn check_reads_what_a_start_would_read() {
    let folder = Folder::new();
    let up = ["--upstream", "https://127.0.0.1:1", "--check"];
    for (flag, file) in [
        ("--tls-cert", "none/cert.pem"),
        ("--upstream-ca", "none/ca.pem"),
        ("--access-log", "none/log"),
    ] {
        let path = folder.file(file);
        refused(&[&up[..], &[flag, &path]].concat(), &[file]);
    }
}

/// An edited file is taken in by SIGHUP, and a wrong one is not.
#[test]
fn a_file_is_read_again() {
    let service = |name: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _head = stream.read(&mut [0; 4096]);
                let text = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n{name}"
                );
                drop(stream.write_all(text.as_bytes()));
            }
        });
        url
    };
    let (one, two) = (service("1"), service("2"));
    let folder = Folder::new();
    let file = folder.file("guard.toml");
    let write = |text: String| std::fs::write(&file, text).unwrap();
    write(format!("listen = \"127.0.0.1:0\"\nupstream = \"{one}\"\n"));
    let guard = start(&["--config", &file]);
    let asked = || {
        let mut client = TcpStream::connect(&guard.address).unwrap();
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text.pop()
    };
    assert_eq!(asked(), Some('1'));
    let pid = Pid::from_child(&guard.child);
    write(format!("listen = \"127.0.0.1:0\"\nupsteam = \"{two}\"\n"));
    kill_process(pid, Signal::HUP).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(asked(), Some('1'));
    write(format!("listen = \"127.0.0.1:0\"\nupstream = \"{two}\"\n"));
    kill_process(pid, Signal::HUP).unwrap();
    for _ in 0..500 {
        if asked() == Some('2') {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the new service is not asked");
}
