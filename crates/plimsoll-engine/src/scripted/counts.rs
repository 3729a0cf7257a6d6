//! What a script counts besides windows: metrics, and requests by name, of a whole run and level by level.

use plimsoll_core::metrics::{BuiltIn, Names, Sample, Store};
use plimsoll_core::{Nanos, Tally};

use crate::message::{Counted, NamedRequests, ScriptCounted, VuCounts};

/// Windows at the start of a level that are kept apart: a search does not judge the first ones, and says how many those are
/// when the level has ended.
const EARLY_MAX: usize = 16;
/// Earlier levels that still take in late ends: an iteration that began in one may end in the next.
const PAST_MAX: usize = 4;

/// What a script counted in one level of a search.
#[derive(Debug)]
pub struct LevelCounts {
    pub level: u32,
    /// Window by window, then all others together.
    early: Vec<(Store, Names)>,
    rest: (Store, Names),
    /// Windows of each worker so far.
    windows: Vec<usize>,
    interrupted: u64,
}

impl LevelCounts {
    fn new(level: u32, empty: &Store, workers: usize) -> Self {
        Self {
            level,
            early: Vec::new(),
            rest: (empty.clone(), Names::default()),
            windows: vec![0; workers],
            interrupted: 0,
        }
    }

    /// Without the windows that are not judged; with them where there are no others.
    pub fn judged(&self, discarded: usize) -> (Store, Names) {
        let windows = self.windows.iter().max().copied().unwrap_or(0);
        let skip = if windows > discarded { discarded } else { 0 };
        let (mut store, mut names) = self.rest.clone();
        for (other, others) in self.early.iter().skip(skip) {
            store.merge(other);
            names.merge(others);
        }
        (store, names)
    }

    /// Iterations that were cut off in it.
    pub fn interrupted(&self) -> u64 {
        self.interrupted
    }

    /// Where what was counted in the n-th window belongs.
    fn part(&mut self, window: usize, empty: &Store) -> &mut (Store, Names) {
        if window >= EARLY_MAX {
            return &mut self.rest;
        }
        while self.early.len() <= window {
            self.early.push((empty.clone(), Names::default()));
        }
        &mut self.early[window]
    }
}

/// Names by worker, and a tally that is used again and again.
#[derive(Debug)]
pub(super) struct Tallier {
    known: Vec<Vec<Box<str>>>,
    scratch: Tally,
    bounds: Vec<Nanos>,
}

impl Tallier {
    pub(super) fn new(workers: usize, bounds: Vec<Nanos>) -> Self {
        Self {
            known: vec![Vec::new(); workers],
            scratch: Tally::default(),
            bounds,
        }
    }

    /// Adds up what one worker's requests came to: each name of each level once.
    pub(super) fn each(
        &mut self,
        worker: usize,
        requests: &mut NamedRequests,
        mut add: impl FnMut(u32, &str, &Tally),
    ) {
        self.known[worker].append(&mut requests.fresh);
        let of = |ended: &crate::message::NamedEnding| (ended.ending.level, ended.name);
        requests.ended.sort_unstable_by_key(of);
        for alike in requests.ended.chunk_by(|a, b| of(a) == of(b)) {
            self.scratch.clear();
            for ended in alike {
                let ending = &ended.ending;
                self.scratch.record(
                    ending.outcome,
                    ending.response,
                    ending.service,
                    ending.bytes,
                    &self.bounds,
                );
            }
            if let Some((level, number)) = alike.first().map(of)
                && let Some(name) = self.known[worker].get(number as usize)
            {
                add(level, name, &self.scratch);
            }
        }
        requests.ended.clear();
    }
}

/// The levels of a search that still count.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// The one that is played is the last.
    open: Vec<LevelCounts>,
}

impl Levels {
    /// From now on this level is played. The one that late ends can no longer reach is handed back.
    pub(super) fn begin(
        &mut self,
        level: u32,
        empty: &Store,
        workers: usize,
    ) -> Option<LevelCounts> {
        self.open.push(LevelCounts::new(level, empty, workers));
        (self.open.len() > PAST_MAX + 1).then(|| self.open.remove(0))
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self) -> Vec<LevelCounts> {
        std::mem::take(&mut self.open)
    }

    /// Takes in one worker's window. What is no longer under way belongs to where it was due, or began.
    pub(super) fn add(
        &mut self,
        (worker, counted): (usize, &mut Counted),
        empty: &Store,
        tallier: &mut Tallier,
    ) {
        let Some(script) = &mut counted.script else {
            return;
        };
        let playing = self.open.last().map(|counts| counts.level);
        let level = counted.recorder.level;
        let Some(of) = self.open.iter_mut().find(|counts| counts.level == level) else {
            return tallier.each(worker, &mut script.requests, |_, _, _| {});
        };
        // A window that came too late for its level is carried: it is judged whatever its place.
        let mut window = EARLY_MAX;
        if playing == Some(level) {
            window = of.windows[worker];
            of.windows[worker] += 1;
        }
        of.part(window, empty).0.merge(&script.metrics.store);
        let open = &mut self.open;
        tallier.each(worker, &mut script.requests, |due, name, tally| {
            let window = if due == level { window } else { EARLY_MAX };
            if let Some(of) = open.iter_mut().find(|counts| counts.level == due) {
                of.part(window, empty).1.add(name, tally);
            }
        });
    }

