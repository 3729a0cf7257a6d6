//! Transactions that sum up their samples: whether those stand in the file, too.
//!
//! `JMeter` writes the sum behind its samples, or, as a parent, around them: a file of lines has the parent alone then. The number in
//! a sum says little (pauses are counted, too, and samples of transactions in transactions by each of them), but one
//! that has none of its samples in the file has lost them.

use std::collections::BTreeMap;

/// What the message of a sum begins with.
const WORDS: &str = "Number of samples in transaction";
/// Clocks of a sum and of its first sample are read one after the other, and rounded.
const SLACK_MILLIS: f64 = 1.0;

pub(super) fn is_sum(message: &str) -> bool {
    message.starts_with(WORDS)
}

/// Everything that threads of the test did. Times are in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// When samples began, by the thread that sent them.
    samples: BTreeMap<String, Vec<f64>>,
    /// A sample without a time may be of any transaction.
    is_undated: bool,
    sums: Vec<Sum>,
}

#[derive(Debug)]
pub(super) struct Sum {
    /// Empty if nothing was sampled in it, or if threads are not in the file.
    pub(super) thread: String,
    pub(super) began: Option<f64>,
    pub(super) elapsed: f64,
    /// Pauses, which `elapsed` may leave out; none where the file does not say.
    pub(super) idle: Option<f64>,
    pub(super) samples_count: u64,
}

impl Sum {
    /// `Number of samples in transaction : 2, number of failing samples : 0`
    pub(super) fn count(message: &str) -> u64 {
        let rest = message.strip_prefix(WORDS).unwrap_or_default();
        let rest = rest.trim_start_matches([' ', ':']);
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|it| it.parse().ok()).unwrap_or(0)
    }
}

impl Transactions {
    pub(super) fn sample(&mut self, thread: &str, began: Option<f64>) {
        if !self.samples.contains_key(thread) {
            self.samples.insert(thread.to_owned(), Vec::new());
        }
        if let Some(all) = self.samples.get_mut(thread) {
            all.extend(began);
        }
        self.is_undated |= began.is_none();
    }

    pub(super) fn sum(&mut self, sum: Sum) {
        self.sums.push(sum);
    }

    /// Samples of the transactions that have none of theirs in the file.
    pub(super) fn missing_count(mut self) -> u64 {
        for all in self.samples.values_mut() {
            all.sort_by(f64::total_cmp);
        }
        let hidden = self.sums.iter().filter(|sum| self.is_hidden(sum));
        let counts = hidden.map(|sum| sum.samples_count);
        counts.fold(0, u64::saturating_add)
    }

    fn is_hidden(&self, sum: &Sum) -> bool {
        if self.samples.is_empty() {
            return true;
        }
        let has_threads = self.samples.keys().any(|thread| !thread.is_empty());
        let Some(began) = sum.began.filter(|_| !self.is_undated) else {
            return false;
        };
        if has_threads && sum.thread.is_empty() {
            return false;
        }
        let all = self.samples.get(&sum.thread).map_or(&[][..], Vec::as_slice);
        let from = began - SLACK_MILLIS;
        let next = all.get(all.partition_point(|at| *at < from));
        let end = sum.idle.map(|idle| began + sum.elapsed + idle);
        !next.is_some_and(|at| end.is_none_or(|end| *at < end.max(began + SLACK_MILLIS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(thread: &str, began: f64, idle: Option<f64>) -> Sum {
        Sum {
            thread: thread.to_owned(),
            began: Some(began),
            elapsed: 100.0,
            idle,
            samples_count: 3,
        }
    }

    fn missing(sums: &[(&str, f64, Option<f64>)], samples: &[(&str, f64)]) -> u64 {
        let mut all = Transactions::default();
        for (thread, began) in samples {
            all.sample(thread, Some(*began));
        }
        for (thread, began, idle) in sums {
            all.sum(sum(thread, *began, *idle));
        }
        all.missing_count()
    }

    #[test]
    fn a_sum_with_any_of_its_samples_is_whole() {
        let before_and_after = [("a", 0.0), ("a", 1_200.0)];
        assert_eq!(missing(&[("a", 1_000.0, Some(0.0))], &before_and_after), 3);
        assert_eq!(
            missing(&[("a", 1_000.0, Some(500.0))], &before_and_after),
            0
        );
        assert_eq!(missing(&[("a", 1_000.0, None)], &before_and_after), 0);
        assert_eq!(
            missing(&[("b", 1_000.0, Some(500.0))], &before_and_after),
            3
        );
        // One transaction within another, and one that only paused.
        let nested = [("a", 1_000.0, Some(500.0)), ("a", 1_050.0, Some(400.0))];
        assert_eq!(missing(&nested, &before_and_after), 0);
        assert_eq!(missing(&[("", 1_000.0, Some(0.0))], &before_and_after), 0);
    }

    #[test]
    fn without_any_sample_every_sum_has_lost_its_own() {
        let sums = [("a", 0.0, Some(0.0)), ("", 100.0, None)];
        assert_eq!(missing(&sums, &[]), 6);
        let mut undated = Transactions::default();
        undated.sum(sum("a", 0.0, Some(0.0)));
        undated.sample("a", None);
        assert_eq!(undated.missing_count(), 0);
    }

    #[test]
    fn the_number_is_read_from_its_words() {
        let words = "Number of samples in transaction : 12, number of failing samples : 3";
        assert!(is_sum(words) && !is_sum("OK"));
        assert_eq!(Sum::count(words), 12);
        assert_eq!(Sum::count("Number of samples in transaction"), 0);
    }
}
