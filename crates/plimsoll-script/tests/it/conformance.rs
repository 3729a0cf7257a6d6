//! One script per behaviour: `conformance/*.js`, each with what it must do in its first comment.
//!
//! The comment is JSON. Every field is a claim that must hold; a script that claims nothing is an error.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use plimsoll_core::ending::Cause;
use plimsoll_script::{Disk, End, ScriptError, Settings};
use serde::Deserialize;
use serde_json::Value;

use crate::rig::{Contexts, Recorder, Rig, iteration};

type Tags = BTreeMap<String, Option<String>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    /// What the script shows, in one sentence.
    does: String,
    /// Why the real k6 says something else, if it does; for the differential run and the docs.
    k6: Option<String>,
    #[serde(default = "one")]
    iterations: u64,
    /// Lines of `console.*`, all of them.
    console: Option<Vec<String>>,
    /// Words of the warnings, one entry per warning.
    warnings: Option<Vec<String>>,
    /// Words of the exception that ends the last iteration.
    exception: Option<String>,
    /// Words of `test.abort`.
    abort: Option<String>,
    /// Words of what is not there yet and ends the test.
    missing: Option<String>,
    /// Messages of `test.fail`.
    failed: Option<Vec<String>>,
    /// Words of the error that keeps the script from loading, and its exit code.
    load_error: Option<String>,
    exit: Option<u8>,
    /// Passes and fails by name.
    checks: Option<BTreeMap<String, (u64, u64)>>,
    /// All values of a metric.
    metrics: Option<BTreeMap<String, Vec<f64>>>,
    /// Tags of each value of a metric; only the named ones are compared, null means absent.
    tags: Option<BTreeMap<String, Vec<Tags>>>,
    /// Methods and targets on the wire, in order.
    requests: Option<Vec<String>>,
    slept_ms: Option<f64>,
    options: Option<Value>,
    functions: Option<Vec<String>>,
    /// Words of the reason for which every virtual user gets a context of its own; none means that they share one.
    own_context: Option<String>,
    #[serde(default)]
    settings: Overrides,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Overrides {
    throw: bool,
    discard_response_bodies: bool,
    keep_cookies: bool,
    max_redirects: Option<u32>,
    tags: BTreeMap<String, String>,
    options_json: Option<String>,
}

fn one() -> u64 {
    1
}

impl Overrides {
    fn settings(&self) -> Settings {
        let mut settings = Settings {
            throw: self.throw,
            discard_response_bodies: self.discard_response_bodies,
            keep_cookies: self.keep_cookies,
            ..Settings::default()
        };
        if let Some(redirects) = self.max_redirects {
            settings.max_redirects = redirects;
        }
        if let Some(options) = &self.options_json {
            settings.options_json = options.as_str().into();
        }
        let tags = self.tags.iter();
        settings.tags = tags
            .map(|(name, value)| (name.as_str().into(), value.as_str().into()))
            .collect();
        settings
    }
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_script = |path: &PathBuf| {
        path.extension()
            .is_some_and(|ending| ending == "js" || ending == "ts")
    };
    let mut scripts: Vec<PathBuf> = entries.filter(is_script).collect();
    scripts.sort();
    scripts
}

