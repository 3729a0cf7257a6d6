//! `--out experimental-prometheus-rw`: pushes every series to Prometheus' remote write while the test runs.

use anyhow::{Result, anyhow};
use plimsoll_base::clock::Clock;
use plimsoll_core::Nanos;
use plimsoll_core::metrics::{Sample, SeriesCounts, Store};
use plimsoll_core::scenario::TrendStat;
use plimsoll_core::units::parse_duration;
use plimsoll_report::k6::{REMOTE_WRITE_HEADERS, RemoteWrite};

use super::sender::{Destination, Sender, basic, is_true, said};
use crate::machine;
use crate::script::console;

const SERVER: &str = "http://localhost:9090/api/v1/write";
/// k6's default.
const PUSH_EVERY: Nanos = Nanos::from_secs(5);

pub(super) struct Remote {
    series: RemoteWrite,
    clock: Clock,
    every: Nanos,
    next: Nanos,
    says_stale: bool,
    sender: Sender,
}

impl Remote {
    pub(super) fn start(url: Option<String>) -> Result<Self> {
        let said = said("K6_PROMETHEUS_RW_");
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
        let says_stale = is_true(said("STALE_MARKERS"));
        let destination = destination(url, said)?;
        Ok(Self {
            series: RemoteWrite::new(&stats),
            clock: Clock::start(),
            every,
            next: every,
            says_stale,
            sender: Sender::start(destination, None)?,
        })
    }

    /// Counts one worker's samples and pushes when it is time. What a push leaves out comes with the next that changes
    /// its series.
    pub(super) fn absorb(&mut self, store: &Store, samples: &[Sample]) {
        let mut counts = SeriesCounts::default();
        for sample in samples {
            counts.record(store, sample);
        }
        self.series.absorb(store, &counts);
        let now = self.clock.now();
        if now >= self.next {
            self.next = now + self.every;
            if let Some(body) = self.series.changed(now_ms()) {
                self.sender.push(body);
            }
        }
    }

    /// Sends what is left, and that the series end if that was asked for.
    pub(super) fn close(mut self) {
        let last = self.series.changed(now_ms());
        let stale = self.says_stale.then(|| self.series.stale(now_ms() + 1));
        self.sender.close(last.into_iter().chain(stale.flatten()));
    }
}

fn now_ms() -> u64 {
    machine::since_1970().as_millis() as u64
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
        headers.push(basic(&user, &said("PASSWORD").unwrap_or_default()));
    }
    Ok(Destination {
        name: "remote write",
        url,
        headers,
        insecure: is_true(said("INSECURE_SKIP_TLS_VERIFY")),
    })
}
