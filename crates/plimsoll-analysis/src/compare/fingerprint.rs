//! What is not the same in all runs, and what that does to their figures: printed before any number.

mod facts;
#[cfg(test)]
mod tests;

use plimsoll_core::comparison::{Effect, Mismatch};
use plimsoll_core::record::Header;
use plimsoll_core::test::{How, Load};
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
    topic: Topic,
    value: String,
    effect: Effect,
    /// The number behind the value, where it was sampled: two equal tests differ in it a little.
    sampled: Option<f64>,
}

/// Sampled numbers that differ by less than this share are of the same setting.
const SAMPLED_SHARE: f64 = 0.02;

impl Fact {
    fn is_same(&self, other: &Self) -> bool {
        let close =
            |(one, other): (f64, f64)| (one - other).abs() <= SAMPLED_SHARE * one.max(other);
        self.value == other.value || self.sampled.zip(other.sampled).is_some_and(close)
    }
}

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    KindOfRun,
    Objective,
    Load,
    Workload,
    Length,
    Host,
    Kernel,
    Processor,
    Cores,
    Plimsoll,
    GeneratorThreads,
    ClientTimeout,
    Connections,
    Client,
    ScriptOptions,
    Request,
    Script,
    ScriptEnvironment,
    Headers,
    Body,
    Protocol,
    KeepAlive,
    SetUp,
    InFlight,
    OfferedPerSecond,
    Seconds,
}

impl Topic {
    const fn name(self) -> &'static str {
        match self {
            Self::KindOfRun => "kind of run",
            Self::Objective => "objective",
            Self::Load => "load",
            Self::Workload => "workload",
            Self::Length => "length",
            Self::Host => "host",
            Self::Kernel => "kernel",
            Self::Processor => "processor",
            Self::Cores => "cores",
            Self::Plimsoll => "plimsoll",
            Self::GeneratorThreads => "generator threads",
            Self::ClientTimeout => "client timeout",
            Self::Connections => "connections",
            Self::Client => "client",
            Self::ScriptOptions => "script options",
            Self::Request => "request",
            Self::Script => "script",
            Self::ScriptEnvironment => "script environment",
            Self::Headers => "headers",
            Self::Body => "body",
            Self::Protocol => "protocol",
            Self::KeepAlive => "keep-alive",
            Self::SetUp => "set-up",
            Self::InFlight => "in flight",
            Self::OfferedPerSecond => "offered per second",
            Self::Seconds => "seconds",
        }
    }
}

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
    pub fn from_record(header: &Header) -> Self {
        let (test, machine) = (&header.test, &header.machine);
        let generator = &test.generator;
        let request = test.url().map(|url| &url.request);
        let fact = |effect| {
            move |(topic, value): (Topic, String)| Fact {
                topic,
                value,
                effect,
                sampled: None,
            }
        };
        let objective = test
            .objectives()
            .map_or("none".to_owned(), ToString::to_string);
        let headers = request.map_or(String::new(), facts::headers);
        let protocol = facts::protocol(test.streams().map(Into::into));
        let incomparable = [
            (Topic::KindOfRun, test.command().to_owned()),
            (Topic::Objective, objective),
        ];
        let load = [
            (Topic::Load, facts::load_of(header)),
            (Topic::Workload, facts::workload(header)),
            (Topic::Length, facts::until(&test.how)),
        ];
        let confounding = [
            (Topic::Host, machine.host.clone()),
            (Topic::Kernel, machine.kernel.clone()),
            (Topic::Processor, machine.cpu.clone()),
            (Topic::Cores, machine.cores_count.to_string()),
            (Topic::Plimsoll, header.plimsoll_version.clone()),
            (Topic::GeneratorThreads, generator.workers.to_string()),
            (Topic::ClientTimeout, generator.timeout.to_string()),
            (Topic::Connections, facts::connections(header)),
            (Topic::Client, facts::store_client(header)),
            (Topic::ScriptOptions, facts::script_options(header)),
        ];
        let noted = [
            (Topic::Request, facts::made_by_url(header)),
            (Topic::Script, facts::script(header)),
            (Topic::ScriptEnvironment, facts::script_environment(header)),
            (Topic::Headers, headers),
            (Topic::Body, test.url().map_or(String::new(), facts::bodies)),
            (Topic::Protocol, protocol),
            (Topic::KeepAlive, generator.keepalive.to_string()),
            (Topic::SetUp, header.note.clone()),
        ];
        let mut facts: Vec<Fact> = incomparable
            .into_iter()
            .map(fact(Effect::Incomparable))
            .collect();
        facts.extend(load.into_iter().map(fact(Effect::Withholds)));
        facts.extend(confounding.into_iter().map(fact(Effect::Confounds)));
        facts.extend(noted.into_iter().map(fact(Effect::Noted)));
        // A longer run of the same load is no other load.
        if let Some(length) = facts.iter_mut().find(|fact| fact.topic == Topic::Length) {
            length.effect = Effect::Confounds;
        }
        Self {
            facts,
            is_open: matches!(
                &test.how,
                How::Set {
                    load: Load::Open { .. },
                    ..
                }
            ),
        }
    }

    pub fn from_result(result: &import::Figures) -> Self {
        let number = |value: Option<f64>| value.map_or("not said".to_owned(), three_digits);
        let samples = result.in_flight_is_sampled;
        let facts = [
            (
                Topic::KindOfRun,
                format!("a result of {}", result.tool.name()),
                Effect::Incomparable,
            ),
            (Topic::Objective, "none".to_owned(), Effect::Incomparable),
            (Topic::InFlight, number(result.in_flight), Effect::Withholds),
            (
                Topic::OfferedPerSecond,
                number(result.offered_per_s),
                Effect::Withholds,
            ),
            (
                Topic::Seconds,
                number(result.seconds.map(f64::round)),
                Effect::Confounds,
            ),
        ];
        let sampled = |topic| match topic {
            Topic::InFlight => result.in_flight.filter(|_| samples),
            Topic::OfferedPerSecond => result.offered_per_s,
            Topic::Seconds => result.seconds,
            _ => None,
        };
        Self {
            facts: facts
                .into_iter()
                .map(|(topic, value, effect)| Fact {
                    topic,
                    value,
                    effect,
                    sampled: sampled(topic),
                })
                .collect(),
            is_open: result.offered_per_s.is_some() || result.arrivals == import::Arrivals::Open,
        }
    }

    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// The load that the run put on its target, in words; `None` of another tool's result.
    pub fn load(&self) -> Option<&str> {
        self.fact(Topic::Load)
    }

    fn fact(&self, topic: Topic) -> Option<&str> {
        self.found(topic).map(|fact| fact.value.as_str())
    }

    fn found(&self, topic: Topic) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.topic == topic)
    }
}