    /// Counts the virtual users of the level that is played.
    pub(super) fn count_vus(&mut self, now: Nanos, vus: &VuCounts, tags: &RunTags) {
        if let Some(level) = self.open.last_mut() {
            count_vus(&mut level.rest.0, tags, now, vus);
        }
    }

    pub(super) fn count_interrupted(&mut self, count: u64) {
        if let Some(level) = self.open.last_mut() {
            level.interrupted += count;
        }
    }
}

/// Tags that every sample of the run carries.
type RunTags = [(Box<str>, Box<str>)];

/// The gauges of virtual users, as they were counted.
pub(super) fn count_vus(
    store: &mut Store,
    tags: &RunTags,
    at: Nanos,
    vus: &VuCounts,
) -> [Sample; 2] {
    let pairs: Vec<(&str, &str)> = tags
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    let tags = store.tag_set(&pairs);
    [(BuiltIn::Vus, vus.active), (BuiltIn::VusMax, vus.existing)].map(|(metric, count)| {
        let (metric, value) = (metric.into(), f64::from(count));
        store.record(metric, tags, at, value);
        Sample {
            metric,
            tags,
            at,
            value,
        }
    })
}

/// Requests by name of a run of one level.
pub(super) fn add_names(
    names: &mut Names,
    (worker, script): (usize, &mut ScriptCounted),
    tallier: &mut Tallier,
) {
    tallier.each(worker, &mut script.requests, |_, name, tally| {
        names.add(name, tally);
    });
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Outcome;

    use super::*;
    use crate::message::NamedEnding;
    use crate::recorder::{Ending, Recorder};

    /// A window of `level` in which one request ended that fell due in `due`, and one iteration.
    fn window(level: u32, due: u32, is_first: bool) -> Counted {
        let mut script = ScriptCounted::new(&Store::default());
        let tags = script.metrics.store.tag_set(&[]);
        let iterations = BuiltIn::Iterations.into();
        script.metrics.store.record(iterations, tags, Nanos(1), 1.0);
        if is_first {
            script.requests.fresh.push("pay".into());
        }
        let ending = Ending {
            intended: Nanos::ZERO,
            level: due,
            outcome: Outcome::Ok,
            status: 0,
            response: Nanos(5),
            service: None,
            bytes: 0,
            operation: 0,
        };
        script.requests.ended.push(NamedEnding { name: 0, ending });
        let mut recorder = Recorder::default();
        recorder.begin(level, Nanos::ZERO, 0);
        Counted {
            recorder: Box::new(recorder),
            script: Some(Box::new(script)),
        }
    }

    /// Attempts of the level by name, and its iterations, without so many windows.
    fn judged(counts: &LevelCounts, discarded: usize) -> (u64, f64) {
        let (store, names) = counts.judged(discarded);
        let scope = plimsoll_core::record::Scope::default();
        let line = plimsoll_core::record::ScriptCounts::new(scope, &store, &names, &[]);
        let attempts = line.names.iter().map(|row| row.tally.attempts()).sum();
        (attempts, line.iterations.completed_count as f64)
    }

    #[test]
    fn a_level_speaks_with_its_judged_windows_and_with_what_ended_late() {
        let (mut levels, empty) = (Levels::default(), Store::default());
        let mut tallier = Tallier::new(1, Vec::new());
        let mut add = |levels: &mut Levels, mut window: Counted| {
            levels.add((0, &mut window), &empty, &mut tallier);
        };
        levels.begin(7, &empty, 1);
        for first in [true, false, false] {
            add(&mut levels, window(7, 7, first));
        }
        levels.begin(8, &empty, 1);
        // One window came too late for its level; in the next a request of the earlier level ended.
        add(&mut levels, window(7, 7, false));
        add(&mut levels, window(8, 7, false));
        add(&mut levels, window(8, 8, false));
        let ended = levels.end();
        assert_eq!(
            judged(&ended[0], 1),
            (4, 3.0),
            "two of three, and two late ends"
        );
        assert_eq!(judged(&ended[0], 9), (5, 4.0), "cut short: what there is");
        assert_eq!(
            judged(&ended[1], 1),
            (1, 1.0),
            "the request of its first window is not its own"
        );
    }

    #[test]
    fn the_gauges_of_virtual_users_carry_the_tags_of_the_run() {
        let mut store = Store::default();
        let of_run = store.submetric("vus{testid:42}").unwrap();
        let (at, vus) = (
            Nanos(1),
            VuCounts {
                active: 3,
                ..VuCounts::default()
            },
        );
        count_vus(&mut store, &[("testid".into(), "42".into())], at, &vus);
        assert!(!store.submetrics()[of_run].sink.is_empty());
    }

    #[test]
    fn a_level_that_late_ends_cannot_reach_is_handed_back() {
        let (mut levels, empty) = (Levels::default(), Store::default());
        let begun = (0..9).filter_map(|level| levels.begin(level, &empty, 1));
        let handed: Vec<u32> = begun.map(|counts| counts.level).collect();
        assert_eq!(handed, [0, 1, 2, 3]);
        assert_eq!(levels.end().len(), PAST_MAX + 1);
    }
}
