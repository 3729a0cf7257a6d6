//! What may be claimed: the highest rate whose pooled seconds hold, lost blocks and pauses among them.
//!
//! Choosing among many rates picks lucky ones. So a rate counts only where it was played for long, where the whole of the
//! search finds it likely, and where no failure at or below it stands unrefuted.

use plimsoll_core::Nanos;
use plimsoll_core::judge;
use plimsoll_core::objective::Clause;
use plimsoll_core::verdict::LevelState;

use super::clock;
use super::ended_level::EndedLevel;
use super::evidence::timed;
use super::measured::Second;
use super::posterior::Posterior;
use super::progress::Progress;

/// Levels from this share of the claimed rate on speak for it…
const NEAR_LEAST: f64 = 0.97;
/// …up to a little above it, and where that is not enough, further: what holds at more holds at less. Where a rule refuses
/// what is too much, a little more is plainly too much, and only what was played at the rate itself tells.
pub(crate) const NEAR_MOST: [f64; 3] = [1.04, 1.08, 1.01];
/// On average they are not below it by more than this.
const MEAN_LEAST: f64 = 0.995;
/// How likely the boundary must be above the claim, by everything that was seen; where nothing but what services usually do
/// is known of it, the second. The first is more because services whose answers are slow in rare bursts are no queues.
const ABOVE_LEAST: [f64; 2] = [0.42, 0.35];
/// Rates are tried from the highest down in steps of this share.
const STEP: f64 = 0.995;
/// Of what arrived so much ends: the rest is in flight at the end of a level and was not at its beginning.
const KEEPS_UP: f64 = 0.99;
/// A level beyond so many budgets failed.
const FAILED_BUDGETS: f64 = 8.0;
/// A failure counts against rates down to just below its own.
const AGAINST: f64 = 1.01;
/// It is outweighed by what was played later at this share of its rate or more.
const SINCE_LEAST: f64 = 0.985;
/// A rate is played for at least so many times as long as an answer takes at rest: a queue of such takes its time.
const ANSWERS_LONG: f64 = 40.0;
/// Seconds over which the evidence must be spread: two bad seconds in a row are one event.
const SPAN_LEAST: f64 = 60.0;
/// Of the time that is left so much is judged seconds at the rate: blocks begin with seconds that are not, and probes lie between.
const LEFT_FOR_BLOCKS: f64 = 0.6;
/// Fewer arrivals than a rate makes by so many standard deviations of a Poisson count are no chance.
const OFFERED_DEVIATIONS: f64 = 3.0;

/// The seconds at one rate, of all levels near it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pool {
    pub(crate) levels: Vec<u32>,
    pub(crate) seconds: f64,
    /// From the first to the last of them.
    pub(crate) span: f64,
    rate_seconds: f64,
    due: f64,
    attempts: f64,
    /// Of the clause that wants most attempts.
    least_budget: f64,
    /// Bad attempts over the budget of the clause that is worst, with everything in it.
    budgets: f64,
    /// The same without slow spells.
    budgets_between: f64,
    /// Enough attempts to be sure of every clause.
    pub(crate) is_enough: bool,
}

impl Pool {
    pub(crate) fn holds(&self) -> bool {
        self.attempts > 0.0 && self.budgets <= 1.0
    }

    pub(crate) fn budgets(&self) -> f64 {
        self.budgets
    }

    /// As much ended as arrived, but for chance. Where answers take seconds, a queue that grows is not late for long.
    fn keeps_up(&self) -> bool {
        self.attempts + 2.0 * libm::sqrt(self.due) >= KEEPS_UP * self.due
    }

    /// There are too few attempts to be sure of every clause, and the time that is left brings the rest.
    pub(crate) fn gets_enough(&self, left: f64) -> bool {
        let per_s = self.attempts / self.seconds.max(f64::MIN_POSITIVE);
        let then = self.attempts + per_s * left * LEFT_FOR_BLOCKS;
        !self.is_enough && judge::is_enough(then as u64, self.least_budget)
    }

    /// What really arrived, where that is less than the rate by more than chance: a script that sends fewer requests in an
    /// iteration than it did at first.
    fn offered(&self, rate: f64) -> f64 {
        let is_less = self.due + OFFERED_DEVIATIONS * libm::sqrt(self.due) < rate * self.seconds;
        if is_less {
            self.due / self.seconds
        } else {
            rate
        }
    }
}

/// What the search may say.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) rate: f64,
    pub(crate) pool: Pool,
    /// Only outside the slow spells that were seen.
    pub(crate) is_conditional: bool,
}