/// Every fact that differs between any two runs; `variants` are names with their runs' fingerprints.
pub fn mismatches(variants: &[(String, Vec<Fingerprint>)]) -> Vec<Mismatch> {
    let mut topics: Vec<(Topic, Effect)> = Vec::new();
    for fact in variants
        .iter()
        .flat_map(|(_, runs)| runs)
        .flat_map(|run| &run.facts)
    {
        if !topics.iter().any(|(topic, _)| *topic == fact.topic) {
            topics.push((fact.topic, fact.effect));
        }
    }
    let mut found: Vec<Mismatch> = topics
        .into_iter()
        .filter_map(|(topic, effect)| of_fact(topic, effect, variants))
        .collect();
    found.sort_by_key(|mismatch| std::cmp::Reverse(mismatch.effect));
    found
}

fn of_fact(
    topic: Topic,
    effect: Effect,
    variants: &[(String, Vec<Fingerprint>)],
) -> Option<Mismatch> {
    let values: Vec<(String, Vec<String>)> = variants
        .iter()
        .map(|(variant, runs)| {
            let mut distinct: Vec<String> = Vec::new();
            for run in runs {
                let value = run.fact(topic).filter(|value| !value.is_empty());
                let value = value.unwrap_or("not said").to_owned();
                if !distinct.contains(&value) {
                    distinct.push(value);
                }
            }
            (variant.clone(), distinct)
        })
        .collect();
    let all: Vec<&String> = values.iter().flat_map(|(_, distinct)| distinct).collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) || are_same(topic, variants) {
        return None;
    }
    let mixed = values.iter().find(|(_, distinct)| distinct.len() > 1);
    let (effect, says) = match mixed {
        // Runs of one variant are said to be alike.
        Some((variant, _)) if effect <= Effect::Confounds => (
            Effect::Confounds,
            format!("it changes within {variant}, whose runs should be alike"),
        ),
        // Iterations may do other work, and another number of requests.
        _ if topic == Topic::Script => (
            effect,
            "probably what is compared; rates and times are of requests, however many an iteration sends"
                .to_owned(),
        ),
        _ => (effect, says(effect).to_owned()),
    };
    Some(Mismatch {
        fact: topic.name().to_owned(),
        effect,
        values,
        says,
    })
}

/// Every run has the fact, and as far as sampling can tell the same.
fn are_same(topic: Topic, variants: &[(String, Vec<Fingerprint>)]) -> bool {
    let runs = variants.iter().flat_map(|(_, runs)| runs);
    let facts: Option<Vec<&Fact>> = runs.map(|run| run.found(topic)).collect();
    facts.is_some_and(|facts| facts.iter().all(|fact| facts[0].is_same(fact)))
}
