//! The test of a variant in the words of `plimsoll run`: a plan for a URL, arguments for a script.

use std::fmt::Write as _;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use plimsoll_core::Nanos;
use plimsoll_core::plan::{Load as PlanLoad, Plan, Until};
use plimsoll_lab::experiment::{Arrivals, Filler, Load, Request, Stage, Variant};
use plimsoll_net::Target;
use plimsoll_net::tls::Offer;

use crate::args::{
    ArrivalsArg, FindArgs, Format, OutputArgs, RequestArgs, RequestOptions, RunArgs, WatchArgs,
};
use crate::commands::find;
use crate::plan;
use crate::script::args::ScriptArgs;
use crate::script::load::{self, Loaded};

/// A variant's test, ready to be played.
pub(super) enum Test {
    Url(Box<Plan>),
    Find(Box<FindArgs>, Box<Plan>),
    Script(Box<ScriptArgs>),
}

/// `folder` gets the script that is made of stages.
pub(super) fn test(variant: &Variant, filler: &Filler, seed: u64, folder: &Path) -> Result<Test> {
    match &variant.test.load {
        Load::Url {
            request,
            arrivals,
            connections,
            duration,
        } => {
            let mut args = run_args(variant, request, filler, seed)?;
            args.duration = Some(span(*duration));
            args.connections = connections.map(|count| count.to_string());
            match arrivals {
                Arrivals::Closed => {}
                Arrivals::Rate(rate) => args.rate = Some(rate.clone()),
                Arrivals::Ramp(ramp) => args.ramp = Some(ramp.clone()),
            }
            let mut plan = plan::of_run(&args)?;
            plan.objectives.clone_from(&variant.objectives);
            Ok(Test::Url(Box::new(plan)))
        }
        Load::Find {
            request,
            connections,
            within,
        } => {
            let args = find_args(variant, request, (*connections, *within), filler, seed)?;
            let plan = plan::of_find(&args)?;
            find::config(&args, &plan)?;
            Ok(Test::Find(Box::new(args), Box::new(plan)))
        }
        Load::Script(path) => Ok(Test::Script(Box::new(script_args(
            path, variant, filler, seed,
        )?))),
        Load::Stages {
            request,
            stages,
            think,
        } => {
            let request = filled(request, filler)?;
            Target::parse(&request.url)?;
            let text = script_of(variant, &request, stages, *think);
            let path = folder.join("test.js");
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&path, text))
                .with_context(|| format!("write {}", path.display()))?;
            let path = std::path::absolute(&path).context("find the working folder")?;
            let mut args = script_args(&path, variant, filler, seed)?;
            args.env.push((URL.to_owned(), request.url));
            Ok(Test::Script(Box::new(args)))
        }
    }
}

/// A few requests, or iterations of a script, that are not measured.
pub(super) fn warm_up(test: &Test, count: u64) -> Option<Test> {
    /// In flight during the warm-up: a few, far from a load test.
    const IN_FLIGHT: u32 = 4;
    let count = NonZeroU64::new(count)?;
    let in_flight = NonZeroU32::new(IN_FLIGHT).unwrap_or(NonZeroU32::MIN);
    Some(match test {
        Test::Url(plan) | Test::Find(_, plan) => Test::Url(Box::new(Plan {
            load: PlanLoad::Closed { in_flight },
            until: Some(Until::AttemptsCount(count)),
            connections_max: in_flight,
            streams_per_connection: plan.streams_per_connection.and(Some(NonZeroU32::MIN)),
            workers: NonZeroU32::MIN,
            objectives: None,
            ..(**plan).clone()
        })),
        Test::Script(args) => {
            let mut args = args.clone();
            for (flag, value) in [
                ("iterations", count.to_string()),
                ("vus", IN_FLIGHT.to_string()),
                ("duration", "10s".to_owned()),
                ("no-thresholds", "true".to_owned()),
            ] {
                args.flags.push((flag.to_owned(), value));
            }
            args.no_record = true;
            Test::Script(args)
        }
    })
}

/// Reads the script and understands its options; nothing is sent.
pub(super) fn loaded(args: &ScriptArgs, variant: &Variant) -> Result<Arc<Loaded>> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut loaded = load::load(args, &stop)?;
    if let Some(objectives) = &variant.objectives
        && let Some(script) = Arc::get_mut(&mut loaded.script)
    {
        script.bounds = objectives.bounds();
    }
    if variant.test.h2 == Some(false) {
        let script = Arc::get_mut(&mut loaded.script).context("the script is in use")?;
        let naming = Arc::get_mut(&mut script.naming).context("the script is in use")?;
        naming.tls.offer = Offer::Http1;
    }
    Ok(Arc::new(loaded))
}

fn filled(request: &Request, filler: &Filler) -> Result<Request> {
    let wrong = |problem: String| anyhow::anyhow!("test.url: {problem}");
    Ok(Request {
        url: filler.fill(&request.url).map_err(wrong)?,
        ..request.clone()
    })
}

