//! Runs a target on mutated inputs until it fails or a condition ends it; shrinks what failed.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use plimsoll_base::random::Rng;

use crate::mutate::mutate;
use crate::targets::{Outcome, Target};

/// More would make the early inputs too rare to be chosen.
const CORPUS_MAX: usize = 4_000;

/// Inputs that a target is fed, in an order that only the seed decides.
#[derive(Debug)]
pub(crate) struct Drive {
    target: Target,
    corpus: Vec<Vec<u8>>,
    outcomes: BTreeSet<Outcome>,
    rng: Rng,
    /// Inputs fed so far.
    pub(crate) fed_count: u64,
}

/// An input that made the target panic.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) input: Vec<u8>,
}

impl Drive {
    /// Starts with the inputs as they are; each must pass unchanged.
    pub(crate) fn start(target: Target, corpus: Vec<Vec<u8>>, seed: u64) -> Result<Self, Failure> {
        let mut drive = Self {
            target,
            corpus: Vec::new(),
            outcomes: BTreeSet::new(),
            rng: Rng::new(seed, 0),
            fed_count: 0,
        };
        for input in corpus {
            drive.feed(&input)?;
            drive.corpus.push(input);
        }
        Ok(drive)
    }

    /// How many different things inputs led to.
    pub(crate) fn outcomes_count(&self) -> usize {
        self.outcomes.len()
    }

    /// The next mutated input.
    pub(crate) fn next_input(&mut self) -> Vec<u8> {
        let (one, other) = (self.choose(), self.choose());
        let words = self.target.words;
        mutate(&self.corpus[one], &self.corpus[other], words, &mut self.rng)
    }

    /// Feeds an input, and keeps it when it led to something new.
    pub(crate) fn take(&mut self, input: Vec<u8>) -> Result<(), Failure> {
        if self.feed(&input)? && self.corpus.len() < CORPUS_MAX {
            self.corpus.push(input);
        }
        Ok(())
    }

    fn choose(&mut self) -> usize {
        self.rng.below(self.corpus.len() as u64) as usize
    }

    /// Whether the outcome is one not seen before.
    fn feed(&mut self, input: &[u8]) -> Result<bool, Failure> {
        self.fed_count += 1;
        match catch_unwind(AssertUnwindSafe(|| (self.target.body)(input))) {
            Ok(outcome) => Ok(self.outcomes.insert(outcome)),
            Err(_) => Err(Failure {
                input: input.to_vec(),
            }),
        }
    }
}

/// The smallest input found that still fails: parts are cut out, large ones first.
pub(crate) fn shrink(target: Target, input: &[u8]) -> Vec<u8> {
    let fails = |bytes: &[u8]| catch_unwind(AssertUnwindSafe(|| (target.body)(bytes))).is_err();
    let mut smallest = input.to_vec();
    let mut size = smallest.len().next_power_of_two();
    while size > 0 {
        let mut at = 0;
        while at < smallest.len() {
            let end = (at + size).min(smallest.len());
            let mut shorter = smallest.clone();
            shorter.drain(at..end);
            if fails(&shorter) {
                smallest = shorter;
            } else {
                at = end;
            }
        }
        size /= 2;
    }
    smallest
}

#[cfg(test)]
mod tests;
