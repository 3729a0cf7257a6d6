//! A guard that is handed its sockets, as by systemd: whoever comes while it is started anew waits in them, and nobody is lost.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::Guard;
use crate::support::Folder;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// A guard's arguments, to be started by a shell that moves what it has as standard input and standard error to where they are
/// looked for.
fn handed(fds: &str, pid: &str, sockets: [Stdio; 2], arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let moves = "exec 3<&0 4<&2 </dev/null 2>&1; exec \"$0\" \"$@\"";
    let script = format!("export LISTEN_FDS={fds} LISTEN_PID={pid}; {moves}");
    let guard = [env!("CARGO_BIN_EXE_plimsoll"), "guard"];
    command.args(["-c", &script]).args(guard).args(arguments);
    let [first, second] = sockets;
    command.stdin(first).stderr(second);
    command
}

fn of(socket: impl Into<OwnedFd>) -> Stdio {
    Stdio::from(socket.into())
}

/// Answers whoever comes, a little later.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let _head = stream.read(&mut [0; 4096]);
                thread::sleep(Duration::from_millis(5));
                let answer =
                    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nok\n";
                drop(stream.write_all(answer));
            });
        }
    });
    url
}

fn answered(mut client: impl std::io::Read + std::io::Write) -> String {
    client.write_all(GET).unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    text
}

/// In the order of the listeners, of either kind; what the settings say of addresses does not matter.
#[test]
fn sockets_that_are_handed_over_are_listened_on() {
    let folder = Folder::new();
    let (path, file) = (folder.file("front"), folder.file("guard.toml"));
    let (tcp, unix) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        UnixListener::bind(&path).unwrap(),
    );
    let address = tcp.local_addr().unwrap();
    let settings = format!(
        "upstream = \"{}\"\nlisten = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\n",
        upstream()
    );
    std::fs::write(&file, settings).unwrap();
    let sockets = [of(unix), of(tcp)];
    let mut command = handed("2", "$$", sockets, &["--config", &file]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = [0; 512];
    let count = child.stdout.as_mut().unwrap().read(&mut said).unwrap();
    let said = String::from_utf8_lossy(&said[..count]);
    let wanted = format!("guard: unix:{path} and http://{address} before");
    assert!(said.starts_with(&wanted), "{said}");
    let over_unix = answered(UnixStream::connect(&path).unwrap());
    let over_tcp = answered(TcpStream::connect(address).unwrap());
    assert!(over_unix.ends_with("ok\n") && over_tcp.ends_with("ok\n"));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    // It belongs to whoever made it.
    assert!(std::fs::exists(&path).unwrap());
}

/// Clients that come one after the other, each over a connection of its own, while guards come and go.
#[test]
fn nobody_is_lost_while_it_is_started_anew() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let url = upstream();
    let start = || {
        let socket = of(listener.try_clone().unwrap());
        let limit = ["--limit", "fixed:64", "--upstream", &url];
        Guard::of(&mut handed("1", "$$", [socket, Stdio::inherit()], &limit))
    };
    let is_over = AtomicBool::new(false);
    let answers = thread::scope(|scope| {
        let clients = (0..4).map(|_| {
            scope.spawn(|| {
                let mut answers = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    answers.push(answered(TcpStream::connect(address).unwrap()));
                }
                answers
            })
        });
        let clients: Vec<_> = clients.collect();
        for _ in 0..4 {
            let mut guard = start();
            thread::sleep(Duration::from_millis(200));
            guard.stop();
            assert!(guard.child.wait().unwrap().success());
            // Nobody is there at all, and clients come all the same.
            thread::sleep(Duration::from_millis(50));
        }
        let _last = start();
        is_over.store(true, Ordering::Relaxed);
        let answers = clients.into_iter().map(|client| client.join().unwrap());
        answers.collect::<Vec<_>>().concat()
    });
    assert!(answers.len() > 40, "{}", answers.len());
    for text in answers {
        assert!(
            text.starts_with("HTTP/1.1 200 ") && text.ends_with("ok\n"),
            "{text}"
        );
    }
}

/// What was passed to another process, such as a parent, is not ours.
#[test]
fn sockets_for_somebody_else_are_left_alone() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let handed_over = listener.local_addr().unwrap();
    let arguments = ["--listen", "127.0.0.1:0", "--upstream", &upstream()];
    let sockets = [of(listener), Stdio::inherit()];
    let guard = Guard::of(&mut handed("1", "1", sockets, &arguments));
    assert_ne!(guard.address, handed_over.to_string());
    assert!(answered(guard.connect()).ends_with("ok\n"));
}

#[test]
fn sockets_of_no_use_end_it_with_104_and_what_is_wrong() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listens = || of(listener.try_clone().unwrap());
    let connected = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let file = || of(std::fs::File::open("/dev/null").unwrap());
    let cases = [
        (
            "2",
            listens(),
            "2 sockets were passed (LISTEN_FDS) for 1 listeners",
        ),
        (
            "1",
            file(),
            "passed as number 1: Socket operation on non-socket",
        ),
        (
            "1",
            of(connected),
            "passed as number 1: it is no socket where connections come in",
        ),
        (
            "9",
            listens(),
            "descriptor 5, which LISTEN_FDS speaks of: Bad file descriptor",
        ),
        ("some", listens(), "LISTEN_FDS=some"),
    ];
    for (fds, first, says) in cases {
        let arguments = ["--upstream", "http://127.0.0.1:1"];
        let sockets = [first, file()];
        let output = handed(fds, "$$", sockets, &arguments).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(104), "{said}");
        assert!(said.contains(says), "{says} in {said}");
    }
}
