//! Where the boundary lies, as probabilities: Bayes' rule over every level that was judged, none of them final.
//!
//! The boundary θ is the rate at which the share of bad attempts reaches its budget b. Near it the share grows as a power
//! of the rate, with an exponent s that differs between services. A level at rate r with n attempts then expects
//!
//! ```text
//! λ = n/φ · b · (f + (1 − f) · (r ÷ θ)^s)      bad attempts in bunches of φ
//! ```
//!
//! and k/φ of them are seen; f is what is bad at any rate. φ is how many attempts share one fate (a queue that is long makes many late).
//!
//! A level is believed to 96 %: L' = 0.96 · L ÷ Lmax + 0.04, so a single one weighs at most ln(1 ÷ 0.04) = 3.2 nats. One
//! pause of the target or of the machine under it can therefore not decide; two levels that agree can. What was seen
//! long ago counts less, so that a target that changes is followed.

use super::evidence::Evidence;

/// Least and greatest boundary as multiples of the best throughput of the closed loop.
const LEAST: f64 = 0.005;
const MOST: f64 = 6.0;
/// Steps of the grid: 1.2 % apart.
const POINTS: usize = 600;
/// Prior: where boundaries of services usually lie relative to their best throughput.
const USUAL: (f64, f64, f64) = (0.72, 0.5, 1.1);
/// And the rest: below this, above it.
const BELOW: (f64, f64) = (0.25, 1.3);
const ABOVE: f64 = 0.03;
/// How far a target that changes moves from what it carried, as a logarithm and in the mean (Laplace's distribution). Were any
/// factor as likely as another, a stray level among the first few since would make a hundredth as likely as nine tenths.
const MOVES_BY: f64 = 1.0;
/// Exponents with their prior weights: 3.5 is a service that refuses what finds its slots taken, 14 is M/LN/4 with p99 below eight service times, 6 a service with many servers or a
/// loose bound, 35 one that answers in constant time until it is full (simulated), and 120 a rule that refuses what is too much.
const SLOPES: [(f64, f64); 6] = [
    (3.5, 0.08),
    (6.0, 0.14),
    (12.0, 0.3),
    (20.0, 0.26),
    (35.0, 0.12),
    (120.0, 0.1),
];
/// Of a service that is full at a known rate X, attempts queue: the share that waits longer than t falls about as
/// exp(−(X − r)·t) near X (M/M/c and, in heavy traffic, G/G/1: Kingman 1961). At the boundary θ of a budget b it therefore
/// grows with the exponent ln(1 ÷ b) · θ ÷ (X − θ). That is believed to this share,…
const QUEUES: f64 = 0.8;
/// …times this, since times of service vary more than that and what is late comes in bunches,…
const QUEUE_SLOPE: f64 = 0.8;
/// …within these limits (far below X other things than a queue make answers late),…
const QUEUE_SLOPES: (f64, f64) = (16.0, 120.0);
/// …and give or take this as a logarithm (all simulated: `worlds`).
const QUEUE_SLOPE_DEVIATION: f64 = 0.4;
/// Beyond this share of X nothing is known of the exponent: the boundary may as well lie above a closed loop's throughput.
const QUEUE_MOST: f64 = 0.985;
/// Share of the budget that is bad at any rate, with its prior weight: a service whose own times have a long tail.
const FLOORS: [(f64, f64); 2] = [(0.0, 0.7), (0.35, 0.3)];
/// A level that has nothing to do with the boundary: a pause, a neighbour.
const STRAY: f64 = 0.04;
/// Beyond so many budgets the share has left the power law; only "at least so many" counts.
const CENSORED_FROM: f64 = 3.0;
/// And then it counts as so many bunches at most.
const CENSORED_MOST: f64 = 5.0;
/// The logarithm of the greatest growth that is told from a greater one.
const GROWTH_MOST: f64 = 300.0;
/// The logarithm of a probability beside which [`STRAY`] is everything.
const NOTHING: f64 = -40.0;
/// Seconds in which a level loses half of its weight.
const HALF_LIFE: f64 = 240.0;

/// Probabilities of the boundary on a grid of rates.
#[derive(Debug, Clone)]
pub(crate) struct Posterior {
    /// Rates, rising.
    rates: Vec<f64>,
    /// Probabilities, together 1.
    weights: Vec<f64>,
    is_usual: bool,
}

