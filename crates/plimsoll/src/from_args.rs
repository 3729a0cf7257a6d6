//! From what was asked of `run`, `find` and `compare` to the test that is meant, or a clear refusal: values have their types
//! already, here they are put together.

use anyhow::{Context as _, Result, anyhow, bail};
use plimsoll_core::Nanos;
use plimsoll_core::objective::Objectives;
use plimsoll_core::schedule::RateProfile;
use plimsoll_core::test::{Over, SearchSettings, Until};
use plimsoll_workload::{Asked, PlanError, WorkloadFile};

use crate::args::{Args, OverArg, ScriptSource};
use crate::form::Form;
use crate::recipe::{
    LoadPlan, Protocol, Recipe, ScriptLoad, ScriptTest, UrlTest, WorkloadTest, check_descriptors,
    most_in_flight,
};
use crate::request;

const DEFAULT_DURATION: Nanos = Nanos::from_secs(10);
/// Of an operation of a workload; that of a URL is in the table of flags.
const DEFAULT_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Long enough for a comparison of percentiles.
const COMPARE_DURATION: Nanos = Nanos::from_secs(60);

/// `plimsoll run`; a script has a load of its own.
pub(crate) fn run(args: &Args) -> Result<Recipe> {
    if args.form == Some(Form::Script) {
        let load = ScriptLoad::Own { objectives: None };
        return Ok(script(
            args,
            in_surroundings(args, args.script.clone()),
            load,
        ));
    }
    if args.form == Some(Form::Workload) {
        return workload(args, None);
    }
    let load = &args.load;
    let until = match load.requests {
        Some(count) => Until::AttemptsCount(count),
        None => Until::DurationNs(load.duration.unwrap_or(DEFAULT_DURATION)),
    };
    if !load.legs.is_empty() {
        let course = RateProfile::course(&load.legs)?;
        return url(args, &args.word()?, set(args, Some(course), until));
    }
    let ramp = match (load.ramp, until.duration()) {
        (None, _) => None,
        (Some(_), None) => bail!("--ramp needs a time: use -z instead of -n"),
        (Some((from, to)), Some(time)) => Some(RateProfile::ramp(from, to, time)?),
    };
    url(args, &args.word()?, set(args, load.rate.or(ramp), until))
}

/// A script that somebody runs by hand finds what k6 would find on this host; one of an experiment what the experiment says.
fn in_surroundings(args: &Args, source: ScriptSource) -> ScriptSource {
    ScriptSource {
        takes_surroundings: true,
        // Of the command: a side of a comparison is read as if it were run by itself.
        unfollowed: args.script.unfollowed.clone(),
        show_secrets: args.output.show_secrets,
        ..source
    }
}

/// `plimsoll find`
pub(crate) fn find(args: &Args) -> Result<Recipe> {
    let settings = SearchSettings {
        over: over(args)?,
        ..args.search
    };
    let objectives = args.slo.clone().context("find needs --slo")?;
    if args.form == Some(Form::Script) {
        return script_search(
            args,
            in_surroundings(args, args.script.clone()),
            settings,
            objectives,
        );
    }
    let load = LoadPlan::Search {
        settings,
        objectives,
    };
    if args.form == Some(Form::Workload) {
        return workload(args, Some(load));
    }
    url(args, &args.word()?, load)
}

/// A workload of a store or of a file, under what flags say; `search` takes the place of its load.
fn workload(args: &Args, search: Option<LoadPlan>) -> Result<Recipe> {
    let word = args.word()?;
    let mut asked = args.workload.clone();
    let load = &mut asked.load;
    load.duration = args.load.duration;
    load.operations = args.load.requests;
    load.rate_per_s = args.load.rate.and_then(|rate| rate.constant_rate());
    load.ramp_per_s = args.load.ramp;
    load.objectives.clone_from(&args.slo);
    load.threads = args.workers;
    load.seed = args.seed;
    if word.contains("://") {
        asked.store = Some(word);
        return planned(&asked, search).map_err(|error| anyhow!(error.problem));
    }
    let text =
        std::fs::read_to_string(&word).with_context(|| format!("read the workload {word}"))?;
    let file = WorkloadFile::read(&word, &text)?;
    let asked = asked.or(file.asked.clone());
    planned(&asked, search).map_err(|error| anyhow!(file.locate(&error)))
}

