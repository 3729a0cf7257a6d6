//! Who else takes the processors of this host: the busiest processes that are neither watched nor ours.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_core::record::NeighbourSample;

use crate::parse::{Stat, stat};
use crate::procfs::ProcFs;

/// Those that are kept, and the least that is worth it, in cores.
const KEPT: usize = 3;
const LEAST: f64 = 0.05;
/// Reading a process takes some 10 µs: as many are read a second, on larger hosts each sample looks back further.
const PROCESSES_PER_SAMPLE: usize = 500;
/// Clock ticks per second of `/proc/PID/stat`: the kernel's `USER_HZ`, which is 100 on every architecture that Rust runs on.
const TICKS_PER_S: f64 = 100.0;

/// Processor time of every process when it was last looked at.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    earlier: BTreeMap<u32, Stat>,
    seconds: f64,
    samples_to_skip: usize,
    /// What the last look found: calls that do not look say the same, for an empty list means that nobody was busy.
    found: Vec<NeighbourSample>,
}

impl Neighbours {
    /// Who was busiest between the last two looks, `seconds` after the last call.
    pub(crate) fn sample(
        &mut self,
        proc: &ProcFs,
        seconds: f64,
        known: &BTreeSet<u32>,
    ) -> Vec<NeighbourSample> {
        self.seconds += seconds;
        if self.samples_to_skip > 0 {
            self.samples_to_skip -= 1;
            self.found.retain(|found| !known.contains(&found.pid));
            return self.found.clone();
        }
        let now: BTreeMap<u32, Stat> = proc
            .numbers("")
            .unwrap_or_default()
            .into_iter()
            .filter_map(|pid| Some((pid, stat(&proc.process_file(pid, "stat").ok()?)?)))
            .collect();
        self.samples_to_skip = now.len() / PROCESSES_PER_SAMPLE;
        let earlier = std::mem::replace(&mut self.earlier, now);
        let seconds = std::mem::take(&mut self.seconds);
        self.found = busiest(&earlier, &self.earlier, seconds, known);
        self.found.clone()
    }
}

fn busiest(
    earlier: &BTreeMap<u32, Stat>,
    now: &BTreeMap<u32, Stat>,
    seconds: f64,
    known: &BTreeSet<u32>,
) -> Vec<NeighbourSample> {
    if seconds <= 0.0 || earlier.is_empty() {
        return Vec::new();
    }
    let ran = |pid: &u32, stat: &Stat| {
        let before = earlier
            .get(pid)
            .filter(|e| e.start_ticks == stat.start_ticks);
        // One that began meanwhile ran for all that it has.
        let ticks = before.map_or(0, |before| before.run_ticks);
        stat.run_ticks.saturating_sub(ticks) as f64 / TICKS_PER_S / seconds
    };
    let others = now.iter().filter(|(pid, _)| !known.contains(pid));
    let mut busiest: Vec<NeighbourSample> = others
        .map(|(pid, stat)| NeighbourSample {
            pid: *pid,
            name: stat.name.clone(),
            cores: ran(pid, stat),
        })
        .filter(|neighbour| neighbour.cores >= LEAST)
        .collect();
    busiest.sort_by(|a, b| b.cores.total_cmp(&a.cores));
    busiest.truncate(KEPT);
    busiest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Tree, stat};

    /// On a large host only every second call looks; what it finds is the mean over both.
    #[test]
    fn a_call_that_does_not_look_says_what_the_last_look_found() {
        let tree = Tree::new("neighbours", &[]);
        for pid in 5_000_001..5_000_600 {
            tree.put(&format!("{pid}/stat"), &stat(pid, 1, 0));
        }
        let mut neighbours = Neighbours::default();
        let mut seen = Vec::new();
        for call in 0..7 {
            tree.put("7/stat", &stat(7, 1, 98 * call));
            let found = neighbours.sample(&tree.proc(), 1.0, &BTreeSet::new());
            seen.push(found.iter().map(|n| (n.pid, n.cores)).collect::<Vec<_>>());
        }
        let first = seen.iter().position(|found| !found.is_empty()).unwrap();
        assert_eq!(first, 2, "two looks, and a call between them");
        for found in &seen[first..] {
            assert_eq!(found, &[(7, 0.98)], "{seen:?}");
        }
    }

    fn ticks(name: &str, run_ticks: u64, start_ticks: u64) -> Stat {
        Stat {
            name: name.to_owned(),
            state: 'R',
            parent: 1,
            major_faults: 0,
            run_ticks,
            start_ticks,
            resident_pages: 0,
        }
    }

    #[test]
    fn the_busiest_that_nobody_watches_are_named() {
        let earlier = BTreeMap::from([
            (5, ticks("loop", 1_000, 1)),
            (6, ticks("app", 1_000, 1)),
            (7, ticks("idle", 1_000, 1)),
            (8, ticks("gone", 1_000, 1)),
        ]);
        let now = BTreeMap::from([
            (5, ticks("loop", 1_190, 1)),
            (6, ticks("app", 1_100, 1)),
            (7, ticks("idle", 1_001, 1)),
            // Another process with the number of one that is gone, and a new one.
            (8, ticks("again", 40, 90)),
            (9, ticks("new", 60, 95)),
        ]);
        let found = busiest(&earlier, &now, 2.0, &BTreeSet::from([6]));
        let shown: Vec<_> = found
            .iter()
            .map(|n| (n.pid, n.name.as_str(), n.cores))
            .collect();
        assert_eq!(
            shown,
            [(5, "loop", 0.95), (9, "new", 0.3), (8, "again", 0.2)]
        );
        assert!(busiest(&BTreeMap::new(), &now, 2.0, &BTreeSet::new()).is_empty());
    }
}
