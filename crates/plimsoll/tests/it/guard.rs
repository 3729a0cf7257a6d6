//! The guard as a process: it says where it listens, and a signal ends it without losing what was begun.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

#[test]
fn a_signal_ends_it_after_the_answer_that_was_begun() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", upstream.local_addr().unwrap());
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["guard", "--listen", "127.0.0.1:0", "--upstream", &url])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let address = line.split(' ').nth(1).unwrap();
    let address = address.strip_prefix("http://").unwrap().to_owned();

    let mut client = TcpStream::connect(&address).unwrap();
    let mut idle = TcpStream::connect(&address).unwrap();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let (mut service, _) = upstream.accept().unwrap();
    let _head = service.read(&mut [0; 4096]).unwrap();
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).unwrap();
    // An idle connection is closed at once; from then on nobody is let in.
    idle.set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    assert_eq!(idle.read(&mut [0; 1]).unwrap(), 0);
    assert!(TcpStream::connect(&address).is_err());
    service
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
        .unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(
        answer.contains("Connection: close") && answer.ends_with("ok\n"),
        "{answer}"
    );
    assert!(child.wait().unwrap().success());
}
