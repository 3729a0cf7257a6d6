//! Confines a service and everything it starts to some cores of the machine.

use std::str::FromStr;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::LabError;

/// Cores by number, written as `taskset -c` does: `1`, `0,2`, `0-3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cores = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |digits: &str| {
                let parsed: Result<usize, _> = digits.trim().parse();
                parsed.ok().filter(|core| *core < CpuSet::MAX_CPU)
            };
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => cores.extend(first..=last),
                _ => return Err(format!("{part:?} is no core; write 1, 0,2 or 0-3")),
            }
        }
        cores.sort_unstable();
        cores.dedup();
        Ok(Self(cores))
    }
}

impl Cores {
    /// Confines the calling thread; threads and processes that it starts inherit it.
    pub(crate) fn confine(&self) -> Result<(), LabError> {
        let refused = |errno: rustix::io::Errno| LabError::Io {
            action: "set the CPU affinity".to_owned(),
            source: errno.into(),
        };
        let allowed = sched_getaffinity(None).map_err(refused)?;
        let mut wanted = CpuSet::new();
        for core in &self.0 {
            if !allowed.is_set(*core) {
                return Err(LabError::Core {
                    core: *core,
                    allowed: listed(&allowed),
                });
            }
            wanted.set(*core);
        }
        sched_setaffinity(None, &wanted).map_err(refused)
    }
}

fn listed(set: &CpuSet) -> String {
    let cores = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core));
    cores
        .map(|core| core.to_string())
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_written_as_taskset_does() {
        let cases: [(&str, Option<&[usize]>); 8] = [
            ("1", Some(&[1])),
            ("0,2", Some(&[0, 2])),
            ("2,0-1,1", Some(&[0, 1, 2])),
            ("", None),
            ("3-1", None),
            ("a", None),
            ("-1", None),
            ("99999", None),
        ];
        for (text, expected) in cases {
            let parsed = text.parse::<Cores>().ok();
            assert_eq!(parsed.map(|cores| cores.0).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_core_that_is_not_ours_is_named() {
        let error = Cores(vec![1023]).confine().unwrap_err().to_string();
        assert!(error.starts_with("core 1023 is not one of the "), "{error}");
    }
}
