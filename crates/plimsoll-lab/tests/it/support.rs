//! Starts and ends a service, asks it over a plain socket, and loads it in a closed loop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Tests that load the loopback run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Keeps the other tests waiting.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// No answer takes this long on any machine that is still alive.
const PATIENCE: Duration = Duration::from_secs(20);

#[expect(
    clippy::disallowed_methods,
    reason = "these tests drive real processes in real time"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The example binary, built first if only the tests were asked for.
pub(crate) fn binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let tests = std::env::current_exe().unwrap();
        let path = tests
            .parent()
            .unwrap()
            .with_file_name("examples")
            .join("serve");
        if !path.exists() {
            let mut build = Command::new(env!("CARGO"));
            build.args([
                "build",
                "--quiet",
                "-p",
                "plimsoll-lab",
                "--example",
                "serve",
            ]);
            assert!(build.status().unwrap().success());
        }
        path
    })
}

/// Runs `serve` with arguments that make it end by itself.
pub(crate) fn serve_to_end(arguments: &[&str]) -> Output {
    Command::new(binary())
        .arg("serve")
        .args(arguments)
        .output()
        .unwrap()
}

/// A running service.
pub(crate) struct Served {
    child: Child,
    output: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
    /// Held until the service has ended.
    alone: Option<MutexGuard<'static, ()>>,
}

impl Served {
    /// Starts a service, alone among the tests.
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let alone = alone();
        let mut served = Self::beside(name, arguments);
        served.alone = Some(alone);
        served
    }

    /// Starts a service for a test that has started one already.
    pub(crate) fn beside(name: &str, arguments: &[&str]) -> Self {
        Self::try_beside(name, arguments).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// As `start`, but a service that ends by itself gives what it said.
    pub(crate) fn try_start(name: &str, arguments: &[&str]) -> Result<Self, String> {
        let alone = alone();
        let mut served = Self::try_beside(name, arguments)?;
        served.alone = Some(alone);
        Ok(served)
    }

    fn try_beside(name: &str, arguments: &[&str]) -> Result<Self, String> {
        let mut child = Command::new(binary())
            .args(["serve", name, "--port", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim_end().split_once("://").map(|(_, rest)| rest);
        let Some(address) = address.and_then(|address| address.parse().ok()) else {
            let ended = child.wait_with_output().unwrap();
            return Err(String::from_utf8_lossy(&ended.stderr).into_owned());
        };
        Ok(Self {
            child,
            output,
            address,
            alone: None,
        })
    }

    /// The second line that a service of several tiers prints.
    pub(crate) fn watch_line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Sends SIGTERM and returns the exit code, if it ends in time.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal("TERM");
        self.ended()
    }

    pub(crate) fn ended(&mut self) -> Option<i32> {
        let deadline = now() + PATIENCE;
        while now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Ends what a failed test leaves; its helpers end with it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Processes whose parent is `parent`, from the fourth field of their stat.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// Processor time that a process has used: nanoseconds, the first field of each thread's schedstat.
pub(crate) fn cpu_seconds_of(pid: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .flatten();
    let nanos = threads.filter_map(|thread| {
        let schedstat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        schedstat.split(' ').next()?.parse::<f64>().ok()
    });
    nanos.sum::<f64>() / 1e9
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok()
}

/// Whether a process has ended, given a moment. One that nobody has waited for counts as ended.
pub(crate) fn gone(pid: u32) -> bool {
    let deadline = now() + PATIENCE;
    while now() < deadline {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        if stat.map_or(true, |stat| stat.contains(") Z ")) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// An answer whose body is complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// One client connection.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    pub(crate) fn get(&mut self, path: &str) -> std::io::Result<Answer> {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes())?;
        self.answer()
    }

    /// An answer with a length or in chunks; the end of the file instead is an error.
    pub(crate) fn answer(&mut self) -> std::io::Result<Answer> {
        let mut line = self.line()?;
        let status = line
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.ok_or(std::io::ErrorKind::InvalidData)?;
        let mut headers = Vec::new();
        loop {
            line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        if let Some(length) = answer.header("content-length") {
            answer.body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut answer.body)?;
        } else if answer.header("transfer-encoding") == Some("chunked") {
            self.chunks(&mut answer.body)?;
        } else {
            self.stream.read_to_end(&mut answer.body)?;
        }
        Ok(answer)
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> std::io::Result<()> {
        loop {
            let length = usize::from_str_radix(self.line()?.trim(), 16).unwrap();
            let mut chunk = vec![0; length];
            self.stream.read_exact(&mut chunk)?;
            body.extend_from_slice(&chunk);
            self.line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}

/// The answer to one request on a connection of its own.
pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    Connection::open(address).unwrap().get(path).unwrap()
}

/// The value of a metric, zero before it is there.
pub(crate) fn metric(address: SocketAddr, name: &str) -> f64 {
    let answer = get(address, "/metrics");
    let lines = answer.text().lines();
    let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    values.next().map_or(0.0, |value| value.parse().unwrap())
}

/// What a closed loop saw.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) seconds: f64,
    pub(crate) ok: u32,
    pub(crate) refused: u32,
    /// Ended or failed without an answer.
    pub(crate) unanswered: u32,
    /// From the request to its answer.
    pub(crate) times: Vec<Duration>,
}

impl Load {
    pub(crate) fn ok_per_second(&self) -> f64 {
        f64::from(self.ok) / self.seconds
    }
}

/// Keeps `connections` requests in flight for `length`.
pub(crate) fn load(address: SocketAddr, connections: usize, length: Duration) -> Load {
    let start = now();
    let threads: Vec<_> = (0..connections)
        .map(|_| std::thread::spawn(move || one_after_another(address, start + length)))
        .collect();
    let mut sum = Load::default();
    for thread in threads {
        let part = thread.join().unwrap();
        sum.ok += part.ok;
        sum.refused += part.refused;
        sum.unanswered += part.unanswered;
        sum.times.extend(part.times);
    }
    sum.seconds = start.elapsed().as_secs_f64();
    sum
}

fn one_after_another(address: SocketAddr, end: Instant) -> Load {
    let mut load = Load::default();
    let mut open: Option<Connection> = None;
    while now() < end {
        let start = now();
        let connection = open.take().map_or_else(|| Connection::open(address), Ok);
        let answered = connection.and_then(|mut connection| {
            let answer = connection.get("/")?;
            Ok((connection, answer))
        });
        if let Ok((connection, answer)) = answered {
            open = Some(connection);
            load.times.push(start.elapsed());
            if answer.status == 200 {
                load.ok += 1;
                continue;
            }
            load.refused += 1;
        } else {
            load.unanswered += 1;
        }
        // Hammering a service that refuses would measure the hammer.
        std::thread::sleep(Duration::from_millis(5));
    }
    load
}
