//! What a variant with other shares should carry, from a run of its base: the utilisation law, before it is measured.

use plimsoll_core::record::Record;
use plimsoll_core::statistics::ratio;
use plimsoll_core::units::three_digits;
use plimsoll_core::verdict::SearchResult;

use super::case::{Case, Tier};
use super::saturation::saturation;
use crate::facts::level::{Level, levels};
use crate::facts::tick::ticks;

/// A resource used so far was full: what it took is what it had, and its demand follows from that.
const FULL: f64 = 0.8;

/// A tier as the variant declares it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTier {
    pub name: String,
    pub instances: u32,
    /// Of each instance; `None` if it is not confined.
    pub cpu_cores: Option<f64>,
}

/// What should be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    pub per_s: f64,
    /// The tier that should be full then; `None`: all processors of the machine.
    pub tier: Option<String>,
    /// The arithmetic in one line.
    pub why: String,
}

/// What a record says that the system carries, per second: a search's capacity, else the peak of a load that went
/// beyond it.
pub fn capacity(record: &Record, found: &SearchResult) -> Option<f64> {
    let peak = || Some(saturation(&levels(record), found).0?.peak);
    let searched = found.capacity_per_s.map(|bounds| bounds.estimate);
    searched.or_else(peak)
}

/// Predicts from `record` the capacity of a variant with these tiers: min over tiers of their cores ÷ seconds per
/// request, the whole machine's too. The error says what the record lacks.
pub fn predict(
    record: &Record,
    found: &SearchResult,
    planned: &[PlannedTier],
) -> Result<Predicted, String> {
    let levels = levels(record);
    let ticks = ticks(record, &levels);
    let Some(saturated) = saturation(&levels, found).0 else {
        return Err("its base did not reach its limit".to_owned());
    };
    let case = Case::new(record, &levels, &ticks, &saturated, found);
    let at = case.high().map(|level| level.answered).fold(0.0, f64::max);
    let uses = uses(&case, record, planned)?;
    let generator = generator_cores(record, case.high());
    let bound = bound(&uses, at, generator, case.host_high.cores);
    let (per_s, full) = bound.ok_or("none of its base's tiers was observed")?;
    // The peak is the best part of several: what scales is the capacity as it is read.
    let base = capacity(record, found).unwrap_or(saturated.peak);
    let factor = per_s / at;
    let place = full.map_or("all processors of this machine", |used| used.tier.as_str());
    Ok(Predicted {
        per_s: base * factor,
        tier: full.map(|used| used.tier.clone()),
        why: format!(
            "{}/s × {}: {place} {} then",
            three_digits(base),
            three_digits(factor),
            full.map_or_else(|| "are full".to_owned(), Use::words),
        ),
    })
}

/// One tier's processors: in use at the measured rate, and what there was and will be of them, in cores.
#[derive(Debug, Clone, PartialEq)]
struct Use {
    tier: String,
    used: f64,
    was: f64,
    will: f64,
}

impl Use {
    fn words(&self) -> String {
        format!(
            "has {} instead of {} cores and is full",
            three_digits(self.will),
            three_digits(self.was)
        )
    }

    /// The rate at which it will be full, by X = m ÷ D; D from what was in use, and where that was all there was from
    /// the whole of it.
    fn full_at(&self, rate: f64) -> f64 {
        let taken = if ratio(self.used, self.was) >= FULL {
            self.was
        } else {
            self.used
        };
        if taken > 0.0 {
            rate * self.will / taken
        } else {
            f64::INFINITY
        }
    }
}

/// The lowest rate at which something is full, and which tier it is; none: the machine.
fn bound(uses: &[Use], rate: f64, generator: f64, cores: f64) -> Option<(f64, Option<&Use>)> {
    let all: f64 = uses.iter().map(|used| used.used).sum::<f64>() + generator;
    let machine = (cores > 0.0 && all > 0.0).then(|| (rate * cores / all, None));
    let tiers = uses.iter().map(|used| (used.full_at(rate), Some(used)));
    let lowest = tiers.chain(machine).min_by(|a, b| a.0.total_cmp(&b.0));
    lowest.filter(|(rate, _)| !uses.is_empty() && rate.is_finite())
}

fn uses(case: &Case, record: &Record, planned: &[PlannedTier]) -> Result<Vec<Use>, String> {
    let declared = record.header.lab.iter().flat_map(|lab| &lab.tiers);
    let declared: Vec<_> = declared.collect();
    let mut uses = Vec::new();
    for plan in planned {
        let of = |tier: &&Tier| case.declared(&tier.name) == plan.name;
        let seen: Vec<&Tier> = case
            .tiers
            .iter()
            .filter(of)
            .filter(|t| t.high.ticks > 0)
            .collect();
        let Some(first) = seen.first() else {
            continue;
        };
        let mine = declared.iter().filter(|one| one.tier == plan.name);
        let cores: Vec<Option<f64>> = mine.map(|one| one.cpu_cores).collect();
        if cores.len() != seen.len() {
            return Err(format!("not every instance of {} was observed", plan.name));
        }
        let is_alone = first
            .high
            .thread
            .as_ref()
            .is_some_and(|t| first.works_alone(t));
        // A process that works with one thread has one core at most, whatever its share.
        let cap = |cores: Option<f64>| {
            let given = cores.unwrap_or(first.high.cores);
            if is_alone { given.min(1.0) } else { given }
        };
        uses.push(Use {
            tier: plan.name.clone(),
            used: seen.iter().map(|tier| tier.high.run).sum(),
            was: cores.iter().map(|cores| cap(*cores)).sum(),
            will: f64::from(plan.instances) * cap(plan.cpu_cores),
        });
    }
    Ok(uses)
}

/// Cores that the generator took while the system was full.
fn generator_cores<'a>(record: &Record, high: impl Iterator<Item = &'a Level>) -> f64 {
    let (mut run, mut seconds) = (0.0, 0.0);
    for level in high {
        let inside = record
            .windows
            .iter()
            .filter(|window| window.start_ns >= level.start && window.end_ns() <= level.end);
        let times = inside.flat_map(|window| &window.health.worker_run_ns);
        run += times.map(|time| time.as_secs_f64()).sum::<f64>();
        seconds += level.seconds();
    }
    ratio(run, seconds)
}

#[cfg(test)]
mod tests;
