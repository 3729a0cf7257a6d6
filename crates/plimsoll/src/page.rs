//! Serves the live page: one thread that listens, one per reader, one stream of lines for each.
//!
//! `--live` turns it on, or `K6_WEB_DASHBOARD`, as users of k6 know it; `_HOST`, `_PORT`, `_PERIOD`, `_OPEN` and
//! `_EXPORT` set the rest.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use plimsoll_base::page::{self, RequestLine};
use plimsoll_core::Nanos;
use plimsoll_core::units::parse_duration;
use plimsoll_report::live;
use serde_json::Value;

use crate::output;

const HOST: &str = "127.0.0.1";
const PORT: u16 = 5665;
/// A page opened in the middle of a run is told so many lines of what was.
const LINES_MAX: usize = 1200;
const READERS_MAX: usize = 32;
/// A reader that takes nothing for so long is let go.
const PATIENCE: Duration = Duration::from_secs(10);
/// Sent when nothing happens, so that a reader that is gone is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What the environment says about the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) period: Nanos,
    pub(crate) open: bool,
    pub(crate) export: Option<PathBuf>,
}

impl PageOptions {
    /// Asked for with these settings, such as `port` and `export`; the environment says the others.
    pub(crate) fn asked(said: &[(String, String)]) -> Result<Option<Self>> {
        let value = |variable: &str| {
            let (_, name) = variable.split_once("K6_WEB_DASHBOARD_")?;
            let (_, value) = said
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
            Some(value.clone())
        };
        Self::from_environment(true, |variable| {
            value(variable).or_else(|| std::env::var(variable).ok())
        })
    }

    /// `None` unless it was asked for, here or by `asked`.
    pub(crate) fn from_environment(
        asked: bool,
        get: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>> {
        let flag = |name: &str| match get(name).as_deref() {
            None | Some("" | "false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(other) => Err(anyhow!("{name}: `{other}` is neither true nor false")),
        };
        if !flag("K6_WEB_DASHBOARD")? && !asked {
            return Ok(None);
        }
        let port = get("K6_WEB_DASHBOARD_PORT").unwrap_or_default();
        let port = match port.as_str() {
            "" => PORT,
            "-1" => return Ok(None),
            text => text.parse().map_err(|_| {
                anyhow!("K6_WEB_DASHBOARD_PORT: `{text}` is no port; write 0 to 65535, or -1 for no page")
            })?,
        };
        let period = match get("K6_WEB_DASHBOARD_PERIOD") {
            Some(text) if !text.is_empty() => parse_duration(&text)
                .map_err(|error| anyhow!("K6_WEB_DASHBOARD_PERIOD: {error}"))?,
            _ => Nanos::ZERO,
        };
        Ok(Some(Self {
            host: get("K6_WEB_DASHBOARD_HOST")
                .filter(|host| !host.is_empty())
                .unwrap_or_else(|| HOST.to_owned()),
            port,
            period,
            open: flag("K6_WEB_DASHBOARD_OPEN")?,
            export: get("K6_WEB_DASHBOARD_EXPORT")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
        }))
    }
}

/// The page being served. It ends with the process.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) options: PageOptions,
    pub(crate) address: SocketAddr,
    stream: Arc<Stream>,
}

/// Lines told so far, for readers that come late.
#[derive(Debug, Default)]
struct Stream {
    told: Mutex<History>,
    changed: Condvar,
    readers: AtomicUsize,
}

#[derive(Debug, Default)]
struct History {
    lines: VecDeque<(u64, Arc<str>)>,
    next: u64,
    over: bool,
}

impl Stream {
    fn lock(&self) -> MutexGuard<'_, History> {
        // Lines are pushed whole: what a panicking reader left is still right.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Page {
    pub(crate) fn start(options: PageOptions) -> Result<Self> {
        let place = (options.host.as_str(), options.port);
        let listener = TcpListener::bind(place).with_context(|| {
            format!(
                "serve the live page at {}:{}; set K6_WEB_DASHBOARD_PORT to another port, or to 0 for any",
                options.host, options.port
            )
        })?;
        let address = listener.local_addr()?;
        let stream = Arc::new(Stream::default());
        let shared = Arc::clone(&stream);
        std::thread::Builder::new()
            .name("page".to_owned())
            .spawn(move || listen(&listener, &shared))?;
        if options.open {
            open_browser(address);
        }
        Ok(Self {
            options,
            address,
            stream,
        })
    }

