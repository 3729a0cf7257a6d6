//! One tier's keys, understood.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use plimsoll_core::Nanos;
use plimsoll_core::nearest::hint;
use plimsoll_core::record::FaultKind;
use plimsoll_core::units::parse_duration;

use super::super::file::TierSpec;
use super::super::fill::{LIMITS, limits_in, undeclared};
use super::super::{Filler, Program, Ready, Setting, Tier, TierFault};
use super::within::Within;
use crate::LabError;
use crate::cgroup::SHARE_LEAST;
use crate::serve::catalogue::{self, Values};

const READY_WITHIN: Nanos = Nanos::from_secs(30);
const INSTANCES_MAX: u32 = 64;
/// More than any machine of today has.
const CORES_MAX: f64 = 1_024.0;
/// The embedded database and the guard: commands of this binary that are no service of `plimsoll serve`.
pub(crate) const DOCDB: &str = "docdb";
pub(crate) const GUARD: &str = "guard";

/// Why a tier cannot be kept to so many cores.
fn no_share(cpu: f64) -> Option<String> {
    if !(cpu > 0.0 && cpu <= CORES_MAX) {
        return Some(format!("{cpu} is no number of cores; write 0.5 or 2"));
    }
    (cpu < SHARE_LEAST).then(|| {
        format!("{cpu} is less of a core than a quota can be; write {SHARE_LEAST} or more")
    })
}

pub(super) fn tier(at: &Within<'_>, name: &str, spec: &TierSpec) -> Result<Tier, LabError> {
    let instances = spec.instances.unwrap_or(1);
    if !(1..=INSTANCES_MAX).contains(&instances) {
        let problem = format!("{instances} instances are not between 1 and {INSTANCES_MAX}");
        return Err(at.wrong("instances", problem));
    }
    if let Some(problem) = spec.cpu.and_then(no_share) {
        return Err(at.wrong("cpu", problem));
    }
    required(at, spec)?;
    let ready_within = spec.ready_within.as_deref();
    let memory = spec.memory.as_deref().map(bytes).transpose();
    let files = spec.files.iter();
    Ok(Tier {
        name: name.to_owned(),
        program: program(at, spec)?,
        args: spec.args.clone().unwrap_or_default(),
        instances,
        cpu: spec.cpu,
        memory_bytes: memory.map_err(|problem| at.wrong("memory", problem))?,
        port: spec.port,
        ready: ready(spec.ready.as_deref()).map_err(|problem| at.wrong("ready", problem))?,
        ready_within: at.time("ready_within", ready_within, READY_WITHIN)?,
        env: spec.env.clone(),
        files: files
            .map(|(name, pattern)| (name.clone(), at.folder.join(pattern)))
            .collect(),
        limits: limits(spec).map_err(|problem| at.wrong("limits", problem))?,
        limits_used: limits_used(at, spec)?,
        watch: spec.watch.clone().unwrap_or_default(),
        faults: faults(at, spec)?,
        stub: stub(at, name, spec)?,
        stubbed: spec.stubbed == Some(true),
    })
}

/// What is done to the tier under load: each at its time, and in an order that means something.
fn faults(at: &Within<'_>, spec: &TierSpec) -> Result<Vec<TierFault>, LabError> {
    let time = |key: &str, text: &Option<String>| {
        let time = text.as_deref().map(parse_duration).transpose();
        time.map_err(|error| at.wrong(key, error))
    };
    let killed = time("kill_at", &spec.kill_at)?;
    let stopped = time("stop_at", &spec.stop_at)?;
    let continued = time("continue_at", &spec.continue_at)?;
    let ended = time("end_at", &spec.end_at)?;
    match (stopped, continued) {
        (None, Some(_)) => {
            return Err(at.wrong("continue_at", "nothing was stopped; give `stop_at`, too"));
        }
        (Some(stop), Some(go_on)) if go_on <= stop => {
            let problem = format!("{go_on} is not after `stop_at`, which is {stop}");
            return Err(at.wrong("continue_at", problem));
        }
        _ => {}
    }
    for (key, other) in [
        ("kill_at", killed),
        ("stop_at", stopped),
        ("continue_at", continued),
    ] {
        if let (Some(end), Some(other)) = (ended, other)
            && other >= end
        {
            let problem = format!("the tier has ended by then: `end_at` is {end}");
            return Err(at.wrong(key, problem));
        }
    }
    let mut faults: Vec<TierFault> = [
        (killed, FaultKind::Restarted),
        (stopped, FaultKind::Stopped),
        (continued, FaultKind::Continued),
        (ended, FaultKind::Ended),
    ]
    .into_iter()
    .filter_map(|(at, what)| Some(TierFault { at: at?, what }))
    .collect();
    faults.sort_by_key(|fault| fault.at);
    Ok(faults)
}

