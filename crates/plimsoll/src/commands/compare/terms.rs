//! What `compare` was asked for in the words of `run` and `find`: their arguments for one target.

use std::path::PathBuf;

use anyhow::{Result, bail};
use plimsoll_core::plan::Plan;

use crate::args::{CompareArgs, FindArgs, Format, OutputArgs, RequestArgs, RunArgs, WatchArgs};
use crate::plan;
use crate::script::args::ScriptArgs;

/// What is done to one target in one run.
pub(super) fn plan_of(args: &CompareArgs, url: &str) -> Result<Plan> {
    let live = &args.live;
    match (live.find, live.rate.is_some(), live.connections.is_some()) {
        (true, true, _) => bail!("--find seeks the rate, --rate sets it: give one of them"),
        (true, ..) if live.slo.is_none() => {
            bail!("--find needs --slo, such as 'p99<250ms,errors<0.1%'")
        }
        (true, ..) if live.duration.is_some() => {
            bail!("-z is for a set load; --within is the time of a search")
        }
        (false, false, false) => bail!(
            "say the load: --rate 200/s or -c 16, the same for all, or --find for a search in each run"
        ),
        (true, ..) => plan::of_find(&find_args(args, url)),
        _ => plan::of_run(&run_args(args, url)),
    }
}

fn request_args(args: &CompareArgs, url: &str) -> RequestArgs {
    RequestArgs {
        url: url.to_owned(),
        with: args.with.clone(),
    }
}

fn run_args(args: &CompareArgs, url: &str) -> RunArgs {
    let live = &args.live;
    RunArgs {
        request: request_args(args, url),
        connections: live.connections.clone(),
        duration: Some(live.duration.clone().unwrap_or_else(|| "60s".to_owned())),
        requests: None,
        rate: live.rate.clone(),
        arrivals: live.arrivals,
        ramp: None,
        timeout: live.timeout.clone(),
        slo: live.slo.clone(),
        watch: WatchArgs {
            watch: args.watch.watch.clone(),
        },
        output: kept_in(None),
    }
}

pub(super) fn find_args(args: &CompareArgs, url: &str) -> FindArgs {
    let live = &args.live;
    FindArgs {
        request: request_args(args, url),
        slo: live.slo.clone().unwrap_or_default(),
        within: live.within.clone(),
        goal_width: "5%".to_owned(),
        rate: None,
        over: None,
        vus: None,
        max_rate: live.max_rate.clone(),
        // What lies beyond the capacity is not compared, and takes time.
        no_overshoot: true,
        connections: live.connections.clone(),
        arrivals: live.arrivals,
        reuse: None,
        yes: live.yes,
        env: Vec::new(),
        scenario: None,
        watch: WatchArgs {
            watch: args.watch.watch.clone(),
        },
        output: kept_in(None),
    }
}

/// The same for a search with a script.
pub(super) fn script_find_args(args: &CompareArgs, asked: &ScriptArgs) -> FindArgs {
    let env = asked.env.iter();
    FindArgs {
        env: env.map(|(name, value)| format!("{name}={value}")).collect(),
        ..find_args(args, &asked.script)
    }
}

/// A record in the folder, or none; no live view, because there is one line for every run.
pub(super) fn kept_in(out: Option<PathBuf>) -> OutputArgs {
    OutputArgs {
        no_record: out.is_none(),
        out,
        note: String::new(),
        hlog: None,
        format: Format::Text,
        quiet: true,
        lab: None,
    }
}