    /// The page of several runs one after the other: it shows each of them, and ends with the last.
    pub(crate) fn of_series(asked: bool) -> Result<Option<Arc<Self>>> {
        let options = PageOptions::from_environment(asked, |name| std::env::var(name).ok())?;
        let Some(options) = options else {
            return Ok(None);
        };
        let page = Self::start(options)?;
        page.announce();
        Ok(Some(Arc::new(page)))
    }

    /// Told even if no progress is wanted: the port may be any.
    pub(crate) fn announce(&self) {
        output::progress(&format!("live page  http://{}/", self.address));
    }

    /// One line for every reader, now and later. The head stays when old lines are let go; what was before another head
    /// is of another run.
    pub(crate) fn tell(&self, line: &Value) {
        let mut told = self.stream.lock();
        if line["kind"] == "head" {
            told.lines.clear();
        }
        let number = told.next;
        told.next += 1;
        told.over |= line["kind"] == "end";
        told.lines.push_back((number, line.to_string().into()));
        if told.lines.len() > LINES_MAX {
            told.lines.remove(1);
        }
        drop(told);
        self.stream.changed.notify_all();
    }

    /// What came out of it, and the end of the page.
    pub(crate) fn end(&self, headline: &str, is_well: bool, report: Option<&str>) {
        self.tell(&live::end(headline, is_well, report));
        self.settle();
    }

