//! Attempts counted by outcome class, with both clocks and exact counts at every objective bound.

use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, rank_of};
use crate::outcome::Outcome;
use crate::status::StatusCounts;
use crate::units::Nanos;

/// One outcome class: how many, how many bytes, and how long on both clocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassTally {
    pub count: u64,
    /// Bytes received in answers of this class, heads included.
    pub bytes: u64,
    /// From the intended start to the last byte.
    pub response: Histogram,
    /// From the first write to the last byte; empty for attempts that were never written.
    pub service: Histogram,
    /// How often each status code was answered; empty where nobody counted, or nobody answered.
    #[serde(default, skip_serializing_if = "StatusCounts::is_empty")]
    pub status: StatusCounts,
}

/// Work that is done, and work that was taken in (202).
const SERVED: [Outcome; 2] = [Outcome::Ok, Outcome::Accepted];

/// A quantile over attempts: failures are infinitely late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantile {
    At(Nanos),
    /// More attempts failed than the quantile leaves room for.
    Never,
}

impl Quantile {
    pub fn finite(self) -> Option<Nanos> {
        match self {
            Self::At(value) => Some(value),
            Self::Never => None,
        }
    }
}

/// What became of a set of attempts. Merging is addition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    classes: [ClassTally; Outcome::COUNT],
    /// Ok answers whose response time was within the plan's n-th bound, exactly counted.
    within: Vec<u64>,
}

impl Tally {
    /// Counts one finished attempt. `service` is `None` when nothing was ever written.
    #[inline]
    pub fn record(
        &mut self,
        outcome: Outcome,
        response: Nanos,
        service: Option<Nanos>,
        bytes: u64,
        bounds: &[Nanos],
    ) {
        let class = &mut self.classes[outcome.index()];
        class.count += 1;
        class.bytes += bytes;
        class.response.record(response);
        if let Some(service) = service {
            class.service.record(service);
        }
        if outcome == Outcome::Ok && !bounds.is_empty() {
            if self.within.len() < bounds.len() {
                self.within.resize(bounds.len(), 0);
            }
            for (within, &bound) in self.within.iter_mut().zip(bounds) {
                *within += u64::from(response <= bound);
            }
        }
    }

