//! One tier's keys, understood.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use plimsoll_core::Nanos;
use plimsoll_core::nearest::hint;
use plimsoll_core::units::parse_duration;

use super::super::file::TierSpec;
use super::super::fill::{LIMITS, limits_in};
use super::super::{Filler, Program, Ready, Setting, Tier};
use super::Reader;
use crate::LabError;
use crate::serve::catalogue::{self, Values};

const READY_WITHIN: Nanos = Nanos::from_secs(30);
const INSTANCES_MAX: u32 = 64;
/// More than any machine of today has.
const CORES_MAX: f64 = 1_024.0;
/// The embedded database, which is no service of `plimsoll serve`.
pub(crate) const DOCDB: &str = "docdb";

impl Reader<'_> {
    pub(super) fn tier(
        &self,
        variant: &str,
        name: &str,
        spec: &TierSpec,
    ) -> Result<Tier, LabError> {
        let wrong = |key: &str, problem: String| self.in_tier(variant, name, key, problem);
        let instances = spec.instances.unwrap_or(1);
        if !(1..=INSTANCES_MAX).contains(&instances) {
            let problem = format!("{instances} instances are not between 1 and {INSTANCES_MAX}");
            return Err(wrong("instances", problem));
        }
        if let Some(cpu) = spec.cpu
            && !(0.01..=CORES_MAX).contains(&cpu)
        {
            return Err(wrong(
                "cpu",
                format!("{cpu} is no number of cores; write 0.5 or 2"),
            ));
        }
        let ready_within = match &spec.ready_within {
            None => READY_WITHIN,
            Some(text) => {
                parse_duration(text).map_err(|error| wrong("ready_within", error.to_string()))?
            }
        };
        self.required(variant, name, spec)?;
        let kill_at = spec.kill_at.as_deref().map(parse_duration).transpose();
        let memory = spec.memory.as_deref().map(bytes).transpose();
        Ok(Tier {
            name: name.to_owned(),
            program: self.program(variant, name, spec)?,
            args: spec.args.clone().unwrap_or_default(),
            instances,
            cpu: spec.cpu,
            memory_bytes: memory.map_err(|problem| wrong("memory", problem))?,
            port: spec.port,
            ready: ready(spec.ready.as_deref()).map_err(|problem| wrong("ready", problem))?,
            ready_within,
            env: spec.env.clone(),
            files: self.files(spec),
            limits: limits(spec).map_err(|problem| wrong("limits", problem))?,
            limits_used: self.limits_used(variant, name, spec)?,
            watch: spec.watch.clone().unwrap_or_default(),
            kill_at: kill_at.map_err(|error| wrong("kill_at", error.to_string()))?,
            stub: self.stub(variant, name, spec)?,
            stubbed: spec.stubbed == Some(true),
        })
    }

    /// Looked at also when it is not played; what is wrong with the tier itself was said before.
    fn stub(
        &self,
        variant: &str,
        name: &str,
        spec: &TierSpec,
    ) -> Result<Option<Box<Tier>>, LabError> {
        let nested = |stub: &TierSpec| stub.stub.is_some() || stub.stubbed.is_some();
        if spec.stub.as_deref().is_some_and(nested) {
            return Err(self.in_tier(variant, name, "stub", "a stub has none of its own"));
        }
        let Some(stub) = spec.in_stub() else {
            return Ok(None);
        };
        let tier = self
            .tier(variant, name, &stub)
            .map_err(|error| match error {
                LabError::Experiment { problem, .. } => {
                    self.in_tier(variant, name, "stub", problem)
                }
                other => other,
            })?;
        Ok(Some(Box::new(tier)))
    }

    fn program(&self, variant: &str, name: &str, spec: &TierSpec) -> Result<Program, LabError> {
        let wrong = |key: &str, problem: String| self.in_tier(variant, name, key, problem);
        match (&spec.command, &spec.embedded) {
            (Some(_), Some(_)) => Err(wrong(
                "embedded",
                "a tier has a command or an embedded service, not both".to_owned(),
            )),
            (None, None) => Err(wrong(
                "command",
                "a tier needs a `command`, or an `embedded` service".to_owned(),
            )),
            (None, Some(service)) => {
                if service == DOCDB {
                    if let Some(parameter) = spec.set.keys().next() {
                        let problem = format!(
                            "docdb has no parameter `{parameter}`; give its flags in `args`"
                        );
                        return Err(wrong("set", problem));
                    }
                } else {
                    self.parameters(variant, name, service, spec)?;
                }
                Ok(Program::Embedded {
                    name: service.clone(),
                    set: spec.set.clone(),
                })
            }
            (Some(command), None) => {
                if !spec.set.is_empty() {
                    let problem = "parameters belong to an embedded service; give a command its own in `args` or `env`";
                    return Err(wrong("set", problem.to_owned()));
                }
                let found = self.on_disk(command);
                let Some(path) = found else {
                    let problem = if command.contains('/') {
                        format!("`{command}` is no file below {}", self.folder.display())
                    } else {
                        format!(
                            "`{command}` is not on the PATH; install it, or write its path with a `/`"
                        )
                    };
                    return Err(wrong(
                        "command",
                        problem + &self.install(variant, name, spec)?,
                    ));
                };
                Ok(Program::Command(path))
            }
        }
    }

    /// The service and its parameters are in the catalogue.
    fn parameters(
        &self,
        variant: &str,
        name: &str,
        service: &str,
        spec: &TierSpec,
    ) -> Result<(), LabError> {
        let found = catalogue::service(service)
            .map_err(|error| self.in_tier(variant, name, "embedded", error))?;
        let mut values = Values::draw(found, 1, false);
        for (parameter, setting) in &spec.set {
            let value = setting
                .value(&spec.limits)
                .map_err(|problem| self.in_tier(variant, name, "set", problem))?;
            values
                .set(found, parameter, value)
                .map_err(|error| self.in_tier(variant, name, "set", error))?;
        }
        Ok(())
    }

    /// Whatever the tier needs besides its program is there.
    fn required(&self, variant: &str, name: &str, spec: &TierSpec) -> Result<(), LabError> {
        let missing = spec
            .requires
            .iter()
            .flatten()
            .find(|what| !self.is_there(what));
        let Some(what) = missing else { return Ok(()) };
        let problem = if what.contains('/') {
            format!("`{what}` is not in {}", self.folder.display())
        } else {
            format!("`{what}` is not on the PATH")
        };
        let install = self.install(variant, name, spec)?;
        Err(self.in_tier(variant, name, "requires", problem + &install))
    }

    fn is_there(&self, what: &str) -> bool {
        if what.contains('/') {
            self.folder.join(what).exists()
        } else {
            self.on_disk(what).is_some()
        }
    }

    /// `; it is installed with: make real`, if the tier says how.
    fn install(&self, variant: &str, name: &str, spec: &TierSpec) -> Result<String, LabError> {
        let Some(text) = &spec.install else {
            return Ok(String::new());
        };
        let filler = Filler::new(BTreeMap::new(), self.folder.to_owned());
        let command = filler
            .fill(text)
            .map_err(|problem| self.in_tier(variant, name, "install", problem))?;
        Ok(format!("; it is installed with: {command}"))
    }

    /// Limits that stand in a placeholder somewhere; that they are right was looked at with the needs.
    pub(super) fn limits_used(
        &self,
        variant: &str,
        name: &str,
        spec: &TierSpec,
    ) -> Result<BTreeSet<String>, LabError> {
        let mut texts: Vec<String> = spec
            .args
            .iter()
            .flatten()
            .chain(spec.env.values())
            .cloned()
            .collect();
        texts.extend(spec.set.values().filter_map(|setting| match setting {
            Setting::Text(text) => Some(text.clone()),
            Setting::Value(_) => None,
        }));
        for pattern in spec.files.values() {
            texts.push(self.pattern(variant, name, pattern)?);
        }
        let mut used = BTreeSet::new();
        for text in &texts {
            let found = limits_in(text)
                .map_err(|problem| self.in_tier(variant, name, "limits", problem))?;
            used.extend(found.into_iter().map(str::to_owned));
        }
        Ok(used)
    }

    fn on_disk(&self, command: &str) -> Option<PathBuf> {
        if command.contains('/') {
            let path = self.folder.join(command);
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

    fn files(&self, spec: &TierSpec) -> BTreeMap<String, PathBuf> {
        let files = spec.files.iter();
        files
            .map(|(name, pattern)| (name.clone(), self.folder.join(pattern)))
            .collect()
    }
}

fn ready(said: Option<&str>) -> Result<Ready, String> {
    let Some(text) = said else {
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