impl Posterior {
    /// What rates are measured by: the closed loop's throughput, or the least load that was too much, or twice the highest
    /// while none was.
    pub(crate) fn scale(throughput: Option<f64>, evidence: &[Evidence]) -> Option<f64> {
        const OUTDATED: f64 = 0.05;
        let rates = |too_much: bool| {
            let levels = evidence
                .iter()
                .filter(move |level| level.is_too_much() == too_much);
            levels.map(|level| level.rate)
        };
        let least = rates(true).min_by(f64::total_cmp);
        let highest = rates(false).max_by(f64::total_cmp);
        // An earlier search's closed loop may be far from what the target serves today: a small share of it is too much.
        let outdated = |throughput: f64| {
            least.is_some_and(|rate| rate < OUTDATED * throughput && rate > highest.unwrap_or(0.0))
        };
        let played = least.or(highest.map(|rate| 2.0 * rate));
        throughput
            .filter(|throughput| !outdated(*throughput))
            .or(played)
    }

    /// What is known at time `now` of a target.
    pub(crate) fn new(prior: Prior, evidence: &[Evidence], now: f64) -> Self {
        let grid = Grid::new(prior);
        let mut joint = grid.prior.clone();
        for level in evidence {
            let weight = libm::exp2(-(now - level.end).max(0.0) / HALF_LIFE);
            for (sum, seen) in joint.iter_mut().zip(grid.seen(level)) {
                *sum += weight * seen;
            }
        }
        Self {
            weights: marginal(&joint),
            rates: grid.rates,
            is_usual: matches!(prior, Prior::Usual(_)),
        }
    }

    /// Nothing is known of it but what services usually do: no closed loop told how much it carries.
    pub(crate) fn is_usual(&self) -> bool {
        self.is_usual
    }

    /// The rate below which the boundary lies with probability `share`.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sum = 0.0;
        for (index, weight) in self.weights.iter().enumerate() {
            if sum + weight >= share && *weight > 0.0 {
                let before = if index == 0 {
                    self.rates[0]
                } else {
                    self.rates[index - 1]
                };
                return before * libm::pow(self.rates[index] / before, (share - sum) / weight);
            }
            sum += weight;
        }
        self.rates[self.rates.len() - 1]
    }

    /// The probability that the boundary lies above `rate`.
    pub(crate) fn above(&self, rate: f64) -> f64 {
        let each = self.rates.iter().zip(&self.weights);
        each.filter(|(at, _)| **at > rate)
            .map(|(_, weight)| weight)
            .sum()
    }

    /// How wide it still is: the rate that the boundary is below with 90 % over the one with 10 %.
    pub(crate) fn width(&self) -> f64 {
        self.quantile(0.9) / self.quantile(0.1)
    }
}

/// What is thought of the boundary before any level, from the closed loop's throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Prior {
    /// Where boundaries of services usually lie relative to it.
    Usual(f64),
    /// The same, where it is what a closed loop came to, with the least share of late attempts that the objective allows.
    Queue { full: f64, budget: f64 },
    /// Anywhere: the target is not what it was when the closed loop was played.
    Even(f64),
    /// Where the target changed: around what it was before, and the further from that the less.
    Moved { before: f64, scale: f64 },
}

impl Prior {
    pub(crate) fn even(self) -> Self {
        Self::Even(self.scale())
    }

    fn scale(self) -> f64 {
        match self {
            Self::Usual(scale)
            | Self::Even(scale)
            | Self::Moved { scale, .. }
            | Self::Queue { full: scale, .. } => scale,
        }
    }

    /// Density over the logarithm of the boundary, at `share` of the scale; even in the rate itself where it is usual.
    fn density(self, share: f64) -> f64 {
        match self {
            Self::Even(_) => return 1.0 / libm::log(MOST / LEAST),
            Self::Moved { before, scale } => {
                let off = libm::log(share * scale / before).abs() / MOVES_BY;
                return 0.5 * libm::exp(-off) / MOVES_BY;
            }
            Self::Usual(_) | Self::Queue { .. } => {}
        }
        let (usual, least, most) = USUAL;
        let (below, limit) = BELOW;
        let mut density = 0.0;
        if (least..most).contains(&share) {
            density += usual * share / (most - least);
        }
        if share < limit {
            density += below / libm::log(limit / LEAST);
        } else {
            density += ABOVE / libm::log(MOST / limit);
        }
        density
    }

