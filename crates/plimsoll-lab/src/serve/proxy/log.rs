//! The proxy's timing log, with the fields of nginx under the names that `--watch nginx-log:` reads.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;

use crate::serve::clock::unix_seconds;

/// One line per request, written at once so that a reader sees it.
#[derive(Debug)]
pub(super) struct Log {
    file: Mutex<File>,
}

/// What is known of one request; nginx's fields where they have its meaning.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) client: SocketAddr,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) bytes: u64,
    /// From the first byte of the request to the last of the answer.
    pub(super) request_time: Duration,
    /// Absent when the upstream was never reached.
    pub(super) upstream: Option<UpstreamTimes>,
}

/// From the start of the connection to the upstream.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpstreamTimes {
    pub(super) connected: Option<Duration>,
    pub(super) answered: Option<Duration>,
    pub(super) ended: Option<Duration>,
    pub(super) status: u16,
}

impl Log {
    pub(super) fn new(file: File) -> Arc<Self> {
        Arc::new(Self {
            file: Mutex::new(file),
        })
    }

    pub(super) fn write(&self, line: &Line) {
        let text = line.render(unix_seconds());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not end the proxy; the missing lines are seen by who reads the log.
        drop(file.write_all(text.as_bytes()));
    }
}

impl Line {
    fn render(&self, now_seconds: f64) -> String {
        let seconds = |time: Option<Duration>| {
            time.map_or_else(
                || "-".to_owned(),
                |time| format!("{:.3}", time.as_secs_f64()),
            )
        };
        let times = self.upstream;
        let upstream_status =
            times.map_or_else(|| "-".to_owned(), |times| times.status.to_string());
        format!(
            "{} {now_seconds:.3} \"{} {}\" {} rt={:.3} urt={} uht={} uct={} us={upstream_status} st={}\n",
            self.client.ip(),
            self.method,
            self.path,
            self.bytes,
            self.request_time.as_secs_f64(),
            seconds(times.and_then(|times| times.ended)),
            seconds(times.and_then(|times| times.answered)),
            seconds(times.and_then(|times| times.connected)),
            self.status,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_times_that_are_known_and_dashes_for_the_rest() {
        let millis = |count| Some(Duration::from_millis(count));
        let mut line = Line {
            client: "127.0.0.1:999".parse().unwrap(),
            method: Method::GET,
            path: "/items/1".to_owned(),
            status: 200,
            bytes: 5,
            request_time: Duration::from_millis(1234),
            upstream: Some(UpstreamTimes {
                connected: millis(1),
                answered: millis(80),
                ended: millis(81),
                status: 200,
            }),
        };
        assert_eq!(
            line.render(1.5),
            "127.0.0.1 1.500 \"GET /items/1\" 5 rt=1.234 urt=0.081 uht=0.080 uct=0.001 us=200 st=200\n"
        );
        line.upstream = None;
        line.status = 500;
        assert_eq!(
            line.render(1.5),
            "127.0.0.1 1.500 \"GET /items/1\" 5 rt=1.234 urt=- uht=- uct=- us=- st=500\n"
        );
    }
}
