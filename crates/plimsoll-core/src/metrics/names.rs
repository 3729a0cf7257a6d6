//! Requests by their `name` tag: what became of each, on both clocks.
//!
//! A script decides how many names there are, and may make them up without end. So many rows are kept; what comes later is
//! counted together, with the number of its names, and no attempt is lost from the sum.

use std::collections::{BTreeMap, BTreeSet};

use crate::tally::Tally;

/// Names told apart; each takes a few kilobytes.
const ROWS_MAX: usize = 1_000;
/// Further names that are told apart to be counted.
const MORE_MAX: usize = 50_000;

/// Attempts by name.
#[derive(Debug, Clone, Default)]
pub struct Names {
    rows: BTreeMap<Box<str>, Tally>,
    /// Of all names beyond.
    rest: Tally,
    more: BTreeSet<Box<str>>,
}

/// Names that are not shown one by one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rest {
    pub(crate) count: u64,
    pub(crate) tally: Tally,
}

impl Names {
    /// Counts attempts of a name.
    pub fn add(&mut self, name: &str, tally: &Tally) {
        if let Some(row) = self.rows.get_mut(name) {
            return row.merge(tally);
        }
        if self.rows.len() < ROWS_MAX {
            self.rows.insert(name.into(), tally.clone());
            return;
        }
        self.rest.merge(tally);
        if self.more.len() < MORE_MAX && !self.more.contains(name) {
            self.more.insert(name.into());
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (name, tally) in &other.rows {
            self.add(name, tally);
        }
        self.rest.merge(&other.rest);
        self.more.extend(other.more.iter().cloned());
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows that tell most, and all others together: those with failures first, then those with most attempts.
    pub(crate) fn top(&self, most: usize) -> (Vec<(&str, &Tally)>, Rest) {
        let mut rows: Vec<(&str, &Tally)> = self.rows.iter().map(|(n, t)| (&**n, t)).collect();
        rows.sort_by_key(|(_, tally)| std::cmp::Reverse((tally.failures(), tally.attempts())));
        let mut rest = Rest {
            count: self.more.len() as u64,
            tally: self.rest.clone(),
        };
        for (_, tally) in rows.iter().skip(most) {
            rest.count += 1;
            rest.tally.merge(tally);
        }
        rows.truncate(most);
        (rows, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Nanos, Outcome};

    #[test]
    fn names_without_end_stay_bounded_and_no_attempt_is_lost() {
        let mut one = Tally::default();
        one.record(Outcome::Ok, Nanos(5), None, 1, &[]);
        let mut bad = Tally::default();
        bad.record(Outcome::CheckFailed, Nanos(5), None, 1, &[]);
        let mut names = Names::default();
        for n in 0..3_000 {
            names.add(&format!("item {n}"), &one);
        }
        names.add("item 7", &bad);
        let (rows, rest) = names.top(100);
        assert_eq!((rows.len(), rest.count), (100, 2_900));
        assert_eq!(rows[0].0, "item 7", "what fails is shown first");
        let shown: u64 = rows.iter().map(|(_, tally)| tally.attempts()).sum();
        assert_eq!(shown + rest.tally.attempts(), 3_001);
    }
}
