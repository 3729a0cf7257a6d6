//! Scripts as sides of a live comparison: a side is what one would write after `plimsoll run`.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use plimsoll_core::Nanos;
use plimsoll_core::scenario::Scenarios;
use plimsoll_core::test::ScriptSetup;

use crate::args::{ArrivalsArg, CompareArgs};
use crate::prepared::Prepared;
use crate::recipe::Recipe;
use crate::script::args::{self, ScriptArgs, names_script};
use crate::{flags, from_args};

/// Whether a target is a script, alone or with flags: `before.js`, `shop.js -e BASE=http://127.0.0.1:3001`.
pub(super) fn is_script(target: &str) -> bool {
    let first = target.split_whitespace().next().unwrap_or_default();
    names_script(OsStr::new(first)) || names_script(OsStr::new(target))
}

/// One side, prepared for a first look, and what makes it another than the rest.
pub(super) fn side(
    text: &str,
    args: &CompareArgs,
    seed: u64,
) -> Result<(Recipe, Prepared, Identity)> {
    refuse_load(args)?;
    let own = parse(text, args)?;
    let mut env = own.env.clone();
    env.sort();
    let whole = from_args::whole_script(own.clone(), args.with.insecure);
    let recipe = from_args::compared_script(args, own)?;
    // With the load of its own, which a search puts aside.
    let loaded = whole.read(seed)?;
    let identity = Identity {
        scenarios: loaded.script.scenarios.clone(),
        setup: loaded.setup,
        env,
    };
    if args.live.find && identity.scenarios.len() > 1 {
        bail!("`{text}` has several scenarios, and a search varies one: leave one in its options");
    }
    let prepared = recipe.prepare(seed)?;
    Ok((recipe, prepared, identity))
}

/// What makes two sides the same: content and options, load, and environment.
#[derive(PartialEq)]
pub(super) struct Identity {
    setup: ScriptSetup,
    scenarios: Scenarios,
    env: Vec<(String, String)>,
}

/// Until the last iteration is interrupted; they may all be over before.
pub(super) fn longest(identity: &Identity) -> Nanos {
    identity.scenarios.longest_ns()
}

/// One side as it was typed, with what `-e` and `--workers` say for all sides.
fn parse(target: &str, args: &CompareArgs) -> Result<ScriptArgs> {
    let mut own = words_of(target)?;
    refuse_flags(target, &own)?;
    if args.live.find && has_options(&own) {
        bail!(
            "--find decides the load of `{target}`; say other options in the script, and -e alone beside it"
        );
    }
    let common = args.live.env.iter().map(|text| args::pair(text));
    let is_own = |name: &String| own.env.iter().any(|(known, _)| known == name);
    let mut env: Vec<(String, String)> = common.filter(|(name, _)| !is_own(name)).collect();
    env.append(&mut own.env);
    own.env = env;
    own.workers = from_args::workers(&args.with)?.map(NonZeroU32::get);
    // Thresholds of a script may end a run early; here --slo judges.
    let no_thresholds = ("no-thresholds".to_owned(), "true".to_owned());
    own.flags.push(no_thresholds);
    own.quiet = true;
    Ok(own)
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
    let given = flags::parse_run(words.into_iter().map(OsString::from));
    given
        .and_then(|given| ScriptArgs::read(&given))
        .map_err(|error| {
            anyhow!("`{target}`: {error}; a side is a script with flags of plimsoll run")
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
        ("--explain-config", asked.explain_config.is_some()),
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
fn refuse_load(args: &CompareArgs) -> Result<()> {
    let live = &args.live;
    from_args::refuse_flags_of_urls(&args.with)?;
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