    /// Counts the status code of an attempt that was recorded.
    #[inline]
    pub fn note_status(&mut self, outcome: Outcome, status: u16) {
        self.classes[outcome.index()].status.add(status, 1);
    }

    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            mine.count += theirs.count;
            mine.bytes += theirs.bytes;
            mine.response.merge(&theirs.response);
            mine.service.merge(&theirs.service);
            mine.status.merge(&theirs.status);
        }
        if self.within.len() < other.within.len() {
            self.within.resize(other.within.len(), 0);
        }
        for (mine, theirs) in self.within.iter_mut().zip(&other.within) {
            *mine += theirs;
        }
    }

    /// Gives the memory of empty counters back and returns the bytes that the others take; for tallies
    /// that are kept and no longer counted into.
    pub(crate) fn pack(&mut self) -> usize {
        let classes = self.classes.iter_mut();
        classes
            .map(|class| class.response.pack() + class.service.pack())
            .sum()
    }

    /// Forgets the counts and keeps the memory.
    pub fn clear(&mut self) {
        for class in &mut self.classes {
            if class.count > 0 {
                class.count = 0;
                class.bytes = 0;
                class.response.clear();
                class.service.clear();
                class.status.clear();
            }
        }
        self.within.fill(0);
    }

    pub fn class(&self, outcome: Outcome) -> &ClassTally {
        &self.classes[outcome.index()]
    }

    /// Classes that occurred, in the order of [`Outcome::ALL`].
    pub fn occurred(&self) -> impl Iterator<Item = (Outcome, &ClassTally)> {
        Outcome::ALL
            .into_iter()
            .zip(&self.classes)
            .filter(|(_, class)| class.count > 0)
    }

    pub fn attempts(&self) -> u64 {
        self.classes.iter().map(|class| class.count).sum()
    }

    /// Attempts that came to an end of their own: of one that we cut off nobody knows whether it would have
    /// been good, so shares and quantiles leave it out.
    pub fn decided(&self) -> u64 {
        self.attempts() - self.class(Outcome::Interrupted).count
    }

    pub fn ok(&self) -> u64 {
        self.class(Outcome::Ok).count
    }

    /// Done or taken in: what a service has done of what it was asked for.
    pub fn served(&self) -> u64 {
        SERVED.map(|outcome| self.class(outcome).count).iter().sum()
    }

    pub fn failures(&self) -> u64 {
        self.occurred()
            .filter(|(outcome, _)| outcome.is_failure())
            .map(|(_, c)| c.count)
            .sum()
    }

    /// Failures as a share of the attempts that came to an end; `None` without any.
    pub fn failed_ratio(&self) -> Option<f64> {
        let decided = self.decided();
        (decided > 0).then(|| self.failures() as f64 / decided as f64)
    }

    /// Completions: everything that got an answer, good or bad.
    pub fn answers(&self) -> u64 {
        self.occurred()
            .filter(|(outcome, _)| outcome.has_answer())
            .map(|(_, c)| c.count)
            .sum()
    }

    /// How often each status code was answered, over all classes.
    pub fn status(&self) -> StatusCounts {
        let mut all = StatusCounts::default();
        for class in &self.classes {
            all.merge(&class.status);
        }
        all
    }

    pub fn bytes(&self) -> u64 {
        self.classes.iter().map(|class| class.bytes).sum()
    }

    /// Ok answers within the `index`-th bound of the objectives, exactly; `None` where nobody counted them.
    pub fn within(&self, index: usize) -> Option<u64> {
        self.within.get(index).copied()
    }

    /// Goodput: ok answers within every bound; all ok without bounds. An answer of 202 is not among them: the work was
    /// taken in and is not done ([`crate::judge::in_time`] counts those too).
    pub fn good(&self) -> u64 {
        if self.within.is_empty() {
            return self.ok();
        }
        self.within.iter().copied().min().unwrap_or(0)
    }

    /// The response-time quantile over all decided attempts; `None` without any.
    pub fn response_quantile(&self, q: f64) -> Option<Quantile> {
        let times = SERVED.map(|outcome| &self.class(outcome).response);
        quantile_over(self.decided(), times, q)
    }

    /// The service-time quantile over all decided attempts; `None` without any.
    pub fn service_quantile(&self, q: f64) -> Option<Quantile> {
        let times = SERVED.map(|outcome| &self.class(outcome).service);
        quantile_over(self.decided(), times, q)
    }

    /// What waiting inside the client adds to the p99 of the service, as a share of it, where that is noticeable.
    pub fn client_wait(&self) -> Option<f64> {
        /// As much lag as is tolerated of a generator (DESIGN section 5).
        const NOTICEABLE: f64 = 0.05;
        let response = self.response_quantile(0.99).and_then(Quantile::finite)?;
        let service = self.service_quantile(0.99).and_then(Quantile::finite)?;
        let wait = response.as_secs_f64() / service.as_secs_f64() - 1.0;
        (wait.is_finite() && wait >= NOTICEABLE).then_some(wait)
    }

    /// Response times of the ok answers alone; never the basis of a verdict.
    pub fn answers_only(&self) -> &Histogram {
        &self.class(Outcome::Ok).response
    }

    /// Response times of what was served; never the basis of a verdict, as what failed is not among them.
    pub fn served_response(&self) -> Histogram {
        self.served_times(|class| &class.response)
    }

    /// Service times of what was served.
    pub fn served_service(&self) -> Histogram {
        self.served_times(|class| &class.service)
    }

    fn served_times(&self, times: fn(&ClassTally) -> &Histogram) -> Histogram {
        let mut all = Histogram::new();
        for outcome in SERVED {
            all.merge(times(self.class(outcome)));
        }
        all
    }

    /// Time that all attempts together spent between intended start and end: X·R of Little's law, times the seconds.
    pub fn residence_ns(&self) -> u128 {
        self.classes
            .iter()
            .map(|class| class.response.sum_ns())
            .sum()
    }
}

fn quantile_over(attempts: u64, succeeded: [&Histogram; 2], q: f64) -> Option<Quantile> {
    if attempts == 0 {
        return None;
    }
    let rank = rank_of(q, attempts);
    let [ok, accepted] = succeeded;
    let value = if accepted.is_empty() {
        ok.at_rank(rank)
    } else {
        let mut both = ok.clone();
        both.merge(accepted);
        both.at_rank(rank)
    };
    Some(value.map_or(Quantile::Never, Quantile::At))
}

/// In JSON: `{"within": […], "classes": {"ok": {…}}}` with the classes that occurred.
mod wire {
    use std::collections::BTreeMap;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{ClassTally, Outcome, Tally};

    /// A petabyte in one window: no network carries it, and sums of it fit in 64 bits.
    const WINDOW_BYTES_MAX: u64 = 1 << 50;