impl Claim {
    /// A rate that is held is put lower by what the target's own speed varies: its slow minutes are still to come.
    pub(crate) fn below_scatter(self, progress: &Progress) -> Self {
        let scatters = progress.scatters().filter(|_| !self.is_conditional);
        Self {
            rate: self.rate * (1.0 - scatters.map_or(0.0, |scatters| scatters.deviation)),
            ..self
        }
    }

    /// A rate that did not arrive is not claimed.
    pub(crate) fn only_offered(self, progress: &Progress) -> Self {
        if progress.config.over.is_vus() {
            return self;
        }
        Self {
            rate: self.pool.offered(self.rate),
            ..self
        }
    }
}

/// A rate is held for so many seconds at least before it is claimed.
pub(crate) fn seconds_least(progress: &Progress) -> f64 {
    let answer = progress.response_at_rest().map_or(0.0, Nanos::as_secs_f64);
    clock::claimable(&progress.config).max(ANSWERS_LONG * answer)
}

/// The highest rate that everything seen makes likely enough to be claimed.
pub(crate) fn likely_most(posterior: &Posterior) -> f64 {
    let above = ABOVE_LEAST[usize::from(posterior.is_usual())];
    posterior.quantile(1.0 - above)
}

/// What the levels from just below `rate` up to `most` times it show together.
pub(crate) fn pool(progress: &Progress, rate: f64, most: f64) -> Pool {
    pool_between(progress, NEAR_LEAST * rate, most * rate)
}

fn pool_between(progress: &Progress, least: f64, most: f64) -> Pool {
    let mut pool = Pool::default();
    let mut sums = Sums::new(progress.config.objectives.clauses());
    let mut first = f64::INFINITY;
    let mut last = 0.0_f64;
    for played in between(progress, least, most) {
        let seconds = played.measured.judged();
        let length = played.measured.seconds_judged();
        pool.levels.push(played.level);
        pool.seconds += length;
        pool.rate_seconds += length * played.rate().unwrap_or(0.0);
        pool.due += seconds.iter().map(|second| second.due as f64).sum::<f64>();
        first = first.min(played.end - length);
        last = last.max(played.end);
        for (at, second) in timed(played, seconds) {
            let spell = progress.spells().iter().any(|spell| spell.holds(at));
            sums.add(second, spell);
        }
        let in_spell = progress
            .spells()
            .iter()
            .any(|spell| spell.holds(played.end));
        sums.add_failed_after(played, in_spell);
    }
    pool.span = (last - first).max(0.0);
    pool.attempts = sums.all.attempts;
    pool.budgets = sums.all.budgets(sums.clauses);
    pool.budgets_between = sums.between.budgets(sums.clauses);
    pool.is_enough = sums
        .clauses
        .iter()
        .all(|clause| judge::is_enough(pool.attempts as u64, clause.budget()));
    let budgets = sums.clauses.iter().map(|clause| clause.budget());
    pool.least_budget = budgets.fold(1.0, f64::min);
    pool
}

/// Attempts, and bad ones of each clause.
#[derive(Debug, Clone, Default)]
struct Counts {
    attempts: f64,
    bad: Vec<f64>,
    /// Of each clause, what was bad behind the end of its level: attempts too.
    after: Vec<f64>,
}

impl Counts {
    fn add(&mut self, second: &Second) {
        self.attempts += second.attempts as f64;
        for (sum, count) in self.bad.iter_mut().zip(second.bad) {
            *sum += count as f64;
        }
    }

    fn add_failed_after(&mut self, played: &EndedLevel) {
        let clauses = played.measured.clauses();
        for (sum, clause) in self.after.iter_mut().zip(clauses) {
            *sum += played.measured.failed_after(*clause) as f64;
        }
    }

    /// The share of the worst clause, in budgets.
    fn budgets(&self, clauses: &[Clause]) -> f64 {
        let counts = self.bad.iter().zip(&self.after).zip(clauses);
        let each = counts.map(|((bad, after), clause)| {
            (bad + after) / (self.attempts + after).max(1.0) / clause.budget()
        });
        each.fold(0.0, f64::max)
    }
}

/// The counts of everything, and of what lies between slow spells.
struct Sums<'a> {
    clauses: &'a [Clause],
    all: Counts,
    between: Counts,
}

impl<'a> Sums<'a> {
    fn new(clauses: &'a [Clause]) -> Self {
        let none = Counts {
            attempts: 0.0,
            bad: vec![0.0; clauses.len()],
            after: vec![0.0; clauses.len()],
        };
        Self {
            clauses,
            all: none.clone(),
            between: none,
        }
    }

