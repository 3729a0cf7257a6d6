//! A guard on a thread, an upstream that records what it was sent, and a client of raw bytes.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use plimsoll_control::admission::Rule;
use plimsoll_guard::{Config, Host, Listening, Place, run};

const PATIENCE: Duration = Duration::from_secs(10);

/// Tells the test what the guard tells people.
struct Told {
    ready: mpsc::Sender<Listening>,
    next: Arc<Mutex<Option<Config>>>,
    said: Arc<Mutex<Vec<String>>>,
}

impl Host for Told {
    fn listens(&mut self, listening: &Listening) {
        self.ready.send(listening.clone()).unwrap();
    }

    fn reload(&mut self) -> Result<Config, String> {
        let next = self.next.lock().unwrap().take();
        next.ok_or_else(|| "guard.toml:1: nothing in it is right".to_owned())
    }

    fn says(&mut self, line: &str) {
        self.said.lock().unwrap().push(line.to_owned());
    }
}

/// A guard on a thread of its own.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) proxy: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// Of all listeners.
    pub(crate) proxies: Vec<SocketAddr>,
    /// What the next reload will find.
    pub(crate) next: Arc<Mutex<Option<Config>>>,
    /// Lines for people.
    pub(crate) said: Arc<Mutex<Vec<String>>>,
}

/// A guard before one service that goes on until the test's process ends.
pub(crate) fn guard(upstream: SocketAddr, rule: Rule) -> Guard {
    start(config(&[upstream], rule))
}

/// What [`guard`] is told, for tests that tell it more.
pub(crate) fn config(upstreams: &[SocketAddr], rule: Rule) -> Config {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let upstreams = upstreams.iter().map(|upstream| (*upstream).into());
    let mut config = Config::simple(any.into(), upstreams.collect());
    config.groups[0].rule = rule;
    config.admin = Some(any);
    config.class_header = Some("X-Class".to_owned());
    config.connections_max = 1000;
    config.drain = Duration::from_secs(5);
    config
}

/// Why a guard does not start that is told this.
pub(crate) fn refuses(config: &Config) -> String {
    let (ready, _listening) = mpsc::channel();
    let mut told = Told {
        ready,
        next: Arc::default(),
        said: Arc::default(),
    };
    run(config, &mut told).unwrap_err().to_string()
}

pub(crate) fn start(config: Config) -> Guard {
    let (ready, listening) = mpsc::channel();
    let (next, said) = (Arc::default(), Arc::default());
    let mut told = Told {
        ready,
        next: Arc::clone(&next),
        said: Arc::clone(&said),
    };
    thread::spawn(move || run(&config, &mut told).unwrap());
    let listening = listening.recv_timeout(PATIENCE).unwrap();
    let proxies = listening.proxies.iter().map(|place| match place {
        Place::Tcp(address) => *address,
        // Nobody connects to that.
        Place::Unix(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
    });
    let proxies: Vec<SocketAddr> = proxies.collect();
    Guard {
        proxy: proxies[0],
        admin: listening.admin.unwrap(),
        proxies,
        next,
        said,
    }
}

/// What the upstream does with each connection: it is handed the connection and every byte of a head that came.
pub(crate) type Manner = Arc<dyn Fn(&mut TcpStream, &[u8]) -> bool + Send + Sync>;

pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    /// All bytes that it was sent, a text per connection.
    pub(crate) seen: Arc<Mutex<Vec<Vec<u8>>>>,
    pub(crate) closed: Arc<AtomicUsize>,
}

impl Upstream {
    /// Calls `manner` with what was read so far, each time something was; it answers when it likes, and says whether
    /// it goes on (and forgets what was read).
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let upstream = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            closed: Arc::default(),
        };
        let (seen, closed) = (Arc::clone(&upstream.seen), Arc::clone(&upstream.closed));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (manner, seen, closed) =
                    (Arc::clone(&manner), Arc::clone(&seen), Arc::clone(&closed));
                let place = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(Vec::new());
                    seen.len() - 1
                };
                thread::spawn(move || {
                    converse(&mut stream, &manner, &seen, place);
                    closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        upstream
    }

    /// Answers every request without a body with these bytes.
    pub(crate) fn answering(answer: &'static str) -> Self {
        Self::start(Arc::new(move |stream, read| {
            if read.ends_with(b"\r\n\r\n") {
                stream.write_all(answer.as_bytes()).is_ok()
            } else {
                false
            }
        }))
    }

    /// Answers 200 once a request ends like this.
    pub(crate) fn after(end: &'static str) -> Self {
        Self::start(Arc::new(move |stream, read| {
            read.ends_with(end.as_bytes()) && stream.write_all(OK.as_bytes()).is_ok()
        }))
    }

    pub(crate) fn requests(&self) -> String {
        let seen = self.seen.lock().unwrap();
        String::from_utf8(seen.concat()).unwrap()
    }
}

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";

fn converse(stream: &mut TcpStream, manner: &Manner, seen: &Mutex<Vec<Vec<u8>>>, place: usize) {
    let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                read.extend_from_slice(&chunk[..count]);
                seen.lock().unwrap()[place].extend_from_slice(&chunk[..count]);
            }
        }
        if manner(stream, &read) {
            read.clear();
        }
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes and reads until the other side closes.
pub(crate) fn sent(address: SocketAddr, bytes: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(bytes.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A reset after the answer loses nothing that the test is about.
    drop(stream.read_to_end(&mut answer));
    String::from_utf8(answer).unwrap()
}

/// Reads one answer whose length is given.
pub(crate) fn answer(stream: &mut TcpStream) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(0) => return String::from_utf8(text).unwrap(),
            // The machine stood still.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => _ = read.unwrap(),
        }
        text.push(byte[0]);
    }
    let head = String::from_utf8(text).unwrap();
    let length = head.lines().find_map(|line| {
        line.to_lowercase()
            .strip_prefix("content-length: ")?
            .parse()
            .ok()
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

/// A page of the admin endpoint.
pub(crate) fn page(guard: &Guard, path: &str) -> String {
    sent(
        guard.admin,
        &format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"),
    )
}

/// A gauge or counter of the admin endpoint, of all upstreams together; `name{label="of"}` for one of its values.
pub(crate) fn metric(guard: &Guard, name: &str) -> f64 {
    let text = page(guard, "/metrics");
    let (name, label) = name.split_once('{').unwrap_or((name, ""));
    let label = label.trim_end_matches('}');
    let values = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(&format!("plimsoll_guard_{name}"))?;
        let (labels, value) = rest.rsplit_once(' ')?;
        let is_it = (labels.is_empty() || labels.starts_with('{')) && labels.contains(label);
        is_it.then(|| value.parse::<f64>().unwrap())
    });
    let values: Vec<f64> = values.collect();
    assert!(!values.is_empty(), "{name} in {text}");
    values.iter().sum()
}

/// Waits until something holds, or the test has failed.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} did not come");
}
