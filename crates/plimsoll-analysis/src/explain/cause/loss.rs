//! Whether what is turned away is more than a rate, or finds a number of places taken: the two lose other shares of the attempts.

use plimsoll_core::outcome::Outcome;
use plimsoll_core::statistics::{median, ratio};
use plimsoll_core::units::{percent, three_digits};

use crate::explain::case::Case;
use crate::facts::level::Level;

/// What the losses depend on.
pub(super) enum Model {
    /// On what passes per second.
    Rate {
        /// How far the best number at once is off, on average.
        number_off: f64,
    },
    /// On how many are in service.
    Number {
        count: u32,
        shares: String,
    },
    Either,
}

/// How far a share of losses may be from a formula, on average.
pub(super) const MODEL_FITS: f64 = 0.04;
/// Attempts at a rate whose share of losses is compared.
const MODEL_ATTEMPTS: u64 = 200;
/// Levels of fewer attempts are of one rate up to this far apart: 60 Poisson arrivals are 13 % off by chance.
const ONE_RATE: f64 = 1.15;

/// A rule of r per second refuses 1 − r ÷ λ. A number of N at once refuses by Erlang's loss formula B(N, λ·S) (Erlang 1917),
/// below the rate that it carries too: 15 % at three quarters of what 8 carry, where the rule refuses nothing. `None` where too
/// few levels tell them apart. What is lost ends as one of `outcomes`, at the levels `losing`.
pub(super) fn lost_by(case: &Case, losing: &[&Level], outcomes: &[Outcome]) -> Option<Model> {
    let time = case.base_service().filter(|time| *time > 0.0)?;
    let rate = median(losing.iter().map(|level| level.served).collect())?;
    let in_service = losing.iter().filter_map(|level| in_service(level));
    // All of them are taken at once only far beyond: it is that many at least.
    let least = in_service.fold(1.0, f64::max);
    let by_rate = |offered: f64| (1.0 - rate / offered).max(0.0);
    // Well below, every model says none.
    let mut compared = compared(case, outcomes);
    compared.retain(|(offered, _)| *offered >= 0.5 * rate);
    if compared.len() < 2 {
        return None;
    }
    let error = |model: &dyn Fn(f64) -> f64| {
        let each = compared
            .iter()
            .map(|(offered, lost)| (model(*offered) - lost).abs());
        each.sum::<f64>() / compared.len() as f64
    };
    let of_count = |count: u32| error(&|offered| erlang_b(count, offered * time));
    let counts = (least.round() as u32).max(1)..=(1.4 * least + 2.0) as u32;
    let count = counts.min_by(|a, b| of_count(*a).total_cmp(&of_count(*b)))?;
    let by_number = |offered: f64| erlang_b(count, offered * time);
    let (of_rate, of_number) = (error(&by_rate), of_count(count));
    if of_number <= MODEL_FITS && 2.0 * of_number < of_rate {
        let listed = |of: &dyn Fn(&(f64, f64)) -> String| {
            let each: Vec<String> = compared.iter().take(4).map(of).collect();
            each.join(", ")
        };
        let shares = format!(
            "refused {} at {}/s; Erlang's formula for {count} at once says {}",
            listed(&|(_, lost)| percent(*lost)),
            listed(&|(offered, _)| three_digits(*offered)),
            listed(&|(offered, _)| percent(by_number(*offered)))
        );
        return Some(Model::Number { count, shares });
    }
    let is_rate = of_rate <= MODEL_FITS && 2.0 * of_rate < of_number;
    let rate = Model::Rate {
        number_off: of_number,
    };
    Some(if is_rate { rate } else { Model::Either })
}

/// What was offered per second and which share of it was lost. Slow services are asked so little that no level has enough
/// attempts by itself: those of one rate count as one.
fn compared(case: &Case, outcomes: &[Outcome]) -> Vec<(f64, f64)> {
    let open = || case.levels.iter().filter(|level| level.closed.is_none());
    let is_large = |level: &&Level| level.tally.attempts() >= MODEL_ATTEMPTS;
    let mut compared: Vec<(f64, f64)> = open()
        .filter(is_large)
        .map(|level| (level.offered, level.share(outcomes)))
        .collect();
    let mut small: Vec<&Level> = open().filter(|level| !is_large(level)).collect();
    small.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    let mut rest = small.as_slice();
    while let Some(first) = rest.first() {
        let is_same = |level: &&Level| level.offered <= ONE_RATE * first.offered;
        let (same, beyond) = rest.split_at(rest.partition_point(is_same).max(1));
        compared.extend(pooled(same, outcomes));
        rest = beyond;
    }
    compared
}

/// Levels of one rate as one, if they have enough attempts together.
fn pooled(levels: &[&Level], outcomes: &[Outcome]) -> Option<(f64, f64)> {
    let sum = |of: &dyn Fn(&Level) -> f64| levels.iter().map(|level| of(level)).sum::<f64>();
    let attempts: u64 = levels.iter().map(|level| level.tally.attempts()).sum();
    let decided = |level: &Level| level.tally.decided() as f64;
    let offered = ratio(
        sum(&|level| level.offered * level.seconds()),
        sum(&Level::seconds),
    );
    let lost = ratio(
        sum(&|level| level.share(outcomes) * decided(level)),
        sum(&decided),
    );
    (attempts >= MODEL_ATTEMPTS).then_some((offered, lost))
}

/// Requests in service, by Little's law N = X·S of the answered.
pub(super) fn in_service(level: &Level) -> Option<f64> {
    Some(level.served * level.served_service()?.as_secs_f64())
}

/// The share that finds all of `servers` taken when `load` erlangs are offered: B(0) = 1, B(n) = a·B(n − 1) ÷ (n + a·B(n − 1)).
fn erlang_b(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |before, n| {
        load * before / (f64::from(n) + load * before)
    })
}

#[cfg(test)]
mod tests {
    use super::erlang_b;

    #[test]
    fn erlangs_formula() {
        // 8 at once of 40 ms at 150/s: 6 erlangs, 12.2 %; one of them at half load: a third.
        assert!((erlang_b(8, 6.0) - 0.1219).abs() < 1e-4);
        assert!((erlang_b(1, 0.5) - 1.0 / 3.0).abs() < 1e-12);
        assert!((erlang_b(3, 0.0)).abs() < 1e-12);
    }
}
