//! What is not the same in all runs, and what that does to their figures: printed before any number.

use plimsoll_core::comparison::{Effect, Mismatch};
use plimsoll_core::plan::{Load, Until};
use plimsoll_core::record::Header;
use plimsoll_core::schedule::Arrivals;
use plimsoll_core::units::three_digits;

use crate::import;

/// The facts of one run's set-up, in the order they are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Fingerprint {
    facts: Vec<Fact>,
    /// Arrivals come at a set rate: goodput then follows from the rate as long as nothing fails.
    is_open: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Fact {
    name: &'static str,
    value: String,
    effect: Effect,
}

/// The name of the fact that says which script made the requests.
const SCRIPT: &str = "script";
/// Digits of a script's digest that are shown.
const DIGITS: usize = 12;

/// What follows from a mismatch of each kind, where nothing more particular is known.
const fn says(effect: Effect) -> &'static str {
    match effect {
        Effect::Noted => "probably what is compared",
        Effect::Confounds => "a difference found may come from this instead",
        Effect::Withholds => {
            "response times, failures and open-loop goodput mean something at equal load only: withheld"
        }
        Effect::Incomparable => "the figures do not mean the same, so they are not compared",
    }
}

impl Fingerprint {
    pub fn of_record(header: &Header) -> Self {
        let (plan, machine) = (&header.plan, &header.machine);
        let request = &plan.request;
        let fact = |effect| {
            move |(name, value): (&'static str, String)| Fact {
                name,
                value,
                effect,
            }
        };
        let objective = plan
            .objectives
            .as_ref()
            .map_or("none".to_owned(), ToString::to_string);
        let headers: Vec<String> = request
            .headers
            .iter()
            .map(|(n, v)| format!("{n}: {v}"))
            .collect();
        let incomparable = [
            ("kind of run", header.command.clone()),
            ("objective", objective),
        ];
        let load = [("load", load_of(header)), ("length", until(plan.until))];
        let confounding = [
            ("host", machine.host.clone()),
            ("kernel", machine.kernel.clone()),
            ("processor", machine.cpu.clone()),
            ("cores", machine.cores_count.to_string()),
            ("plimsoll", header.plimsoll_version.clone()),
            ("generator threads", plan.workers.to_string()),
            ("client timeout", plan.timeout_ns.to_string()),
            ("script options", script_options(header)),
        ];
        let noted = [
            ("request", made_by_url(header)),
            (SCRIPT, script(header)),
            ("script environment", script_environment(header)),
            ("headers", headers.join(" · ")),
            ("body", format!("{} bytes", request.body.len())),
            (
                "protocol",
                protocol(plan.streams_per_connection.map(Into::into)),
            ),
            ("keep-alive", plan.keepalive.to_string()),
            ("set-up", header.note.clone()),
        ];
        let mut facts: Vec<Fact> = incomparable
            .into_iter()
            .map(fact(Effect::Incomparable))
            .collect();
        facts.extend(load.into_iter().map(fact(Effect::Withholds)));
        facts.extend(confounding.into_iter().map(fact(Effect::Confounds)));
        facts.extend(noted.into_iter().map(fact(Effect::Noted)));
        // A longer run of the same load is no other load.
        if let Some(length) = facts.iter_mut().find(|fact| fact.name == "length") {
            length.effect = Effect::Confounds;
        }
        Self {
            facts,
            is_open: matches!(plan.load, Load::Open { .. }),
        }
    }

    pub fn of_result(result: &import::Figures) -> Self {
        let number = |value: Option<f64>| value.map_or("not said".to_owned(), three_digits);
        let facts = [
            (
                "kind of run",
                format!("a result of {}", result.tool.name()),
                Effect::Incomparable,
            ),
            ("objective", "none".to_owned(), Effect::Incomparable),
            ("in flight", number(result.in_flight), Effect::Withholds),
            (
                "offered per second",
                number(result.offered_per_s),
                Effect::Withholds,
            ),
            (
                "seconds",
                number(result.seconds.map(f64::round)),
                Effect::Confounds,
            ),
        ];
        Self {
            facts: facts
                .into_iter()
                .map(|(name, value, effect)| Fact {
                    name,
                    value,
                    effect,
                })
                .collect(),
            is_open: result.offered_per_s.is_some(),
        }
    }

    pub fn is_open(&self) -> bool {
        self.is_open
    }

    pub fn fact(&self, name: &str) -> Option<&str> {
        let fact = self.facts.iter().find(|fact| fact.name == name);
        fact.map(|fact| fact.value.as_str())
    }
}