    /// Probability of a shape, where the boundary lies at this share of the scale.
    fn of_shape(self, shape: Shape, share: f64) -> f64 {
        match self {
            Self::Queue { budget, .. } if share < QUEUE_MOST => {
                let queue = weight_of_slope(shape.slope, queue_slope(budget, share));
                shape.of_floor * ((1.0 - QUEUES) * shape.of_slope + QUEUES * queue)
            }
            Self::Queue { .. } | Self::Usual(_) | Self::Even(_) | Self::Moved { .. } => {
                shape.of_floor * shape.of_slope
            }
        }
    }
}

/// The exponent of a service that queues, where its boundary lies at this share of what it is full at.
fn queue_slope(budget: f64, share: f64) -> f64 {
    let (least, most) = QUEUE_SLOPES;
    let slope = QUEUE_SLOPE * libm::log(1.0 / budget) * share / (1.0 - share);
    slope.clamp(least, most)
}

/// How probable each of [`SLOPES`] is beside the others, where `expected` is.
fn weight_of_slope(slope: f64, expected: f64) -> f64 {
    let weight = |slope: f64| {
        let off = libm::log(slope / expected) / QUEUE_SLOPE_DEVIATION;
        libm::exp(-0.5 * off * off)
    };
    let all: f64 = SLOPES.iter().map(|(slope, _)| weight(*slope)).sum();
    weight(slope) / all
}

/// The rates that the boundary may be, and what is thought of each under each shape: rows of shapes one after the other.
#[derive(Debug)]
pub(crate) struct Grid {
    rates: Vec<f64>,
    /// From one to the next, as a logarithm.
    step: f64,
    shapes: Vec<Shape>,
    /// Logarithms.
    prior: Vec<f64>,
}

impl Grid {
    pub(crate) fn new(prior: Prior) -> Self {
        let step = libm::log(MOST / LEAST) / (POINTS - 1) as f64;
        let scale = prior.scale();
        let rates: Vec<f64> = (0..POINTS)
            .map(|index| scale * LEAST * libm::exp(step * index as f64))
            .collect();
        let shapes: Vec<Shape> = Shape::all().collect();
        let of_rate = |rate: &f64| (*rate / scale, libm::log(step * prior.density(rate / scale)));
        let of_rates: Vec<(f64, f64)> = rates.iter().map(of_rate).collect();
        let of_shape = |shape: &Shape| {
            let shape = *shape;
            let each = of_rates.iter();
            each.map(move |(share, rate)| libm::log(prior.of_shape(shape, *share)) + rate)
        };
        let prior = shapes.iter().flat_map(of_shape).collect();
        Self {
            rates,
            step,
            shapes,
            prior,
        }
    }

    /// What a level says of each, as a logarithm that is at most zero: its likelihood, believed to all but [`STRAY`].
    pub(crate) fn seen(&self, level: &Evidence) -> Vec<f64> {
        let mut seen = Vec::with_capacity(self.prior.len());
        for shape in &self.shapes {
            let likelihood = Likelihood::new(*shape, level);
            let first = self.rates.first().map_or(1.0, |rate| level.rate / rate);
            let above = libm::log(first);
            let at = |index: usize| likelihood.log_at(above - self.step * index as f64);
            seen.extend((0..self.rates.len()).map(at));
        }
        let greatest = seen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let stray = libm::log(STRAY);
        for value in &mut seen {
            let below = *value - greatest;
            *value = if below < NOTHING {
                stray
            } else {
                libm::log((1.0 - STRAY) * libm::exp(below) + STRAY)
            };
        }
        seen
    }

    /// The logarithm of how likely all of it is together, under the prior.
    pub(crate) fn likelihood(&self, seen: &[f64]) -> f64 {
        let joint = self
            .prior
            .iter()
            .zip(seen)
            .map(|(prior, seen)| prior + seen);
        let greatest = joint.clone().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = joint.map(|value| share_of(value - greatest)).sum();
        greatest + libm::log(sum)
    }
}

