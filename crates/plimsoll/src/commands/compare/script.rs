//! Scripts as sides of a live comparison: a side is what one would write after `plimsoll run`.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use plimsoll_core::objective::Objectives;
use plimsoll_core::record::ScriptSetup;
use plimsoll_core::scenario::{Executor, Scenario, Scenarios};
use plimsoll_core::{Nanos, Tally};
use plimsoll_observe::Watch;

use super::terms::kept_in;
use crate::args::{ArrivalsArg, CompareArgs, OutputArgs};
use crate::commands::find::script::{refuse_of_urls, refuse_the_dead};
use crate::script::args::{self, ScriptArgs, names_script};
use crate::script::load::{self, Loaded};
use crate::session::Session;
use crate::{plan, script};

/// Most virtual users of a warm-up, which is no load test.
const WARM_VUS_MAX: u32 = 10;
/// How long iterations of a warm-up may go on after it.
pub(super) const WARM_STOP: Nanos = Nanos::from_secs(5);

/// Whether a target is a script, alone or with flags: `before.js`, `shop.js -e BASE=http://127.0.0.1:3001`.
pub(super) fn is_script(target: &str) -> bool {
    let first = target.split_whitespace().next().unwrap_or_default();
    names_script(OsStr::new(first)) || names_script(OsStr::new(target))
}

/// One side as it was typed, with what `-e` and `--workers` say for all sides.
pub(super) fn parse(target: &str, args: &CompareArgs) -> Result<ScriptArgs> {
    let mut asked = words_of(target)?;
    refuse_flags(target, &asked)?;
    if args.live.find && has_options(&asked) {
        bail!(
            "--find decides the load of `{target}`; say other options in the script, and -e alone beside it"
        );
    }
    let common = args.live.env.iter().map(|text| args::pair(text));
    let own: Vec<(String, String)> = std::mem::take(&mut asked.env);
    let is_own = |name: &String| own.iter().any(|(known, _)| known == name);
    asked.env = common.filter(|(name, _)| !is_own(name)).collect();
    asked.env.extend(own.iter().cloned());
    let workers = args.with.workers.as_deref();
    let workers = workers.map(plan::worker_count).transpose()?;
    asked.workers = workers.map(|count| count as u32);
    // Thresholds of a script may end a run early; here --slo judges.
    let no_thresholds = ("no-thresholds".to_owned(), "true".to_owned());
    asked.flags.push(no_thresholds);
    asked.quiet = true;
    Ok(asked)
}

/// Whether it says more than which script and what is in its environment.
fn has_options(asked: &ScriptArgs) -> bool {
    !asked.flags.is_empty()
        || asked.config.is_some()
        || asked.system_env
        || asked.strictness != ScriptArgs::default().strictness
}

/// Words as a shell would see them; a file whose name has spaces may stand alone.
fn words_of(target: &str) -> Result<ScriptArgs> {
    let words = if Path::new(target).is_file() {
        vec![target.to_owned()]
    } else {
        shlex::split(target)
            .with_context(|| format!("`{target}`: a quotation mark has no second one"))?
    };
    let line = ["plimsoll", "run"].into_iter().map(OsString::from);
    let line: Vec<OsString> = line.chain(words.into_iter().map(OsString::from)).collect();
    args::parse(&line).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        let first = first.trim_start_matches("error: ");
        anyhow::anyhow!("`{target}`: {first}; a side is a script with flags of plimsoll run SCRIPT")
    })
}

/// What belongs to the comparison as a whole, or to one run by itself.
fn refuse_flags(target: &str, asked: &ScriptArgs) -> Result<()> {
    if asked.script == "-" {
        bail!("standard input can be read once, and every run reads its script: give a file");
    }
    for (flag, is_given) in [
        ("--out", !asked.outs.is_empty()),
        ("--record", asked.record.is_some()),
        ("--no-record", asked.no_record),
        ("--seed", asked.seed.is_some()),
        ("--workers", asked.workers.is_some()),
        ("--watch", !asked.watch.is_empty()),
        ("--junit", asked.junit.is_some()),
        ("--markdown", asked.markdown.is_some()),
        ("--hlog", asked.hlog.is_some()),
        ("--explain-config", asked.explain_config),
    ] {
        if is_given {
            bail!(
                "{flag} in `{target}`: a side has only what changes its test, such as -e, --vus or --duration"
            );
        }
    }
    Ok(())
}

