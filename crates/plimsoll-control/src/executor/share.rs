//! Who plays what: which VUs, arrivals and shared iterations belong to which worker.

use plimsoll_core::Nanos;
use plimsoll_core::scenario::{Executor, Scenarios};

/// One worker among all workers of all instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    worker: u32,
    workers: u32,
}

impl Share {
    /// Worker `worker` of `workers` on one instance.
    pub fn new(worker: u32, workers: u32) -> Self {
        assert!(worker < workers, "worker {worker} of {workers}");
        Self { worker, workers }
    }

    /// Worker `worker` of `workers` on instance `part.0` of `part.1` with as many workers each.
    pub fn from_part(part: (u64, u64), worker: u32, workers: u32) -> Self {
        Self::new(part.0 as u32 * workers + worker, part.1 as u32 * workers)
    }

    /// The VUs of a range that are this worker's.
    pub(super) fn within(self, range: VuRange) -> Owned {
        Owned {
            range,
            first: self.first(range),
            step: self.workers,
        }
    }

    /// The first index of the range whose VU is this worker's: (first VU + index) mod workers.
    fn first(self, range: VuRange) -> u32 {
        let behind = range.first % self.workers;
        (self.worker + self.workers - behind) % self.workers
    }

    /// How indices of the whole scenario are dealt out. Arrivals follow the pre-allocated VUs; if
    /// there are fewer than workers, so many more are made that every worker has one.
    pub(super) fn cycle(self, executor: &Executor, range: VuRange) -> Cycle {
        let length = match executor.arriving() {
            Some(arriving) => {
                let least = self.workers.min(arriving.max_vus);
                arriving.pre_allocated_vus.max(least)
            }
            None => executor.vus_max(),
        };
        Cycle {
            length,
            first: self.first(range),
            step: self.workers,
        }
    }
}

/// The VUs of a scenario, numbered from 0 over the whole test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VuRange {
    pub first: u32,
    pub count: u32,
}

/// Gives every scenario its VUs, in the order of the scenarios. Scenarios that cannot be at work at
/// the same time share them. The second value is how many VUs there are in all.
pub fn vu_ranges(scenarios: &Scenarios) -> (Vec<VuRange>, u32) {
    let mut given: Vec<(VuRange, Nanos, Nanos)> = Vec::new();
    for scenario in scenarios.iter() {
        let (from, to) = (scenario.start_ns, scenario.last_end_ns());
        let count = scenario.executor.vus_max();
        let mut first = 0;
        // Each round moves past one conflict, so there are at most as many as ranges given.
        while let Some((taken, ..)) = given.iter().find(|(taken, start, end)| {
            let at_once = from < *end && *start < to;
            at_once && first < taken.first + taken.count && taken.first < first + count
        }) {
            first = taken.first + taken.count;
        }
        given.push((VuRange { first, count }, from, to));
    }
    let all = given
        .iter()
        .map(|(range, ..)| range.first + range.count)
        .max();
    let ranges = given.into_iter().map(|(range, ..)| range).collect();
    (ranges, all.unwrap_or(0))
}

/// Every `step`-th VU of a range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owned {
    range: VuRange,
    first: u32,
    step: u32,
}

impl Owned {
    pub(super) fn len(self) -> u32 {
        self.below(self.range.count)
    }

    /// How many of them have an index below `index` within the range.
    pub(super) fn below(self, index: u32) -> u32 {
        let index = index.min(self.range.count);
        index.saturating_sub(self.first).div_ceil(self.step)
    }

    /// The place among the owned ones of the VU with that index in the range.
    pub(super) fn place(self, index: u32) -> Option<usize> {
        let ahead = index.checked_sub(self.first)?;
        let is_mine = ahead.is_multiple_of(self.step) && index < self.range.count;
        is_mine.then_some((ahead / self.step) as usize)
    }

    /// The VU as scripts number it, from 1.
    pub(super) fn vu(self, place: usize) -> u32 {
        self.range.first + self.first + place as u32 * self.step + 1
    }

    pub(super) fn place_of_vu(self, vu: u32) -> Option<usize> {
        self.place(vu.checked_sub(self.range.first + 1)?)
    }
}

/// Indices 0, 1, 2, … of a scenario in rounds of `length`, of which this worker has every `step`-th.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycle {
    length: u32,
    first: u32,
    step: u32,
}

impl Cycle {
    pub(super) const fn length(self) -> u32 {
        self.length
    }

    fn per_round(self) -> u64 {
        u64::from(self.length.saturating_sub(self.first).div_ceil(self.step))
    }

    pub(super) fn is_empty(self) -> bool {
        self.per_round() == 0
    }

    /// The index of this worker's `nth`; its own number if it has none.
    pub(super) fn index(self, nth: u64) -> u64 {
        let per_round = self.per_round().max(1);
        let (round, place) = (nth / per_round, nth % per_round);
        round * u64::from(self.length) + u64::from(self.first) + place * u64::from(self.step)
    }

    /// How many indices below `bound` are this worker's.
    pub(super) fn count_below(self, bound: u64) -> u64 {
        let length = u64::from(self.length);
        let (rounds, rest) = (bound / length, bound % length);
        let rest = rest.saturating_sub(u64::from(self.first));
        rounds * self.per_round() + rest.div_ceil(u64::from(self.step))
    }

    /// Whether an index is this worker's.
    pub(super) fn has(self, index: u64) -> bool {
        let place = index % u64::from(self.length);
        let first = u64::from(self.first);
        place >= first && (place - first).is_multiple_of(u64::from(self.step))
    }
}