fn claims_of(path: &Path) -> Claims {
    let text = fs::read_to_string(path).unwrap();
    let comment = text
        .split_once("/*")
        .and_then(|(_, rest)| rest.split_once("*/"));
    let (comment, _) = comment.unwrap_or_else(|| panic!("{}: no first comment", path.display()));
    serde_json::from_str(comment).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_script_does_what_it_claims() {
    let mut broken = Vec::new();
    let scripts = scripts();
    for path in &scripts {
        let name = path.file_name().unwrap().to_string_lossy();
        let claims = claims_of(path);
        for context in [Contexts::Shared, Contexts::Own] {
            for breach in breaches(path, &claims, context) {
                broken.push(format!("{name} ({}), {context:?}: {breach}", claims.does));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "{} breaches in {} scripts:\n{}",
        broken.len(),
        scripts.len(),
        broken.join("\n")
    );
    assert!(scripts.len() >= 130, "only {} scripts", scripts.len());
}

fn breaches(path: &Path, claims: &Claims, contexts: Contexts) -> Vec<String> {
    let entry = path.to_string_lossy();
    let mut found = Vec::new();
    let rig = match Rig::of_files(Rc::new(Disk), &entry, &claims.settings.settings(), contexts) {
        Ok(rig) => rig,
        Err((error, _)) => return breaches_of_error(&error, claims),
    };
    if let Some(words) = &claims.load_error {
        return vec![format!("loaded, although it should say {words:?}")];
    }
    if contexts == Contexts::Shared {
        compare_context(&mut found, &rig, claims);
    }
    let ended = play(&rig, claims.iterations);
    compare_end(&mut found, &ended, claims, &rig.host);
    compare_samples(&mut found, &rig, claims);
    let host = &rig.host;
    claimed(
        &mut found,
        "console",
        &host.console_lines(),
        claims.console.as_ref(),
    );
    claimed(
        &mut found,
        "requests",
        &host.requests.borrow().clone(),
        claims.requests.as_ref(),
    );
    claimed(
        &mut found,
        "failed",
        &host.failures.borrow().clone(),
        claims.failed.as_ref(),
    );
    claimed(
        &mut found,
        "slept ms",
        &host.slept.get().as_millis_f64(),
        claims.slept_ms.as_ref(),
    );
    claimed(
        &mut found,
        "options",
        rig.program.options(),
        claims.options.as_ref(),
    );
    let functions: Vec<String> = rig
        .program
        .functions()
        .iter()
        .map(ToString::to_string)
        .collect();
    claimed(
        &mut found,
        "functions",
        &functions,
        claims.functions.as_ref(),
    );
    compare_warnings(&mut found, host, claims);
    found
}

fn breaches_of_error(error: &ScriptError, claims: &Claims) -> Vec<String> {
    let mut found = Vec::new();
    let wanted = claims.load_error.as_deref();
    let is_right = wanted.is_some_and(|words| error.to_string().contains(words));
    if !is_right {
        found.push(format!("did not load: {error}; expected {wanted:?}"));
    }
    let exit = Some(k6_exit_code(error.cause()));
    differs(&mut found, "exit code", &exit, &claims.exit.or(exit));
    found
}

/// What k6 exits with for a script that does not load.
fn k6_exit_code(cause: Cause) -> u8 {
    match cause {
        Cause::Missing => 255,
        Cause::InvalidOptions => 104,
        Cause::Aborted => 108,
        _ => 107,
    }
}

fn compare_context(found: &mut Vec<String>, rig: &Rig, claims: &Claims) {
    let why = rig.program.own_context_because().unwrap_or_default();
    let words = claims.own_context.as_deref().unwrap_or_default();
    if why.is_empty() != words.is_empty() || !why.contains(words) {
        found.push(format!("own context because {why:?}; expected {words:?}"));
    }
}

/// Tags of the scenario `default`, if the options give it any.
fn scenario_tags(rig: &Rig) -> Vec<(Box<str>, Box<str>)> {
    let tags = rig
        .program
        .options()
        .pointer("/scenarios/default/tags")
        .cloned();
    let tags: BTreeMap<Box<str>, Box<str>> =
        tags.map_or_else(BTreeMap::new, |tags| serde_json::from_value(tags).unwrap());
    tags.into_iter().collect()
}

/// Setup, the iterations of one virtual user, teardown: the last end, or the first that is not well.
fn play(rig: &Rig, iterations: u64) -> End {
    let has = |name: &str| rig.program.functions().iter().any(|known| &**known == name);
    let mut data = None;
    if has("setup") {
        let mut vu = rig.vu(0);
        let mut setup = iteration("setup", 0);
        (
            setup.scenario,
            setup.root_group,
            setup.wants_return,
            setup.vu_in_test,
        ) = (None, Some("setup"), true, 0);
        match rig.run(&mut vu, setup) {
            End::Ok { returned } => data = returned.map(|json| Rc::from(&*json)),
            end => return end,
        }
    }
    let mut vu = rig.vu(1);
    let mut end = End::Ok { returned: None };
    for index in 0..iterations {
        let mut iteration = iteration("default", index);
        iteration.data.clone_from(&data);
        if let Some(scenario) = &mut iteration.scenario {
            Rc::make_mut(scenario).tags = scenario_tags(rig);
        }
        end = rig.run(&mut vu, iteration);
    }
    if has("teardown") {
        let mut vu = rig.vu(0);
        let mut teardown = iteration("teardown", 0);
        (teardown.scenario, teardown.root_group, teardown.vu_in_test) = (None, Some("teardown"), 0);
        teardown.data = data;
        let ended = rig.run(&mut vu, teardown);
        if !matches!(ended, End::Ok { .. }) {
            end = ended;
        }
    }
    end
}

fn compare_end(found: &mut Vec<String>, end: &End, claims: &Claims, host: &Recorder) {
    let is_right = match (end, &claims.exception, &claims.abort) {
        (End::Missing { message }, None, None) => {
            let words = claims.missing.as_deref();
            words.is_some_and(|words| message.contains(words))
        }
        _ if claims.missing.is_some() => false,
        (End::Ok { .. }, None, None) => true,
        (End::Exception(exception), Some(words), None) => {
            exception.message.contains(words.as_str())
        }
        (End::Abort { message }, None, Some(words)) => message.contains(words.as_str()),
        _ => false,
    };
    if !is_right {
        found.push(format!(
            "ended as {end:?}, having said {:?}",
            host.console_lines()
        ));
    }
}

fn compare_samples(found: &mut Vec<String>, rig: &Rig, claims: &Claims) {
    let samples = rig.samples();
    let of = |name: &str| {
        samples
            .iter()
            .filter(move |seen| seen.metric == name)
            .cloned()
            .collect::<Vec<_>>()
    };
    if let Some(checks) = &claims.checks {
        let mut counted: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for seen in of("checks") {
            let count = counted
                .entry(seen.tags.get("check").cloned().unwrap_or_default())
                .or_default();
            if seen.value > 0.0 {
                count.0 += 1;
            } else {
                count.1 += 1;
            }
        }
        differs(found, "checks", &counted, checks);
    }
    for (name, values) in claims.metrics.iter().flatten() {
        let seen: Vec<f64> = of(name).iter().map(|seen| seen.value).collect();
        differs(found, name, &seen, values);
    }
    for (name, wanted) in claims.tags.iter().flatten() {
        let seen = of(name);
        differs(
            found,
            &format!("number of {name}"),
            &seen.len(),
            &wanted.len(),
        );
        for (seen, wanted) in seen.iter().zip(wanted) {
            for (tag, value) in wanted {
                let what = format!("tag {tag} of {name}");
                differs(found, &what, &seen.tags.get(tag).cloned(), value);
            }
        }
    }
}

fn compare_warnings(found: &mut Vec<String>, host: &Recorder, claims: &Claims) {
    let warnings = host.warnings();
    let wanted = claims.warnings.as_deref().unwrap_or_default();
    let fits = warnings.len() == wanted.len()
        && warnings
            .iter()
            .zip(wanted)
            .all(|(warning, words)| warning.contains(words.as_str()));
    if !fits {
        found.push(format!("warned {warnings:?}, expected {wanted:?}"));
    }
}

fn claimed<T: PartialEq + std::fmt::Debug>(
    found: &mut Vec<String>,
    what: &str,
    seen: &T,
    claim: Option<&T>,
) {
    if let Some(claim) = claim {
        differs(found, what, seen, claim);
    }
}

fn differs<T: PartialEq + std::fmt::Debug>(
    found: &mut Vec<String>,
    what: &str,
    seen: &T,
    claim: &T,
) {
    if seen != claim {
        found.push(format!("{what}: {seen:?}, expected {claim:?}"));
    }
}

/// What `scripts/differential.py --save` left: whether the real k6 says the same.
#[derive(Debug, Deserialize)]
struct Differential {
    k6: String,
    agrees: BTreeMap<String, bool>,
}

#[test]
fn the_page_says_what_runs_and_what_was_compared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let saved = fs::read_to_string(folder.join("conformance/k6.json")).unwrap();
    let compared: Differential = serde_json::from_str(&saved).unwrap();
    let scripts = scripts();
    let mut rows = String::new();
    for path in &scripts {
        let name = path.file_name().unwrap().to_string_lossy();
        let claims = claims_of(path);
        let with_k6 = match (compared.agrees.get(&*name), &claims.k6) {
            (Some(true), _) => "same".to_owned(),
            (Some(false), Some(why)) => format!("differs: {why}"),
            (Some(false), None) => panic!("{name} differs from k6 and does not say why"),
            (None, _) => "not compared".to_owned(),
        };
        let does = claims.does.replace('|', "\\|");
        rows.extend(["| `", &name, "` | ", &does, " | ", &with_k6, " |\n"]);
    }
    let same = compared.agrees.values().filter(|agrees| **agrees).count();
    let page = format!(
        "# Conformance of scripts\n\nGenerated from `crates/plimsoll-script/conformance`; each script runs with every \
         test. Ran {0} of {0}. Of the {1} that k6 {2} can run without a network, {same} say the same there \
         (`scripts/differential.py`); the other {3} say why not.\n\n| script | it shows | with k6 |\n|---|---|---|\n{rows}",
        scripts.len(),
        compared.agrees.len(),
        compared.k6,
        compared.agrees.len() - same,
    );
    let path = folder.join("../../docs/script-conformance.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "run with UPDATE_DOCS=1 to write it anew");
}
