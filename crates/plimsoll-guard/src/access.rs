//! The access log: one line of JSON per request, written by a thread of its own. The event loop never waits for a disk:
//! what does not fit into a bounded queue is dropped, counted, and said in the log itself.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;
use std::time::Duration;

use plimsoll_base::Nanos;
use plimsoll_base::calendar::rfc3339;
use plimsoll_base::clock::wall_millis;
use plimsoll_net::h1::serving::RequestHead;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use serde_json::json;

use crate::GuardError;
use crate::config::{AccessLogConfig, LogTo};
use crate::policy::Asked;
use crate::told::Told;

/// Lines that wait for the disk; each is some hundred bytes.
const QUEUE: usize = 8192;
/// How long the end of the guard waits for the last lines.
const LAST: Duration = Duration::from_secs(2);

/// What a line says of a request before its end is known.
#[derive(Debug)]
pub(crate) struct Line {
    at: Nanos,
    client: IpAddr,
    protocol: &'static str,
    is_secure: bool,
    method: String,
    host: String,
    target: String,
    route: String,
    class: &'static str,
}

impl Line {
    pub(crate) fn new(
        read: &RequestHead<'_>,
        asked: &Asked,
        is_secure: bool,
        protocol: &'static str,
    ) -> Self {
        let protocol = if read.is_http10 { "HTTP/1.0" } else { protocol };
        Self {
            at: wall(),
            client: asked.client,
            protocol,
            is_secure,
            method: read.method.to_owned(),
            host: read.host.unwrap_or_default().to_owned(),
            target: read.target.to_owned(),
            route: asked.route.clone(),
            class: asked.wanted.class.name(),
        }
    }

    /// Of what came instead of a request nothing is repeated.
    pub(crate) fn unread(client: IpAddr) -> Self {
        Self {
            at: wall(),
            client,
            protocol: "",
            is_secure: false,
            method: String::new(),
            host: String::new(),
            target: String::new(),
            route: String::new(),
            class: "",
        }
    }
}

enum Word {
    Line(Box<(Line, Told)>),
    Reopen,
}

#[derive(Debug)]
pub(crate) struct AccessLog {
    to: LogTo,
    words: Option<SyncSender<Word>>,
    over: Receiver<()>,
    dropped: Arc<AtomicU64>,
}

impl AccessLog {
    /// Opens the file, so that a wrong path is told at the start.
    pub(crate) fn start(config: &AccessLogConfig) -> Result<Self, GuardError> {
        let (words, lines) = sync_channel(QUEUE);
        let (end, over) = channel();
        let dropped = Arc::<AtomicU64>::default();
        let writer = Writer {
            to: config.to.clone(),
            out: opened(&config.to).map_err(refused(&config.to))?,
            mask: config.mask,
            dropped: Arc::clone(&dropped),
            told: 0,
        };
        thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || writer.run(&lines, &end))
            .map_err(GuardError::io("start the access log's thread"))?;
        Ok(Self {
            to: config.to.clone(),
            words: Some(words),
            over,
            dropped,
        })
    }

    /// Whether it could be started, without making the file.
    pub(crate) fn check(config: &AccessLogConfig) -> Result<(), GuardError> {
        let LogTo::File(path) = &config.to else {
            return Ok(());
        };
        let can_write = if path.exists() {
            access(path, Access::WRITE_OK)
        } else {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            let needed = Access::WRITE_OK | Access::EXEC_OK;
            access(folder.unwrap_or(Path::new(".")), needed)
        };
        let can_write = can_write.map_err(io::Error::from);
        let is_folder: Option<io::Error> = path.is_dir().then(|| Errno::ISDIR.into());
        can_write
            .and(is_folder.map_or(Ok(()), Err))
            .map_err(refused(&config.to))
    }

    pub(crate) fn to(&self) -> &LogTo {
        &self.to
    }

    pub(crate) fn tell(&self, line: Line, told: Told) {
        let word = Word::Line(Box::new((line, told)));
        if self
            .words
            .as_ref()
            .is_some_and(|words| words.try_send(word).is_err())
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn reopen(&self) {
        if let Some(words) = &self.words {
            // With a full queue the disk is stuck, and opening would be too: the next signal will do.
            drop(words.try_send(Word::Reopen));
        }
    }

    /// Lines that are in no file: there was no room, or the disk refused them.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.words = None;
        // A disk that is stuck does not keep the guard from ending.
        let _ended_or_late = self.over.recv_timeout(LAST);
    }
}

