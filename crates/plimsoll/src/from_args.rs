//! From what was typed after `run`, `find` and `compare` to the test that is meant, or a clear refusal. This is the one
//! place that reads flags of a load.

use std::ffi::OsStr;
use std::num::{NonZeroU32, NonZeroU64};

use anyhow::{Context as _, Result, anyhow, bail};
use plimsoll_core::Nanos;
use plimsoll_core::objective::Objectives;
use plimsoll_core::schedule::{Arrivals, RateProfile};
use plimsoll_core::test::{Generator, Http, Over, Request, SearchSettings, Until};
use plimsoll_core::units::{parse_count, parse_duration, parse_rate, parse_ratio};
use plimsoll_net::Target;
use plimsoll_net::h1::parse_header;

use crate::args::{ArrivalsArg, CompareArgs, FindArgs, OverArg, RequestOptions, RunArgs};
use crate::machine;
use crate::recipe::{Protocol, Recipe, ScriptLoad, ScriptTest, UrlLoad, UrlTest, most_in_flight};
use crate::script::args::{ScriptArgs, names_script, pair};

const DEFAULT_DURATION: Nanos = Nanos::from_secs(10);
/// Long enough for a comparison of percentiles.
const COMPARE_DURATION: Nanos = Nanos::from_secs(60);

/// `plimsoll run URL`.
pub(crate) fn run(args: &RunArgs) -> Result<Recipe> {
    let duration = optional("-z", args.duration.as_deref(), parse_duration)?;
    let count = optional("-n", args.requests.as_deref(), parse_count)?;
    let until = match (duration, count) {
        (Some(_), Some(_)) => bail!("-n and -z together: give one of them"),
        (None, Some(count)) => Until::AttemptsCount(NonZeroU64::new(count).context("-n is zero")?),
        (duration, None) => until(duration.unwrap_or(DEFAULT_DURATION))?,
    };
    let profile = match (args.rate.as_deref(), args.ramp.as_deref()) {
        (Some(rate), _) => Some(constant("-q", rate)?),
        (None, Some(ramp)) => Some(parse_ramp(ramp, until)?),
        (None, None) => None,
    };
    let load = UrlLoad::Set {
        rate: profile.map(|profile| (profile, arrivals(args.arrivals))),
        until,
        timeout: timeout(&args.timeout)?,
        objectives: optional("--slo", args.slo.as_deref(), Objectives::parse)?,
    };
    let connections = args.connections.as_deref();
    let request = &args.request;
    Ok(Recipe::Url(Box::new(url_test(
        &request.url,
        &request.with,
        connections,
        load,
    )?)))
}

/// `plimsoll find URL` and `plimsoll find SCRIPT`.
pub(crate) fn find(args: &FindArgs) -> Result<Recipe> {
    let url = &args.request.url;
    let is_script = names_script(OsStr::new(url));
    if is_script {
        refuse_flags_of_urls(&args.request.with)?;
    } else {
        refuse_flags_of_scripts(args)?;
    }
    let objectives = Objectives::parse(&args.slo).context("--slo")?;
    let settings = SearchSettings {
        over: over(args)?,
        within: parse_duration(&args.within).context("--within")?,
        goal_width: parse_ratio(&args.goal_width).context("--goal-width")?,
        overshoot: !args.no_overshoot,
    };
    let connections = args.connections.as_deref();
    if !is_script {
        let load = UrlLoad::Search {
            settings,
            objectives,
        };
        let test = url_test(url, &args.request.with, connections, load)?;
        return Ok(Recipe::Url(Box::new(test)));
    }
    let with = &args.request.with;
    Ok(Recipe::Script(Box::new(ScriptTest {
        args: ScriptArgs {
            script: url.clone(),
            env: args.env.iter().map(|text| pair(text)).collect(),
            workers: workers(with)?.map(NonZeroU32::get),
            ..ScriptArgs::default()
        },
        load: ScriptLoad::Search {
            settings,
            objectives,
            scenario: args.scenario.clone(),
            vus_max: most_in_flight(optional_connections(connections)?)?,
        },
        insecure: with.insecure,
        only_http1: false,
    })))
}