/// The test that follows from what was asked for.
pub(crate) fn planned(asked: &Asked, search: Option<LoadPlan>) -> Result<Recipe, PlanError> {
    let at = |key: &str| {
        let key = key.to_owned();
        move |problem: String| PlanError { key, problem }
    };
    let plan = asked.plan()?;
    check_descriptors(&plan).map_err(at("connections"))?;
    let load = &asked.load;
    let until = match (load.operations, load.duration) {
        (Some(count), _) => Until::AttemptsCount(count),
        (None, duration) => Until::after(duration.unwrap_or(DEFAULT_DURATION))
            .map_err(|error| at("duration")(error.to_string()))?,
    };
    let rate = match (load.rate_per_s, load.ramp_per_s, until.duration()) {
        _ if !load.legs.is_empty() => Some(RateProfile::course(&load.legs)),
        (Some(rate), ..) => Some(RateProfile::constant(rate)),
        (None, Some(_), None) => {
            return Err(at("ramp")(
                "a ramp needs a time: give that instead of a count".to_owned(),
            ));
        }
        (None, Some((from, to)), Some(time)) => Some(RateProfile::ramp(from, to, time)),
        (None, None, _) => None,
    };
    let rate = rate.transpose().map_err(|error| {
        at(if load.legs.is_empty() {
            "rate"
        } else {
            "phase"
        })(error.to_string())
    })?;
    let set = LoadPlan::Set {
        rate: rate.map(|profile| (profile, load.arrivals.unwrap_or_default())),
        until,
        timeout: load.timeout.unwrap_or(DEFAULT_TIMEOUT),
        objectives: load.objectives.clone(),
    };
    Ok(Recipe::Workload(Box::new(WorkloadTest {
        workload: plan,
        load: search.unwrap_or(set),
        threads: load.threads,
        seed: load.seed,
    })))
}

/// One URL of `plimsoll compare`.
pub(crate) fn compared_url(args: &Args, text: &str) -> Result<Recipe> {
    let load = &args.load;
    if args.compare.find {
        let (settings, objectives) = compared_search(args)?;
        let load = LoadPlan::Search {
            settings,
            objectives,
        };
        return url(args, text, load);
    }
    if load.rate.is_none() && load.connections.is_none() {
        bail!(
            "say the load: --rate 200/s or -c 16, the same for all, or --find for a search in each run"
        );
    }
    let until = Until::DurationNs(load.duration.unwrap_or(COMPARE_DURATION));
    url(args, text, set(args, load.rate, until))
}

/// One script of `plimsoll compare`, with what was said for it alone.
pub(crate) fn compared_script(args: &Args, own: ScriptSource) -> Result<Recipe> {
    let own = in_surroundings(args, own);
    if args.compare.find {
        let (settings, objectives) = compared_search(args)?;
        return script_search(args, own, settings, objectives);
    }
    let objectives = args.slo.clone();
    Ok(script(args, own, ScriptLoad::Own { objectives }))
}

fn compared_search(args: &Args) -> Result<(SearchSettings, Objectives)> {
    let objectives = args.slo.clone();
    let settings = SearchSettings {
        over: over(args)?,
        // What lies beyond the capacity is not compared, and takes time.
        overshoot: false,
        ..args.search
    };
    Ok((
        settings,
        objectives.context("--find needs --slo, such as 'p99<250ms,errors<0.1%'")?,
    ))
}