fn refused(to: &LogTo) -> impl FnOnce(io::Error) -> GuardError {
    let path = match to {
        LogTo::Stdout => PathBuf::from("-"),
        LogTo::File(path) => path.clone(),
    };
    move |source| GuardError::AccessLog { path, source }
}

type Out = BufWriter<Box<dyn Write + Send>>;

fn opened(to: &LogTo) -> io::Result<Out> {
    let out: Box<dyn Write + Send> = match to {
        LogTo::Stdout => Box::new(io::stdout()),
        LogTo::File(path) => {
            let file: File = OpenOptions::new().create(true).append(true).open(path)?;
            Box::new(file)
        }
    };
    Ok(BufWriter::with_capacity(64 << 10, out))
}

struct Writer {
    to: LogTo,
    out: Out,
    mask: fn(&str) -> String,
    dropped: Arc<AtomicU64>,
    /// How many of the dropped ones the log has told.
    told: u64,
}

impl Writer {
    fn run(mut self, words: &Receiver<Word>, _end: &Sender<()>) {
        loop {
            let word = match words.try_recv() {
                Ok(word) => word,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    self.flush();
                    match words.recv() {
                        Ok(word) => word,
                        Err(_) => break,
                    }
                }
            };
            match word {
                Word::Line(line) => self.write(&line.0, &line.1),
                Word::Reopen => self.reopen(),
            }
        }
        self.flush();
    }

    fn write(&mut self, line: &Line, told: &Told) {
        let dropped = self.dropped.load(Ordering::Relaxed);
        let mut text = String::new();
        if dropped > self.told {
            let notice = json!({ "time": time(line.at), "dropped_count": dropped - self.told });
            text = format!("{notice}\n");
        }
        text.push_str(&self.line(line, told));
        text.push('\n');
        if self.out.write_all(text.as_bytes()).is_ok() {
            self.told = self.told.max(dropped);
        } else {
            self.lost();
        }
    }

    fn line(&self, line: &Line, told: &Told) -> String {
        let has_answer = told.status != 0;
        json!({
            "time": time(line.at),
            "client": line.client.to_string(),
            "protocol": line.protocol,
            "tls": line.is_secure,
            "method": line.method,
            "host": line.host,
            "path": (self.mask)(&line.target),
            "route": line.route,
            "class": line.class,
            "upstream": told.member,
            "status": has_answer.then_some(told.status),
            "outcome": told.outcome,
            "reason": told.reason,
            "would_refuse": told.would_refuse,
            "wait_ns": told.waited.0,
            "upstream_ns": told.upstream.map(|time| time.0),
            "request_bytes": told.request_bytes,
            "answer_bytes": told.answer_bytes,
        })
        .to_string()
    }

    fn flush(&mut self) {
        if self.out.flush().is_err() {
            self.lost();
        }
    }

    /// The disk is full, or the reader of a pipe has gone: what is held back would only be refused again.
    fn lost(&mut self) {
        let held = self.out.buffer().split(|byte| *byte == b'\n').count();
        self.dropped.fetch_add(held as u64, Ordering::Relaxed);
        if let Ok(out) = opened(&self.to) {
            let (_, _) = std::mem::replace(&mut self.out, out).into_parts();
        }
    }

    fn reopen(&mut self) {
        self.flush();
        // If it cannot be opened now, the old one goes on.
        if let Ok(out) = opened(&self.to) {
            self.out = out;
        }
    }
}

fn wall() -> Nanos {
    Nanos::from_millis(wall_millis().cast_unsigned())
}

fn time(at: Nanos) -> String {
    rfc3339(at, true)
}