    #[derive(Serialize)]
    struct Out<'a> {
        #[serde(skip_serializing_if = "<[u64]>::is_empty")]
        within: &'a [u64],
        classes: BTreeMap<Outcome, &'a ClassTally>,
    }

    #[derive(Deserialize)]
    struct In {
        #[serde(default)]
        within: Vec<u64>,
        classes: BTreeMap<Outcome, ClassTally>,
    }

    impl In {
        /// What cannot be true of attempts that were counted one by one.
        fn contradiction(&self) -> Option<&'static str> {
            let ok = self
                .classes
                .get(&Outcome::Ok)
                .map_or(0, |class| class.count);
            if self.within.iter().any(|&within| within > ok) {
                return Some("more attempts within a bound than ok attempts");
            }
            self.classes.values().find_map(|class| {
                if class.response.count() != class.count {
                    Some("count and response histogram of a class differ")
                } else if class.service.count() > class.count {
                    Some("more service times than attempts in a class")
                } else if class.status.total() > class.count {
                    Some("more status codes than attempts in a class")
                } else if class.bytes > WINDOW_BYTES_MAX {
                    Some("more bytes in a window than any network carries")
                } else {
                    None
                }
            })
        }
    }

    impl Serialize for Tally {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let classes = self.occurred().collect();
            Out {
                within: &self.within,
                classes,
            }
            .serialize(serializer)
        }
    }

    impl<'de> Deserialize<'de> for Tally {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let read = In::deserialize(deserializer)?;
            if let Some(contradiction) = read.contradiction() {
                return Err(D::Error::custom(contradiction));
            }
            let mut tally = Self {
                within: read.within,
                ..Self::default()
            };
            for (outcome, class) in read.classes {
                tally.classes[outcome.index()] = class;
            }
            Ok(tally)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tally {
        let mut tally = Tally::default();
        let bounds = [Nanos::from_millis(250)];
        for ms in 1..=98 {
            let time = Nanos::from_millis(ms * 3);
            tally.record(Outcome::Ok, time, Some(time), 100, &bounds);
            tally.note_status(Outcome::Ok, if ms == 1 { 204 } else { 200 });
        }
        tally.record(
            Outcome::Eof,
            Nanos::from_millis(1),
            Some(Nanos(1)),
            0,
            &bounds,
        );
        tally.record(Outcome::Dropped, Nanos::from_millis(9), None, 0, &bounds);
        tally
    }

    #[test]
    fn a_tally_that_contradicts_itself_is_refused() {
        let good = serde_json::to_string(&sample()).unwrap();
        assert_eq!(serde_json::from_str::<Tally>(&good).unwrap(), sample());
        for (from, to, reason) in [
            ("\"within\":[83]", "\"within\":[99]", "within a bound"),
            (
                "{\"count\":98,\"bytes\"",
                "{\"count\":97,\"bytes\"",
                "differ",
            ),
            ("\"200\":97", "\"200\":99", "status codes"),
            ("\"200\":97", "\"200\":18446744073709551615", "status codes"),
            ("\"bytes\":9800", "\"bytes\":18446744073709551615", "bytes"),
        ] {
            assert!(good.contains(from), "{from} is not in {good}");
            let error = serde_json::from_str::<Tally>(&good.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(reason), "{to}: {error}");
        }
    }

    #[test]
    fn a_failure_is_infinitely_late() {
        let tally = sample();
        assert_eq!(tally.attempts(), 100);
        assert_eq!(tally.failures(), 2);
        assert!(matches!(
            tally.response_quantile(0.98),
            Some(Quantile::At(_))
        ));
        assert_eq!(tally.response_quantile(0.99), Some(Quantile::Never));
        let survivors = tally.answers_only().quantile(0.99).unwrap();
        let off = survivors.as_millis_f64() / 294.0 - 1.0;
        assert!(off.abs() < 1e-3, "98 × 3 ms, the slowest: {survivors}");
        assert_eq!(Tally::default().response_quantile(0.5), None);
    }

    #[test]
    fn an_interruption_is_no_failure_and_moves_no_quantile() {
        let mut tally = sample();
        let before = (
            tally.failures(),
            tally.response_quantile(0.98),
            tally.good(),
        );
        for _ in 0..50 {
            tally.record(Outcome::Interrupted, Nanos(1), None, 0, &[]);
        }
        let after = (
            tally.failures(),
            tally.response_quantile(0.98),
            tally.good(),
        );
        assert_eq!(before, after);
        assert_eq!((tally.attempts(), tally.decided()), (150, 100));
    }

    #[test]
    fn goodput_counts_exactly_at_the_bound() {
        assert_eq!(
            sample().good(),
            83,
            "83 × 3 ms = 249 ms is within 250 ms, 84 × 3 ms is not"
        );
    }

    #[test]
    fn json_round_trips_and_merge_adds() {
        let tally = sample();
        let json = serde_json::to_string(&tally).unwrap();
        let read: Tally = serde_json::from_str(&json).unwrap();
        assert_eq!(read, tally);
        let mut twice = read;
        twice.merge(&tally);
        assert_eq!(twice.attempts(), 200);
        assert_eq!(twice.good(), 166);
        twice.clear();
        assert_eq!(twice.attempts(), 0);
        assert!(twice.status().is_empty());
    }
}