/// A script sets its own load and makes its own requests.
pub(super) fn refuse_load(args: &CompareArgs) -> Result<()> {
    let live = &args.live;
    refuse_of_urls(&args.with)?;
    let connections = live.connections.is_some() && !live.find;
    for (flag, is_given) in [
        ("--rate", live.rate.is_some()),
        ("-c", connections),
        ("-z", live.duration.is_some()),
        ("--timeout", live.timeout != "10s"),
        (
            "--arrivals",
            live.arrivals != ArrivalsArg::Poisson && !live.find,
        ),
    ] {
        if is_given {
            bail!(
                "{flag} is for URLs; a script sets its own load: say it in its options, or with the side, such as \
                 'shop.js --vus 10 --duration 30s'"
            );
        }
    }
    Ok(())
}

/// Reads the script and understands its options; nothing is sent.
pub(super) fn loaded(
    asked: &ScriptArgs,
    seed: u64,
    insecure: bool,
    objectives: Option<&Objectives>,
) -> Result<Loaded> {
    let asked = ScriptArgs {
        seed: Some(seed),
        ..asked.clone()
    };
    let mut loaded = load::load(&asked, &Arc::new(AtomicBool::new(false)))?;
    let script = Arc::get_mut(&mut loaded.script).context("the script is in use")?;
    if let Some(objectives) = objectives {
        script.bounds = objectives.bounds();
    }
    let naming = Arc::get_mut(&mut script.naming).context("the script is in use")?;
    naming.tls.insecure |= insecure;
    Ok(loaded)
}

/// Until the last iteration is interrupted; they may all be over before.
pub(super) fn longest(loaded: &Loaded) -> Nanos {
    loaded.script.scenarios.longest_ns()
}

/// What makes two sides the same: content and options, load, and environment.
pub(super) type Identity = (ScriptSetup, Scenarios, Vec<(String, String)>);

pub(super) fn identity(asked: &ScriptArgs, loaded: &Loaded) -> Identity {
    let mut env = asked.env.clone();
    env.sort();
    (loaded.setup.clone(), loaded.script.scenarios.clone(), env)
}

/// One run of the script, whole, with everything in its record but the verdict.
pub(super) fn measure(
    loaded: Loaded,
    objectives: Option<&Objectives>,
    watches: &[Watch],
    output: &OutputArgs,
    interrupt: &Arc<AtomicBool>,
) -> Result<Session> {
    let loaded = Arc::new(loaded);
    let (mut session, ending) = script::measure(&loaded, objectives, watches, output, interrupt)?;
    script::came_to_its_end(ending)?;
    if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
        session.event("interrupted", "by a signal")?;
    }
    Ok(session)
}

/// A few virtual users for a while, not kept; also the proof that something answers.
pub(super) fn warm_up(
    mut loaded: Loaded,
    length: Nanos,
    interrupt: &Arc<AtomicBool>,
) -> Result<()> {
    let script = Arc::get_mut(&mut loaded.script).context("the script is in use")?;
    let share = WARM_VUS_MAX / (script.scenarios.iter().count().max(1) as u32);
    let few = |scenario: &Scenario| Scenario {
        executor: Executor::ConstantVus {
            vus: NonZeroU32::new(scenario.executor.vus_max().min(share)).unwrap_or(NonZeroU32::MIN),
            duration_ns: length,
        },
        start_ns: Nanos::ZERO,
        graceful_stop_ns: WARM_STOP,
        ..scenario.clone()
    };
    let scenarios = script.scenarios.each(few);
    script.set_scenarios(scenarios);
    let session = measure(loaded, None, &[], &kept_in(None), interrupt)?;
    let mut tally = Tally::default();
    for window in &session.record.windows {
        tally.merge(&window.total());
    }
    refuse_the_dead(&tally, "script")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_told_from_urls_and_records() {
        for script in [
            "before.js",
            "a b/shop.ts",
            "shop.js -e BASE=http://127.0.0.1:3001 --vus 5",
        ] {
            assert!(is_script(script), "{script}");
        }
        for other in [
            "http://127.0.0.1/app.js",
            "run.plimsoll.jsonl",
            "summary.json",
            "",
        ] {
            assert!(!is_script(other), "{other}");
        }
    }

    #[test]
    fn a_side_is_read_as_a_command_line() {
        let asked = words_of("shop.js -e BASE=http://h:1 -e 'NAME=two words' --vus 5").unwrap();
        let env = [("BASE", "http://h:1"), ("NAME", "two words")];
        assert_eq!(asked.script, "shop.js");
        assert_eq!(
            asked.env,
            env.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert_eq!(asked.flags, [("vus".to_owned(), "5".to_owned())]);
        let wrong = |text: &str| words_of(text).unwrap_err().to_string();
        assert!(wrong("shop.js -e 'A=1").contains("quotation mark"));
        assert!(wrong("shop.js --vuss 5").contains("unexpected argument '--vuss'"));
    }
}