/// Looked at also when it is not played; what is wrong with the tier itself was said before.
fn stub(at: &Within<'_>, name: &str, spec: &TierSpec) -> Result<Option<Box<Tier>>, LabError> {
    let nested = |stub: &TierSpec| stub.stub.is_some() || stub.stubbed.is_some();
    if spec.stub.as_deref().is_some_and(nested) {
        return Err(at.wrong("stub", "a stub has none of its own"));
    }
    let stub = spec.in_stub().map(|stub| tier(at, name, &stub)).transpose();
    let stub = stub.map_err(|error| match error {
        LabError::Experiment { problem, .. } => at.wrong("stub", problem),
        other => other,
    })?;
    Ok(stub.map(Box::new))
}

fn program(at: &Within<'_>, spec: &TierSpec) -> Result<Program, LabError> {
    let wrong = |key: &str, problem: &str| Err(at.wrong(key, problem));
    match (&spec.command, &spec.embedded) {
        (Some(_), Some(_)) => wrong(
            "embedded",
            "a tier has a command or an embedded service, not both",
        ),
        (None, None) => wrong(
            "command",
            "a tier needs a `command`, or an `embedded` service",
        ),
        (None, Some(service)) => {
            parameters(at, service, spec)?;
            Ok(Program::Embedded {
                name: service.clone(),
                set: spec.set.clone(),
            })
        }
        (Some(_), None) if !spec.set.is_empty() => wrong(
            "set",
            "parameters belong to an embedded service; give a command its own in `args` or `env`",
        ),
        (Some(command), None) => {
            if let Some(path) = on_disk(at.folder, command) {
                return Ok(Program::Command(path));
            }
            let (key, problem) = missing(at, spec)?.unwrap_or_default();
            wrong(key, &problem)
        }
    }
}

/// The service and its parameters are in the catalogue.
fn parameters(at: &Within<'_>, service: &str, spec: &TierSpec) -> Result<(), LabError> {
    if service == DOCDB || service == GUARD {
        let Some(parameter) = spec.set.keys().next() else {
            return Ok(());
        };
        let problem = format!("{service} has no parameter `{parameter}`; give its flags in `args`");
        return Err(at.wrong("set", problem));
    }
    let found = catalogue::service(service).map_err(|error| at.wrong("embedded", error))?;
    let mut values = Values::draw(found, 1, false);
    for (parameter, setting) in &spec.set {
        let value = setting.value(&spec.limits);
        let value = value.map_err(|problem| at.wrong("set", problem))?;
        let is_set = values.set(found, parameter, value);
        is_set.map_err(|error| at.wrong("set", error))?;
    }
    Ok(())
}

/// Whatever the tier needs besides its program is there.
fn required(at: &Within<'_>, spec: &TierSpec) -> Result<(), LabError> {
    match missing(at, spec)? {
        Some(("requires", problem)) => Err(at.wrong("requires", problem)),
        _ => Ok(()),
    }
}

/// The program, or the first thing besides, that is not installed: its key and what to say.
pub(super) fn missing(
    at: &Within<'_>,
    spec: &TierSpec,
) -> Result<Option<(&'static str, String)>, LabError> {
    let is_there = |what: &str| {
        if what.contains('/') {
            at.folder.join(what).exists()
        } else {
            on_disk(at.folder, what).is_some()
        }
    };
    let mut required = spec.requires.iter().flatten();
    let (key, problem) = if let Some(what) = required.find(|what| !is_there(what)) {
        let problem = if what.contains('/') {
            format!("`{what}` is not in {}", at.folder.display())
        } else {
            format!("`{what}` is not on the PATH")
        };
        ("requires", problem)
    } else {
        let command = spec.command.as_deref().unwrap_or_default();
        let is_missing = spec.command.is_some() && on_disk(at.folder, command).is_none();
        if !is_missing {
            return Ok(None);
        }
        let problem = if command.contains('/') {
            format!("`{command}` is no file below {}", at.folder.display())
        } else {
            format!("`{command}` is not on the PATH; install it, or write its path with a `/`")
        };
        ("command", problem)
    };
    Ok(Some((key, problem + &install(at, spec)?)))
}

/// `; it is installed with: make real`, if the tier says how.
fn install(at: &Within<'_>, spec: &TierSpec) -> Result<String, LabError> {
    let Some(text) = &spec.install else {
        return Ok(String::new());
    };
    let filler = Filler::new(BTreeMap::new(), at.folder.to_owned());
    let command = filler.fill(text);
    let command = command.map_err(|problem| at.wrong("install", problem))?;
    Ok(format!("; it is installed with: {command}"))
}

