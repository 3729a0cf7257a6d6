//! The guard as a process: it says where it listens, and a signal ends it without losing what was begun.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

mod aborts;
mod activation;
mod record;
mod settings;

struct Guard {
    child: Child,
    address: String,
    /// The line that says where it listens.
    said: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Guard {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(["guard", "--listen", "127.0.0.1:0"])
            .args(arguments);
        Self::of(&mut command)
    }

    /// Waits for the line that says where it listens.
    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut said).unwrap();
        let address = said.split(' ').nth(1).unwrap();
        let address = address.split_once("://").unwrap().1.to_owned();
        Self {
            child,
            address,
            said,
        }
    }

    /// A page of its admin endpoint, which it was told to have.
    fn page(&self, path: &str) -> String {
        let admin = self.said.split_once("admin http://").unwrap().1;
        let mut stream = TcpStream::connect(admin.trim_end()).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// What a metric counts, all of its labels together.
    fn metric(&self, name: &str) -> f64 {
        let text = self.page("/metrics");
        let values = text.lines().filter_map(|line| {
            let rest = line.strip_prefix("plimsoll_guard_")?.strip_prefix(name)?;
            let (labels, value) = rest.rsplit_once(' ')?;
            let is_it = labels.is_empty() || labels.starts_with('{');
            is_it.then(|| value.parse::<f64>().unwrap())
        });
        let values: Vec<f64> = values.collect();
        assert!(!values.is_empty(), "{name} in {text}");
        values.iter().sum()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        let patience = Some(Duration::from_secs(10));
        stream.set_read_timeout(patience).unwrap();
        stream
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn stop(&self) {
        self.signal(Signal::TERM);
    }
}

/// Waits until something holds, or the test has failed.
fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what} did not come");
}

/// Kind and first bytes of the payload of the next frame; nothing at the end.
fn frame(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 9];
    stream.read_exact(&mut header).ok()?;
    let mut payload = vec![0; usize::from(header[1]) << 8 | usize::from(header[2])];
    stream.read_exact(&mut payload).ok()?;
    Some((header[3], payload))
}

/// HTTP/2 says twice that it ends: that no stream should come, and, once that is known, which was the last one.
#[test]
fn streams_under_way_end_after_the_signal_and_no_others_begin() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let mut guard = Guard::start(&["--upstream", &url]);
    let mut client = guard.connect();
    client
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    // GET, http, / and the authority `a`, all but the last from HPACK's table.
    client
        .write_all(b"\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x01\x01a")
        .unwrap();
    let (mut service, _) = upstream.accept().unwrap();
    let _head = service.read(&mut [0; 4096]).unwrap();
    guard.stop();
    let (mut goaways, mut has_answer) = (0, false);
    while let Some((kind, payload)) = frame(&mut client) {
        match kind {
            7 => {
                goaways += 1;
                assert_eq!(payload.get(4..8), Some(&[0; 4][..]), "no error");
                if goaways == 1 {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                    service.write_all(answer).unwrap();
                }
            }
            // A ping: the second word waits for it.
            6 => {
                let pong = [&b"\0\0\x08\x06\x01\0\0\0\0"[..], &payload].concat();
                client.write_all(&pong).unwrap();
            }
            1 => has_answer = true,
            _ => {}
        }
    }
    assert!(goaways == 2 && has_answer, "{goaways} {has_answer}");
    assert!(guard.child.wait().unwrap().success());
}

#[test]
fn a_signal_ends_it_after_the_answer_that_was_begun() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let mut guard = Guard::start(&["--upstream", &url]);
    let mut client = guard.connect();
    let mut idle = guard.connect();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let (mut service, _) = upstream.accept().unwrap();
    let _head = service.read(&mut [0; 4096]).unwrap();
    guard.stop();
    // An idle connection is closed at once; whoever has come is taken in, and then nobody any more.
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0);
    while TcpStream::connect(&guard.address).is_ok() {}
    service
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
        .unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(
        answer.contains("Connection: close") && answer.ends_with("ok\n"),
        "{answer}"
    );
    assert!(guard.child.wait().unwrap().success());
}

/// A client sends its request a round trip after the guard has its connection; one that sends none keeps nobody waiting.
#[test]
fn whoever_had_connected_and_not_asked_yet_before_the_signal_is_answered() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let mut guard = Guard::start(&["--upstream", &url, "--admin", "127.0.0.1:0"]);
    std::thread::spawn(move || {
        let (mut service, _) = upstream.accept().unwrap();
        let _head = service.read(&mut [0; 4096]).unwrap();
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
        service.write_all(answer).unwrap();
    });
    let (mut asking, mut silent) = (guard.connect(), guard.connect());
    eventually("two connections", || guard.metric("connections") > 1.5);
    guard.stop();
    eventually("the end", || guard.metric("stopping") > 0.5);
    asking
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    asking.read_to_string(&mut answer).unwrap();
    let is_told = answer.contains("Connection: close") && answer.ends_with("ok\n");
    assert!(is_told, "{answer}");
    assert_eq!(silent.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert!(guard.child.wait().unwrap().success());
}

/// Those whom the kernel has taken in while the guard could not run are answered: with the listener they would be reset.
#[test]
fn whoever_was_accepted_by_the_kernel_before_the_signal_is_answered() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let mut guard = Guard::start(&["--upstream", &url]);
    std::thread::spawn(move || {
        for service in upstream.incoming() {
            let mut service = service.unwrap();
            let _head = service.read(&mut [0; 4096]).unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nok\n";
            service.write_all(answer).unwrap();
        }
    });
    guard.signal(Signal::STOP);
    // As many as the limit that nobody has measured yet.
    let mut clients: Vec<_> = (0..4).map(|_| guard.connect()).collect();
    for client in &mut clients {
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
    }
    guard.stop();
    guard.signal(Signal::CONT);
    for mut client in clients {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(
            answer.contains("Connection: close") && answer.ends_with("ok\n"),
            "{answer}"
        );
    }
    assert!(guard.child.wait().unwrap().success());
}
