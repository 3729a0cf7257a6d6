//! Which of several upstreams a request goes to: the least busy, or the less busy of two, without those that are sick.
//!
//! A [`Health`] per upstream is told how its requests ended, and takes it out for a while when they fail; [`choose`] picks
//! among [`Candidate`]s. Time and randomness are passed in.

mod health;

use plimsoll_base::random::Rng;

pub use health::{Health, Out, Reply, compare};

/// How one of several is picked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Balance {
    /// The one that is used least, of those alike by chance.
    #[default]
    Least,
    /// The less used of two that are drawn: several guards do not all run to the same one.
    TwoChoices,
}

impl Balance {
    pub const ALL: [Self; 2] = [Self::Least, Self::TwoChoices];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Least => "least",
            Self::TwoChoices => "two-choices",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|balance| balance.name() == text)
    }
}

/// An upstream as the choice sees it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Requests in flight and waiting, with the one to come.
    pub busy: f64,
    /// What it can take: its limit, less while it starts slowly.
    pub room: f64,
    pub out: Option<Out>,
}

impl Candidate {
    fn used(&self) -> f64 {
        self.busy / self.room.max(1e-9)
    }
}

/// The place of the one to use; none only if there is none at all. At most `out_most_ratio` of them are left out for
/// answers that were bad; those that nobody can reach are left out while another can be. If none is left, all are
/// tried: a guard that refuses because every upstream failed lately would keep a service down that is back.
pub fn choose(
    candidates: &[Candidate],
    balance: Balance,
    out_most_ratio: f64,
    rng: &mut Rng,
) -> Option<usize> {
    let out_most = (candidates.len() as f64 * out_most_ratio) as usize;
    let sick = candidates
        .iter()
        .filter(|one| one.out == Some(Out::Failing))
        .count();
    let is_in = |one: &Candidate| match one.out {
        None => true,
        // More are sick than may be left out: what they have in common is not theirs.
        Some(Out::Failing) => sick > out_most,
        Some(Out::Unreachable | Out::Unwell) => false,
    };
    let mut places: Vec<usize> = (0..candidates.len())
        .filter(|place| is_in(&candidates[*place]))
        .collect();
    if places.is_empty() {
        places = (0..candidates.len()).collect();
    }
    if balance == Balance::TwoChoices && places.len() > 2 {
        let first = places.swap_remove(rng.below(places.len() as u64) as usize);
        let second = places.swap_remove(rng.below(places.len() as u64) as usize);
        places = vec![first, second];
    }
    least(candidates, &places, rng)
}

fn least(candidates: &[Candidate], places: &[usize], rng: &mut Rng) -> Option<usize> {
    let used = |place: &usize| candidates[*place].used();
    let least = places.iter().map(used).min_by(f64::total_cmp)?;
    let alike: Vec<usize> = places
        .iter()
        .copied()
        .filter(|place| used(place) <= least)
        .collect();
    alike.get(rng.below(alike.len() as u64) as usize).copied()
}

#[cfg(test)]
mod tests;
