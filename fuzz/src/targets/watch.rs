//! What is watched, and what the watched ones write: `--watch`, nginx log lines, Prometheus text.

use plimsoll_core::record::{Observation, ProxySample, Seen};
use plimsoll_core::units::Nanos;
use plimsoll_observe::{Subject, Watch, parse_log_line, parse_metrics};

use super::{Outcome, variant};

pub(super) const WORDS: &[&str] = &[
    "pid:",
    "port:",
    "name:",
    "nginx-log:",
    "metrics:http://",
    "db=",
    "=",
    ":",
    "[::1]:9100",
    "/metrics",
    "65536",
];

pub(super) const LOG_WORDS: &[&str] = &[
    "rt=",
    "urt=",
    "uct=",
    "us=",
    "st=",
    "0.010, 0.020 : 0.005",
    "-",
    "200",
    "\"",
    "\n",
    "1e300",
    "-1",
    "nan",
    "inf",
];

pub(super) const METRICS_WORDS: &[&str] = &[
    "# TYPE ",
    " counter\n",
    " gauge\n",
    "pool_in_use",
    "{a=\"b\"}",
    "{a=\"}\\\"\"}",
    " 1\n",
    "NaN",
    "+Inf",
    "_bucket",
    "_total",
    "\n",
];

pub(super) fn read(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let watch = match Watch::parse(&text) {
        Ok(watch) => watch,
        Err(error) => return variant(&error),
    };
    if let Some(tier) = &watch.tier {
        assert!(
            !tier.is_empty() && tier.len() <= 40,
            "{text:?} names the tier {tier:?}"
        );
    }
    match &watch.subject {
        Subject::Pid(pid) => assert!(*pid > 0, "{text:?} is process zero"),
        Subject::Port(port) => assert!(*port > 0, "{text:?} is port zero"),
        Subject::Name(name) => assert!(!name.is_empty(), "{text:?} names nothing"),
        Subject::NginxLog(path) => assert!(!path.as_os_str().is_empty(), "{text:?} is no file"),
        Subject::Metrics(url) => assert!(url.path.starts_with('/'), "{text:?} became {url:?}"),
    }
    format!("{} {}", variant(&watch.subject), watch.tier.is_some())
}

/// Every line counts once or not at all, and the sample survives being written and read.
pub(super) fn read_log(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let mut sample = ProxySample::default();
    let lines = text
        .lines()
        .filter(|line| parse_log_line(line, &mut sample));
    let counted = lines.count() as u64;
    assert_eq!(sample.requests, counted, "a line counts once");
    assert_eq!(sample.request_time.count(), counted, "each has its time");
    assert_eq!(
        sample.status.values().sum::<u64>(),
        counted,
        "each has its status"
    );
    assert!(
        sample.upstream_time.count() <= counted,
        "an upstream time without a request"
    );
    let outcome = format!("{} {}", counted.min(3), sample.upstream_unreached.min(2));
    let observation = Observation {
        at_ns: Nanos::ZERO,
        length_ns: Nanos::ZERO,
        tier: "proxy".to_owned(),
        seen: Seen::Proxy(sample),
    };
    let written = serde_json::to_string(&observation).expect("a sample can be written");
    let again: Observation = serde_json::from_str(&written).expect("and read again");
    assert_eq!(again.tier, observation.tier);
    outcome
}

pub(super) fn read_metrics(data: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(data);
    let series = parse_metrics(&text);
    assert!(
        series.values().all(|value| value.is_finite()),
        "a value that no record can hold"
    );
    assert!(series.len() <= 400, "{} series kept", series.len());
    assert!(
        series.keys().all(|name| name.len() <= 300),
        "a long name was kept"
    );
    format!(
        "{} of {} lines",
        series.len().min(3),
        text.lines().count().min(3)
    )
}