/// Every fact that differs between any two runs; `variants` are names with their runs' fingerprints.
pub fn mismatches(variants: &[(String, Vec<Fingerprint>)]) -> Vec<Mismatch> {
    let mut names: Vec<(&str, Effect)> = Vec::new();
    for fact in variants
        .iter()
        .flat_map(|(_, runs)| runs)
        .flat_map(|run| &run.facts)
    {
        if !names.iter().any(|(name, _)| *name == fact.name) {
            names.push((fact.name, fact.effect));
        }
    }
    let mut found: Vec<Mismatch> = names
        .into_iter()
        .filter_map(|(name, effect)| of_fact(name, effect, variants))
        .collect();
    found.sort_by_key(|mismatch| std::cmp::Reverse(mismatch.effect));
    found
}

fn of_fact(
    name: &str,
    effect: Effect,
    variants: &[(String, Vec<Fingerprint>)],
) -> Option<Mismatch> {
    let values: Vec<(String, Vec<String>)> = variants
        .iter()
        .map(|(variant, runs)| {
            let mut said: Vec<String> = Vec::new();
            for run in runs {
                let value = run.fact(name).filter(|value| !value.is_empty());
                let value = value.unwrap_or("not said").to_owned();
                if !said.contains(&value) {
                    said.push(value);
                }
            }
            (variant.clone(), said)
        })
        .collect();
    let all: Vec<&String> = values.iter().flat_map(|(_, said)| said).collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let mixed = values.iter().find(|(_, said)| said.len() > 1);
    let (effect, says) = match mixed {
        // Runs of one variant are said to be alike.
        Some((variant, _)) if effect <= Effect::Confounds => (
            Effect::Confounds,
            format!("it changes within {variant}, whose runs should be alike"),
        ),
        // Iterations may do other work, and another number of requests.
        _ if name == SCRIPT => (
            effect,
            "probably what is compared; rates and times are of requests, however many an iteration sends"
                .to_owned(),
        ),
        _ => (effect, says(effect).to_owned()),
    };
    Some(Mismatch {
        fact: name.to_owned(),
        effect,
        values,
        says,
    })
}

/// The request of a URL. The lab chooses ports, and says itself in what variants differ; what it asks is looked at.
fn made_by_url(header: &Header) -> String {
    let request = &header.plan.request;
    match &header.lab {
        Some(lab) => {
            let asked = match &header.script {
                Some(script) => format!("script SHA-256 {}…", digits(&script.sha256)),
                None => format!("{} {}", request.method, path(&request.url)),
            };
            format!("variant {} of {}, {asked}", lab.variant, lab.experiment)
        }
        None if request.is_script() => String::new(),
        None => format!("{} {}", request.method, request.url),
    }
}

/// `shop.js, SHA-256 5f3a…`: the file's name, whatever the folder, and what was in it.
fn script(header: &Header) -> String {
    let request = &header.plan.request;
    if !request.is_script() || header.lab.is_some() {
        return String::new();
    }
    let name = request.url.rsplit('/').next().unwrap_or_default();
    match &header.script {
        Some(script) => {
            format!("{name}, SHA-256 {}…", digits(&script.sha256))
        }
        None => format!("{name}, content not recorded"),
    }
}

fn digits(sha256: &str) -> &str {
    sha256.get(..DIGITS).unwrap_or(sha256)
}

/// Of a URL, without the address.
fn path(url: &str) -> &str {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    host.find('/').and_then(|at| host.get(at..)).unwrap_or("/")
}

fn script_options(header: &Header) -> String {
    header.script.as_ref().map_or(String::new(), |script| {
        pairs(script.options.iter().collect())
    })
}

/// Not of the lab, which fills in the ports that it chose.
fn script_environment(header: &Header) -> String {
    let script = header.script.as_ref().filter(|_| header.lab.is_none());
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
fn load_of(header: &Header) -> String {
    let plan = &header.plan;
    match &header.script {
        Some(script) if !script.scenarios.is_empty() => script.scenarios.join("; "),
        _ => load(plan.load, plan.connections_max.get()),
    }
}

fn load(load: Load, connections: u32) -> String {
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
        Load::Search => format!("a search with at most {connections} connections"),
    }
}

fn until(until: Option<Until>) -> String {
    match until {
        Some(Until::DurationNs(duration)) => duration.to_string(),
        Some(Until::AttemptsCount(count)) => format!("{count} attempts"),
        None => "as long as it takes".to_owned(),
    }
}

fn protocol(streams: Option<u32>) -> String {
    streams.map_or("HTTP/1.1".to_owned(), |streams| {
        format!("HTTP/2, at most {streams} streams per connection")
    })
}
