//! The test's keys, understood: exactly one kind of load.

use std::num::NonZeroU32;

use plimsoll_core::Nanos;
use plimsoll_core::test::{Generator, Http, Request, SearchSettings};
use plimsoll_core::units::{parse_duration, parse_rate};

use super::super::file::{StageSpec, TestSpec};
use super::super::times::multiple;
use super::super::{AfterLoad, Arrivals, Load, Stage, Test, Times, collection, gauge};
use super::within::Within;
use crate::LabError;

const DEFAULT_WARM_UP: u64 = 1_000;
const DEFAULT_DRAIN: Nanos = Nanos::from_secs(60);
const DEFAULT_DURATION: Nanos = Nanos::from_secs(30);
const TIMES_CONNECTIONS: u32 = 4;
const DEFAULT_WITHIN: Nanos = Nanos::from_secs(240);

pub(super) fn test(
    at: &Within<'_>,
    spec: &TestSpec,
    has_objectives: bool,
) -> Result<Test, LabError> {
    let cpu = spec.cpu.unwrap_or(1.0);
    if !(cpu >= 0.0 && cpu.is_finite()) {
        let problem = format!("{cpu} is no number of cores; write 0.5 or 1");
        return Err(at.wrong("cpu", problem));
    }
    for (key, text) in spec
        .url
        .iter()
        .map(|url| ("url", url))
        .chain(spec.env.values().map(|text| ("env", text)))
        .chain(spec.stored.iter().flatten().map(|text| ("stored", text)))
        .chain(spec.backlog.iter().flatten().map(|text| ("backlog", text)))
        .chain(spec.taken.iter().flatten().map(|text| ("taken", text)))
    {
        at.tiers_in(key, "", text)?;
    }
    Ok(Test {
        load: load(at, spec, has_objectives)?,
        warm_up: spec.warm_up.unwrap_or(DEFAULT_WARM_UP),
        timeout: timeout(at, spec)?,
        insecure: spec.insecure.unwrap_or(false),
        h2: spec.h2,
        streams: spec.streams.and_then(NonZeroU32::new),
        cpu,
        seed: spec.seed,
        env: spec.env.clone(),
        after: after(at, spec)?,
        times: times(at, spec)?,
    })
}

/// Of which capacity the rates are multiples, if they are.
fn times(at: &Within<'_>, spec: &TestSpec) -> Result<Option<Times>, LabError> {
    let texts = [("rate", &spec.rate), ("ramp", &spec.ramp)];
    let mut parts = texts.into_iter().filter_map(|(key, text)| {
        let is_multiple = |part: &str| multiple(part).is_some();
        let text = text.as_ref()?;
        text.split("..").any(is_multiple).then_some(key)
    });
    match (parts.next(), &spec.times_of) {
        (None, None) if spec.times_connections.is_some() => Err(at.wrong(
            "times_connections",
            "no capacity is measured; give `times_of` with it",
        )),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(at.wrong(
            "times_of",
            "no rate is a multiple; write `rate = \"2x\"` or `ramp = \"1x..10x\"` with it",
        )),
        (Some(key), None) => Err(at.wrong(
            key,
            "of what? name the variant whose capacity is 1x in `times_of`",
        )),
        (Some(_), Some(of)) => {
            let connections = spec.times_connections.unwrap_or(TIMES_CONNECTIONS);
            let connections = NonZeroU32::new(connections);
            let zero = || at.wrong("times_connections", "is zero: give 1 or more");
            Ok(Some(Times {
                of: of.clone(),
                connections: connections.ok_or_else(zero)?,
            }))
        }
    }
}

/// What is looked at when the load has ended, if anything.
fn after(at: &Within<'_>, spec: &TestSpec) -> Result<Option<AfterLoad>, LabError> {
    let stored = spec.stored.clone().unwrap_or_default();
    let backlog = spec.backlog.clone().unwrap_or_default();
    let taken = spec.taken.clone().unwrap_or_default();
    for text in &stored {
        collection(text).map_err(|problem| at.wrong("stored", problem))?;
    }
    for (key, texts) in [("backlog", &backlog), ("taken", &taken)] {
        for text in texts {
            gauge(text).map_err(|problem| at.wrong(key, problem))?;
        }
    }
    let wait = spec.drain_within.as_deref();
    if wait.is_some() && backlog.is_empty() {
        let problem = "nothing is waited for; give `backlog` with it";
        return Err(at.wrong("drain_within", problem));
    }
    let within = at.time("drain_within", wait, DEFAULT_DRAIN)?;
    if !taken.is_empty() && stored.is_empty() {
        let problem = "it is held against what is stored; give `stored` with it";
        return Err(at.wrong("taken", problem));
    }
    let any = !stored.is_empty() || !backlog.is_empty();
    Ok(any.then_some(AfterLoad {
        stored,
        backlog,
        taken,
        within,
    }))
}