/// One URL of `plimsoll compare`.
pub(crate) fn compared_url(args: &CompareArgs, url: &str) -> Result<Recipe> {
    let live = &args.live;
    let load = match (live.find, live.rate.is_some(), live.connections.is_some()) {
        (true, true, _) => bail!("--find seeks the rate, --rate sets it: give one of them"),
        (true, ..) if live.duration.is_some() => {
            bail!("-z is for a set load; --within is the time of a search")
        }
        (false, false, false) => bail!(
            "say the load: --rate 200/s or -c 16, the same for all, or --find for a search in each run"
        ),
        (true, ..) => {
            let (settings, objectives) = compared_search(args)?;
            UrlLoad::Search {
                settings,
                objectives,
            }
        }
        _ => {
            let duration = optional("-z", live.duration.as_deref(), parse_duration)?;
            let profile = live.rate.as_deref().map(|rate| constant("-q", rate));
            UrlLoad::Set {
                rate: profile
                    .transpose()?
                    .map(|profile| (profile, arrivals(live.arrivals))),
                until: until(duration.unwrap_or(COMPARE_DURATION))?,
                timeout: timeout(&live.timeout)?,
                objectives: compared_objectives(args)?,
            }
        }
    };
    let connections = live.connections.as_deref();
    let test = url_test(url, &args.with, connections, load)?;
    Ok(Recipe::Url(Box::new(test)))
}

/// One script of `plimsoll compare`, with what was said for it alone.
pub(crate) fn compared_script(args: &CompareArgs, own: ScriptArgs) -> Result<Recipe> {
    let live = &args.live;
    let load = if live.find {
        let (settings, objectives) = compared_search(args)?;
        ScriptLoad::Search {
            settings,
            objectives,
            scenario: None,
            vus_max: most_in_flight(optional_connections(live.connections.as_deref())?)?,
        }
    } else {
        ScriptLoad::Own {
            objectives: compared_objectives(args)?,
        }
    };
    Ok(Recipe::Script(Box::new(ScriptTest {
        load,
        ..whole_script(own, args.with.insecure)
    })))
}

/// A script with the load of its own options.
pub(crate) fn whole_script(args: ScriptArgs, insecure: bool) -> ScriptTest {
    ScriptTest {
        args,
        load: ScriptLoad::Own { objectives: None },
        insecure,
        only_http1: false,
    }
}

fn compared_objectives(args: &CompareArgs) -> Result<Option<Objectives>> {
    optional("--slo", args.live.slo.as_deref(), Objectives::parse)
}

fn compared_search(args: &CompareArgs) -> Result<(SearchSettings, Objectives)> {
    let live = &args.live;
    let objectives = compared_objectives(args)?
        .context("--find needs --slo, such as 'p99<250ms,errors<0.1%'")?;
    let settings = SearchSettings {
        over: Over::Rate {
            arrivals: arrivals(live.arrivals),
            max_per_s: optional("--max-rate", live.max_rate.as_deref(), parse_rate)?,
            only_per_s: None,
        },
        within: parse_duration(&live.within).context("--within")?,
        // What lies beyond the capacity is not compared, and takes time.
        overshoot: false,
        ..SearchSettings::default()
    };
    Ok((settings, objectives))
}

/// `--seed`, or a new one.
pub(crate) fn seed(with: &RequestOptions) -> u64 {
    with.seed.unwrap_or_else(machine::fresh_seed)
}

/// `--workers`.
pub(crate) fn workers(with: &RequestOptions) -> Result<Option<NonZeroU32>> {
    let count = optional("--workers", with.workers.as_deref(), parse_count)?;
    let count = count.map(Generator::workers).transpose();
    count.context("--workers")
}