/// The one request of a URL load or a search.
fn request_args(
    variant: &Variant,
    request: &Request,
    filler: &Filler,
    seed: u64,
) -> Result<RequestArgs> {
    let request = filled(request, filler)?;
    let headers = request.headers.iter();
    let test = &variant.test;
    Ok(RequestArgs {
        url: request.url,
        with: RequestOptions {
            method: request.method.unwrap_or_else(|| "GET".to_owned()),
            headers: headers
                .map(|(name, value)| format!("{name}: {value}"))
                .collect(),
            data: request.body,
            insecure: test.insecure,
            no_keepalive: false,
            h2: test.h2 == Some(true),
            streams: test.streams.map(|count| count.to_string()),
            workers: None,
            seed: Some(seed),
        },
    })
}

fn run_args(variant: &Variant, request: &Request, filler: &Filler, seed: u64) -> Result<RunArgs> {
    let timeout = variant.test.timeout.clone();
    Ok(RunArgs {
        request: request_args(variant, request, filler, seed)?,
        connections: None,
        duration: None,
        requests: None,
        rate: None,
        arrivals: ArrivalsArg::Poisson,
        ramp: None,
        timeout: timeout.unwrap_or_else(|| "10s".to_owned()),
        slo: None,
        watch: WatchArgs { watch: Vec::new() },
        output: quiet_output(),
    })
}

fn find_args(
    variant: &Variant,
    request: &Request,
    (connections, within): (Option<u32>, Nanos),
    filler: &Filler,
    seed: u64,
) -> Result<FindArgs> {
    let objectives = variant.objectives.as_ref().context("no objectives")?;
    Ok(FindArgs {
        request: request_args(variant, request, filler, seed)?,
        slo: objectives.to_string(),
        within: span(within),
        goal_width: "5%".to_owned(),
        rate: None,
        over: None,
        vus: None,
        max_rate: None,
        // What lies beyond the capacity is not compared, and takes time.
        no_overshoot: true,
        connections: connections.map(|count| count.to_string()),
        arrivals: ArrivalsArg::Poisson,
        reuse: None,
        yes: false,
        env: Vec::new(),
        scenario: None,
        watch: WatchArgs { watch: Vec::new() },
        output: quiet_output(),
    })
}

/// Where nothing is written and nothing shown.
pub(super) fn quiet_output() -> OutputArgs {
    OutputArgs {
        out: None,
        note: String::new(),
        no_record: true,
        hlog: None,
        format: Format::Text,
        quiet: true,
        lab: None,
    }
}

fn script_args(path: &Path, variant: &Variant, filler: &Filler, seed: u64) -> Result<ScriptArgs> {
    let mut env = Vec::new();
    for (name, text) in &variant.test.env {
        let value = filler
            .fill(text)
            .map_err(|problem| anyhow::anyhow!("test.env.{name}: {problem}"))?;
        env.push((name.clone(), value));
    }
    Ok(ScriptArgs {
        script: path.display().to_string(),
        env,
        quiet: true,
        seed: Some(seed),
        ..ScriptArgs::default()
    })
}

/// The variable that a script made of stages has its address in: ports are chosen anew, and the script stays the same.
const URL: &str = "URL";

/// The script that a person would write for these stages.
fn script_of(variant: &Variant, request: &Request, stages: &[Stage], think: Nanos) -> String {
    let method = request.method.as_deref().unwrap_or("GET");
    let mut params = serde_json::Map::new();
    params.insert("headers".to_owned(), serde_json::json!(request.headers));
    if let Some(timeout) = &variant.test.timeout {
        params.insert("timeout".to_owned(), serde_json::json!(timeout));
    }
    let mut script = String::from("// Made by plimsoll lab from the stages of its experiment.\n");
    script.push_str("import http from 'k6/http';\nimport { check, sleep } from 'k6';\n\n");
    script.push_str("export const options = {\n  stages: [\n");
    for stage in stages {
        let _infallible = writeln!(
            script,
            "    {{ duration: '{}', target: {} }},",
            span(stage.duration),
            stage.target
        );
    }
    let _infallible = write!(
        script,
        "  ],\n  insecureSkipTLSVerify: {},\n}};\n\nexport default function () {{\n  \
         const answer = http.request({}, __ENV.{URL}, {}, {});\n",
        variant.test.insecure,
        serde_json::json!(method),
        serde_json::json!(request.body),
        serde_json::Value::Object(params),
    );
    if variant.test.h2 == Some(true) {
        script.push_str(
            "  check(answer, { 'spoke HTTP/2': (it) => it.status === 0 || it.proto === 'HTTP/2.0' });\n",
        );
    }
    if think > Nanos::ZERO {
        let _infallible = writeln!(script, "  sleep({});", think.as_secs_f64());
    }
    script.push_str("}\n");
    script
}

/// As the command line takes it.
fn span(time: Nanos) -> String {
    format!("{}ms", time.0 / 1_000_000)
}