    fn add(&mut self, second: &Second, in_spell: bool) {
        self.all.add(second);
        if !in_spell {
            self.between.add(second);
        }
    }

    /// What failed after its level: of the spell that it ended in, if it did.
    fn add_failed_after(&mut self, played: &EndedLevel, in_spell: bool) {
        self.all.add_failed_after(played);
        if !in_spell {
            self.between.add_failed_after(played);
        }
    }
}

fn between(progress: &Progress, least: f64, most: f64) -> impl Iterator<Item = &EndedLevel> {
    progress.levels().filter(move |played| {
        let rate = played.rate().unwrap_or(0.0);
        (least..=most).contains(&rate)
    })
}

/// The highest rate that may be claimed; `None` where no rate was played long enough, or none holds.
pub(crate) fn of_search(progress: &Progress) -> Option<Claim> {
    let posterior = progress.posterior().filter(|_| !progress.is_hopeless())?;
    let over = progress.config.over;
    let least = over
        .at_most(posterior.quantile(0.05) * 0.9)
        .min(progress.ceiling());
    let mut rate = over.at_most(posterior.quantile(0.95).min(progress.ceiling()));
    while rate >= least && rate > 0.0 {
        if let Some(claim) = at(progress, rate) {
            return Some(claim);
        }
        rate = if over.is_vus() {
            rate - 1.0
        } else {
            rate * STEP
        };
    }
    None
}

fn at(progress: &Progress, rate: f64) -> Option<Claim> {
    let each = NEAR_MOST.iter();
    let mut claims = each.filter_map(|most| by_pool(progress, rate, pool(progress, rate, *most)));
    let first = claims.next()?;
    if first.is_conditional {
        return claims.find(|claim| !claim.is_conditional).or(Some(first));
    }
    Some(first)
}

fn by_pool(progress: &Progress, rate: f64, pool: Pool) -> Option<Claim> {
    let posterior = progress.posterior()?;
    let played = pool.seconds >= seconds_least(progress)
        && pool.span >= SPAN_LEAST.min(pool.seconds)
        && pool.rate_seconds >= MEAN_LEAST * rate * pool.seconds
        && pool.keeps_up();
    let likely = rate >= progress.ceiling() || rate <= likely_most(posterior);
    // What is bad at a lower rate is bad at this one: what happened there counts too.
    let holds = pool.holds() && pool_between(progress, 0.0, rate).holds();
    let between = pool.budgets_between <= 1.0 && pool.attempts > 0.0;
    let watched = progress.seconds_watched(rate);
    let costly = progress.spells_cost_likely(rate) > progress.least_budget() * watched;
    (played && likely && (holds || between) && !failed_below(progress, rate)).then_some(Claim {
        rate,
        pool,
        is_conditional: !holds || costly || !progress.stands_still(),
    })
}

/// A failure at or below `rate` that stands: nothing since outweighs it.
fn failed_below(progress: &Progress, rate: f64) -> bool {
    let levels: Vec<&EndedLevel> = progress.levels().collect();
    levels.iter().enumerate().any(|(index, failed)| {
        let at = failed.rate().unwrap_or(0.0);
        let failure = failed.is_over || failed.budgets() > FAILED_BUDGETS;
        failure && at <= AGAINST * rate && !is_outweighed(at, rate, &levels[index + 1..])
    })
}

/// What was played since at the load that failed, or between it and what is claimed, holds together; or a level above
/// both passed. A little less load is another matter: near its limit a service that fails at a load carries 5 % less well.
fn is_outweighed(failed: f64, claimed: f64, since: &[&EndedLevel]) -> bool {
    let least = SINCE_LEAST * failed;
    let most = AGAINST * claimed.max(failed);
    let at = |played: &EndedLevel| played.rate().unwrap_or(0.0);
    let near: Vec<&EndedLevel> = since
        .iter()
        .copied()
        .filter(|played| (least..=most).contains(&at(played)))
        .collect();
    let above = since
        .iter()
        .any(|played| at(played) > most && played.state == LevelState::Pass);
    above || (!near.is_empty() && near.iter().all(|played| !played.is_over) && holds(&near))
}

/// No clause is over its budget in all of them together.
fn holds(levels: &[&EndedLevel]) -> bool {
    let Some(clauses) = levels.first().map(|played| played.measured.clauses()) else {
        return false;
    };
    let mut sums = Sums::new(clauses);
    for second in levels.iter().flat_map(|played| played.measured.judged()) {
        sums.add(second, false);
    }
    for played in levels {
        sums.add_failed_after(played, false);
    }
    sums.all.attempts > 0.0 && sums.all.budgets(clauses) <= 1.0
}
