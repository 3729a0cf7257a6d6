//! Which documents a database has, which of them an operation takes, and what was acknowledged for each.
//!
//! Every operation takes documents that the store must have, so that an answer of "nothing there" is a failure of the
//! store and not of the test. What an operation came to is written here; afterwards the store is held against it.

use std::collections::BTreeMap;

use plimsoll_base::random::Rng;
use plimsoll_core::record::Verified;
use plimsoll_core::test::workload::Keys;

/// Fewer dead entries than this are not worth moving the others for.
const DEAD_LEAST: usize = 64;

/// Of one database.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// By key.
    documents: Vec<Document>,
    /// Keys in the order of their insertion; also of documents that are gone, until those are many.
    order: Vec<u32>,
    dead: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Document {
    state: State,
    /// Operations that use it now, or may do so at any time: it is not deleted meanwhile.
    users: u16,
    /// Updates that were acknowledged.
    updates: u32,
    /// Updates that may have been carried out.
    unknown_updates: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// Its insertion is under way.
    #[default]
    Coming,
    Present,
    /// Its deletion is under way.
    Leaving,
    Gone,
    /// Never sent, or refused.
    Never,
    /// Its insertion or deletion ended without an answer.
    Unknown,
}

/// What an operation did, as far as anybody can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Done,
    /// Certainly not, as the last of the commands that were sent for it was answered.
    NotDone,
    /// Certainly not, and no part of it, whatever was sent for it.
    Untouched,
    Unknown,
    /// Certainly not, and a later update of the same document counts it all the same.
    Spent,
}

impl Ledger {
    /// Of a database that holds so many documents, with keys from 0.
    pub(crate) fn loaded(count: u32) -> Self {
        let present = Document {
            state: State::Present,
            ..Document::default()
        };
        Self {
            documents: vec![present; count as usize],
            order: (0..count).collect(),
            dead: 0,
        }
    }

