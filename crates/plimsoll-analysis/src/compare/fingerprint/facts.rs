//! What a header says of its test, in the words that are compared.

use plimsoll_core::Nanos;
use plimsoll_core::record::Header;
use plimsoll_core::schedule::Arrivals;
use plimsoll_core::test::workload::{self, Workload};
use plimsoll_core::test::{
    How, Load, MixPhase, Request, RequestMix, ScriptSetup, Until, Url, What,
};
use plimsoll_core::units::three_digits;

/// Digits of a script's digest that are shown.
const DIGITS: usize = 12;

/// Records of earlier versions hold the bodies themselves.
pub(super) fn bodies(url: &Url) -> String {
    match url.variation.bodies.as_slice() {
        [] => format!("{} bytes", url.request.body.len()),
        bodies => bodies.join("; "),
    }
}

pub(super) fn headers(request: &Request) -> String {
    let headers = request.headers.iter();
    let headers: Vec<String> = headers.map(|(n, v)| format!("{n}: {v}")).collect();
    headers.join(" · ")
}

/// The request of a URL. The lab chooses ports, and says itself in what variants differ; what it asks is looked at.
pub(super) fn made_by_url(header: &Header) -> String {
    let what = &header.test.what;
    match (&header.lab, what) {
        (Some(lab), _) => {
            let asked = match (setup(header), what.request_line()) {
                (Some(script), _) => format!("script SHA-256 {}…", digits(&script.sha256)),
                (None, (method, url)) => format!("{method} {}", path(url)),
            };
            format!("variant {} of {}, {asked}", lab.variant, lab.experiment)
        }
        (None, What::Script(_)) => String::new(),
        (None, What::Url(url)) => {
            let requests = url.requests().map(|it| format!("{} {}", it.method, it.url));
            let mix = url.variation.mix.iter().flat_map(mix);
            requests.chain(mix).collect::<Vec<_>>().join(" · ")
        }
        (None, What::Workload(_)) => what.to_string(),
    }
}

/// How often each request is sent, and how that changes.
fn mix(mix: &RequestMix) -> impl Iterator<Item = String> {
    let shares = mix.shares.iter().map(|share| format!("{share} %"));
    let each = |shares: &Vec<f64>| {
        let shares: Vec<String> = shares.iter().map(ToString::to_string).collect();
        format!("{} %", shares.join(" and "))
    };
    shares.chain(mix.phases.iter().map(move |at| phase(at, each)))
}

/// `10 s with read 100 towards insert 100`
fn phase<M>(phase: &MixPhase<M>, words: impl Fn(&M) -> String) -> String {
    let length = exact(phase.length_ns);
    let from = phase.mix.as_ref().map(&words);
    let from = from.unwrap_or_else(|| "the usual mix".to_owned());
    let to = phase.mix_to.as_ref().map(words);
    let to = to.map_or(String::new(), |to| format!(" towards {to}"));
    format!("{length} with {from}{to}")
}

/// With every digit: what differs in the fourth differs.
fn exact(time: Nanos) -> String {
    format!("{} s", time.as_secs_f64())
}

/// What is done to a store, wherever that is. Of the lab its variants tell.
pub(super) fn workload(header: &Header) -> String {
    let Some(workload) = header.test.workload().filter(|_| header.lab.is_none()) else {
        return String::new();
    };
    let mut words = databases(workload);
    words.push(format!(
        "{} connections and {} workers of each",
        workload.connections, workload.sessions
    ));
    words.push(format!(
        "keys {}, batches of {}",
        workload.keys, workload.batch
    ));
    words.extend(workload.replicas.map(|count| format!("{count} copies")));
    let phases = workload.phases.iter();
    words.extend(phases.map(|at| phase(at, ToString::to_string)));
    words.join("; ")
}

/// One text for all if they are alike but for their names.
fn databases(workload: &Workload) -> Vec<String> {
    let words = |database: &workload::Database| {
        format!(
            "{} documents of {} bytes, {}",
            database.documents, database.document_bytes, database.mix
        )
    };
    let each = workload.databases.iter().map(words);
    let mut distinct: Vec<String> = each.clone().collect();
    distinct.dedup();
    if let [alike] = distinct.as_slice() {
        return vec![format!(
            "databases: {} of {alike}",
            workload.databases.len()
        )];
    }
    let names = workload.databases.iter().map(|database| &database.name);
    let named = names.zip(each);
    named
        .map(|(name, words)| format!("{name}: {words}"))
        .collect()
}

