//! From what was typed to what will be done: raw arguments become a plan, or a clear refusal.

use std::num::{NonZeroU32, NonZeroU64};

use anyhow::{Context as _, Result, bail};
use plimsoll_core::objective::Objectives;
use plimsoll_core::plan::{Load, Plan, Request, Until};
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::units::{Nanos, parse_count, parse_duration, parse_rate};
use plimsoll_net::Target;
use plimsoll_net::h1::parse_header;

use crate::args::{ArrivalsArg, FindArgs, RequestArgs, RequestOptions, RunArgs};
use crate::machine;

/// Connections of an open loop unless -c says otherwise. Below the 15,000 that one address pair
/// carries well (half of the default port range).
const OPEN_CONNECTIONS: u32 = 10_000;
const CLOSED_CONNECTIONS: u32 = 16;
/// Streams of a connection where in-flight follows from the load: what servers commonly allow.
const OPEN_STREAMS: u32 = 100;
/// More than any server allows by default; each has a place of its own in memory.
const STREAMS_MAX: u32 = 10_000;
const DEFAULT_DURATION: Nanos = Nanos::from_secs(10);
/// More generator threads than this only add contention on any machine we know.
const WORKERS_MAX: u64 = 256;

pub(crate) fn of_run(args: &RunArgs) -> Result<Plan> {
    let request = request(&args.request)?;
    let duration = args
        .duration
        .as_deref()
        .map(parse_duration)
        .transpose()
        .context("-z")?;
    let count = args
        .requests
        .as_deref()
        .map(parse_count)
        .transpose()
        .context("-n")?;
    let connections = args.connections.as_deref().map(connections).transpose()?;
    let arrivals = arrivals(args.arrivals);
    let until = match (duration, count) {
        (Some(_), Some(_)) => bail!("-n and -z together: give one of them"),
        (Some(Nanos::ZERO), _) => bail!("-z is zero: give a time such as 30s"),
        (None, Some(count)) => Until::AttemptsCount(nonzero(count)),
        (duration, None) => Until::DurationNs(duration.unwrap_or(DEFAULT_DURATION)),
    };
    let profile = match (&args.rate, &args.ramp) {
        (Some(rate), _) => Some(RateProfile::constant(parse_rate(rate).context("-q")?)?),
        (None, Some(ramp)) => Some(parse_ramp(ramp, until)?),
        (None, None) => None,
    };
    let is_open = profile.is_some();
    let streams_per_connection = streams(&args.request.with, is_open)?;
    let default = if is_open {
        OPEN_CONNECTIONS
    } else {
        CLOSED_CONNECTIONS
    };
    let connections_max = connections.unwrap_or(of(default));
    let load = match profile {
        Some(profile) => Load::Open { profile, arrivals },
        None => Load::Closed {
            in_flight: connections_max
                .saturating_mul(streams_per_connection.unwrap_or(NonZeroU32::MIN)),
        },
    };
    let objectives = args
        .slo
        .as_deref()
        .map(Objectives::parse)
        .transpose()
        .context("--slo")?;
    Ok(Plan {
        workers: workers(&args.request, connections_max)?,
        request,
        load,
        until: Some(until),
        connections_max: within_descriptors(connections_max)?,
        timeout_ns: timeout(&args.timeout)?,
        keepalive: !args.request.with.no_keepalive,
        streams_per_connection,
        insecure: args.request.with.insecure,
        objectives,
        seed: args.request.with.seed.unwrap_or_else(machine::fresh_seed),
    })
}

/// Requests at once on one connection of HTTP/2; `None` for HTTP/1.1.
fn streams(args: &RequestOptions, is_open: bool) -> Result<Option<NonZeroU32>> {
    if !args.h2 {
        return Ok(None);
    }
    let Some(text) = args.streams.as_deref() else {
        return Ok(Some(of(if is_open { OPEN_STREAMS } else { 1 })));
    };
    let count = parse_count(text).context("--streams")?;
    match u32::try_from(count).ok().and_then(NonZeroU32::new) {
        Some(count) if count.get() <= STREAMS_MAX => Ok(Some(count)),
        _ => bail!("--streams {text} is not between 1 and {STREAMS_MAX}"),
    }
}

/// The plan of a search: its loads are the search's, its timeout follows from the objectives.
pub(crate) fn of_find(args: &FindArgs) -> Result<Plan> {
    let request = request(&args.request)?;
    let objectives = Objectives::parse(&args.slo).context("--slo")?;
    let connections_max = most_in_flight(args.connections.as_deref())?;
    Ok(Plan {
        workers: workers(&args.request, connections_max)?,
        request,
        load: Load::Search,
        until: None,
        connections_max,
        timeout_ns: plimsoll_control::search::client_timeout(&objectives),
        keepalive: !args.request.with.no_keepalive,
        streams_per_connection: streams(&args.request.with, true)?,
        insecure: args.request.with.insecure,
        objectives: Some(objectives),
        seed: args.request.with.seed.unwrap_or_else(machine::fresh_seed),
    })
}

