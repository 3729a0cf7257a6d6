//! The test of a variant: its address filled in, and ready to be prepared for every run.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use plimsoll_core::Nanos;
use plimsoll_core::schedule::{Arrivals as Spacing, RateProfile};
use plimsoll_core::test::{Http, Over, Request, SearchSettings, Until, Url, Variation};
use plimsoll_engine::Places;
use plimsoll_lab::experiment::{Arrivals, Filler, Load, Variant};
use plimsoll_net::Target;
use plimsoll_net::resolve::Ways;

use plimsoll_workload::WorkloadFile;

use super::stages;
use crate::args::ScriptSource;
use crate::from_args;
use crate::recipe::{LoadPlan, Protocol, Recipe, ScriptLoad, ScriptTest, UrlTest};

/// Unless the file says another.
const TIMEOUT: Nanos = Nanos::from_secs(10);

/// `folder` gets the script that is made of stages.
pub(super) fn recipe(variant: &Variant, filler: &Filler, folder: &Path) -> Result<Recipe> {
    match &variant.test.load {
        Load::Url {
            request,
            arrivals,
            connections,
            duration,
        } => {
            let profile = match *arrivals {
                Arrivals::Closed => None,
                Arrivals::Rate(rate) => Some(RateProfile::constant(rate)?),
                Arrivals::Ramp { from, to } => Some(RateProfile::ramp(from, to, *duration)?),
            };
            let load = LoadPlan::Set {
                rate: profile.map(|profile| (profile, Spacing::Poisson)),
                until: Until::after(*duration)?,
                timeout: variant.test.timeout.unwrap_or(TIMEOUT),
                objectives: variant.objectives.clone(),
            };
            let test = url_test(variant, filled(request, filler)?, load)?;
            Ok(Recipe::Url(Box::new(UrlTest {
                connections: *connections,
                ..test
            })))
        }
        Load::Find {
            request,
            connections,
            within,
        } => {
            let load = LoadPlan::Search {
                settings: SearchSettings {
                    over: Over::default(),
                    within: *within,
                    // What lies beyond the capacity is not compared, and takes time.
                    overshoot: false,
                    ..SearchSettings::default()
                },
                objectives: variant.objectives.clone().context("no objectives")?,
            };
            let test = url_test(variant, filled(request, filler)?, load)?;
            Ok(Recipe::Url(Box::new(UrlTest {
                connections: *connections,
                ..test
            })))
        }
        Load::Workload {
            path,
            with,
            duration,
        } => workload(variant, filler, (path, with, *duration)),
        Load::Script(path) => script_test(path, environment(variant, filler)?, variant),
        Load::Stages {
            request,
            stages,
            think,
        } => {
            let request = filled(request, filler)?;
            Target::parse(&request.url)?;
            let path = stages::write(folder, variant, &request, stages, *think)?;
            let env = vec![(stages::URL.to_owned(), request.url)];
            script_test(&path, env, variant)
        }
    }
}

/// The file with its placeholders filled, under the keys that the variant has of its own.
fn workload(
    variant: &Variant,
    filler: &Filler,
    (path, with, duration): (&Path, &str, Nanos),
) -> Result<Recipe> {
    let shown = path.display().to_string();
    let text =
        std::fs::read_to_string(path).with_context(|| format!("read the workload {shown}"))?;
    let wrong = |problem: String| anyhow::anyhow!("{shown}: {problem}");
    let text = filler.fill(&text).map_err(wrong)?;
    let file = WorkloadFile::read(&shown, &text)?;
    if file.http.is_some() {
        bail!(
            "{shown}: `test.workload` of an experiment loads a store; say a URL as `test.url`, or several as a script"
        );
    }
    let own = WorkloadFile::read(&format!("test.with of variant {}", variant.name), with)?;
    let mut asked = own.asked.clone().or(file.asked.clone());
    asked.load.duration = Some(duration);
    asked.load.operations = None;
    asked.load.objectives = variant.objectives.clone().or(asked.load.objectives);
    from_args::planned(&asked, None).map_err(|error| {
        let is_own = with.contains(error.key.split('.').next().unwrap_or_default());
        let file = if is_own { &own } else { &file };
        anyhow::anyhow!(file.locate(&error))
    })
}

fn filled(request: &Request, filler: &Filler) -> Result<Request> {
    let wrong = |problem: String| anyhow::anyhow!("test.url: {problem}");
    Ok(Request {
        url: filler.fill(&request.url).map_err(wrong)?,
        ..request.clone()
    })
}

fn url_test(variant: &Variant, request: Request, load: LoadPlan) -> Result<UrlTest> {
    let test = &variant.test;
    let protocol = if test.h2 == Some(true) {
        Protocol::Http2 {
            streams: test.streams,
        }
    } else {
        Protocol::Http1
    };
    let url = Url::new(request, Http::One);
    Ok(UrlTest {
        places: Places::resolve(&url, &Ways::default())?,
        request: url.request,
        variation: Variation {
            literal: true,
            ..Variation::default()
        },
        csv: None,
        protocol,
        load,
        connections: None,
        workers: None,
        keepalive: true,
        insecure: test.insecure,
    })
}

/// What the file gives a script.
fn environment(variant: &Variant, filler: &Filler) -> Result<Vec<(String, String)>> {
    let mut env = Vec::new();
    for (name, text) in &variant.test.env {
        let value = filler
            .fill(text)
            .map_err(|problem| anyhow::anyhow!("test.env.{name}: {problem}"))?;
        env.push((name.clone(), value));
    }
    Ok(env)
}

fn script_test(path: &Path, env: Vec<(String, String)>, variant: &Variant) -> Result<Recipe> {
    let script = path.to_str();
    let script = script.with_context(|| format!("{} is no text", path.display()))?;
    Ok(Recipe::Script(Box::new(ScriptTest {
        source: ScriptSource {
            script: script.to_owned(),
            env,
            ..ScriptSource::default()
        },
        workers: None,
        load: ScriptLoad::Own {
            objectives: variant.objectives.clone(),
        },
        insecure: false,
        only_http1: variant.test.h2 == Some(false),
    })))
}