fn load(at: &Within<'_>, spec: &TestSpec, has_objectives: bool) -> Result<Load, LabError> {
    let wrong = |key: &str, problem: &str| Err(at.wrong(key, problem));
    let with = [("with", !spec.with.is_empty() && spec.workload.is_none())];
    refuse(
        at,
        &with,
        "are keys of a workload file; give `workload` with it",
    )?;
    if let Some(workload) = &spec.workload {
        return workload_load(at, spec, workload);
    }
    match (&spec.script, &spec.url) {
        (Some(_), Some(_)) => wrong("script", "a test has a script or a URL, not both"),
        (None, None) => wrong("url", "a test needs a `url`, a `script` or a `workload`"),
        (Some(script), None) => {
            refuse(
                at,
                &of_urls(spec),
                "a script says this itself, in its options; leave it out",
            )?;
            let path = at.folder.join(script);
            if path.is_file() {
                Ok(Load::Script(path))
            } else {
                wrong("script", &format!("there is no file {}", path.display()))
            }
        }
        (None, Some(url)) => url_load(at, spec, url, has_objectives),
    }
}

fn workload_load(at: &Within<'_>, spec: &TestSpec, workload: &str) -> Result<Load, LabError> {
    let others = [
        ("script", spec.script.is_some()),
        ("url", spec.url.is_some()),
    ];
    refuse(
        at,
        &others,
        "a test has a script, a URL or a workload, and only one of them",
    )?;
    let own = of_urls(spec);
    let own = own.iter().filter(|(key, _)| *key != "duration").copied();
    let own: Vec<_> = own
        .chain([("env", !spec.env.is_empty()), ("h2", spec.h2.is_some())])
        .collect();
    refuse(
        at,
        &own,
        "a workload says this itself, in its file or under `with`; leave it out",
    )?;
    let path = at.folder.join(workload);
    if !path.is_file() {
        return Err(at.wrong("workload", format!("there is no file {}", path.display())));
    }
    let duration = at.time("duration", spec.duration.as_deref(), DEFAULT_DURATION)?;
    if duration == Nanos::ZERO {
        return Err(at.wrong("duration", "is zero: give a time such as 30s"));
    }
    if spec.with.contains_key("duration") {
        return Err(at.wrong(
            "with",
            "the duration of a run stands in [test]: give `duration` there",
        ));
    }
    let with = toml::to_string(&spec.with).map_err(|error| at.wrong("with", error))?;
    Ok(Load::Workload {
        path,
        with,
        duration,
    })
}

/// The first of these keys that is given is refused.
fn refuse(at: &Within<'_>, keys: &[(&str, bool)], problem: &str) -> Result<(), LabError> {
    let given = keys.iter().find(|(_, is_given)| *is_given);
    given.map_or(Ok(()), |(key, _)| Err(at.wrong(key, problem)))
}

fn url_load(
    at: &Within<'_>,
    spec: &TestSpec,
    url: &str,
    has_objectives: bool,
) -> Result<Load, LabError> {
    let body = spec.body.clone().unwrap_or_default();
    let method = spec.method.as_deref().unwrap_or("GET");
    let request = Request {
        headers: spec.headers.clone().into_iter().collect(),
        ..Request::new(method, url, body.into_bytes())
    };
    let env = [("env", !spec.env.is_empty())];
    refuse(at, &env, "only a script reads it; leave it out")?;
    protocol(at, spec, url)?;
    if spec.find == Some(true) {
        return find(at, spec, request, has_objectives);
    }
    let within = [("within", spec.within.is_some())];
    refuse(
        at,
        &within,
        "is the time of a search; give `find = true` with it",
    )?;
    if let Some(stages) = &spec.stages {
        let decided = [
            ("rate", spec.rate.is_some()),
            ("ramp", spec.ramp.is_some()),
            ("connections", spec.connections.is_some()),
            ("duration", spec.duration.is_some()),
        ];
        let problem = "`stages` say this: leave it out, or leave the stages out";
        refuse(at, &decided, problem)?;
        return Ok(Load::Stages {
            request,
            stages: all_stages(at, stages)?,
            think: at.time("think", spec.think.as_deref(), Nanos::ZERO)?,
        });
    }
    let think = [("think", spec.think.is_some())];
    refuse(at, &think, "virtual users think; give `stages` with it")?;
    let arrivals = arrivals(at, spec)?;
    let duration = at.time("duration", spec.duration.as_deref(), DEFAULT_DURATION)?;
    if duration == Nanos::ZERO {
        return Err(at.wrong("duration", "is zero: give a time such as 30s"));
    }
    Ok(Load::Url {
        request,
        arrivals,
        connections: connections(at, spec)?,
        duration,
    })
}

/// A search decides the load, all of it.
fn find(
    at: &Within<'_>,
    spec: &TestSpec,
    request: Request,
    has_objectives: bool,
) -> Result<Load, LabError> {
    let decided = [
        ("rate", spec.rate.is_some()),
        ("ramp", spec.ramp.is_some()),
        ("stages", spec.stages.is_some()),
        ("think", spec.think.is_some()),
        ("duration", spec.duration.is_some()),
        ("timeout", spec.timeout.is_some()),
    ];
    let problem = "a search decides this itself: leave it out, or leave `find` out";
    refuse(at, &decided, problem)?;
    if !has_objectives {
        let problem =
            "a search needs objectives: add [objectives] with slo = \"p99<250ms,errors<0.1%\"";
        return Err(at.wrong("find", problem));
    }
    let within = at.time("within", spec.within.as_deref(), DEFAULT_WITHIN)?;
    if within < SearchSettings::SHORTEST {
        let problem = format!("{within} is too short for a search: give it 150s or more");
        return Err(at.wrong("within", problem));
    }
    Ok(Load::Find {
        request,
        connections: connections(at, spec)?,
        within,
    })
}