/// Every text of the tier whose placeholders are filled: its key, the file that it stands in, and the text.
fn filled(
    at: &Within<'_>,
    spec: &TierSpec,
) -> Result<Vec<(&'static str, String, String)>, LabError> {
    let args = spec.args.iter().flatten().map(|text| ("args", text));
    let env = spec.env.values().map(|text| ("env", text));
    let set = spec.set.values().filter_map(|setting| match setting {
        Setting::Text(text) => Some(("set", text)),
        Setting::Value(_) => None,
    });
    let own = args.chain(env).chain(set);
    let mut texts: Vec<_> = own
        .map(|(key, text)| (key, String::new(), text.clone()))
        .collect();
    for file in spec.files.values() {
        let text = std::fs::read_to_string(at.folder.join(file))
            .map_err(|error| at.wrong("files", format!("{file} cannot be read: {error}")))?;
        let lines = text.lines();
        texts.extend(lines.map(|line| ("files", format!("{file}: "), line.to_owned())));
    }
    Ok(texts)
}

/// The tiers that one waits for: named, or asked for by a placeholder. The limits in placeholders are looked at, too.
pub(super) fn needs(at: &Within<'_>, spec: &TierSpec) -> Result<BTreeSet<String>, LabError> {
    let mut needs = BTreeSet::new();
    for (key, before, text) in filled(at, spec)? {
        let wrong = |problem: String| at.wrong(key, format!("{before}{problem}"));
        let limits = limits_in(&text).map_err(wrong)?;
        let mut limits = limits.iter();
        if let Some(limit) = limits.find(|limit| !spec.limits.contains_key(**limit)) {
            return Err(wrong(undeclared(limit)));
        }
        let tiers = at.tiers_in(key, &before, &text)?;
        needs.extend(tiers.into_iter().map(str::to_owned));
    }
    for need in spec.needs.iter().flatten() {
        if !at.tiers.contains_key(need) {
            return Err(at.wrong("needs", at.no_tier(need)));
        }
        needs.insert(need.clone());
    }
    Ok(needs)
}

/// Limits that stand in a placeholder somewhere; that they are right was looked at with the needs.
fn limits_used(at: &Within<'_>, spec: &TierSpec) -> Result<BTreeSet<String>, LabError> {
    let mut used = BTreeSet::new();
    for (key, _, text) in filled(at, spec)? {
        let limits = limits_in(&text).map_err(|problem| at.wrong(key, problem))?;
        used.extend(limits.into_iter().map(str::to_owned));
    }
    Ok(used)
}

fn on_disk(folder: &Path, command: &str) -> Option<PathBuf> {
    if command.contains('/') {
        let path = folder.join(command);
        return path.is_file().then_some(path);
    }
    let folders = std::env::var_os("PATH")?;
    // Servers of the system are often where only root looks.
    let sbin = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&folders)
        .chain(sbin)
        .map(|folder| folder.join(command))
        .find(|path| path.is_file())
}

fn ready(spec: Option<&str>) -> Result<Ready, String> {
    let Some(text) = spec else {
        return Ok(Ready::Tcp);
    };
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    match (kind, rest.trim()) {
        ("tcp", "") => Ok(Ready::Tcp),
        ("http", path) if path.starts_with('/') && !path.contains(char::is_whitespace) => {
            Ok(Ready::Http(path.to_owned()))
        }
        ("line", text) if !text.is_empty() => Ok(Ready::Line(text.to_owned())),
        _ => Err(format!(
            "`{text}` is no way to be ready; write `tcp`, `http /PATH` or `line TEXT`"
        )),
    }
}

fn limits(spec: &TierSpec) -> Result<BTreeMap<String, f64>, String> {
    for (name, value) in &spec.limits {
        if !LIMITS.contains(&name.as_str()) {
            let near = hint(name, LIMITS);
            return Err(format!(
                "`{name}` is no limit{near} There are {}",
                LIMITS.join(", ")
            ));
        }
        if !(*value > 0.0 && value.is_finite()) {
            return Err(format!("{name} = {value} is not a positive number"));
        }
    }
    if spec.limits.contains_key("per_request") && !spec.limits.contains_key("slots") {
        return Err(
            "`per_request` says how many `slots` a request takes: give those too".to_owned(),
        );
    }
    Ok(spec.limits.clone())
}

/// `256MiB`, `1GiB`, `512KiB`.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [("KiB", 1_u64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let parsed = units.iter().find_map(|(unit, size)| {
        let number: u64 = text.trim().strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(*size).filter(|bytes| *bytes > 0)
    });
    parsed.ok_or_else(|| format!("`{text}` is no amount of memory; write 256MiB or 1GiB"))
}
