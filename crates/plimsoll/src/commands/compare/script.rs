//! Scripts as sides of a live comparison: a side is what one would write after `plimsoll run`.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use plimsoll_core::Nanos;
use plimsoll_core::scenario::{Scenarios, Strictness};
use plimsoll_core::test::ScriptSetup;

use crate::args::{Args, ScriptSource};
use crate::prepared::Prepared;
use crate::recipe::Recipe;
use crate::{flags, from_args};

/// One side, prepared for a first look, and what makes it another than the rest.
pub(super) fn side(text: &str, args: &Args, seed: u64) -> Result<(Recipe, Prepared, Identity)> {
    if args.load.connections.is_some() && !args.compare.find {
        bail!(
            "-c is for URLs; a script sets its own load: write it in its options, or beside the script's name, such as 'shop.js \
             --vus 10 --duration 30s'"
        );
    }
    let own = parse(text, args)?;
    let mut env = own.env.clone();
    env.sort();
    let recipe = from_args::compared_script(args, own)?;
    let Recipe::Script(test) = &recipe else {
        bail!("`{text}` is a script");
    };
    // With the load of its own, which a search puts aside.
    let loaded = test.read(seed)?;
    let identity = Identity {
        scenarios: loaded.script.scenarios.clone(),
        setup: loaded.setup,
        env,
    };
    if args.compare.find && identity.scenarios.len() > 1 {
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
fn parse(target: &str, args: &Args) -> Result<ScriptSource> {
    let mut own = words_of(target)?;
    if own.script == "-" {
        bail!("standard input can be read once, and every run reads its script: give a file");
    }
    if args.compare.find && has_options(&own) {
        bail!(
            "--find decides the load of `{target}`; say other options in the script, and -e alone beside it"
        );
    }
    let common = args.script.env.iter().cloned();
    let is_own = |name: &String| own.env.iter().any(|(known, _)| known == name);
    let mut env: Vec<(String, String)> = common.filter(|(name, _)| !is_own(name)).collect();
    env.append(&mut own.env);
    own.env = env;
    // Thresholds of a script may end a run early; here --slo judges.
    let no_thresholds = ("no-thresholds".to_owned(), "true".to_owned());
    own.options.push(no_thresholds);
    Ok(own)
}

/// Whether it says more than which script and what is in its environment.
fn has_options(asked: &ScriptSource) -> bool {
    !asked.options.is_empty()
        || asked.config.is_some()
        || asked.system_env.is_some()
        || asked.strictness != Strictness::default()
}

/// Words as a shell would see them; a file whose name has spaces may stand alone.
fn words_of(target: &str) -> Result<ScriptSource> {
    let words = if Path::new(target).is_file() {
        vec![target.to_owned()]
    } else {
        shlex::split(target)
            .with_context(|| format!("`{target}`: a quotation mark has no second one"))?
    };
    let side = flags::parse_side(words.into_iter().map(OsString::from));
    side.map_err(|error| {
        anyhow!("`{target}`: {error}; a side is a script with flags of plimsoll run")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_read_as_a_command_line() {
        let asked = words_of("shop.js -e BASE=http://h:1 -e 'NAME=two words' --vus 5").unwrap();
        let env = [("BASE", "http://h:1"), ("NAME", "two words")];
        assert_eq!(asked.script, "shop.js");
        assert_eq!(
            asked.env,
            env.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert_eq!(asked.options, [("vus".to_owned(), "5".to_owned())]);
        let wrong = |text: &str| words_of(text).unwrap_err().to_string();
        assert!(wrong("shop.js -e 'A=1").contains("quotation mark"));
        assert!(wrong("shop.js --vuss 5").contains("unexpected argument '--vuss'"));
    }
}