/// Flags that say what is sent, and whether each is given.
pub(crate) fn flags_of_urls(request: &RequestOptions) -> [(&'static str, bool); 5] {
    [
        ("-m", request.method != "GET"),
        ("-H", !request.headers.is_empty()),
        ("-d", request.data.is_some()),
        ("--no-keepalive", request.no_keepalive),
        ("--h2", request.h2),
    ]
}

/// What a script says itself.
pub(crate) fn refuse_flags_of_urls(request: &RequestOptions) -> Result<()> {
    for (flag, is_given) in flags_of_urls(request) {
        if is_given {
            bail!("{flag} is for URLs; a script sends its own requests: say it there");
        }
    }
    Ok(())
}

fn refuse_flags_of_scripts(args: &FindArgs) -> Result<()> {
    let url = &args.request.url;
    if wants_vus(args) {
        bail!("virtual users run a script, and {url} is a URL: write one that requests it");
    }
    Ok(())
}

fn wants_vus(args: &FindArgs) -> bool {
    args.vus.is_some() || args.over == Some(OverArg::Vus)
}

/// What the search varies.
fn over(args: &FindArgs) -> Result<Over> {
    if !wants_vus(args) {
        return Ok(Over::Rate {
            arrivals: arrivals(args.arrivals),
            max_per_s: optional("--max-rate", args.max_rate.as_deref(), parse_rate)?,
            only_per_s: optional("-q", args.rate.as_deref(), parse_rate)?,
        });
    }
    for (flag, is_given, instead) in [
        (
            "--over rate",
            args.over == Some(OverArg::Rate),
            "--vus is of the other kind",
        ),
        (
            "-q",
            args.rate.is_some(),
            "say --vus for one number of virtual users",
        ),
        (
            "--max-rate",
            args.max_rate.is_some(),
            "virtual users wait for the target; bound them with -c",
        ),
    ] {
        if is_given {
            bail!("{flag} does not go with a search over virtual users: {instead}");
        }
    }
    let vus = optional("--vus", args.vus.as_deref(), parse_count)?;
    let vus = vus.map(u32::try_from).transpose().context("--vus")?;
    let only = vus
        .map(|vus| NonZeroU32::new(vus).context("--vus is zero"))
        .transpose()?;
    Ok(Over::Vus { only })
}

fn url_test(
    url: &str,
    with: &RequestOptions,
    connections: Option<&str>,
    load: UrlLoad,
) -> Result<UrlTest> {
    let target = Target::parse(url)?;
    let request = request(url, with)?;
    let protocol = if with.h2 {
        let streams = optional("--streams", with.streams.as_deref(), parse_count)?;
        let streams = streams.map(Http::streams).transpose();
        Protocol::Http2 {
            streams: streams.context("--streams")?,
        }
    } else {
        Protocol::Http1
    };
    Ok(UrlTest {
        request,
        connections: optional_connections(connections)?,
        workers: workers(with)?,
        endpoint: target.resolve()?,
        protocol,
        load,
        keepalive: !with.no_keepalive,
        insecure: with.insecure,
    })
}

fn request(url: &str, with: &RequestOptions) -> Result<Request> {
    let headers = with.headers.iter().map(|text| parse_header(text));
    let headers = headers.collect::<Result<_, _>>()?;
    let body = match with.data.as_deref() {
        None => Vec::new(),
        Some(text) => match text.strip_prefix('@') {
            None => text.as_bytes().to_vec(),
            Some(path) => std::fs::read(path).with_context(|| format!("-d @{path}"))?,
        },
    };
    Ok(Request {
        headers,
        ..Request::new(&with.method, url.trim(), body)
    })
}

/// Reads a flag that may be absent; its error names the flag.
fn optional<T, E>(
    flag: &'static str,
    text: Option<&str>,
    parse: fn(&str) -> Result<T, E>,
) -> Result<Option<T>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    text.map(parse).transpose().context(flag)
}

fn optional_connections(text: Option<&str>) -> Result<Option<NonZeroU32>> {
    let Some(count) = optional("-c", text, parse_count)? else {
        return Ok(None);
    };
    let count = u32::try_from(count).ok().and_then(NonZeroU32::new);
    Ok(Some(count.context("-c is too large")?))
}

fn arrivals(arg: ArrivalsArg) -> Arrivals {
    match arg {
        ArrivalsArg::Uniform => Arrivals::Uniform,
        ArrivalsArg::Poisson => Arrivals::Poisson,
    }
}

/// `-z`.
fn until(duration: Nanos) -> Result<Until> {
    Until::after(duration).map_err(|_| anyhow!("-z is zero: give a time such as 30s"))
}

fn timeout(text: &str) -> Result<Nanos> {
    let timeout = parse_duration(text).context("--timeout")?;
    Generator::timeout(timeout).context("--timeout")
}

fn constant(flag: &'static str, rate: &str) -> Result<RateProfile> {
    Ok(RateProfile::constant(parse_rate(rate).context(flag)?)?)
}

/// `100/s..2000/s` over the duration of the run.
fn parse_ramp(text: &str, until: Until) -> Result<RateProfile> {
    let Some((from, to)) = text.split_once("..") else {
        bail!("--ramp `{text}` is not FROM..TO, such as 100/s..2000/s");
    };
    let Some(duration) = until.duration() else {
        bail!("--ramp needs a time: use -z instead of -n");
    };
    let (from, to) = (
        parse_rate(from).context("--ramp")?,
        parse_rate(to).context("--ramp")?,
    );
    Ok(RateProfile::ramp(from, to, duration)?)
}