/// How the share of bad attempts grows with the rate.
#[derive(Debug, Clone, Copy)]
struct Shape {
    slope: f64,
    floor: f64,
    /// Prior weights of the one and of the other.
    of_slope: f64,
    of_floor: f64,
}

impl Shape {
    fn all() -> impl Iterator<Item = Self> {
        SLOPES.into_iter().flat_map(|(slope, of_slope)| {
            FLOORS.into_iter().map(move |(floor, of_floor)| Self {
                slope,
                floor,
                of_slope,
                of_floor,
            })
        })
    }
}

/// How likely what a level showed is under one shape, for any boundary.
struct Likelihood {
    shape: Shape,
    /// Bad attempts that a level at the boundary expects, and that were seen, in bunches.
    at_budget: f64,
    log_at_budget: f64,
    bad: f64,
    /// The share has left the power law: only so many are known to be bad at least, and so many bunches count.
    censored: Option<(f64, f64)>,
}

impl Likelihood {
    fn new(shape: Shape, level: &Evidence) -> Self {
        let bunches = level.attempts / level.bunch;
        let bad = level.bad / level.bunch;
        let is_beyond = level.is_over || level.ratio() > CENSORED_FROM * level.budget;
        let counts = if level.is_over {
            CENSORED_MOST
        } else {
            bad.min(CENSORED_MOST)
        };
        Self {
            shape,
            at_budget: bunches * level.budget,
            log_at_budget: libm::log(bunches * level.budget),
            bad,
            censored: is_beyond.then_some((CENSORED_FROM * level.budget * bunches, counts)),
        }
    }

    /// As a logarithm; `above` is that of the level's rate over the boundary.
    fn log_at(&self, above: f64) -> f64 {
        let Shape { slope, floor, .. } = self.shape;
        // Beyond that, numbers have no end: it is impossible anyway, and not nothing.
        let grown = (slope * above).min(GROWTH_MOST);
        let expected = self.at_budget * (floor + (1.0 - floor) * libm::exp(grown));
        let expected = expected.max(f64::MIN_POSITIVE);
        match self.censored {
            // The same without a logarithm.
            None if floor <= 0.0 => self.bad * (self.log_at_budget + grown) - expected,
            None => self.bad * libm::log(expected) - expected,
            Some((least, _)) if expected >= least => 0.0,
            Some((least, counts)) => -counts * libm::log(least / expected),
        }
    }
}

/// exp(`below`) where that is something beside 1.
fn share_of(below: f64) -> f64 {
    if below < NOTHING {
        0.0
    } else {
        libm::exp(below)
    }
}