/// What is asked of HTTP/2 must be something that this load can do.
fn protocol(at: &Within<'_>, spec: &TestSpec, url: &str) -> Result<(), LabError> {
    let problem = match spec.streams {
        None => None,
        Some(_) if spec.h2 != Some(true) => {
            Some("only HTTP/2 has streams; give `h2 = true` with it".to_owned())
        }
        Some(_) if spec.stages.is_some() => {
            Some("a virtual user waits for its answer: leave it out".to_owned())
        }
        Some(0) => Some("is zero: give 1 or more".to_owned()),
        Some(streams) => Http::streams(streams.into())
            .err()
            .map(|error| error.to_string()),
    };
    if let Some(problem) = problem {
        return Err(at.wrong("streams", problem));
    }
    let h2 = spec.stages.is_some() && spec.h2.is_some() && !url.starts_with("https:");
    let problem = "virtual users speak HTTP/2 over https only: leave it out, or make the url https";
    refuse(at, &[("h2", h2)], problem)
}

fn all_stages(at: &Within<'_>, spec: &[StageSpec]) -> Result<Vec<Stage>, LabError> {
    let stage = |stage: &StageSpec| {
        let duration = parse_duration(&stage.duration);
        Ok(Stage {
            target: stage.target,
            duration: duration.map_err(|error| at.wrong("stages", error))?,
        })
    };
    let stages: Vec<Stage> = spec.iter().map(stage).collect::<Result<_, LabError>>()?;
    let is_empty = |stage: &Stage| stage.target == 0 || stage.duration == Nanos::ZERO;
    if stages.iter().all(is_empty) {
        return Err(at.wrong("stages", "no stage has both virtual users and a duration"));
    }
    Ok(stages)
}

fn timeout(at: &Within<'_>, spec: &TestSpec) -> Result<Option<Nanos>, LabError> {
    let Some(text) = &spec.timeout else {
        return Ok(None);
    };
    let timeout = parse_duration(text).map_err(|error| at.wrong("timeout", error))?;
    let timeout = Generator::timeout(timeout).map_err(|error| at.wrong("timeout", error))?;
    Ok(Some(timeout))
}

fn connections(at: &Within<'_>, spec: &TestSpec) -> Result<Option<NonZeroU32>, LabError> {
    let connections = spec.connections.map(|count| {
        let problem = "is zero: give 1 or more";
        NonZeroU32::new(count).ok_or_else(|| at.wrong("connections", problem))
    });
    connections.transpose()
}

fn arrivals(at: &Within<'_>, spec: &TestSpec) -> Result<Arrivals, LabError> {
    let is_times = spec.times_of.is_some();
    let rate = |key: &str, text: &str| match multiple(text) {
        Some(number) => number.map_err(|problem| at.wrong(key, problem)),
        None if is_times => {
            let problem = format!("`{text}` is no multiple; with `times_of` write 2x");
            Err(at.wrong(key, problem))
        }
        None => parse_rate(text).map_err(|error| at.wrong(key, error)),
    };
    match (&spec.rate, &spec.ramp) {
        (Some(_), Some(_)) => Err(at.wrong("ramp", "a test has a rate or a ramp, not both")),
        (Some(text), None) => Ok(Arrivals::Rate(rate("rate", text)?)),
        (None, Some(text)) => {
            let (from, to) = text.split_once("..").ok_or_else(|| {
                let problem = format!("`{text}` is not FROM..TO, such as 100/s..2000/s");
                at.wrong("ramp", problem)
            })?;
            Ok(Arrivals::Ramp {
                from: rate("ramp", from)?,
                to: rate("ramp", to)?,
            })
        }
        (None, None) => Ok(Arrivals::Closed),
    }
}

/// Keys that a script has of its own.
fn of_urls(spec: &TestSpec) -> [(&'static str, bool); 16] {
    [
        ("method", spec.method.is_some()),
        ("headers", !spec.headers.is_empty()),
        ("body", spec.body.is_some()),
        ("rate", spec.rate.is_some()),
        ("ramp", spec.ramp.is_some()),
        ("connections", spec.connections.is_some()),
        ("times_of", spec.times_of.is_some()),
        ("times_connections", spec.times_connections.is_some()),
        ("find", spec.find == Some(true)),
        ("within", spec.within.is_some()),
        ("stages", spec.stages.is_some()),
        ("think", spec.think.is_some()),
        ("duration", spec.duration.is_some()),
        ("timeout", spec.timeout.is_some()),
        ("insecure", spec.insecure.is_some()),
        ("streams", spec.streams.is_some()),
    ]
}
