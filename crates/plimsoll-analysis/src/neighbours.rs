//! Who took processor time of the host while something was measured, in words.

use std::collections::BTreeMap;

use plimsoll_core::Nanos;
use plimsoll_core::record::{HostSample, Record, Seen};
use plimsoll_core::units::three_digits;

/// Cores from which on a neighbour explains what was late.
pub(crate) const WORTH_A_WORD: f64 = 0.2;

/// The busiest neighbour between two moments of a record; `None` where none was busy, or nobody looked.
pub(crate) fn between(record: &Record, from: Nanos, to: Nanos) -> Option<String> {
    let there = record
        .observations
        .iter()
        .filter(|seen| seen.at_ns > from && seen.at_ns.saturating_sub(seen.length_ns) < to);
    busiest(there.filter_map(|observation| match &observation.seen {
        Seen::Host(host) => Some(host),
        _ => None,
    }))
}

/// `python3 (pid 77) ran on 0.98 of 2 cores`, in the mean over the samples.
pub(crate) fn busiest<'a>(hosts: impl Iterator<Item = &'a HostSample>) -> Option<String> {
    let mut samples = 0.0;
    let mut cores = 0;
    let mut ran: BTreeMap<(u32, &str), f64> = BTreeMap::new();
    for host in hosts {
        samples += 1.0;
        cores = cores.max(host.cores);
        for neighbour in &host.neighbours {
            let key = (neighbour.pid, neighbour.name.as_str());
            *ran.entry(key).or_default() += neighbour.cores;
        }
    }
    let ((pid, name), most) = ran.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let mean = most / samples;
    (mean >= WORTH_A_WORD).then(|| {
        format!(
            "{name} (pid {pid}) ran on {} of {cores} cores",
            three_digits(mean)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::busiest;
    use plimsoll_core::record::{HostSample, NeighbourSample};

    fn host(neighbours: &[(u32, f64)]) -> HostSample {
        let neighbours = neighbours.iter().map(|(pid, cores)| NeighbourSample {
            pid: *pid,
            name: "loop".to_owned(),
            cores: *cores,
        });
        HostSample {
            cores: 2,
            neighbours: neighbours.collect(),
            ..HostSample::default()
        }
    }

    #[test]
    fn the_busiest_over_all_samples_is_named_and_little_is_not() {
        let hosts = [host(&[(7, 0.9), (8, 0.5)]), host(&[(8, 0.7)]), host(&[])];
        let said = busiest(hosts.iter()).unwrap();
        assert_eq!(said, "loop (pid 8) ran on 0.40 of 2 cores");
        assert_eq!(busiest([host(&[(7, 0.3)]), host(&[])].iter()), None);
        assert_eq!(busiest(std::iter::empty()), None);
    }
}
