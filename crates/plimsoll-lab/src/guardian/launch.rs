//! The launcher: the first thing a tier's process does. It confines itself, then becomes the tier's program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::LabError;

/// What stands in front of `--`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Confined {
    guardian: u32,
    /// Files that take the process into a control group.
    joins: Vec<PathBuf>,
    cores: Vec<usize>,
}

/// `GUARDIAN [--join FILE]… [--cores 0,1] -- PROGRAM ARGUMENT…`; returns only on failure.
pub(super) fn run(words: &[OsString]) -> Result<(), LabError> {
    let split = words.iter().position(|word| word == "--");
    let (before, after) = words.split_at(split.unwrap_or(words.len()));
    let confined = parse(before).ok_or(LabError::Launch)?;
    let [_, program, arguments @ ..] = after else {
        return Err(LabError::Launch);
    };
    // Should the guardian itself be killed, its tiers end with it. The order outlives `exec`.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| LabError::io("ask for a signal at the guardian's end")(errno.into()))?;
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    if parent != Some(confined.guardian) {
        return Ok(());
    }
    let me = std::process::id().to_string();
    for join in &confined.joins {
        std::fs::write(join, &me).map_err(LabError::io(format!("join {}", join.display())))?;
    }
    if !confined.cores.is_empty() {
        let mut set = CpuSet::new();
        confined.cores.iter().for_each(|core| set.set(*core));
        sched_setaffinity(None, &set)
            .map_err(|errno| LabError::io("set the CPU affinity")(errno.into()))?;
    }
    let refused = Command::new(program).args(arguments).exec();
    Err(LabError::io(format!("run {}", program.to_string_lossy()))(
        refused,
    ))
}

fn parse(words: &[OsString]) -> Option<Confined> {
    let (guardian, mut rest) = words.split_first()?;
    let mut confined = Confined {
        guardian: guardian.to_str()?.parse().ok()?,
        ..Confined::default()
    };
    while let Some((flag, more)) = rest.split_first() {
        let (value, more) = more.split_first()?;
        match flag.to_str()? {
            "--join" => confined.joins.push(PathBuf::from(value)),
            "--cores" => {
                let cores = value.to_str()?.split(',');
                confined.cores = cores
                    .map(|core| core.parse().ok().filter(|core| *core < CpuSet::MAX_CPU))
                    .collect::<Option<_>>()?;
            }
            _ => return None,
        }
        rest = more;
    }
    Some(confined)
}

/// `0,1`
pub(super) fn listed(cores: &[usize]) -> String {
    let cores: Vec<String> = cores.iter().map(ToString::to_string).collect();
    cores.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn what_is_listed_is_understood() {
        let text = format!("7 --join /g/procs --cores {}", listed(&[0, 3]));
        let expected = Confined {
            guardian: 7,
            joins: vec!["/g/procs".into()],
            cores: vec![0, 3],
        };
        assert_eq!(parse(&words(&text)), Some(expected));
        for wrong in [
            "",
            "x",
            "7 --cores",
            "7 --cores a",
            "7 --cores 999999",
            "7 --else 1",
        ] {
            assert_eq!(parse(&words(wrong)), None, "{wrong}");
        }
    }
}