/// How the client of a store behaves, beside the timeout of the whole operation.
pub(super) fn store_client(header: &Header) -> String {
    let Some(workload) = header.test.workload().filter(|_| header.lab.is_none()) else {
        return String::new();
    };
    let client = &workload.client;
    let pause = exact(client.retry_pause_ns);
    let mut words = vec![format!("{} retries after {pause}", client.retries)];
    let bounds = [
        ("a try", client.try_timeout_ns),
        ("a connection", client.pool_wait_ns),
    ];
    let bounds = bounds
        .into_iter()
        .filter_map(|(what, time)| Some((what, time?)));
    words.extend(bounds.map(|(what, time)| format!("{} for {what}", exact(time))));
    let shared = client.per_connection;
    words.extend(shared.map(|count| format!("{count} at once on a connection")));
    let consistency = client.consistency.map(workload::Consistency::name);
    words.extend(consistency.map(|name| format!("consistency {name}")));
    let said = [
        (client.driver_retries, "the driver retries"),
        (client.closes_given_up, "closes what it gives up"),
        (client.shares_connections, "connections are shared"),
    ];
    let said = said.into_iter().filter(|(is, _)| *is);
    words.extend(said.map(|(_, words)| words.to_owned()));
    words.join(", ")
}

/// Connections that arrivals of an open loop wait for; the others say theirs with their load. Of the lab its variants tell.
pub(super) fn connections(header: &Header) -> String {
    let test = &header.test;
    let is_open = matches!(
        &test.how,
        How::Set {
            load: Load::Open { .. },
            ..
        }
    );
    if !is_open || test.url().is_none() || header.lab.is_some() {
        return String::new();
    }
    format!("at most {}", test.generator.connections_max)
}

/// `shop.js, SHA-256 5f3a…`: the file's name, whatever the folder, and what was in it.
pub(super) fn script(header: &Header) -> String {
    let script = header.test.script().filter(|_| header.lab.is_none());
    let Some(script) = script else {
        return String::new();
    };
    let name = script.name.rsplit('/').next().unwrap_or_default();
    match &script.setup {
        Some(setup) => {
            format!("{name}, SHA-256 {}…", digits(&setup.sha256))
        }
        None => format!("{name}, content not recorded"),
    }
}

fn setup(header: &Header) -> Option<&ScriptSetup> {
    header.test.script()?.setup.as_ref()
}

fn digits(sha256: &str) -> &str {
    sha256.get(..DIGITS).unwrap_or(sha256)
}

/// Of a URL, without the address.
fn path(url: &str) -> &str {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    host.find('/').and_then(|at| host.get(at..)).unwrap_or("/")
}

pub(super) fn script_options(header: &Header) -> String {
    setup(header).map_or(String::new(), |script| {
        pairs(script.options.iter().collect())
    })
}

/// Not of the lab, which fills in the ports that it chose.
pub(super) fn script_environment(header: &Header) -> String {
    let script = setup(header).filter(|_| header.lab.is_none());
    script.map_or(String::new(), |script| {
        pairs(script.environment.iter().collect())
    })
}

fn pairs(named: Vec<(&String, &String)>) -> String {
    let pairs: Vec<String> = named
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(" ")
}

/// What the plan says, and of a script whose load changes its scenarios.
pub(super) fn load_of(header: &Header) -> String {
    match (setup(header), &header.test.how) {
        (Some(script), _) if !script.scenarios.is_empty() => script.scenarios.join("; "),
        (_, How::Set { load, .. }) => set_load(*load),
        (_, How::Search { .. }) => {
            let connections = header.test.generator.connections_max;
            format!("a search with at most {connections} connections")
        }
    }
}

fn set_load(load: Load) -> String {
    match load {
        Load::Closed { in_flight } => format!("closed loop, {in_flight} in flight"),
        Load::Open { profile, arrivals } => {
            let arrivals = match arrivals {
                Arrivals::Poisson => "Poisson",
                Arrivals::Uniform => "uniform",
            };
            let rate = profile.constant_rate().map_or_else(
                || format!("a rate that changes ({profile:?})"),
                |rate| format!("{}/s", three_digits(rate)),
            );
            format!("open loop, {rate}, {arrivals} arrivals")
        }
    }
}

pub(super) fn until(how: &How) -> String {
    match how {
        How::Set {
            until: Some(Until::DurationNs(duration)),
            ..
        } => duration.to_string(),
        How::Set {
            until: Some(Until::AttemptsCount(count)),
            ..
        } => format!("{count} attempts"),
        How::Set { until: None, .. } | How::Search { .. } => "as long as it takes".to_owned(),
    }
}

pub(super) fn protocol(streams: Option<u32>) -> String {
    streams.map_or("HTTP/1.1".to_owned(), |streams| {
        format!("HTTP/2, at most {streams} streams per connection")
    })
}
