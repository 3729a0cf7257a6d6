//! The test's keys, understood: exactly one kind of load.

use std::num::NonZeroU32;

use plimsoll_core::Nanos;
use plimsoll_core::nearest::hint;
use plimsoll_core::test::{Generator, Http, Request, SearchSettings};
use plimsoll_core::units::{parse_duration, parse_rate};

use super::super::file::TestSpec;
use super::super::fill::tiers_in;
use super::super::{AfterLoad, Arrivals, Load, Stage, Test, collection, gauge};
use super::{Merged, Reader};
use crate::LabError;

const DEFAULT_WARM_UP: u64 = 1_000;
const DEFAULT_DRAIN: Nanos = Nanos::from_secs(60);
const DEFAULT_DURATION: Nanos = Nanos::from_secs(30);
const DEFAULT_WITHIN: Nanos = Nanos::from_secs(240);

impl Reader<'_> {
    pub(super) fn test(&self, variant: &str, all: &Merged) -> Result<Test, LabError> {
        let said = &all.test;
        let cpu = said.cpu.unwrap_or(1.0);
        if !(cpu >= 0.0 && cpu.is_finite()) {
            let problem = format!("{cpu} is no number of cores; write 0.5 or 1");
            return Err(self.in_test(variant, "cpu", problem));
        }
        for (key, text) in said
            .url
            .iter()
            .map(|url| ("url", url))
            .chain(said.env.values().map(|text| ("env", text)))
            .chain(said.stored.iter().flatten().map(|text| ("stored", text)))
            .chain(said.backlog.iter().flatten().map(|text| ("backlog", text)))
            .chain(said.taken.iter().flatten().map(|text| ("taken", text)))
        {
            let tiers = tiers_in(text).map_err(|problem| self.in_test(variant, key, problem))?;
            if let Some(missing) = tiers.iter().find(|tier| !all.tiers.contains_key(**tier)) {
                let near = hint(missing, all.tiers.keys().map(String::as_str));
                let problem = format!("variant `{variant}` has no tier `{missing}`{near}");
                return Err(self.in_test(variant, key, problem));
            }
        }
        Ok(Test {
            load: self.load(variant, said)?,
            warm_up: said.warm_up.unwrap_or(DEFAULT_WARM_UP),
            timeout: self.timeout(variant, said)?,
            insecure: said.insecure.unwrap_or(false),
            h2: said.h2,
            streams: said.streams.and_then(NonZeroU32::new),
            cpu,
            seed: said.seed,
            env: said.env.clone(),
            after: self.after(variant, all)?,
        })
    }

    /// What is looked at when the load has ended, if anything.
    fn after(&self, variant: &str, all: &Merged) -> Result<Option<AfterLoad>, LabError> {
        let said = &all.test;
        let stored = said.stored.clone().unwrap_or_default();
        let backlog = said.backlog.clone().unwrap_or_default();
        for text in &stored {
            collection(text).map_err(|problem| self.in_test(variant, "stored", problem))?;
        }
        let taken = said.taken.clone().unwrap_or_default();
        for (key, texts) in [("backlog", &backlog), ("taken", &taken)] {
            for text in texts {
                gauge(text).map_err(|problem| self.in_test(variant, key, problem))?;
            }
        }
        let wait = said.drain_within.as_deref();
        if wait.is_some() && backlog.is_empty() {
            let problem = "nothing is waited for; give `backlog` with it";
            return Err(self.in_test(variant, "drain_within", problem));
        }
        let within = self.span(variant, "drain_within", wait, DEFAULT_DRAIN)?;
        if !taken.is_empty() && stored.is_empty() {
            let problem = "it is held against what is stored; give `stored` with it";
            return Err(self.in_test(variant, "taken", problem));
        }
        let any = !stored.is_empty() || !backlog.is_empty();
        Ok(any.then_some(AfterLoad {
            stored,
            backlog,
            taken,
            within,
        }))
    }

    fn load(&self, variant: &str, said: &TestSpec) -> Result<Load, LabError> {
        let wrong = |key: &str, problem: &str| Err(self.in_test(variant, key, problem));
        match (&said.script, &said.url) {
            (Some(_), Some(_)) => wrong("script", "a test has a script or a URL, not both"),
            (None, None) => wrong("url", "a test needs a `url`, or a `script`"),
            (Some(script), None) => {
                for (key, given) in of_urls(said) {
                    if given {
                        return wrong(
                            key,
                            "a script says this itself, in its options; leave it out",
                        );
                    }
                }
                let path = self.folder.join(script);
                if path.is_file() {
                    Ok(Load::Script(path))
                } else {
                    let problem = format!("there is no file {}", path.display());
                    wrong("script", &problem)
                }
            }
            (None, Some(url)) => self.url_load(variant, said, url),
        }
    }

    fn url_load(&self, variant: &str, said: &TestSpec, url: &str) -> Result<Load, LabError> {
        let wrong = |key: &str, problem: &str| Err(self.in_test(variant, key, problem));
        let body = said.body.clone().unwrap_or_default();
        let method = said.method.as_deref().unwrap_or("GET");
        let request = Request {
            headers: said.headers.clone().into_iter().collect(),
            ..Request::new(method, url, body.into_bytes())
        };
        if !said.env.is_empty() {
            return wrong("env", "only a script reads it; leave it out");
        }
        self.protocol(variant, said, url)?;
        if said.find == Some(true) {
            return self.find(variant, said, request);
        }
        if said.within.is_some() {
            return wrong(
                "within",
                "is the time of a search; give `find = true` with it",
            );
        }
        if let Some(stages) = &said.stages {
            for (key, given) in [
                ("rate", said.rate.is_some()),
                ("ramp", said.ramp.is_some()),
                ("connections", said.connections.is_some()),
                ("duration", said.duration.is_some()),
            ] {
                if given {
                    return wrong(
                        key,
                        "`stages` say this: leave it out, or leave the stages out",
                    );
                }
            }
            return Ok(Load::Stages {
                request,
                stages: self.stages(variant, stages)?,
                think: self.span(variant, "think", said.think.as_deref(), Nanos::ZERO)?,
            });
        }
        if said.think.is_some() {
            return wrong("think", "virtual users think; give `stages` with it");
        }
        let arrivals = match (&said.rate, &said.ramp) {
            (Some(_), Some(_)) => return wrong("ramp", "a test has a rate or a ramp, not both"),
            (Some(rate), None) => Arrivals::Rate(self.rate(variant, "rate", rate)?),
            (None, Some(ramp)) => self.ramp(variant, ramp)?,
            (None, None) => Arrivals::Closed,
        };
        let duration = self.span(
            variant,
            "duration",
            said.duration.as_deref(),
            DEFAULT_DURATION,
        )?;
        if duration == Nanos::ZERO {
            return wrong("duration", "is zero: give a time such as 30s");
        }
        Ok(Load::Url {
            request,
            arrivals,
            connections: self.connections(variant, said)?,
            duration,
        })
    }

    /// A search decides the load, all of it.
    fn find(&self, variant: &str, said: &TestSpec, request: Request) -> Result<Load, LabError> {
        for (key, given) in [
            ("rate", said.rate.is_some()),
            ("ramp", said.ramp.is_some()),
            ("stages", said.stages.is_some()),
            ("think", said.think.is_some()),
            ("duration", said.duration.is_some()),
            ("timeout", said.timeout.is_some()),
        ] {
            if given {
                let problem = "a search decides this itself: leave it out, or leave `find` out";
                return Err(self.in_test(variant, key, problem));
            }
        }
        if !self.has_objectives() {
            let problem =
                "a search needs objectives: add [objectives] with slo = \"p99<250ms,errors<0.1%\"";
            return Err(self.in_test(variant, "find", problem));
        }
        let within = self.span(variant, "within", said.within.as_deref(), DEFAULT_WITHIN)?;
        if within < SearchSettings::SHORTEST {
            let problem = format!("{within} is too short for a search: give it 150s or more");
            return Err(self.in_test(variant, "within", problem));
        }
        Ok(Load::Find {
            request,
            connections: self.connections(variant, said)?,
            within,
        })
    }

    /// What is asked of HTTP/2 must be something that this load can do.
    fn protocol(&self, variant: &str, said: &TestSpec, url: &str) -> Result<(), LabError> {
        let wrong = |key: &str, problem: &str| Err(self.in_test(variant, key, problem));
        match said.streams {
            Some(_) if said.h2 != Some(true) => {
                return wrong(
                    "streams",
                    "only HTTP/2 has streams; give `h2 = true` with it",
                );
            }
            Some(_) if said.stages.is_some() => {
                return wrong(
                    "streams",
                    "a virtual user waits for its answer: leave it out",
                );
            }
            Some(0) => return wrong("streams", "is zero: give 1 or more"),
            Some(streams) => {
                Http::streams(streams.into())
                    .map_err(|error| self.in_test(variant, "streams", error))?;
            }
            None => {}
        }
        if said.stages.is_some() && said.h2.is_some() && !url.starts_with("https:") {
            let problem =
                "virtual users speak HTTP/2 over https only: leave it out, or make the url https";
            return wrong("h2", problem);
        }
        Ok(())
    }

    fn stages(
        &self,
        variant: &str,
        said: &[super::super::file::StageSpec],
    ) -> Result<Vec<Stage>, LabError> {
        let wrong = |problem: String| self.in_test(variant, "stages", problem);
        let mut stages = Vec::new();
        for stage in said {
            let duration =
                parse_duration(&stage.duration).map_err(|error| wrong(error.to_string()))?;
            stages.push(Stage {
                target: stage.target,
                duration,
            });
        }
        if stages
            .iter()
            .all(|stage| stage.target == 0 || stage.duration == Nanos::ZERO)
        {
            return Err(wrong(
                "no stage has both virtual users and a duration".to_owned(),
            ));
        }
        Ok(stages)
    }

    fn timeout(&self, variant: &str, said: &TestSpec) -> Result<Option<Nanos>, LabError> {
        let Some(text) = &said.timeout else {
            return Ok(None);
        };
        let wrong = |error: &dyn std::fmt::Display| self.in_test(variant, "timeout", error);
        let timeout = parse_duration(text).map_err(|error| wrong(&error))?;
        let timeout = Generator::timeout(timeout).map_err(|error| wrong(&error))?;
        Ok(Some(timeout))
    }

    fn connections(&self, variant: &str, said: &TestSpec) -> Result<Option<NonZeroU32>, LabError> {
        let connections = said.connections.map(|count| {
            let problem = "is zero: give 1 or more";
            NonZeroU32::new(count).ok_or_else(|| self.in_test(variant, "connections", problem))
        });
        connections.transpose()
    }

    fn rate(&self, variant: &str, key: &str, text: &str) -> Result<f64, LabError> {
        let rate = parse_rate(text).map_err(|error| self.in_test(variant, key, error))?;
        Ok(rate * self.scale)
    }

    fn ramp(&self, variant: &str, text: &str) -> Result<Arrivals, LabError> {
        let Some((from, to)) = text.split_once("..") else {
            let problem = format!("`{text}` is not FROM..TO, such as 100/s..2000/s");
            return Err(self.in_test(variant, "ramp", problem));
        };
        Ok(Arrivals::Ramp {
            from: self.rate(variant, "ramp", from)?,
            to: self.rate(variant, "ramp", to)?,
        })
    }

    fn span(
        &self,
        variant: &str,
        key: &str,
        said: Option<&str>,
        default: Nanos,
    ) -> Result<Nanos, LabError> {
        let parsed = said.map(parse_duration).transpose();
        let parsed = parsed.map_err(|error| self.in_test(variant, key, error))?;
        Ok(parsed.unwrap_or(default))
    }
}

/// Keys that a script has of its own.
fn of_urls(said: &TestSpec) -> [(&'static str, bool); 14] {
    [
        ("method", said.method.is_some()),
        ("headers", !said.headers.is_empty()),
        ("body", said.body.is_some()),
        ("rate", said.rate.is_some()),
        ("ramp", said.ramp.is_some()),
        ("connections", said.connections.is_some()),
        ("find", said.find == Some(true)),
        ("within", said.within.is_some()),
        ("stages", said.stages.is_some()),
        ("think", said.think.is_some()),
        ("duration", said.duration.is_some()),
        ("timeout", said.timeout.is_some()),
        ("insecure", said.insecure.is_some()),
        ("streams", said.streams.is_some()),
    ]
}