/// Connections, or virtual users, that a search may take.
pub(crate) fn most_in_flight(asked: Option<&str>) -> Result<NonZeroU32> {
    let asked = asked.map(connections).transpose()?;
    within_descriptors(asked.unwrap_or(of(OPEN_CONNECTIONS)))
}

pub(crate) fn arrivals(arg: ArrivalsArg) -> Arrivals {
    match arg {
        ArrivalsArg::Uniform => Arrivals::Uniform,
        ArrivalsArg::Poisson => Arrivals::Poisson,
    }
}

pub(crate) fn request(args: &RequestArgs) -> Result<Request> {
    // Looked at here for its errors only; the engine parses it again.
    Target::parse(&args.url)?;
    let headers = args
        .with
        .headers
        .iter()
        .map(|text| parse_header(text))
        .collect::<Result<_, _>>()?;
    let body = match args.with.data.as_deref() {
        None => Vec::new(),
        Some(text) => match text.strip_prefix('@') {
            None => text.as_bytes().to_vec(),
            Some(path) => std::fs::read(path).with_context(|| format!("-d @{path}"))?,
        },
    };
    let method = match (&*args.with.method, body.is_empty()) {
        ("GET", false) => "POST".to_owned(),
        (method, _) => method.to_owned(),
    };
    Ok(Request {
        method,
        url: args.url.trim().to_owned(),
        headers,
        body,
    })
}

pub(crate) fn timeout(text: &str) -> Result<Nanos> {
    match parse_duration(text).context("--timeout")? {
        timeout if timeout < Nanos::from_millis(1) => bail!("--timeout is below 1ms"),
        timeout => Ok(timeout),
    }
}

/// `100/s..2000/s` over the duration of the run.
fn parse_ramp(text: &str, until: Until) -> Result<RateProfile> {
    let Some((from, to)) = text.split_once("..") else {
        bail!("--ramp `{text}` is not FROM..TO, such as 100/s..2000/s");
    };
    let Until::DurationNs(duration) = until else {
        bail!("--ramp needs a time: use -z instead of -n");
    };
    let (from, to) = (
        parse_rate(from).context("--ramp")?,
        parse_rate(to).context("--ramp")?,
    );
    Ok(RateProfile::ramp(from, to, duration)?)
}

pub(crate) fn connections(text: &str) -> Result<NonZeroU32> {
    let count = parse_count(text).context("-c")?;
    u32::try_from(count)
        .ok()
        .and_then(NonZeroU32::new)
        .context("-c is too large")
}

/// `--workers`.
pub(crate) fn worker_count(text: &str) -> Result<u64> {
    let count = parse_count(text).context("--workers")?;
    if count > WORKERS_MAX {
        bail!("--workers {count} is more than {WORKERS_MAX}");
    }
    Ok(count)
}

/// Half of the cores for a target on this host, so that it is not starved; else all.
pub(crate) fn workers(args: &RequestArgs, connections: NonZeroU32) -> Result<NonZeroU32> {
    let count = if let Some(text) = args.with.workers.as_deref() {
        worker_count(text)?
    } else {
        let cores = machine::cores() as u64;
        let addresses = Target::parse(&args.url)?.resolve()?;
        let loopback = addresses.iter().any(|address| address.ip().is_loopback());
        if loopback { (cores / 2).max(1) } else { cores }
    };
    // A worker without a connection would only watch.
    Ok(of(count.min(u64::from(connections.get())) as u32))
}

/// Raises the limit of open files as far as goes without privilege, and says how many that is.
pub(crate) fn raise_descriptors() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match rustix::process::setrlimit(rustix::process::Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    current.unwrap_or(u64::MAX)
}

/// Every connection is a descriptor; some are needed for files and the process itself.
pub(crate) fn within_descriptors(connections: NonZeroU32) -> Result<NonZeroU32> {
    const RESERVED: u64 = 64;
    let available = raise_descriptors().saturating_sub(RESERVED);
    if u64::from(connections.get()) <= available {
        return Ok(connections);
    }
    if connections.get() == OPEN_CONNECTIONS {
        return Ok(of(available.max(1) as u32));
    }
    bail!(
        "-c {connections} needs more open files than the limit of {} allows; raise it with ulimit -n",
        available + RESERVED
    );
}

/// The constants and clamped values above are never zero.
fn of(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}

fn nonzero(count: u64) -> NonZeroU64 {
    NonZeroU64::new(count).unwrap_or(NonZeroU64::MIN)
}