/// What a search varies.
fn over(args: &Args) -> Result<Over> {
    let vary = &args.vary;
    if vary.only_vus.is_none() && vary.over != Some(OverArg::Vus) {
        return Ok(Over::Rate {
            arrivals: args.load.arrivals,
            max_per_s: vary.max_per_s,
            only_per_s: vary.only_per_s,
        });
    }
    if args.form == Some(Form::Url) {
        let url = args.word()?;
        bail!("virtual users run a script, and {url} is a URL: write one that requests it");
    }
    let (flag, instead) = match vary.over {
        Some(OverArg::Rate) => ("--over rate", "--vus is of the other kind"),
        _ if vary.only_per_s.is_some() => ("-q", "say --vus for one number of virtual users"),
        _ if vary.max_per_s.is_some() => (
            "--max-rate",
            "virtual users wait for the target; bound them with -c",
        ),
        _ => {
            let only = vary.only_vus;
            return Ok(Over::Vus { only });
        }
    };
    bail!("{flag} does not go with a search over virtual users: {instead}")
}

fn set(args: &Args, rate: Option<RateProfile>, until: Until) -> LoadPlan {
    LoadPlan::Set {
        rate: rate.map(|profile| (profile, args.load.arrivals)),
        until,
        timeout: args.load.timeout,
        objectives: args.slo.clone(),
    }
}

fn url(args: &Args, url: &str, load: LoadPlan) -> Result<Recipe> {
    let asked = &args.request;
    let protocol = if asked.h2 {
        Protocol::Http2 {
            streams: asked.streams,
        }
    } else {
        Protocol::Http1
    };
    let request::Asked {
        request,
        variation,
        places,
    } = request::asked(asked, url)?;
    request::announce(&places);
    Ok(Recipe::Url(Box::new(UrlTest {
        request,
        variation,
        places,
        csv: asked.csv.clone(),
        protocol,
        load,
        connections: args.load.connections,
        workers: args.workers,
        keepalive: !asked.no_keepalive,
        insecure: args.insecure,
    })))
}

fn script(args: &Args, source: ScriptSource, load: ScriptLoad) -> Recipe {
    Recipe::Script(Box::new(ScriptTest {
        source,
        load,
        workers: args.workers,
        insecure: args.insecure,
        only_http1: false,
    }))
}

fn script_search(
    args: &Args,
    source: ScriptSource,
    settings: SearchSettings,
    objectives: Objectives,
) -> Result<Recipe> {
    let load = ScriptLoad::Search {
        settings,
        objectives,
        scenario: args.vary.scenario.clone(),
        vus_max: most_in_flight(args.load.connections)?,
    };
    Ok(script(args, source, load))
}

/// One point of `plimsoll sweep`, whose values are in the arguments.
pub(crate) fn swept(args: &Args) -> Result<Recipe> {
    let is_script = args.form == Some(Form::Script);
    if !args.sweep.find && !is_script {
        return run(args);
    }
    let mut source = in_surroundings(args, args.script.clone());
    if !args.sweep.find {
        // Thresholds of a script may end a run early; here --slo judges.
        let no_thresholds = ("no-thresholds".to_owned(), "true".to_owned());
        source.options.push(no_thresholds);
        let objectives = args.slo.clone();
        return Ok(script(args, source, ScriptLoad::Own { objectives }));
    }
    let load = &args.load;
    if load.rate.is_some()
        || load.ramp.is_some()
        || load.duration.is_some()
        || load.requests.is_some()
    {
        bail!(
            "--find searches for the load at each point: leave -q, --ramp, -z and -n out; --within says how long"
        );
    }
    let (settings, objectives) = compared_search(args)?;
    if is_script {
        return script_search(args, source, settings, objectives);
    }
    let load = LoadPlan::Search {
        settings,
        objectives,
    };
    if args.form == Some(Form::Workload) {
        return workload(args, Some(load));
    }
    url(args, &args.word()?, load)
}