    /// Documents for a read or an update, each once: as many as were asked for, or as there are.
    pub(crate) fn borrow(&mut self, keys: Keys, count: u32, rng: &mut Rng) -> Vec<u32> {
        let mut taken = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let free = |document: &Document| document.state == State::Present;
            let Some(key) = self.find(keys, rng, |key, document| {
                free(document) && !taken.contains(&key)
            }) else {
                break;
            };
            self.documents[key as usize].users += 1;
            taken.push(key);
        }
        taken
    }

    /// Documents for a deletion, which nobody else uses.
    pub(crate) fn withdraw(&mut self, keys: Keys, count: u32, rng: &mut Rng) -> Vec<u32> {
        let mut taken = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let free = |_: u32, document: &Document| {
                document.state == State::Present && document.users == 0
            };
            let Some(key) = self.find(keys, rng, free) else {
                break;
            };
            self.documents[key as usize].state = State::Leaving;
            taken.push(key);
        }
        taken
    }

    /// Keys of documents that are about to be inserted.
    pub(crate) fn announce(&mut self, count: u32) -> Vec<u32> {
        let first = self.documents.len() as u32;
        let keys = first..first + count;
        self.documents
            .resize(keys.end as usize, Document::default());
        self.order.extend(keys.clone());
        keys.collect()
    }

    pub(crate) fn give_back(&mut self, keys: &[u32]) {
        for key in keys {
            self.documents[*key as usize].users -= 1;
        }
    }

    /// Something may still be done to them that nobody waits for: they are not deleted any more.
    pub(crate) fn hold(&mut self, keys: &[u32]) {
        for key in keys {
            self.documents[*key as usize].users += 1;
        }
    }

    /// Before an update is sent: whatever becomes of it, it may be carried out.
    pub(crate) fn updating(&mut self, keys: &[u32]) {
        for key in keys {
            self.documents[*key as usize].unknown_updates += 1;
        }
    }

    pub(crate) fn updated(&mut self, keys: &[u32], fate: Fate) {
        for key in keys {
            let document = &mut self.documents[*key as usize];
            match fate {
                Fate::Done => {
                    document.unknown_updates -= 1;
                    document.updates += 1;
                }
                Fate::NotDone | Fate::Untouched => document.unknown_updates -= 1,
                Fate::Unknown | Fate::Spent => {}
            }
        }
    }

    pub(crate) fn inserted(&mut self, keys: &[u32], fate: Fate) {
        self.settle(keys, [State::Present, State::Never, State::Unknown], fate);
    }

    pub(crate) fn deleted(&mut self, keys: &[u32], fate: Fate) {
        self.settle(keys, [State::Gone, State::Present, State::Unknown], fate);
    }

    fn settle(&mut self, keys: &[u32], [done, not_done, unknown]: [State; 3], fate: Fate) {
        let state = match fate {
            Fate::Done => done,
            Fate::NotDone | Fate::Untouched => not_done,
            Fate::Unknown | Fate::Spent => unknown,
        };
        for key in keys {
            self.documents[*key as usize].state = state;
        }
        if matches!(state, State::Gone | State::Never | State::Unknown) {
            self.dead += keys.len();
            self.forget_the_dead();
        }
    }

    /// Half of the entries are kept alive at least, so that a search among them is short.
    fn forget_the_dead(&mut self) {
        if self.dead < DEAD_LEAST || self.dead * 2 < self.order.len() {
            return;
        }
        let documents = &self.documents;
        let is_alive = |key: &u32| {
            let state = documents[*key as usize].state;
            matches!(state, State::Coming | State::Present | State::Leaving)
        };
        self.order.retain(is_alive);
        self.dead = 0;
    }

    /// A document that fits: the one that was drawn, or the next older one that does.
    fn find(
        &self,
        keys: Keys,
        rng: &mut Rng,
        fits: impl Fn(u32, &Document) -> bool,
    ) -> Option<u32> {
        let count = self.order.len();
        if count == 0 {
            return None;
        }
        let place = match keys {
            Keys::Uniform => rng.below(count as u64) as usize,
            Keys::Zipf { exponent } => zipf(exponent, count, rng) - 1,
            Keys::Latest { exponent } => count - zipf(exponent, count, rng),
        };
        let (before, from) = self.order.split_at(place + 1);
        let mut downwards = before.iter().rev().chain(from.iter().rev());
        let fitting = downwards.find(|key| fits(**key, &self.documents[**key as usize]));
        fitting.copied()
    }

    /// Holds what a store has, each document once with the number of its updates, against what was acknowledged.
    pub(crate) fn verify(&self, stored: &BTreeMap<i64, i64>) -> Verified {
        let mut verified = Verified::default();
        for (key, document) in (0_i64..).zip(&self.documents) {
            let found = stored.get(&key).copied();
            let updates = i64::from(document.updates);
            let most = updates + i64::from(document.unknown_updates);
            match (document.state, found) {
                (State::Coming | State::Leaving | State::Unknown, _) => verified.unknown_count += 1,
                (State::Present, found) => {
                    verified.expected_count += 1;
                    match found {
                        None => verified.missing_count += 1,
                        Some(count) if count < updates => verified.stale_count += 1,
                        Some(count) if count > most => verified.unasked_count += 1,
                        Some(_) => verified.intact_count += 1,
                    }
                }
                (State::Gone, Some(_)) => verified.undead_count += 1,
                (State::Never, Some(_)) => verified.unasked_count += 1,
                (State::Gone | State::Never, None) => {}
            }
        }
        let is_known = |key: i64| usize::try_from(key).is_ok_and(|key| key < self.documents.len());
        let strange = stored.keys().filter(|key| !is_known(**key));
        verified.unasked_count += strange.count() as u64;
        verified
    }
}

/// A number from 1 to `count`, the n-th in proportion to 1 ÷ n^exponent: rejection-inversion (Hörmann and Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", 1996), whose time does not depend on
/// `count` and which needs no table.
fn zipf(exponent: f64, count: usize, rng: &mut Rng) -> usize {
    let density = |x: f64| libm::exp(-exponent * libm::log(x));
    let integral = |x: f64| {
        let log = libm::log(x);
        expm1_ratio((1.0 - exponent) * log) * log
    };
    let inverse = |y: f64| {
        let t = (y * (1.0 - exponent)).max(-1.0);
        libm::exp(log1p_ratio(t) * y)
    };
    let first = integral(1.5) - 1.0;
    let last = integral(count as f64 + 0.5);
    let sure = 2.0 - inverse(integral(2.5) - density(2.0));
    loop {
        let drawn = last + rng.unit() * (first - last);
        let x = inverse(drawn);
        let number = (x + 0.5).floor().clamp(1.0, count as f64);
        if number - x <= sure || drawn >= integral(number + 0.5) - density(number) {
            return number as usize;
        }
    }
}

/// (e^x − 1) ÷ x, also near 0.
fn expm1_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::expm1(x) / x
    } else {
        1.0 + x / 2.0
    }
}

/// ln(1 + x) ÷ x, also near 0.
fn log1p_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        libm::log1p(x) / x
    } else {
        1.0 - x / 2.0
    }
}

#[cfg(test)]
mod tests;