    /// Readers get the last line before the process ends.
    fn settle(&self) {
        let mut waits = 0;
        while self.stream.readers.load(Ordering::Acquire) > 0 && waits < 40 {
            std::thread::sleep(Duration::from_millis(25));
            waits += 1;
        }
    }
}

fn listen(listener: &TcpListener, stream: &Arc<Stream>) {
    for connection in listener.incoming() {
        let Ok(connection) = connection else {
            continue;
        };
        if stream.readers.fetch_add(1, Ordering::AcqRel) >= READERS_MAX {
            stream.readers.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let shared = Arc::clone(stream);
        let reader = std::thread::Builder::new()
            .name("page-reader".to_owned())
            .spawn(move || {
                // Whatever ends a reader, a closed tab above all, is no concern of the run.
                let _gone = answer(connection, &shared);
                shared.readers.fetch_sub(1, Ordering::AcqRel);
            });
        if reader.is_err() {
            stream.readers.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

fn answer(mut connection: TcpStream, stream: &Stream) -> std::io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let request = read_request(&mut connection)?;
    match (&*request.method, &*request.path) {
        ("GET", "/") => {
            let answer = page::whole("200 OK", "text/html; charset=utf-8", &live::page());
            connection.write_all(&answer)
        }
        ("GET", "/events") => tell_all(&mut connection, stream),
        ("GET", _) => {
            let hint = page::whole("404 Not Found", "text/plain", "the page is at /\n");
            connection.write_all(&hint)
        }
        _ => connection.write_all(&page::whole(
            "405 Method Not Allowed",
            "text/plain",
            "only GET\n",
        )),
    }
}

fn read_request(connection: &mut TcpStream) -> std::io::Result<RequestLine> {
    let mut input = Vec::new();
    let mut part = [0; 1024];
    loop {
        let n = connection.read(&mut part)?;
        if n == 0 {
            return Err(ErrorKind::InvalidData.into());
        }
        input.extend_from_slice(&part[..n]);
        if let Some(line) = page::request_line(&input) {
            return Ok(line);
        }
    }
}

/// Server-sent events (the HTML standard, section 9.2): everything so far, then each line as it comes.
fn tell_all(connection: &mut TcpStream, stream: &Stream) -> std::io::Result<()> {
    let head = page::head("200 OK", "text/event-stream", None);
    write!(connection, "{head}retry: 1000\n\n")?;
    let mut next = 0;
    loop {
        let mut told = stream.lock();
        while told.next == next && !told.over {
            let (guard, waited) = stream
                .changed
                .wait_timeout(told, HEARTBEAT)
                .unwrap_or_else(PoisonError::into_inner);
            told = guard;
            if waited.timed_out() {
                drop(told);
                connection.write_all(b": still here\n\n")?;
                told = stream.lock();
            }
        }
        let from = told.lines.partition_point(|(number, _)| *number < next);
        let lines: Vec<Arc<str>> = told
            .lines
            .range(from..)
            .map(|(_, line)| Arc::clone(line))
            .collect();
        next = told.next;
        let over = told.over;
        drop(told);
        let mut text = String::new();
        for line in lines {
            text.push_str("data: ");
            text.push_str(&line);
            text.push_str("\n\n");
        }
        connection.write_all(text.as_bytes())?;
        if over {
            return Ok(());
        }
    }
}

/// As k6 does: with whatever this desktop opens pages; a machine without one is no error.
fn open_browser(address: SocketAddr) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let _no_desktop = Command::new(opener)
        .arg(format!("http://{address}/"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_whether_and_where() {
        let options = |asked, pairs: &[(&str, &str)]| {
            let get = |name: &str| {
                let name = name.strip_prefix("K6_WEB_DASHBOARD").unwrap();
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            PageOptions::from_environment(asked, get)
        };
        assert_eq!(options(false, &[("_PORT", "1")]).unwrap(), None);
        let page = options(true, &[]).unwrap().unwrap();
        assert_eq!(
            (page.host.as_str(), page.port, page.open),
            (HOST, PORT, false)
        );
        let page = [
            ("", "true"),
            ("_PORT", "0"),
            ("_PERIOD", "2s"),
            ("_HOST", "::1"),
            ("_EXPORT", "a.html"),
        ];
        let page = options(false, &page).unwrap().unwrap();
        assert_eq!((page.host.as_str(), page.port), ("::1", 0));
        assert_eq!(
            (page.period, page.export),
            (Nanos::from_secs(2), Some("a.html".into()))
        );
        assert_eq!(options(true, &[("_PORT", "-1")]).unwrap(), None);
        for (pairs, part) in [
            ([("_PORT", "x")], "is no port"),
            ([("", "perhaps")], "neither true nor false"),
            ([("_PERIOD", "soon")], "K6_WEB_DASHBOARD_PERIOD"),
        ] {
            let error = options(true, &pairs).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn late_readers_are_told_what_was_and_everyone_the_end() {
        let options = PageOptions::from_environment(true, |name| {
            name.ends_with("_PORT").then(|| "0".to_owned())
        });
        let page = Page::start(options.unwrap().unwrap()).unwrap();
        page.tell(&serde_json::json!({ "kind": "head" }));
        for n in 0..2 * LINES_MAX {
            page.tell(&serde_json::json!({ "kind": "second", "at": n }));
        }
        let ask = |path: &str| {
            let mut connection = TcpStream::connect(page.address).unwrap();
            write!(connection, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            connection
        };
        let mut reader = ask("/events");
        page.tell(&live::end("it is over", true, None));
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("data: "))
            .collect();
        assert!(lines.len() <= LINES_MAX + 1, "{}", lines.len());
        assert!(lines[0].contains("head") && lines[1].contains("second"));
        assert!(lines.last().unwrap().contains("it is over"));
        let mut html = String::new();
        ask("/").read_to_string(&mut html).unwrap();
        assert!(html.starts_with("HTTP/1.1 200 OK") && html.contains("new EventSource('events')"));
        let mut other = String::new();
        ask("/secret").read_to_string(&mut other).unwrap();
        assert!(other.starts_with("HTTP/1.1 404"), "{other}");
        page.settle();
    }
}