/// Over all shapes, together 1.
fn marginal(joint: &[f64]) -> Vec<f64> {
    let greatest = joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sums = vec![0.0; POINTS];
    for row in joint.chunks(POINTS) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += share_of(value - greatest);
        }
    }
    let total: f64 = sums.iter().sum();
    sums.into_iter().map(|sum| sum / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(rate: f64, share: f64, end: f64) -> Evidence {
        let attempts = rate * 10.0;
        Evidence {
            level: 0,
            rate,
            attempts,
            bad: share * attempts,
            budget: 0.01,
            bunch: 5.0,
            is_over: share > 0.5,
            end,
        }
    }

    #[test]
    fn without_evidence_it_is_the_prior() {
        let prior = Posterior::new(Prior::Usual(100.0), &[], 0.0);
        assert!((prior.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((50.0..110.0).contains(&prior.quantile(0.5)));
        assert!(
            (prior.above(130.0) - 0.03).abs() < 0.005,
            "{}",
            prior.above(130.0)
        );
        assert!(prior.quantile(0.1) < prior.quantile(0.9));
    }

    const QUEUE: Prior = Prior::Queue {
        full: 100.0,
        budget: 0.01,
    };

    /// What is thought of the exponent says nothing of the boundary by itself.
    #[test]
    fn how_a_queue_grows_moves_no_boundary_without_evidence() {
        let usual = Posterior::new(Prior::Usual(100.0), &[], 0.0);
        let queue = Posterior::new(QUEUE, &[], 0.0);
        for (usual, queue) in usual.weights.iter().zip(&queue.weights) {
            assert!((usual - queue).abs() < 1e-9, "{usual} {queue}");
        }
    }

    /// Full at 100/s with the boundary at 90/s: ln(100) ÷ (1 − 0.9) · 0.9 = 41 is the exponent there. Levels below it at which
    /// nothing was late do not speak for a lower boundary then.
    #[test]
    fn a_queue_near_its_limit_is_found_sooner_than_any_service() {
        let share = |rate: f64| 0.01 * libm::exp(0.46 * (rate - 90.0));
        let rates = [50.0, 72.0, 82.0, 95.0, 88.0, 92.0];
        let levels: Vec<_> = rates
            .iter()
            .map(|rate| level(*rate, share(*rate).min(1.0), 0.0))
            .collect();
        let usual = Posterior::new(Prior::Usual(100.0), &levels, 0.0);
        let queue = Posterior::new(QUEUE, &levels, 0.0);
        let off = |posterior: &Posterior| (posterior.quantile(0.5) / 90.0 - 1.0).abs();
        assert!(queue.width() < usual.width());
        assert!(off(&queue) < off(&usual).min(0.02), "{}", off(&queue));
    }

    #[test]
    fn levels_that_agree_close_in_on_the_boundary() {
        // The budget is reached at 80/s, with the exponent 14.
        let share = |rate: f64| 0.01 * libm::pow(rate / 80.0, 14.0);
        let rates = [60.0, 75.0, 78.0, 82.0, 84.0, 79.0, 81.0, 80.0];
        let levels: Vec<_> = rates
            .iter()
            .map(|rate| level(*rate, share(*rate), 0.0))
            .collect();
        let posterior = Posterior::new(Prior::Usual(100.0), &levels, 0.0);
        let median = posterior.quantile(0.5);
        assert!((75.0..85.0).contains(&median), "{median}");
        assert!(posterior.width() < 1.25, "{}", posterior.width());
    }

    #[test]
    fn one_stray_level_does_not_decide_and_two_do() {
        let good: Vec<_> = [60.0, 70.0, 75.0, 78.0]
            .iter()
            .map(|rate| level(*rate, 0.003, 0.0))
            .collect();
        let before = Posterior::new(Prior::Usual(100.0), &good, 0.0).quantile(0.5);
        let mut one = good.clone();
        one.push(level(40.0, 0.9, 0.0));
        let after = Posterior::new(Prior::Usual(100.0), &one, 0.0).quantile(0.5);
        assert!(
            after > 0.9 * before,
            "one pause moved it from {before} to {after}"
        );
        for _ in 0..5 {
            one.push(level(40.0, 0.9, 0.0));
        }
        let after = Posterior::new(Prior::Usual(100.0), &one, 0.0).quantile(0.5);
        assert!(after < 41.0, "six failures at 40/s left it at {after}");
    }

    /// A pause made the least load too much, by which rates are measured; what is carried later is far beyond that.
    #[test]
    fn what_is_carried_far_above_the_scale_is_believed() {
        let seen = [
            level(40.0, 0.9, 0.0),
            level(90.0, 0.0, 20.0),
            level(100.0, 0.001, 40.0),
            level(110.0, 0.002, 60.0),
        ];
        let scale = Posterior::scale(None, &seen).unwrap();
        assert!((scale - 40.0).abs() < 1e-9);
        let posterior = Posterior::new(Prior::Usual(scale), &seen, 60.0);
        let [low, median, high] = [0.1, 0.5, 0.9].map(|share| posterior.quantile(share));
        assert!(low < median && median < high, "{low} {median} {high}");
        assert!((90.0..220.0).contains(&median), "{median}");
        assert!(posterior.above(90.0) > 0.5);
    }

    #[test]
    fn what_was_seen_long_ago_gives_way() {
        let mut levels: Vec<_> = [60.0, 70.0, 75.0]
            .iter()
            .map(|rate| level(*rate, 0.002, 0.0))
            .collect();
        levels.extend([40.0, 42.0].iter().map(|rate| level(*rate, 0.9, 700.0)));
        levels.extend([36.0, 37.0].iter().map(|rate| level(*rate, 0.002, 720.0)));
        let posterior = Posterior::new(Prior::Usual(100.0), &levels, 720.0);
        assert!(
            posterior.quantile(0.5) < 50.0,
            "{}",
            posterior.quantile(0.5)
        );
    }
}
