//! `--out experimental-prometheus-rw`: pushes every series to Prometheus' remote write while the test runs.
//!
//! Bodies are sent by a thread of their own: a slow or absent Prometheus holds up neither the load nor
//! its windows. What could not be sent is told once, and again when it works.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Result, anyhow, bail};
use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, SeriesCounts, Store};
use plimsoll_core::scenario::TrendStat;
use plimsoll_core::test::Request;
use plimsoll_core::units::parse_duration;
use plimsoll_net::exchange::{Patience, exchange};
use plimsoll_report::k6::{REMOTE_WRITE_HEADERS, RemoteWrite};

use crate::machine;
use crate::script::console;

const SERVER: &str = "http://localhost:9090/api/v1/write";
/// k6's default.
const PUSH_EVERY: Nanos = Nanos::from_secs(5);
/// Longest wait for one answer.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// An answer is empty, or says in a few lines what was wrong.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Bodies that may wait to be sent; a further one is dropped, and its series come with the next that
/// changes them.
const WAITING_MAX: usize = 4;

pub(super) struct Remote {
    series: RemoteWrite,
    clock: Clock,
    every: Nanos,
    next: Nanos,
    says_stale: bool,
    bodies: SyncSender<Vec<u8>>,
    thread: JoinHandle<()>,
}

/// Where bodies go and with which headers.
struct Destination {
    url: String,
    headers: Vec<(String, String)>,
    patience: Patience,
}

impl Remote {
    pub(super) fn start(url: Option<String>) -> Result<Self> {
        let said = |name: &str| {
            let value = std::env::var(format!("K6_PROMETHEUS_RW_{name}")).ok();
            value.filter(|value| !value.is_empty())
        };
        let every = match said("PUSH_INTERVAL") {
            Some(text) => parse_duration(&text)
                .map_err(|error| anyhow!("K6_PROMETHEUS_RW_PUSH_INTERVAL: {error}"))?,
            None => PUSH_EVERY,
        };
        let stats = trend_stats(&said("TREND_STATS").unwrap_or_else(|| "p(99)".to_owned()))?;
        if is_true(said("TREND_AS_NATIVE_HISTOGRAM")) {
            console::warn(
                "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM is not followed: trends are sent as figures",
            );
        }
        let destination = destination(url, said)?;
        let (bodies, waiting) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("remote-write".to_owned())
            .spawn(move || send_all(&destination, &waiting))?;
        Ok(Self {
            series: RemoteWrite::new(&stats),
            clock: Clock::start(),
            every,
            next: every,
            says_stale: is_true(said("STALE_MARKERS")),
            bodies,
            thread,
        })
    }

    /// Counts one worker's samples and pushes when it is time.
    pub(super) fn absorb(&mut self, store: &Store, samples: &[Sample]) {
        let mut counts = SeriesCounts::default();
        for sample in samples {
            counts.record(store, sample);
        }
        self.series.absorb(store, &counts);
        let now = self.clock.now();
        if now >= self.next {
            self.next = now + self.every;
            self.push();
        }
    }

    fn push(&mut self) {
        if let Some(body) = self.series.changed(now_ms())
            && let Err(TrySendError::Full(_)) = self.bodies.try_send(body)
        {
            console::warn("remote write is slower than the test: a push was left out");
        }
    }

    /// Sends what is left, and that the series end if that was asked for.
    pub(super) fn close(mut self) {
        let last = self.series.changed(now_ms());
        let stale = self.says_stale.then(|| self.series.stale(now_ms() + 1));
        for body in last.into_iter().chain(stale.flatten()) {
            // The thread is gone only if it panicked, which has been printed.
            let _thread_gone = self.bodies.send(body);
        }
        drop(self.bodies);
        let _panicked = self.thread.join();
    }
}

fn now_ms() -> u64 {
    machine::since_1970().as_millis() as u64
}

fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| matches!(value.as_str(), "true" | "1"))
}

fn trend_stats(text: &str) -> Result<Vec<TrendStat>> {
    let parse = |name: &str| {
        TrendStat::parse(name).ok_or_else(|| {
            anyhow!("K6_PROMETHEUS_RW_TREND_STATS: `{name}` is no figure; write avg, min, med, max, count or p(99)")
        })
    };
    text.split(',').map(parse).collect()
}

fn destination(url: Option<String>, said: impl Fn(&str) -> Option<String>) -> Result<Destination> {
    let url = url
        .or_else(|| said("SERVER_URL"))
        .unwrap_or_else(|| SERVER.to_owned());
    let mut headers: Vec<(String, String)> = REMOTE_WRITE_HEADERS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    for pair in said("HTTP_HEADERS").iter().flat_map(|text| text.split(',')) {
        let (name, value) = pair.split_once(':').ok_or_else(|| {
            anyhow!(
                "K6_PROMETHEUS_RW_HTTP_HEADERS: `{pair}` has no colon; write Name:value,Name:value"
            )
        })?;
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    if let Some(token) = said("BEARER_TOKEN") {
        headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
    } else if let Some(user) = said("USERNAME") {
        let pair = format!("{user}:{}", said("PASSWORD").unwrap_or_default());
        let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, pair);
        headers.push(("Authorization".to_owned(), format!("Basic {encoded}")));
    }
    Ok(Destination {
        url,
        headers,
        patience: Patience {
            time: PATIENCE,
            body_bytes_max: ANSWER_BYTES_MAX,
            insecure: is_true(said("INSECURE_SKIP_TLS_VERIFY")),
        },
    })
}

impl Destination {
    fn push(&self, body: Vec<u8>) -> Result<()> {
        let request = Request {
            method: "POST".to_owned(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            body,
        };
        let response = exchange(&request, self.patience)?;
        if !(200..300).contains(&response.status) {
            bail!("answered with status {}", response.status);
        }
        Ok(())
    }
}

fn send_all(destination: &Destination, bodies: &Receiver<Vec<u8>>) {
    let mut works = true;
    for body in bodies {
        match (destination.push(body), works) {
            (Ok(()), false) => {
                console::warn(&format!("remote write to {} works again", destination.url));
                works = true;
            }
            (Err(error), true) => {
                console::warn(&format!("remote write to {}: {error}", destination.url));
                works = false;
            }
            (Ok(()), true) | (Err(_), false) => {}
        }
    }
}
